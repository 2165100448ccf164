# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the daemon sends over the bus while all nodes of a machine of 1 to 108 work."""
import collections
import contextlib
import select
import struct
import subprocess
import threading

from lib import bus, growth
from lib.report import Row
from lib.scene import Scene, end_process

NAME = "growth-bus"
WHAT = "messages and bytes on the bus as nodes become more, with simulated memory"

POOLS = {"guests": "[Pool]\nKind=region\nPageSize=base\nSize=48G\n[Region]\nRegionSize=4G\n"}
NODES = (1, 32, 64, 108)
NR_BLOCKS = 32  # of a node
NR_ROUNDS = 3  # they take what the work takes, whatever else goes on
WORK_NSEC_PER_MIB = 203450  # 48 GiB in 5 s with two threads
LIMIT_SECONDS = 20
SIGNALS_MAX = 4  # of one object, a second


class Monitor:
    """All that is sent on a bus while the block runs: messages, a list of (seconds, data)."""

    def __init__(self, bench, address):
        self.command = [bench.tool("dbus-monitor", "dbus-bin"), "--pcap", "--address", address]
        self.messages = []

    def __enter__(self):
        self.process = subprocess.Popen(self.command, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL)
        try:
            # The file's head: it is a monitor now, or all but.
            if not select.select([self.process.stdout], [], [], LIMIT_SECONDS)[0]:
                raise RuntimeError(f"dbus-monitor said nothing in {LIMIT_SECONDS} s")
            self.read(24)
        except BaseException:
            end_process(self.process)
            raise
        self.thread = threading.Thread(target=self.listen)
        self.thread.start()
        return self

    def __exit__(self, *_):
        end_process(self.process)
        self.thread.join()
        self.process.stdout.close()

    def read(self, nr_bytes):
        data = self.process.stdout.read(nr_bytes)
        if len(data) < nr_bytes:
            raise EOFError("dbus-monitor has ended")
        return data

    def listen(self):
        with contextlib.suppress(EOFError):
            while True:
                seconds, usec, nr_bytes, _ = struct.unpack("=IIII", self.read(16))
                self.messages.append((seconds + usec / 1e6, self.read(nr_bytes)))


def fields(data):
    """Header fields of a message: pairs of code and value."""
    return bus.Reader(data, 12, data[:1] == b"B").value("a(yv)")[0]


def measure(bench):
    def run(root, _):
        """While nodes worked: signals and their bytes a second; signals of the busiest object."""
        with Monitor(bench, scene.bus) as monitor:
            growth.run_manager(bench, root, scene, work_nsec)
        nr_of, times, nr_bytes = collections.Counter(), [], 0
        for time, data in monitor.messages:
            head = dict(fields(data))
            path = head.get(bus.PATH, "")
            if head.get(bus.MEMBER) == "PropertiesChanged" and path.startswith(bus.ROOT):
                nr_of[path] += 1
                times.append(time)
                nr_bytes += len(data)
        span = times[-1] - times[0]
        # four may come at once, when there were none for a second before
        return {"signals": len(times) / span, "bytes": nr_bytes / span,
                "busiest": max(nr_of.values()) / (span + 1)}

    nodes = growth.sizes(bench, NODES)
    work_nsec = WORK_NSEC_PER_MIB // (5 if bench.quick else 1)
    with Scene(bench, pools=POOLS, daemon={"Threads": "2"}) as scene:
        found = growth.measure(bench, {nr: (nr, NR_BLOCKS) for nr in nodes}, run,
                               NR_ROUNDS)
    busiest = [max(one["busiest"] for one in runs) for runs in zip(*found)]
    return [growth.row("bus, all nodes at work: signals", nodes, "nodes",
                       growth.pick(found, "signals"), "a second"),
            growth.row("bus, all nodes at work: their bytes", nodes, "nodes",
                       growth.pick(found, "bytes"), "B/s"),
            Row("bus, signals of the busiest object", f"≤ {SIGNALS_MAX} a second", busiest,
                "a second", max(busiest) <= SIGNALS_MAX)]
