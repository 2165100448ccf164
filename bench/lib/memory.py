# SPDX-License-Identifier: LGPL-2.1-or-later
"""Free memory, and free memory that the host has not taken back."""
import subprocess

from lib.report import Skip


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

    def warm(self, nr_bytes):
        """Touch as much and free it again: the first touch of memory that the host of a virtual
        machine took back is up to 45 times slower, and nothing that is to be measured here."""
        if available_bytes() < nr_bytes + (256 << 20):
            raise Skip(f"less than {nr_bytes >> 20} MiB are available")
        subprocess.run([self.bench.program("warm"), str(nr_bytes)], check=True)
