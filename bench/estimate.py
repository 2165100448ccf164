#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""What 16 nodes of 2 TiB take, kind by kind, on paper: a table for docs/performance.md.

    bench/estimate.py [RESULT.json]

Rates are those below, or where a row of RESULT.json (of bench/run.py) has them, what the middle
half of its samples says. Each figure is a range, as its rates are.
"""
import json
import statistics
import sys

NR_NODES = 16
NODE_GIB = 2048
EARLY_GIB = 8  # max(EarlyMinimum=2G, 2 TiB >> EarlyShift=8), of each node
BLOCK_GIB = 2

# What one thread fills, GiB/s: (least, most).
FILL = {
    "2M": (17, 23),  # MADV_POPULATE_WRITE on hugetlb
    "1G": (20, 24),
    "thp": (36, 42),  # pwrite of 2 MiB of zeroes
    "base": (1.6, 1.6),
}
# The rows of bench/ that measure the same, one thread: {page: (row's name, way)}
MEASURED = {"2M": ("region-2M", "bare 1T"), "1G": ("region-1G", "bare 1T"),
            "thp": ("region-thp", "bare 1T"), "base": ("region-base", "bare 1T")}
# How many times one thread's rate the threads that Threads=auto chooses reach. The kernel's own
# page structs took 358, 215, 157, 134 and 126 ms with one to five threads: the fifth adds 6 %, less
# than the 10 % that a thread has to add, so there are four.
CREW_TIMES = 358 / 134
# pwrite of zeroes was no faster with two threads than memory itself is with one.
CREW_TIMES_OF = {"thp": 1.1}
# Seconds to add one page to the pool of huge pages, least and most; the same with vmemmap
# optimisation on; None: not known.
ADD = {"2M": ((1.7e-6, 1.7e-6), (15e-6, 32e-6)), "1G": ((47e-3, 100e-3), None)}
PAGE_GIB = {"2M": 2 / 1024, "1G": 1}
PAGE_STRUCT_SECONDS = (10e-9, 20e-9)
COPY = (2.5, 3.2)  # GiB/s of one thread into a tmpfs of base pages
COPY_GIB = 16


def measured(result):
    """FILL, with what this result knows better."""
    rates = dict(FILL)
    for row in result.get("rows", []):
        for page, (name, way) in MEASURED.items():
            samples = row.get("series", {}).get(way)
            # Fewer and smaller ones say more about the start of the loop than about memory.
            if row["name"] == name and len(samples or []) > 2 and row.get("bytes", 0) >= 1 << 30:
                ends = statistics.quantiles(samples, n=4, method="inclusive")
                rates[page] = (row["bytes"] / (1 << 30) / ends[2],
                               row["bytes"] / (1 << 30) / ends[0])
    return rates


def times(span, factor):
    return tuple(end * factor for end in span)


def plus(*spans):
    return tuple(map(sum, zip(*spans)))


def fill(rate, gib):
    """Seconds, least first, at a rate of (least, most) GiB/s."""
    return gib / rate[1], gib / rate[0]


def add(page, gib, is_optimised):
    """Pages added to the pools of all nodes: whoever writes, one page at a time on the machine."""
    cost = ADD[page][is_optimised]
    return times(cost, NR_NODES * gib / PAGE_GIB[page]) if cost else None


def seconds(span):
    """"34–45 s", "26 min", …"""
    if span is None:
        return "not known"
    scale, unit = next((scale, unit) for scale, unit, least in (
        (3600, "h", 7200), (60, "min", 600), (1, "s", 1), (0.001, "ms", 0)) if span[1] >= least)
    ends = []
    for end in span:
        value = end / scale
        text = f"{value:.0f}" if value >= 10 else f"{value:.2g}"
        if text not in ends:
            ends.append(text)
    return "–".join(ends) + f" {unit}"


def pool_rows():
    """Kind hugetlb: pages are added, not zeroed."""
    for page in ("2M", "1G"):
        for is_optimised in (False, True):
            early, whole = (add(page, gib, is_optimised) for gib in (EARLY_GIB, NODE_GIB))
            word = "on" if is_optimised else "off"
            yield (f"`hugetlb` {page}, vmemmap optimisation {word}", early, whole, whole)


def region_rows(rates):
    for page, rate in rates.items():
        crew = times(rate, CREW_TIMES_OF.get(page, CREW_TIMES))
        for is_optimised in (False, True) if page in ADD else (None,):
            name = f"`region` {page}"
            pages = {gib: (0, 0) for gib in (EARLY_GIB, NODE_GIB)}
            if is_optimised is not None:
                name += f", vmemmap optimisation {'on' if is_optimised else 'off'}"
                pages = {gib: add(page, gib, is_optimised) for gib in pages}
            if None in pages.values():
                yield name, None, None, None
                continue
            yield (name, plus(pages[EARLY_GIB], fill(crew, EARLY_GIB)),
                   plus(pages[NODE_GIB], fill(crew, NODE_GIB)),
                   plus(pages[NODE_GIB], fill(rate, NODE_GIB * NR_NODES)))


def block_row():
    structs = NODE_GIB * (1 << 30) / 4096
    whole = times(PAGE_STRUCT_SECONDS, structs * NR_NODES)
    return "`block`", times(whole, EARLY_GIB / NODE_GIB), whole, whole


def replica_row():
    return (f"`replica`, {COPY_GIB} GiB of files", fill(COPY, COPY_GIB), fill(COPY, COPY_GIB),
            fill(COPY, COPY_GIB * NR_NODES))


def table(result):
    """Lines of Markdown."""
    rates = measured(result)
    lines = ["| kind | early part | all of it | one thread, node after node |", "|---|---|---|---|"]
    rows = [*pool_rows(), *region_rows(rates), block_row(), replica_row()]
    lines += ["| " + " | ".join([name, *map(seconds, spans)]) + " |" for name, *spans in rows]
    used = ", ".join(f"{page} {least:.3g} to {most:.3g}" for page, (least, most) in rates.items())
    return lines + ["", f"One thread fills, GiB/s: {used}."]


def main():
    result = {}
    if len(sys.argv) > 2:
        print(__doc__, file=sys.stderr)
        return 2
    if len(sys.argv) == 2:
        with open(sys.argv[1], encoding="utf-8") as file:
            result = json.load(file)
    print("\n".join(table(result)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
