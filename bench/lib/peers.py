# SPDX-License-Identifier: LGPL-2.1-or-later
"""What an operator could run in the daemon's place, and how many times as long that takes."""
import os
import subprocess
import time

from lib import qemu, regions, rounds
from lib.report import Row, Skip
from lib.scene import Scene

MIB, GIB = 1 << 20, 1 << 30
LIMIT_BYTES = 4 * GIB  # QEMU's own memfd takes seconds for that
NR_ROUNDS = 5  # at most: they are many ways, and far apart
DAEMON = "daemon {}, {}T"


def run(command, limit_seconds=120):
    """Seconds of somebody else's program; Skip with its last words where it fails."""
    environment = dict(os.environ, LC_ALL="C")
    begun = time.monotonic()
    done = subprocess.run(command, check=False, stdin=subprocess.DEVNULL, env=environment,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=limit_seconds)
    seconds = time.monotonic() - begun
    if done.returncode:
        said = (done.stdout.strip() or "it does not say why").splitlines()[-1]
        raise Skip(f"{os.path.basename(command[0])} failed: {said}")
    return seconds


def run_on(path, nr_bytes, command):
    """As run, on a file of that size, which is removed afterwards."""
    try:
        with open(path, "wb") as file:
            file.truncate(nr_bytes)
        return run(command)
    finally:
        if os.path.exists(path):
            os.unlink(path)


class Group:
    """Ways that take turns on the same kind of memory, and the rows made of them."""

    def __init__(self, bench, nr_bytes, region_bytes):
        self.bench, self.nr_bytes, self.region_bytes = bench, nr_bytes, region_bytes
        self.ways, self.compared, self.samples, self.skipped = {}, [], {}, {}
        self.threads = sorted({1, min(2, bench.nr_cpus)})

    def add_daemon(self, page):
        def way(nr_threads):
            def start():
                pool = regions.pool(self.bench, page, self.nr_bytes, self.region_bytes)
                with Scene(self.bench, {"bench": pool},
                           {"Threads": nr_threads, "LogLevel": "warning"}) as scene:
                    return scene.start()
            return start
        for nr in self.threads:
            self.ways[DAEMON.format(page, nr)] = way(nr)

    def add(self, name, function, daemon, goal=None, without=None):
        """A peer's way. daemon: the way it is compared with; without: the way that shows what of it
        is start-up, and is taken off."""
        self.ways[name] = function
        self.compared.append((name, daemon, goal, without))

    def add_qemu(self, name, memory_object, page, goal=None, filled="prealloc=on"):
        def start(options=""):
            return qemu.start(self.bench, memory_object + options, self.nr_bytes)
        self.ways[f"QEMU {name}, none"] = start
        for nr in self.threads:
            self.add(f"QEMU {name}, {nr}T",
                     lambda nr=nr: start(f",{filled},prealloc-threads={nr}"),
                     DAEMON.format(page, nr), goal, f"QEMU {name}, none")

    def measure(self, before_each):
        self.samples = rounds.interleave(self.ways, min(self.bench.rounds, NR_ROUNDS), before_each,
                                         self.skipped)
        return [self.row(*compared) for compared in self.compared]

    def row(self, name, daemon, goal, without):
        what = f"{self.nr_bytes / GIB:.3g} GiB: {name}, against {daemon}"
        shown = f">= {goal}" if goal else ""
        for way in (name, daemon, without):
            if way in self.skipped:
                return Row.skip(what, shown, self.skipped[way])
        peer, note = self.samples[name], ""
        series = {daemon: self.samples[daemon], name: peer}
        if without:
            peer = [full - empty for full, empty in zip(peer, self.samples[without])]
            series[without] = self.samples[without]
            note = "QEMU and DPDK: their start without filling is taken off, the daemon's is not"
        ratios = rounds.ratios(peer, series[daemon])
        return Row(what, shown, ratios, "times as long",
                   rounds.median(ratios) >= goal if goal else None, series, note,
                   bytes=self.nr_bytes, unfilled=(without,))


def sizes(bench):
    return regions.sizes(bench, LIMIT_BYTES)
