# SPDX-License-Identifier: LGPL-2.1-or-later
"""From just before the daemon is executed to the first region of 64 MiB that it lends."""
from lib import huge_pages, regions, rounds
from lib.report import Row, Skip
from lib.scene import Scene

NAME = "first-region"
WHAT = "time to the first leasable region of 64 MiB"
GOAL_MS = 10
REGION_BYTES = 64 << 20
NR_BYTES = 512 << 20


def measure_page(bench, page, before_each):
    found = {"on the bus": [], "leased": [], "the call of Lease": []}
    pools = {"guests": regions.pool(bench, page, NR_BYTES, REGION_BYTES)}
    with Scene(bench, pools, {"LogLevel": "warning"}) as scene:
        for nr in range(bench.rounds + 1):
            before_each()
            said = bench.output("first-region", scene.bus, "guests", bench.nodeinitd,
                                "--config", f"{scene.folder}/etc", "--bus", scene.bus)
            for samples, ms in zip(found.values(), said.split()):
                if nr > 0:
                    samples.append(float(ms))
    leased = found["leased"]
    return Row(f"{page} pages: from before exec to the first lease of 64 MiB", f"≤ {GOAL_MS} ms",
               leased, "ms", rounds.median(leased) <= GOAL_MS,
               {f"{page}: {way}": samples for way, samples in found.items()}, series_unit="ms")


def measure(bench):
    rows = []
    try:
        with huge_pages.hold(NR_BYTES, 2 << 20, bench.node) as nr_pages:
            rows.append(measure_page(
                bench, "2M", lambda: huge_pages.wait_free(nr_pages, 2 << 20, bench.node)))
    except Skip as reason:
        rows.append(Row.skip("2M pages", f"≤ {GOAL_MS} ms", reason))
    for page in ("thp", "base"):
        if page == "thp" and not bench.is_root:
            rows.append(Row.skip("thp pages", f"≤ {GOAL_MS} ms",
                                 "only root may mount a tmpfs of huge pages"))
            continue
        rows.append(measure_page(bench, page, lambda: bench.memory.warm(NR_BYTES)))
    return rows
