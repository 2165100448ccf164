# SPDX-License-Identifier: LGPL-2.1-or-later
"""Ways of doing the same work take turns: what else the machine does falls on all of them."""
import statistics

from lib.report import Skip


def interleave(ways, nr_rounds, before_each=None, skipped=None):
    """ways: {"name": function that returns seconds}. Returns {"name": [nr_rounds samples]}.

    One round more is run and thrown away, the first. Round after round begins with another way.
    before_each() is called before every single one, and not measured. With skipped, a dictionary,
    a way that raises Skip is left out from then on, and its name and reason are in there.
    """
    names = list(ways)
    samples = {name: [] for name in names}
    for nr in range(nr_rounds + 1):
        turn = nr % len(names)
        for name in names[turn:] + names[:turn]:
            if skipped is not None and name in skipped:
                continue
            try:
                if before_each:
                    before_each()
                seconds = ways[name]()
            except Skip as reason:
                if skipped is None:
                    raise
                skipped[name] = str(reason)
                samples[name].clear()
                continue
            if nr > 0:
                samples[name].append(seconds)
    return samples


def median(samples):
    return statistics.median(samples)


def ratios(a, b):
    """a / b, round by round. What is quoted is their median, with least and most."""
    return [x / y for x, y in zip(a, b)]


def percentile(samples, percent):
    """The sample that percent of them do not exceed."""
    ordered = sorted(samples)
    return ordered[min(len(ordered) - 1, max(0, -(-len(ordered) * percent // 100) - 1))]
