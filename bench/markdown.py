#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tables in Markdown from what bench/run.py measured, so that nobody types figures.

    bench/markdown.py RESULT.json [PAGE.md]

Without a page, all of them are printed. A page is changed: what lies between a line
<!-- bench: WHAT --> and the next <!-- bench: end --> is replaced. WHAT is
    machine               what it was measured on
    goals                 every row that has a goal, but for growth
    missed                rows with a goal that do not reach it, or were skipped
    series NAME...        all ways of these rows; * stands for the rest of a name
    growth                what the growth-* rows found
    estimate              bench/estimate.py, with the rates of this result
"""
import fnmatch
import json
import pathlib
import re
import statistics
import sys

sys.dont_write_bytecode = True  # the source may be somebody else's

import estimate  # noqa: E402

NOTHING = ["Not in this result."]
MARK = re.compile(r"(<!-- bench: (?!end)([^>]*?) -->\n).*?(<!-- bench: end -->)", re.S)


def number(value):
    """Three digits, no exponent."""
    if abs(value) >= 1000:
        return f"{value:.0f}"
    if abs(value) < 0.005:
        return "0"
    return f"{value:.3g}" if abs(value) >= 1 else f"{value:.2g}"


def amount(value, unit):
    """With a unit in which it reads well."""
    if unit == "s":
        for scale, shown in ((1, "s"), (1e-3, "ms"), (1e-6, "µs")):
            if abs(value) >= scale or scale == 1e-6:
                return f"{number(value / scale)} {shown}"
    return f"{number(value)} {unit}".strip()


def cells(*texts):
    return "| " + " | ".join(str(text).replace("|", "\\|") for text in texts) + " |"


def head(*names):
    return [cells(*names), "|" + "---|" * len(names)]


def span(values, unit):
    return f"{amount(min(values), unit)} to {amount(max(values), unit)}"


def is_growth(row):
    return row["name"].startswith("growth-")


def machine(result):
    facts = result["machine"]
    build = facts.get("build", {})
    gib = facts["memory_bytes"] / (1 << 30)
    return [f"{facts['cpu']}{', a virtual machine' if facts['hypervisor'] else ''}: "
            f"{facts['cpus_usable']} CPUs, {facts['nodes']} "
            f"{'node' if facts['nodes'] == 1 else 'nodes'}, {gib:.1f} GiB; "
            f"Linux {facts['kernel'].split('-')[0]}; {facts['daemon']}, "
            f"{build.get('buildtype', 'unknown')}; {facts['rounds']} rounds of at most "
            f"{number(facts['size_bytes'] / (1 << 30))} GiB each."]


def goal_lines(rows):
    if not rows:
        return NOTHING
    lines = head("what", "goal", "measured", "least to most", "reached")
    for row in rows:
        if row["skipped"]:
            lines.append(cells(row["what"], row["goal"], "", "", f"skipped: {row['skipped']}"))
            continue
        verdict = {True: "yes", False: "**no**", None: ""}[row["reached"]]
        values = row["values"]
        lines.append(cells(row["what"], row["goal"], amount(row["median"], row["unit"]),
                           span(values, row["unit"]) if len(values) > 1 else "", verdict))
    return lines


def goals(result):
    return goal_lines([row for row in result["rows"] if row["goal"] and not is_growth(row)])


def missed(result):
    rows = [row for row in result["rows"] if row["goal"]]
    if all(map(is_growth, rows)):
        return NOTHING
    rows = [row for row in rows if row["reached"] is False or row["skipped"]]
    return goal_lines(rows) if rows else ["Nothing."]


def series(result, *names):
    lines = head("row", "way", "median", "least to most", "GiB/s")
    seen = set()
    for row in result["rows"]:
        if is_growth(row) if not names else not any(fnmatch.fnmatch(row["name"], name)
                                                    for name in names):
            continue
        for way, samples in row["series"].items():
            # Rows of one group show the same way more than once.
            if not samples or (row["name"], way, tuple(samples)) in seen:
                continue
            seen.add((row["name"], way, tuple(samples)))
            unit, middle = row["series_unit"], statistics.median(samples)
            rate = row["bytes"] / (1 << 30) / middle if row["bytes"] and unit == "s" else 0
            lines.append(cells(row["name"], way, amount(middle, unit), span(samples, unit),
                               f"{rate:.1f}" if rate else ""))
    return lines if seen else NOTHING


def growth(result):
    if not any(map(is_growth, result["rows"])):
        return NOTHING
    lines = head("what", "least", "most", "one more", "all / lower half", "linear")
    for row in result["rows"]:
        if not is_growth(row) or not row["series"]:
            continue
        ways = list(row["series"].items())
        (small, first), (large, last) = ways[0], ways[-1]
        unit = row["series_unit"]
        ends = statistics.median(first), statistics.median(last)
        more = (ends[1] - ends[0]) / (int(large.split()[0]) - int(small.split()[0]))
        lines.append(cells(row["what"], f"{small}: {amount(ends[0], unit)}",
                           f"{large}: {amount(ends[1], unit)}", amount(more, unit),
                           f"{row['median']:.2f}",
                           {True: "yes", False: "**no**", None: ""}[row["reached"]]))
    return lines


def print_estimate(result):
    return estimate.table(result)


TABLES = {"machine": machine, "goals": goals, "missed": missed, "series": series, "growth": growth,
          "estimate": print_estimate}


def table(result, words):
    what, *names = words.split()
    if what not in TABLES:
        raise SystemExit(f"there is no table {what}; there are {' '.join(TABLES)}")
    return "\n".join(TABLES[what](result, *names)) + "\n"


def main():
    if len(sys.argv) not in (2, 3):
        print(__doc__, file=sys.stderr)
        return 2
    with open(sys.argv[1], encoding="utf-8") as file:
        result = json.load(file)
    if len(sys.argv) == 2:
        print("\n".join(table(result, what) for what in TABLES))
        return 0
    page = pathlib.Path(sys.argv[2])
    text = page.read_text(encoding="utf-8")
    page.write_text(MARK.sub(lambda mark: mark[1] + table(result, mark[2]) + mark[3], text),
                    encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
