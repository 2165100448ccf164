#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Draw what grows with nodes and memory blocks, from what bench/run.py measured.

    bench/plot.py RESULT.json OUT.svg

RESULT.json is of a run of growth-plan, growth-ready and growth-bus (and others, if you like). A dot
is a median, the bar on it goes from the least to the most sample, the line is the straight one that
lies nearest to the medians: what is linear lies on it.
"""
import json
import math
import statistics
import sys
from xml.sax.saxutils import escape

COLUMNS, WIDTH, HEIGHT = 3, 320, 250
LEFT, RIGHT, TOP, BOTTOM = 62, 16, 42, 44  # around a panel's axes
COLOURS = ("#2f6f9f", "#c05a1f")
INK, GRID = "#333333", "#dddddd"

# Title, what x counts, unit of y, factor, and the rows' "what" by their label.
PANELS = (
    ("Plan, CPU time", "memory blocks on 128 nodes", "ms", 1000,
     {"each asked": "plan, 128 nodes, blocks each asked: CPU time",
      "all online": "plan, 128 nodes, blocks all online: CPU time"}),
    ("Plan, CPU time", "nodes of 64 memory blocks", "ms", 1000,
     {"": "plan, 64 blocks a node: CPU time"}),
    ("Start to readiness, nothing to fill", "nodes", "ms", 1000,
     {"CPU time": "ready, no filling: CPU time", "by the clock": "ready, no filling: start→ready"}),
    ("Main thread while all nodes fill", "nodes", "% of a CPU", 1,
     {"": "ready, 2.4 s of filling: main thread"}),
    ("Bus while all nodes fill", "nodes", "KiB/s", 1 / 1024,
     {"": "bus, all nodes at work: their bytes"}),
    ("Peak RSS", "nodes", "MiB", 1 / 1024,
     {"daemon": "ready, 2.4 s of filling: peak RSS", "plan": "plan, 64 blocks a node: peak RSS"}),
)


def points_of(rows, what, factor):
    """[(size, median, least, most)] of one row, or None."""
    row = rows.get(what)
    if not row or not row["series"]:
        return None
    points = []
    for way, samples in row["series"].items():
        values = [sample * factor for sample in samples]
        points.append((int(way.split()[0]), statistics.median(values), min(values), max(values)))
    return points


def nice_step(most, nr_steps):
    """1, 2 or 5 times a power of ten, so that about nr_steps reach most."""
    raw = most / nr_steps
    power = 10 ** math.floor(math.log10(raw))
    return next(power * digit for digit in (1, 2, 5, 10) if raw <= power * digit)


def number(value):
    return f"{value:,.10g}".replace(",", " ")


def line_through(points):
    """Least squares: (where it begins at x = 0, slope)."""
    xs, ys = [point[0] for point in points], [point[1] for point in points]
    middle_x, middle_y = statistics.mean(xs), statistics.mean(ys)
    spread = sum((x - middle_x) ** 2 for x in xs)
    slope = sum((x - middle_x) * (y - middle_y) for x, y in zip(xs, ys)) / spread
    return middle_y - slope * middle_x, slope


class Panel:
    def __init__(self, at, panel, rows):
        self.at, (self.title, self.count, self.unit, factor, whats) = at, panel
        found = {label: points_of(rows, what, factor) for label, what in whats.items()}
        self.lines = {label: points for label, points in found.items() if points}
        ends = [point for points in self.lines.values() for point in points]
        self.most_x = max((point[0] for point in ends), default=1)
        self.most_y = max((point[1] for point in ends), default=1)
        # A sample far above all others is cut off, and leaves the rest its height.
        self.most_y = min(max((point[3] for point in ends), default=1), 1.3 * self.most_y)
        self.step_y = nice_step(self.most_y, 4)
        self.top_y = math.ceil(self.most_y * 1.02 / self.step_y) * self.step_y

    def x(self, value):
        return self.at[0] + LEFT + value / self.most_x * (WIDTH - LEFT - RIGHT)

    def y(self, value):
        height = HEIGHT - TOP - BOTTOM
        return self.at[1] + TOP + height - min(value, self.top_y) / self.top_y * height

    def draw(self):
        yield f'<g transform="translate({self.at[0]} {self.at[1]})">'
        yield f'<text x="{LEFT}" y="18" font-weight="bold">{escape(self.title)}</text>'
        yield f'<text x="{LEFT}" y="34" font-size="11">{escape(self.unit)}</text>'
        yield (f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 8}" font-size="11" '
               f'text-anchor="middle">{escape(self.count)}</text></g>')
        yield from self.draw_axes()
        for colour, (label, points) in zip(COLOURS, self.lines.items()):
            yield from self.draw_line(colour, points)
        yield from self.draw_labels()

    def draw_axes(self):
        left, right, bottom = self.x(0), self.x(self.most_x), self.y(0)
        # the largest one of these is the end of the axis
        step = self.most_x // 4 if self.most_x % 4 == 0 else nice_step(self.most_x, 4)
        yield f'<g font-size="11" stroke="{GRID}">'
        value = 0
        while value <= self.top_y * 1.001:
            y = self.y(value)
            yield f'<path d="M{left:.1f},{y:.1f}H{right:.1f}"/>'
            yield (f'<text x="{left - 6:.1f}" y="{y + 4:.1f}" text-anchor="end" stroke="none">'
                   f'{number(value)}</text>')
            value += self.step_y
        value = 0
        while value <= self.most_x:
            x = self.x(value)
            yield f'<path d="M{x:.1f},{bottom:.1f}v4" stroke="{INK}"/>'
            yield (f'<text x="{x:.1f}" y="{bottom + 17:.1f}" text-anchor="middle" stroke="none">'
                   f'{number(value)}</text>')
            value += step
        yield f'<path d="M{left:.1f},{bottom:.1f}H{right:.1f}" stroke="{INK}"/></g>'

    def draw_line(self, colour, points):
        begin, slope = line_through(points)
        end = begin + slope * self.most_x
        yield f'<g stroke="{colour}" fill="{colour}">'
        yield (f'<path d="M{self.x(0):.1f},{self.y(max(begin, 0)):.1f}'
               f'L{self.x(self.most_x):.1f},{self.y(end):.1f}" stroke-dasharray="5 4"/>')
        for size, middle, least, most in points:
            x = self.x(size)
            yield f'<path d="M{x:.1f},{self.y(least):.1f}V{self.y(most):.1f}"/>'
            yield f'<circle cx="{x:.1f}" cy="{self.y(middle):.1f}" r="3"/>'
        yield "</g>"

    def draw_labels(self):
        """Where there are two lines, at the top left, in the order of their ends."""
        if len(self.lines) < 2:
            return
        for i, (colour, label) in enumerate(zip(COLOURS, self.lines)):
            x, y = self.x(0) + 12, self.y(self.top_y) + 14 + 16 * i
            yield f'<circle cx="{x:.1f}" cy="{y - 4:.1f}" r="4" fill="{colour}"/>'
            yield f'<text x="{x + 10:.1f}" y="{y:.1f}" font-size="12">{escape(label)}</text>'


def draw(result):
    rows = {row["what"]: row for row in result["rows"]}
    nr_lines = -(-len(PANELS) // COLUMNS)
    width, height = COLUMNS * WIDTH + 10, nr_lines * HEIGHT + 10
    yield (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
           f'width="{width}" height="{height}" font-family="Helvetica, Arial, sans-serif" font-size="13" '
           f'fill="{INK}" role="img" aria-labelledby="title">')
    yield "<!-- SPDX-License-Identifier: LGPL-2.1-or-later -->"
    yield ('<title id="title">What plan, readiness, bus and memory cost as nodes and memory blocks '
           'become more</title>')
    yield f'<rect width="{width}" height="{height}" fill="#ffffff"/>'
    for i, panel in enumerate(PANELS):
        at = (i % COLUMNS * WIDTH + 5, i // COLUMNS * HEIGHT + 5)
        yield from Panel(at, panel, rows).draw()
    yield "</svg>"


def main():
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    with open(sys.argv[1], encoding="utf-8") as file:
        result = json.load(file)
    missing = [what for panel in PANELS for what in panel[4].values()
               if not any(row["what"] == what and row["series"] for row in result["rows"])]
    if missing:
        print(f"{sys.argv[1]} lacks: {'; '.join(missing)}", file=sys.stderr)
        return 1
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        file.write("\n".join(draw(result)) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
