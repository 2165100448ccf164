# SPDX-License-Identifier: LGPL-2.1-or-later
from lib import huge_pages, mounts, peers, regions
from lib.report import Row, Skip

NAME = "peers-hugetlb"
WHAT = "region pools of hugetlb pages, and others that fill such memory"
GOAL = 1.3


def add_tools(bench, group, folder):
    """One thread each; all but DPDK on a file of hugetlbfs."""
    path, size, daemon = f"{folder}/file", group.nr_bytes, peers.DAEMON.format("2M", 1)

    def on_file(program, package, *arguments):
        def way():
            tool = bench.tool(program, package)
            return peers.run_on(path, size, [tool, *arguments])
        return way

    def eal(nr_mib):
        bench.tool("dpdk-hugepages.py", "dpdk")
        return bench.seconds("eal-start", "-l", "0", "-m", nr_mib, "--no-pci", "--huge-unlink",
                             "--huge-dir", folder, "--file-prefix", "nodeinit-bench",
                             "--log-level", "error")

    group.add("fallocate", on_file("fallocate", "util-linux", "--length", str(size), path), daemon)
    group.add("numactl --touch", on_file(
        "numactl", "numactl", f"--length={size >> 20}m", f"--file={path}",
        f"--membind={bench.node}", "--touch"), daemon)
    group.add("vmtouch -t", on_file("vmtouch", "vmtouch", "-q", "-t", path), daemon)
    group.ways["DPDK EAL, none"] = lambda: eal(2)
    group.add("DPDK EAL", lambda: eal(size >> 20), daemon, without="DPDK EAL, none")


def measure_2m(bench):
    page_bytes = regions.PAGE_BYTES["2M"]
    group = peers.Group(bench, *peers.sizes(bench))
    with huge_pages.hold(group.nr_bytes, page_bytes, bench.node) as nr_pages, \
            mounts.mounted("hugetlbfs", "pagesize=2M") as folder:
        group.add_daemon("2M")
        group.add_qemu("2M", "memory-backend-memfd,hugetlb=on,hugetlbsize=2M", "2M", GOAL)
        add_tools(bench, group, folder)
        return group.measure(lambda: huge_pages.wait_free(nr_pages, page_bytes, bench.node))


def measure_1g(bench):
    page_bytes = regions.PAGE_BYTES["1G"]
    nr_bytes, region_bytes = regions.hugetlb_sizes("1G", *peers.sizes(bench))
    # Of these there may be fewer than asked for.
    with huge_pages.hold(nr_bytes, page_bytes, bench.node, region_bytes) as nr_pages:
        group = peers.Group(bench, nr_pages * page_bytes, region_bytes)
        group.add_daemon("1G")
        group.add_qemu("1G", "memory-backend-memfd,hugetlb=on,hugetlbsize=1G", "1G", GOAL)
        return group.measure(lambda: huge_pages.wait_free(nr_pages, page_bytes, bench.node))


def measure(bench):
    bench.need_root("only root may add huge pages")
    rows = []
    for page, function in (("2M", measure_2m), ("1G", measure_1g)):
        try:
            rows += function(bench)
        except Skip as reason:
            rows.append(Row.skip(f"QEMU {page}, against the daemon", f">= {GOAL}", reason))
    return rows
