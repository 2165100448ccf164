# SPDX-License-Identifier: LGPL-2.1-or-later
"""nodeinitd --plan for machines of 1 to 128 nodes and of up to 131072 memory blocks."""
from lib import growth
from lib.scene import Scene

NAME = "growth-plan"
WHAT = "the plan's cost as nodes and memory blocks become more"

POOLS = {"guests": "[Pool]\nKind=region\nPageSize=2M\nSize=50%\n[Region]\nRegionSize=1G\n",
         "packets": "[Pool]\nKind=hugetlb\nPageSize=2M\nSize=1G\n"}
NR_NODES = 128  # where blocks become more
NR_BLOCKS = 64  # of each node, where nodes become more
BLOCKS = (8, 256, 512, 1024)


def measure(bench):
    def plan(root, _):
        said = bench.output("growth-run", bench.nodeinitd, "--plan", "--json", "--root", root,
                            "--config", f"{scene.folder}/etc")
        seconds, cpu_seconds, kib = map(float, said.split())
        return {"wall time": seconds, "CPU time": cpu_seconds, "peak RSS": kib}

    def rows_of(what, unit, nr_of):
        found = growth.measure(bench, nr_of, plan)
        return [growth.row(f"plan, {what}: {key}", list(nr_of), unit, growth.pick(found, key),
                           "KiB" if key == "peak RSS" else "s", is_goal=key != "wall time")
                for key in ("wall time", "CPU time", "peak RSS")]

    nr_nodes = 8 if bench.quick else NR_NODES
    blocks = growth.sizes(bench, BLOCKS)
    with Scene(bench, pools=POOLS) as scene:
        rows = rows_of(f"{NR_BLOCKS} blocks a node", "nodes",
                       {nr: (nr, NR_BLOCKS) for nr in growth.sizes(bench, growth.NODES)})
        for kind, what in (("", "all online"), ("mixed", "one offline a node"),
                           ("untold", "each asked")):
            rows += rows_of(f"{nr_nodes} nodes, blocks {what}", "blocks",
                            {nr_nodes * nr: (nr_nodes, nr, kind) for nr in blocks})
    return rows
