# SPDX-License-Identifier: LGPL-2.1-or-later
"""The daemon when it has nothing to do."""
import os
import subprocess
import time

from lib import regions
from lib.report import Row
from lib.scene import Scene
from lib.setting import nr_nodes

NAME = "idle"
WHAT = "the daemon that is ready and has nothing to do"
SECONDS = 10
LIMIT_SECONDS = 20
SETTLE_SECONDS = 3  # what is told late, four times a second at most, and one look more


def status(pid, task=None):
    path = f"/proc/{pid}/status" if task is None else f"/proc/{pid}/task/{task}/status"
    with open(path, encoding="ascii") as file:
        return {key: value.split()[0] for key, _, value in
                (line.partition(":") for line in file) if value.split()}


def nr_switches(pid):
    found = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        words = status(pid, task)
        found += int(words["voluntary_ctxt_switches"]) + int(words["nonvoluntary_ctxt_switches"])
    return found


def nr_calls(bench, pid, seconds):
    """System calls while it is idle. None: it cannot be said."""
    try:
        tool = bench.tool("strace")
        done = subprocess.run(["timeout", "-s", "INT", str(seconds), tool, "-c", "-f", "-qq",
                               "-p", str(pid)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, check=False, timeout=seconds + LIMIT_SECONDS)
    except Exception:  # Skip, or no right to trace
        return None
    if "attach" in done.stdout:
        return None
    total = [line.split() for line in done.stdout.splitlines() if line.rstrip().endswith("total")]
    return int(total[0][3]) if total else 0


def measure(bench):
    seconds = 2 if bench.quick else SECONDS
    nr_bytes, region_bytes = regions.sizes(bench)
    pools = {"guests": regions.pool(bench, "base", nr_bytes, region_bytes)}
    bench.memory.warm(nr_bytes)
    with Scene(bench, pools) as scene:
        scene.start()
        time.sleep(SETTLE_SECONDS)
        before = nr_switches(scene.pid)
        time.sleep(seconds)
        nr_wakes = nr_switches(scene.pid) - before
        words = status(scene.pid)
        calls = nr_calls(bench, scene.pid, seconds)
    limit_kib = (8 << 10) + 256 * nr_nodes()
    rss, tables = int(words["VmRSS"]), int(words["VmPTE"])
    # What its regions would take while they are mapped, by the base page.
    mapped_kib = nr_bytes // 4096 * 8 // 1024
    rows = [Row(f"wake-ups of its {words['Threads']} threads in {seconds} s", "0", nr_wakes, "",
                nr_wakes == 0),
            Row(f"RSS with {nr_nodes()} nodes", f"≤ {limit_kib} KiB", rss, "KiB", rss <= limit_kib,
                note=f"RSS: {words['RssAnon']} KiB of its own, {words['RssFile']} KiB of programs "
                     f"and libraries, {words['RssShmem']} KiB of shared memory"),
            Row(f"page tables, {nr_bytes >> 20} MiB of base pages in service",
                "given back: ≤ 1 MiB", tables, "KiB", tables <= 1024,
                note=f"while mapped, the regions' page tables are {mapped_kib} KiB")]
    if calls is not None:
        rows.insert(1, Row(f"system calls in {seconds} s", "0", calls, "", calls == 0))
    return rows
