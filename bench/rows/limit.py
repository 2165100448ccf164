# SPDX-License-Identifier: LGPL-2.1-or-later
from lib import huge_pages, regions, rounds
from lib.report import GIB, Row, Skip

NAME = "limit"
WHAT = "what the memory and the kernel can do, with nothing around it"
STORES = "non-temporal stores to memory that is there"


def measure_kinds(bench, kinds, nr_bytes, region_bytes, before_each):
    ways = {f"{what}, {nr}T": lambda kind=kind, nr=nr: regions.bare(
        bench, kind, nr, nr_bytes, region_bytes)
        for kind, what in kinds.items() for nr in regions.thread_numbers(bench)}
    skipped = {}
    samples = rounds.interleave(ways, bench.rounds, before_each, skipped)
    rows = []
    for way in ways:
        if way in skipped:
            rows.append(Row.skip(way, "", skipped[way]))
            continue
        rates = [nr_bytes / GIB / seconds for seconds in samples[way]]
        rows.append(Row(way, "", rates, "GiB/s", None, {way: samples[way]}, bytes=nr_bytes))
    return rows


def measure_hugetlb(bench, page):
    page_bytes = regions.PAGE_BYTES[page]
    nr_bytes, region_bytes = regions.hugetlb_sizes(page, *regions.sizes(bench, 2 * GIB))
    try:
        with huge_pages.hold(nr_bytes, page_bytes, bench.node, region_bytes) as nr_pages:
            return measure_kinds(
                bench, {page: f"populate {page}"}, nr_pages * page_bytes, region_bytes,
                lambda: huge_pages.wait_free(nr_pages, page_bytes, bench.node))
    except Skip as reason:
        return [Row.skip(f"populate {page}", "", reason)]


def measure(bench):
    nr_bytes, region_bytes = regions.sizes(bench, 2 * GIB)
    kinds = {"stores": STORES, "thp": "pwrite to huge tmpfs", "base": "populate 4K"}
    rows = measure_kinds(bench, kinds, nr_bytes, region_bytes,
                         lambda: bench.memory.warm(nr_bytes))
    return rows + measure_hugetlb(bench, "2M") + measure_hugetlb(bench, "1G")
