# SPDX-License-Identifier: LGPL-2.1-or-later
"""The daemon's region pools next to a bare loop that populates as much, with as many threads."""
from lib import huge_pages, rounds
from lib.report import Row
from lib.scene import Scene

MIB, GIB = 1 << 20, 1 << 30
PAGE_BYTES = {"2M": 2 * MIB, "1G": GIB}
GOAL = 1.05
BASE_BYTES = 2 * GIB  # at most of base pages, which take more than ten times as long as any others


def sizes(bench, limit_bytes=None):
    """(bytes of the pool, bytes of a region): regions of 1 GiB, of an eighth in a small pool."""
    nr_bytes = min(bench.size_bytes, limit_bytes or bench.size_bytes)
    region_bytes = GIB
    if nr_bytes < 2 * GIB:
        region_bytes = max(nr_bytes // 8 // (8 * MIB) * 8 * MIB, 8 * MIB)
    return nr_bytes // region_bytes * region_bytes, region_bytes


def pool(bench, page, nr_bytes, region_bytes):
    """The text of a pool on the bench's node."""
    return (f"[Pool]\nKind=region\nNodes={bench.node}\nPageSize={page}\nSize={nr_bytes // MIB}M\n"
            f"[Region]\nRegionSize={region_bytes // MIB}M\n")


def bare(bench, page, nr_threads, nr_bytes, region_bytes):
    """Seconds of the bare loop."""
    return bench.seconds("populate", page, nr_threads, nr_bytes, region_bytes, bench.node)


def thread_numbers(bench):
    return sorted({1, 2, bench.nr_cpus} if bench.nr_cpus > 1 else {1})


def goal_row(page, nr_threads, samples, daemon_way, bare_way, nr_bytes, goal):
    ratios = rounds.ratios(samples[daemon_way], samples[bare_way])
    return Row(f"{nr_bytes / GIB:.3g} GiB of {page}, Threads={nr_threads}: start to ready, "
               "against the bare loop",
               f"<= {goal}" if goal else "", ratios, "times",
               rounds.median(ratios) <= goal if goal else None,
               {bare_way: samples[bare_way], daemon_way: samples[daemon_way]}, bytes=nr_bytes)


def measure_page(bench, page, nr_bytes, region_bytes, goal, before_each):
    """Rows of one kind of page; before_each(bytes) makes memory ready for the next way."""
    ways, pairs, scenes = {}, [], {}

    def daemon_way(threads):
        def run():
            with Scene(bench, {"bench": pool(bench, page, nr_bytes, region_bytes)},
                       {"Threads": threads, "LogLevel": "warning"}) as scene:
                return scene.start()
        return run

    for nr in thread_numbers(bench):
        ways[f"bare {nr}T"] = lambda nr=nr: bare(bench, page, nr, nr_bytes, region_bytes)
        ways[f"daemon {nr}T"] = daemon_way(nr)
        pairs.append((nr, f"daemon {nr}T", f"bare {nr}T"))
    ways["daemon auto"] = daemon_way("auto")
    pairs.append(("auto", "daemon auto", f"bare {bench.nr_cpus}T"))
    samples = rounds.interleave(ways, bench.rounds, lambda: before_each(nr_bytes))
    return [goal_row(page, nr, samples, daemon, loop, nr_bytes, goal) for nr, daemon, loop in pairs]


def measure_hugetlb(bench, page):
    """All pages are in the kernel's pool before, for the loop as for the daemon."""
    bench.need_root("only root may add huge pages")
    nr_bytes, region_bytes = hugetlb_sizes(page, *sizes(bench))
    page_bytes = PAGE_BYTES[page]
    with huge_pages.hold(nr_bytes, page_bytes, bench.node, region_bytes) as nr_pages:
        return measure_page(bench, page, nr_pages * page_bytes, region_bytes, GOAL,
                            lambda _: huge_pages.wait_free(nr_pages, page_bytes, bench.node))


def hugetlb_sizes(page, nr_bytes, region_bytes):
    """Both in whole pages, one at least."""
    page_bytes = PAGE_BYTES[page]
    return tuple(max(value // page_bytes, 1) * page_bytes for value in (nr_bytes, region_bytes))


def measure_shmem(bench, page, goal, limit_bytes=None):
    nr_bytes, region_bytes = sizes(bench, limit_bytes)
    return measure_page(bench, page, nr_bytes, region_bytes, goal, bench.memory.warm)
