# SPDX-License-Identifier: LGPL-2.1-or-later
"""What a row has found, the table of all of them, and the same as JSON."""
from statistics import median

GIB = 1 << 30


class Skip(Exception):
    """A row, or one way of it, cannot be measured here; the text says why."""


class Row:
    """One line of the table.

    value is a number, or one of each round: then its median, least and most are shown.
    is_reached is True or False, or None where there is no goal. series has the raw samples of each
    way, the first round left out, in series_unit; with bytes, the table shows them as GiB/s too,
    but for the ways in unfilled, which bring no memory into service.
    """

    def __init__(self, what, goal, value, unit, is_reached, series=None, note="", bytes=0,
                 series_unit="s", skipped="", unfilled=()):
        self.what, self.goal, self.unit, self.is_reached = what, goal, unit, is_reached
        self.values = list(value) if isinstance(value, (list, tuple)) else [value]
        self.series, self.note, self.bytes = dict(series or {}), note, bytes
        self.series_unit, self.skipped = series_unit, skipped
        self.unfilled = unfilled
        self.name = ""

    @classmethod
    def skip(cls, what, goal, reason):
        """A row that is skipped while others of its group are measured."""
        return cls(what, goal, [], "", None, skipped=str(reason))

    def verdict(self):
        if self.skipped:
            return f"skipped: {self.skipped}"
        return {True: "yes", False: "NO", None: "-"}[self.is_reached]

    def measured(self):
        if not self.values:
            return ""
        unit = f" {self.unit}" if self.unit else ""
        text = number(median(self.values)) + unit
        if len(self.values) > 1:
            text += f" [{number(min(self.values))}–{number(max(self.values))}]"
        return text

    def as_json(self):
        row = {"name": self.name, "what": self.what, "goal": self.goal, "unit": self.unit,
               "reached": self.is_reached, "skipped": self.skipped or None, "note": self.note}
        if self.values:
            row.update(median=median(self.values), low=min(self.values),
                       high=max(self.values), values=self.values)
        row.update(series=self.series, series_unit=self.series_unit, bytes=self.bytes or None)
        return row


def number(value):
    if isinstance(value, int) or abs(value) >= 1000:
        return f"{value:.0f}"
    return f"{value:.3f}" if abs(value) < 10 else f"{value:.1f}"


def columns(lines, out):
    """Left aligned, the last column as long as it is."""
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    for line in lines:
        print("  ".join(text.ljust(width) for text, width in zip(line, widths)).rstrip(), file=out)


def print_table(rows, out):
    lines = [("NAME", "WHAT", "GOAL", "MEASURED", "REACHED")]
    lines += [(row.name, row.what, row.goal or "-", row.measured() or "-", row.verdict())
              for row in rows]
    columns(lines, out)


def print_series(rows, out):
    lines = [("NAME", "WAY", "MEDIAN", "LEAST", "MOST", "GiB/s")]
    for row in rows:
        for way, samples in row.series.items():
            unit = row.series_unit
            has_rate = row.bytes and unit == "s" and way not in row.unfilled
            scale, shown = (1000, "ms") if unit == "s" else (1, unit)
            if samples:
                middle = median(samples)
                lines.append((row.name, way, f"{number(middle * scale)} {shown}".strip(),
                              number(min(samples) * scale), number(max(samples) * scale),
                              number(row.bytes / GIB / middle) if has_rate and middle else "-"))
    lines = list(dict.fromkeys(lines))  # rows that share a way
    if len(lines) > 1:
        print(file=out)
        columns(lines, out)
    notes = [f"{row.name}: {row.note}" for row in rows if row.note]
    if notes:
        print(file=out)
        for note in dict.fromkeys(notes):
            print(note, file=out)
