# SPDX-License-Identifier: LGPL-2.1-or-later
"""What others lose while deferred work goes on: their speed with it against alone, in turns."""
import contextlib
import os
import subprocess
import threading
import time

from lib import huge_pages, memory, regions, rounds
from lib.bus import ROOT, BusError
from lib.report import Row, Skip
from lib.scene import Scene

NAME = "foreground"
WHAT = "a foreground computation while deferred work goes on"
GOALS = {"integer": 0.97, "memcpy": 0.90}
WINDOW_SECONDS = 3  # with the daemon; half of it alone before and behind
NR_ROUNDS = 3  # without a goal
TICKS_MIN = 5
END_SECONDS = 10
MEMCPY_BYTES = 512 << 20  # both buffers of a thread: programs/foreground.c
SPARE_BYTES = 256 << 20


class Foreground:
    """The program while the block runs; rate(from, to) of monotonic µs: units a second."""

    def __init__(self, bench, work, nr_threads):
        self.command = [bench.program("foreground"), work, str(nr_threads)]
        self.ticks = []

    def __enter__(self):
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True,
                                        start_new_session=True)
        self.thread = threading.Thread(target=self.listen)
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        try:
            self.process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.thread.join()
        self.process.stdout.close()

    def listen(self):
        # Lines are read late where all CPUs are busy; their stamps are the program's.
        for line in self.process.stdout:
            self.ticks.append(tuple(map(int, line.split())))

    def rate(self, begin_usec, end_usec):
        inside = [tick for tick in self.ticks if begin_usec <= tick[0] <= end_usec]
        if len(inside) < TICKS_MIN:
            raise Skip("the work was over too soon to be seen: a larger --size is needed")
        return (inside[-1][1] - inside[0][1]) / (inside[-1][0] - inside[0][0]) * 1e6


@contextlib.contextmanager
def own_cgroup():
    """A wrapper that gives a command a cgroup of its own, as a unit has: the brake counts pressure
    on CPUs only where it can tell its own part. () where there can be none. Whoever is in it has to
    have ended by the end of the block."""
    for mount in ("/sys/fs/cgroup", "/sys/fs/cgroup/unified"):
        folder = f"{mount}/nodeinit-bench.{os.getpid()}"
        if not os.path.exists(f"{mount}/cgroup.procs"):
            continue
        try:
            os.mkdir(folder)
        except OSError:
            continue
        try:
            if os.path.exists(f"{folder}/cpu.pressure"):
                yield ("/bin/sh", "-c", 'echo $$ >"$0/cgroup.procs" && exec "$@"', folder)
                return
        finally:
            with contextlib.suppress(OSError):
                os.rmdir(folder)
    yield ()


def now_usec():
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000


def watch(bench, scene, seconds):
    """While deferred work goes on, at most so long: (begin and end in µs, bytes done, how often
    Braked was seen true, how often it was looked at)."""
    node = f"{ROOT}/node/{bench.node}"
    begin_usec, nr_braked, nr_looks, done_bytes = now_usec(), 0, 0, 0
    while now_usec() < begin_usec + seconds * 1e6:
        if scene.manager("ReadyMonotonic"):
            return begin_usec, scene.manager("ReadyMonotonic"), done_bytes, nr_braked, nr_looks
        with contextlib.suppress(BusError):
            nr_braked += scene.connection.get(node, "Node", "Braked")
            nr_looks += 1
        done_bytes = scene.manager("BytesDone")
        time.sleep(0.02)
    return begin_usec, now_usec(), done_bytes, nr_braked, nr_looks


def one_round(bench, scene, work, nr_threads, seconds, wrapper):
    """(rate with / rate alone, rate alone, rate with, watch's last three and the seconds)"""
    with Foreground(bench, work, nr_threads) as foreground:
        time.sleep(0.5)  # its buffers are made
        first_usec = now_usec()
        time.sleep(seconds / 2)
        second_usec = now_usec()
        scene.launch(wrapper)
        begin, end, done_bytes, nr_braked, nr_looks = watch(bench, scene, seconds)
        scene.stop()
        third_usec = now_usec()
        time.sleep(seconds / 2)
        fourth_usec = now_usec()
        time.sleep(0.1)
    before = foreground.rate(first_usec, second_usec)
    after = foreground.rate(third_usec, fourth_usec)
    alone, with_daemon = (before + after) / 2, foreground.rate(begin, end)
    return (with_daemon / alone, alone, with_daemon, done_bytes, nr_braked, nr_looks,
            (end - begin) / 1e6)


