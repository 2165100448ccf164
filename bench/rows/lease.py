# SPDX-License-Identifier: LGPL-2.1-or-later
"""The call of Lease for a region that is ready, whatever its size."""
from lib import huge_pages, regions, rounds
from lib.report import Row, Skip
from lib.scene import Scene

NAME = "lease"
WHAT = "lease of a ready region, over the bus"
GOAL_USEC = 300
GOAL_FLAT = 1.5  # p50 of the largest region against that of the smallest
MIB = 1 << 20
SIZES = (64 * MIB, 512 * MIB, 2048 * MIB)
NR_LEASES = 10  # a round; after each the pool takes a third of a second to say it is whole


def text(nr_bytes):
    return f"{nr_bytes // MIB} MiB"


def one_round(bench, scene, nr_leases):
    """(µs of each lease, µs of each ping)"""
    said = bench.output("lease", scene.bus, "guests", nr_leases)
    return [list(map(float, column)) for column in
            zip(*(line.split() for line in said.splitlines()))]


def measure_page(bench, page, sizes, nr_leases):
    leases, pings = {size: [] for size in sizes}, {size: [] for size in sizes}
    for nr in range(bench.rounds + 1):
        turn = nr % len(sizes)
        for size in sizes[turn:] + sizes[:turn]:
            pools = {"guests": regions.pool(bench, page, size, size)}
            with Scene(bench, pools, {"LogLevel": "warning"}) as scene:
                scene.start()
                lease, ping = one_round(bench, scene, nr_leases)
            if nr > 0:
                leases[size] += lease
                pings[size] += ping
    rows = []
    for size in sizes:
        middle = rounds.median(leases[size])
        rows.append(Row(f"region of {text(size)} of {page}: Lease, p50", f"≤ {GOAL_USEC} µs",
                        middle, "µs", middle <= GOAL_USEC,
                        {f"Lease, {text(size)}": leases[size], f"Ping, {text(size)}": pings[size]},
                        f"{text(size)}: p99 of Lease is "
                        f"{rounds.percentile(leases[size], 99):.0f} µs", series_unit="µs"))
    flat = rounds.median(leases[sizes[-1]]) / rounds.median(leases[sizes[0]])
    rows.append(Row(f"p50 of {text(sizes[-1])} against {text(sizes[0])}", f"flat: ≤ {GOAL_FLAT}",
                    flat, "×", flat <= GOAL_FLAT))
    return rows


def measure(bench):
    sizes = [size for size in SIZES if size <= bench.size_bytes] or [SIZES[0]]
    try:
        with huge_pages.hold(sizes[-1], 2 * MIB, bench.node):
            return measure_page(bench, "2M", sizes, 4 if bench.quick else NR_LEASES)
    except Skip:
        # Base pages take longer to be made ready again, and are leased as any.
        return measure_page(bench, "base", sizes, NR_LEASES // 2)
