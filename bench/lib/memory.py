# SPDX-License-Identifier: LGPL-2.1-or-later
"""Free memory, and free memory that the host has not taken back."""
import time

from lib.report import Skip

PASSES_MAX = 3  # of 8 GiB that the host has taken back, one takes half a minute
SLOWER = 1.25  # than the best pass there was: memory that is not warm yet


def available_bytes():
    with open("/proc/meminfo", encoding="ascii") as meminfo:
        for line in meminfo:
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) << 10
    return 0


class Memory:
    """bench.memory"""

    def __init__(self, bench):
        self.bench = bench
        self.best_seconds = {}  # of a pass, by its bytes

    def warm(self, nr_bytes):
        """Touch as much and free it again: the first touch of memory that the host of a virtual
        machine took back is up to 45 times slower, and nothing that is to be measured here. The
        host may be at it at the same time: again, until touching it is as fast as it ever was."""
        if available_bytes() < nr_bytes + (256 << 20):
            raise Skip(f"less than {nr_bytes >> 20} MiB are available")
        best = self.best_seconds.get(nr_bytes)
        for _ in range(PASSES_MAX):
            begun = time.monotonic()
            self.bench.output("warm", nr_bytes)
            seconds = time.monotonic() - begun
            if best and seconds <= best * SLOWER:
                break
            best = min(best or seconds, seconds)
        self.best_seconds[nr_bytes] = min(best, seconds)
