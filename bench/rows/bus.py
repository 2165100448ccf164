# SPDX-License-Identifier: LGPL-2.1-or-later
"""Answers of the daemon while all its threads are at work."""
from lib import huge_pages, regions, rounds
from lib.report import Row, Skip
from lib.scene import Scene

NAME = "bus"
WHAT = "answers over the bus while populating"
GOAL_MS = 5
LIMIT_SECONDS = 5


def measure_page(bench, page, early, nr_bytes, region_bytes, before_each):
    daemon = {"LogLevel": "warning", "EarlyMinimum": "64M"}
    found = {"Get": [], "GetAll": [], "ListPools": []}
    pool = regions.pool(bench, page, nr_bytes, region_bytes)
    pool = pool.replace("[Region]", f"Early={early}\n[Region]")
    for nr in range(bench.rounds + 1):
        before_each()
        with Scene(bench, {"guests": pool}, daemon) as scene:
            scene.launch()
            said = bench.output("bus-answer", scene.bus, LIMIT_SECONDS)
        for line in said.splitlines():
            ask, usec = line.split()
            if nr > 0:
                found[ask].append(float(usec) / 1e3)
    work = "early" if early == "all" else "deferred"
    rows = []
    for ask, samples in found.items():
        p99 = rounds.percentile(samples, 99)
        rows.append(Row(f"{ask} while {page} pages are populated ({work}): p99",
                        f"≤ {GOAL_MS} ms", p99, "ms", p99 <= GOAL_MS,
                        {f"{ask}, {page}, {work}": samples}, series_unit="ms"))
    return rows


def measure(bench):
    rows = []
    nr_bytes, region_bytes = regions.sizes(bench, regions.BASE_BYTES)
    for early in ("all", "none"):
        rows += measure_page(bench, "base", early, nr_bytes, region_bytes,
                             lambda: bench.memory.warm(nr_bytes))
    nr_bytes, region_bytes = regions.sizes(bench)
    try:
        with huge_pages.hold(nr_bytes, 2 << 20, bench.node) as nr_pages:
            for early in ("all", "none"):
                rows += measure_page(
                    bench, "2M", early, nr_bytes, region_bytes,
                    lambda: huge_pages.wait_free(nr_pages, 2 << 20, bench.node))
    except Skip as reason:
        rows.append(Row.skip("2M pages", f"≤ {GOAL_MS} ms", reason))
    return rows