def need_memory(work, nr_threads, pool_bytes):
    """pool_bytes: what the pool still takes. Skip where the work has no room beside it."""
    wanted_bytes = pool_bytes + SPARE_BYTES + (nr_threads * MEMCPY_BYTES if work == "memcpy" else 0)
    if memory.available_bytes() < wanted_bytes:
        raise Skip(f"{work} on {nr_threads} CPUs needs {wanted_bytes >> 20} MiB")


def measure_work(bench, scene, page, work, nr_threads, before_each, goal, wrapper):
    seconds = 1 if bench.quick else WINDOW_SECONDS
    pool_bytes = 0 if page == "2M" else regions.sizes(bench)[0]  # huge pages are held before
    found = []
    for nr in range((bench.rounds if goal else min(bench.rounds, NR_ROUNDS)) + 1):
        before_each()
        need_memory(work, nr_threads, pool_bytes)
        one = one_round(bench, scene, work, nr_threads, seconds, wrapper)
        if nr > 0:
            found.append(one)
    ratios = [one[0] for one in found]
    rates = rounds.median([one[3] / one[6] for one in found]) / (1 << 30)
    braked, looks = (sum(one[i] for one in found) for i in (4, 5))
    label = f"{work}, {nr_threads} of {bench.nr_cpus} CPUs, {page}"
    place = "a cgroup of its own" if wrapper else "our cgroup"
    return Row(f"{work} on {nr_threads} of {bench.nr_cpus} CPUs while {page} pages are populated",
               f"≥ {goal:.0%} of its speed alone" if goal else "", ratios, "×",
               rounds.median(ratios) >= goal if goal else None,
               {f"{label}: alone": [one[1] / 1e9 for one in found],
                f"{label}: with deferred work": [one[2] / 1e9 for one in found]},
               f"{label}: the daemon in {place}; Node.Braked was true at {braked} of {looks} "
               f"looks; the daemon brought {rates:.2f} GiB/s into service meanwhile, seen for "
               f"{rounds.median([one[6] for one in found]):.2f} s a round",
               series_unit="G/s")


def measure_page(bench, page, before_each):
    nr_bytes, region_bytes = regions.sizes(bench)
    pool = regions.pool(bench, page, nr_bytes, region_bytes)
    pool = pool.replace("[Region]", "Early=none\n[Region]")
    rows, daemon = [], {"LogLevel": "warning", "EarlyMinimum": "64M"}
    works = [(work, bench.nr_cpus, goal) for work, goal in GOALS.items()]
    if bench.nr_cpus > 1:
        works.append(("memcpy", bench.nr_cpus // 2, 0))
    # The cgroup goes last: one that a daemon is in cannot be removed.
    with own_cgroup() as wrapper, Scene(bench, {"guests": pool}, daemon) as scene:
        for work, nr_threads, goal in works:
            try:
                rows.append(measure_work(bench, scene, page, work, nr_threads, before_each, goal,
                                         wrapper))
            except Skip as reason:
                rows.append(Row.skip(f"{work} on {nr_threads} of {bench.nr_cpus} CPUs",
                                     f"≥ {goal:.0%} of its speed alone" if goal else "", reason))
    return rows


def measure(bench):
    nr_bytes, _ = regions.sizes(bench)
    try:
        with huge_pages.hold(nr_bytes, 2 << 20, bench.node) as nr_pages:
            return measure_page(bench, "2M", lambda: huge_pages.wait_free(nr_pages, 2 << 20,
                                                                         bench.node))
    except Skip:
        return measure_page(bench, "base", lambda: bench.memory.warm(nr_bytes))
