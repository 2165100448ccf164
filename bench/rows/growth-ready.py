# SPDX-License-Identifier: LGPL-2.1-or-later
"""Start to readiness of machines of 1 to 108 nodes whose memory takes time only."""
from lib import growth
from lib.scene import Scene

NAME = "growth-ready"
WHAT = "start to readiness as nodes become more, with simulated memory"

POOLS = {"guests": "[Pool]\nKind=region\nPageSize=base\nSize=48G\n[Region]\nRegionSize=4G\n"}
NODES = (1, 8, 32, 64, 108)
NR_BLOCKS = 32  # of a node
NR_ROUNDS = 3  # with filling: they take what that takes, whatever else goes on
# Two threads a node, 64 MiB in 6 ms each: 48 GiB in 2.4 s.
WORK_NSEC_PER_MIB = 97656


def measure(bench):
    nodes = growth.sizes(bench, NODES)
    nr_of = {nr: (nr, NR_BLOCKS) for nr in nodes}

    def run(root, nsec_per_mib):
        one = growth.run_manager(bench, root, scene, nsec_per_mib)
        one["cost"] = one["seconds"] - one["simulated_seconds"]
        one["main_percent"] = 100 * one["main_cpu_seconds"] / one["seconds"]
        one["turns"] = one["nr_turns"] / one["seconds"]
        return one

    work_nsec = WORK_NSEC_PER_MIB // (5 if bench.quick else 1)
    with Scene(bench, pools=POOLS, daemon={"Threads": "2"}) as scene:
        free = growth.measure(bench, nr_of, lambda root, _: run(root, 0))
        busy = growth.measure(bench, nr_of, lambda root, _: run(root, work_nsec),
                              NR_ROUNDS)

    def row(found, what, key, unit="s", note="", is_goal=True):
        fill_seconds = 2.4 / (5 if bench.quick else 1)
        work = f"{fill_seconds:.1f} s of filling" if found is busy else "no filling"
        return growth.row(f"ready, {work}: {what}", nodes, "nodes", growth.pick(found, key), unit,
                          note, is_goal)

    return [row(free, "start→ready", "seconds", is_goal=False),
            row(free, "CPU time", "cpu_seconds"),
            row(busy, "start→ready less the filling", "cost", is_goal=False),
            row(busy, "main thread", "main_percent", "% of a CPU"),
            row(busy, "turns of the loop", "turns", "a second"),
            row(busy, "peak RSS", "peak_rss_kib", "KiB",
                f"; {busy[-1][-1]['nr_threads']} threads with {nodes[-1]}")]
