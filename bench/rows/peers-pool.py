# SPDX-License-Identifier: LGPL-2.1-or-later
from lib import huge_pages, peers
from lib.report import Skip
from lib.scene import Scene
from lib.setting import nr_nodes

NAME = "peers-pool"
WHAT = "hugetlb pool, and others that raise the kernel's pool of huge pages"


def measure(bench):
    bench.need_root("only root may add huge pages")
    page_bytes = 2 << 20
    nr_bytes = peers.sizes(bench)[0]
    file = huge_pages.folder(page_bytes, bench.node) + "/nr_hugepages"
    group = peers.Group(bench, nr_bytes, nr_bytes)
    with huge_pages.hold(0, page_bytes, bench.node):
        before = huge_pages.read(file)
        wanted = before + nr_bytes // page_bytes

        def before_each():
            huge_pages.restore(file, before)
            bench.memory.warm(nr_bytes)

        def check(seconds):
            if huge_pages.read(file) != wanted:
                raise RuntimeError(f"{huge_pages.read(file)} pages are there, not {wanted}")
            return seconds

        def daemon():
            pool = (f"[Pool]\nKind=hugetlb\nPageSize=2M\nNodes={bench.node}\n"
                    f"Size={wanted * page_bytes >> 20}M\n")
            with Scene(bench, {"bench": pool}, {"LogLevel": "warning"}) as scene:
                return check(scene.start())

        def hugeadm():
            tool = bench.tool("hugeadm", "libhugetlbfs-bin")
            if nr_nodes() > 1:
                raise Skip("hugeadm knows no nodes: it would change the pools of all of them")
            return check(peers.run([tool, "--pool-pages-min", f"2MB:{wanted}"]))

        def dpdk():
            tool = bench.tool("dpdk-hugepages.py", "dpdk")
            return check(peers.run([tool, "--pagesize", "2M", "--node", str(bench.node),
                                    "--reserve", f"{wanted * page_bytes >> 20}M"]))

        group.ways["daemon hugetlb"] = daemon
        group.add("hugeadm", hugeadm, "daemon hugetlb")
        group.add("dpdk-hugepages.py", dpdk, "daemon hugetlb")
        rows = group.measure(before_each)
    for row in rows:
        row.note = ("adding pages to the kernel's pool zeroes nothing; "
                    "the start of a program is most of it")
    return rows
