# SPDX-License-Identifier: LGPL-2.1-or-later
"""Machines of any size that are not there, and whether what they cost is linear in their size."""
import contextlib
import json
import os
import shutil
import tempfile

from lib import endings, rounds
from lib.report import Row

NODES = (1, 8, 32, 64, 108, 128)
LIMIT = 1.2


@contextlib.contextmanager
def tree(bench, nr_nodes, nr_blocks, kind=""):
    """The directory of a recorded machine: its nodes are alike, of nr_blocks memory blocks of
    2 GiB each. Of a "mixed" one the last block of each node is offline; so it is of an "untold"
    one, whose zones do not say how much is online."""
    place = None
    if "TMPDIR" not in os.environ and os.access("/dev/shm", os.W_OK):
        place = "/dev/shm"  # a tree is a file system's work, not the daemon's
    # Below a directory of ours, half a tree is removed as well.
    folder = tempfile.mkdtemp(prefix="nodeinit-bench.", dir=place)
    try:
        kinds = [kind] if kind else []
        yield bench.output("growth-tree", nr_nodes, nr_blocks, 2048, *kinds,
                           environment=dict(os.environ, TMPDIR=folder)).strip()
    finally:
        with endings.put_off():
            shutil.rmtree(folder)


def sizes(bench, series):
    """All of the series, or as much of it as is worth the time of a quick run."""
    return series[:3] if bench.quick else series


def measure(bench, nr_of, run, nr_rounds=0):
    """run(root, size) for each size, on trees as nr_of[size] says: (nodes, blocks, kind). Sizes
    take turns; one round more is run first and not counted. Returns for each size what run()
    returned, round by round. nr_rounds: fewer than were asked for, where that is more."""
    nr_rounds = min(bench.rounds, nr_rounds or bench.rounds)
    found = {size: [] for size in nr_of}
    with contextlib.ExitStack() as stack:
        roots = {size: stack.enter_context(tree(bench, *nr)) for size, nr in nr_of.items()}
        for nr in range(nr_rounds + 1):
            order = list(roots)
            for size in order[nr % len(order):] + order[:nr % len(order)]:
                one = run(roots[size], size)
                if nr > 0:
                    found[size].append(one)
    return list(found.values())


def run_manager(bench, root, scene, nsec_per_mib):
    """The daemon's manager on a recorded machine: what growth-manager printed, as a dictionary."""
    return json.loads(bench.output("growth-manager", root, f"{scene.folder}/etc", scene.bus,
                                   nsec_per_mib))


def bend(sizes, samples):
    """What one more costs over all sizes against what it costs up to about half of them: 1 is
    linear, 2 would be quadratic. samples: of each size, round by round. Returns one a round."""
    if rounds.median(samples[-1]) < 1.1 * rounds.median(samples[0]):
        return [1.0] * len(samples[0])  # it does not grow, and what is left is noise
    half = max((i for i, size in enumerate(sizes[:-1]) if size <= 0.6 * sizes[-1]), default=0)
    bends = []
    for first, middle, last in zip(samples[0], samples[half], samples[-1]):
        below = (middle - first) / (sizes[half] - sizes[0]) if half else 0
        whole = (last - first) / (sizes[-1] - sizes[0])
        bends.append(whole / below if below > 0 else 1.0)
    return bends


def row(what, sizes, unit, samples, series_unit="s", note="", is_goal=True):
    """A line of the table: whether it is linear; what the sizes took, and what one more takes. What
    is measured by the clock depends on what else runs, and is no goal."""
    scale, shown = (1000, "ms") if series_unit == "s" else (1, series_unit)
    first, last = (rounds.median(samples[i]) * scale for i in (0, -1))
    each = (last - first) / (sizes[-1] - sizes[0])
    bends = bend(sizes, samples)
    note = (f"{what}: {first:.4g} {shown} with {sizes[0]}, {last:.4g} {shown} with {sizes[-1]} "
            f"{unit}; {each:.3g} {shown} for one more{note}")
    return Row(what, f"linear: ≤ {LIMIT}" if is_goal else "", bends, "×",
               rounds.median(bends) <= LIMIT if is_goal else None,
               {f"{size} {unit if size > 1 else unit[:-1]}": found
                for size, found in zip(sizes, samples)}, note, series_unit=series_unit)


def pick(found, key):
    """Of dictionaries for each size and round, one value."""
    return [[one[key] for one in runs] for runs in found]
