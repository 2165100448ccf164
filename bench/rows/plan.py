# SPDX-License-Identifier: LGPL-2.1-or-later
"""nodeinitd --plan for a machine of 108 nodes with 131 072 memory blocks and more."""
from lib import growth, rounds
from lib.report import Row
from lib.scene import Scene

NAME = "plan"
WHAT = "plan for 108 nodes and 131 072 memory blocks"
GOAL_MS = 200
NR_NODES = 108
NR_BLOCKS = 1214  # of a node: 131 112
POOLS = {"guests": "[Pool]\nKind=region\nPageSize=2M\nSize=50%\n[Region]\nRegionSize=1G\n"}


def measure(bench):
    def plan(root, _):
        said = bench.output("growth-run", bench.nodeinitd, "--plan", "--root", root,
                            "--config", f"{scene.folder}/etc")
        seconds, cpu_seconds, _ = map(float, said.split())
        return seconds * 1e3, cpu_seconds * 1e3

    nr_blocks = 64 if bench.quick else NR_BLOCKS
    kinds = {"all online": "", "one offline a node": "mixed",
             "one offline a node, zones do not tell": "untold"}
    with Scene(bench, pools=POOLS) as scene:
        found = growth.measure(bench, {what: (NR_NODES, nr_blocks, kind)
                                       for what, kind in kinds.items()}, plan)
    rows = []
    for what, samples in zip(kinds, found):
        ms = [one[0] for one in samples]
        rows.append(Row(f"plan, {NR_NODES} nodes, {NR_NODES * nr_blocks} blocks, {what}",
                        f"≤ {GOAL_MS} ms", ms, "ms", rounds.median(ms) <= GOAL_MS,
                        {f"{what}: wall": ms, f"{what}: CPU": [one[1] for one in samples]},
                        series_unit="ms"))
    return rows
