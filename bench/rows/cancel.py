# SPDX-License-Identifier: LGPL-2.1-or-later
"""How long chunks still run after a cancel or a pause."""
from lib import huge_pages, rounds
from lib.report import Row, Skip

NAME = "cancel"
WHAT = "cancel and pause of a worker on real memory"
GOAL_MS = 10  # of 2M pages
GIB = 1 << 30
NR_TIMES = 3  # a round


def run(bench, how, page, nr_bytes):
    said = bench.output("cancel", how, page, nr_bytes, bench.nr_cpus, bench.node, NR_TIMES)
    pairs = [tuple(map(float, line.split())) for line in said.splitlines()]
    return [pair[0] / 1e3 for pair in pairs], [pair[1] / 1e3 for pair in pairs]


def measure_page(bench, page, nr_bytes, before_each):
    rows = []
    for how in ("cancel", "pause"):
        latencies, chunks = [], []
        for nr in range(bench.rounds + 1):
            before_each()
            latency, chunk = run(bench, how, page, nr_bytes)
            if nr > 0:
                latencies += latency
                chunks += chunk
        # One chunk, as long as the longest of the same run.
        is_reached = all(ms <= chunk for ms, chunk in zip(latencies, chunks))
        goal = "≤ one chunk"
        if page == "2M":
            goal += f", {GOAL_MS} ms"
            is_reached = is_reached and rounds.percentile(latencies, 99) <= GOAL_MS
        rows.append(Row(f"{how}, {page} pages, {bench.nr_cpus} threads: until no chunk runs", goal,
                        latencies, "ms", is_reached,
                        {f"{how}, {page}": latencies, f"longest chunk, {page}, {how}": chunks},
                        series_unit="ms"))
    return rows


def measure(bench):
    rows = []
    # All regions have to be made before the first chunk, and a quarter filled before the cancel.
    nr_bytes = min(bench.size_bytes // 4, GIB) // (256 << 20) * (256 << 20) or 256 << 20
    try:
        with huge_pages.hold(nr_bytes, 2 << 20, bench.node) as nr_pages:
            rows += measure_page(bench, "2M", nr_bytes, lambda: huge_pages.wait_free(
                nr_pages, 2 << 20, bench.node))
    except Skip as reason:
        rows.append(Row.skip("2M pages", "≤ one chunk", reason))
    for page in ("thp", "base"):
        if page == "thp" and not bench.is_root:
            rows.append(Row.skip("thp pages", "≤ one chunk",
                                 "only root may mount a tmpfs of huge pages"))
        else:
            rows += measure_page(bench, page, nr_bytes, lambda: bench.memory.warm(nr_bytes))
    return rows
