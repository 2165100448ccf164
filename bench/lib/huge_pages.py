# SPDX-License-Identifier: LGPL-2.1-or-later
"""Huge pages of the machine's pool for as long as something is measured.

The pool is one for the whole machine: who changes it holds the lock that the tests hold, and leaves
it as it was, whatever happens.
"""
import contextlib
import fcntl
import os
import sys
import time

from lib import endings
from lib.report import Skip

LOCK = "/run/lock/nodeinit-hugepages.lock"
LOCK_SECONDS = 600  # as long as a whole run of the tests holds it, and longer
NODES = "/sys/devices/system/node"


def first_node():
    """The first node with memory; 0 where the kernel has no nodes."""
    for node in sorted(int(name[4:]) for name in os.listdir(NODES) if name[4:].isdigit()
                       and name.startswith("node")) if os.path.isdir(NODES) else []:
        with open(f"{NODES}/node{node}/meminfo", encoding="ascii") as meminfo:
            if any("MemTotal:" in line and int(line.split()[3]) > 0 for line in meminfo):
                return node
    return 0


def folder(page_bytes, node):
    return f"{NODES}/node{node}/hugepages/hugepages-{page_bytes >> 10}kB"


def read(path):
    with open(path, encoding="ascii") as file:
        return int(file.read())


def write(path, value):
    """The kernel may grant less and not say so: returns what it granted."""
    with contextlib.suppress(OSError):
        with open(path, "w", encoding="ascii") as file:
            file.write(str(value))
    return read(path)


def free_pages(page_bytes, node=None):
    return read(folder(page_bytes, first_node() if node is None else node) + "/free_hugepages")


def wait_free(nr_pages, page_bytes, node=None, limit_seconds=10):
    """A page whose last user has just ended is free a moment later; there is no event for that."""
    end = time.monotonic() + limit_seconds
    while free_pages(page_bytes, node) < nr_pages:
        if time.monotonic() > end:
            raise RuntimeError(
                f"{nr_pages} huge pages of {page_bytes >> 10} KiB did not become free")
        time.sleep(0.001)


def restore(path, value, limit_seconds=10):
    end = time.monotonic() + limit_seconds
    while write(path, value) != value:
        if time.monotonic() > end:
            raise RuntimeError(f"{path} is left at {read(path)}, it was {value}")
        time.sleep(0.005)


def raise_to(path, wanted, node):
    """Returns what the kernel granted, at the second try of memory that it has compacted."""
    granted = write(path, wanted)
    if granted != wanted:
        with contextlib.suppress(OSError):
            with open(f"{NODES}/node{node}/compact", "w", encoding="ascii") as file:
                file.write("1")
        granted = write(path, wanted)
    return granted


def take_lock(file, limit_seconds=LOCK_SECONDS):
    """Others hold it for as long as they measure or test: it is said that this waits."""
    end, has_said = time.monotonic() + limit_seconds, False
    while True:
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        if time.monotonic() > end:
            raise Skip(f"somebody else has held {LOCK} for {limit_seconds} s")
        if not has_said:
            print(f"\nWaiting for {LOCK}: tests or another bench use huge pages.", file=sys.stderr,
                  flush=True)
            has_said = True
        time.sleep(0.1)


@contextlib.contextmanager
def hold(nr_bytes, page_bytes, node=None, step_bytes=0):
    """So many bytes of free huge pages more on the node (default: the first one with memory), until
    the block ends; the block is given their number. With step_bytes, fewer will do: a multiple of
    that. Skip, with nothing changed, where that cannot be. With nr_bytes 0 only the lock is taken
    and the pool restored afterwards: for programs that change the pool themselves.
    """
    node = first_node() if node is None else node
    path = folder(page_bytes, node) + "/nr_hugepages"
    size = f"{page_bytes >> 20} MiB"
    if not os.path.exists(path):
        raise Skip(f"this kernel has no huge pages of {size}")
    if not os.access(path, os.W_OK):
        raise Skip("only root may change the huge pages")
    with open(LOCK, "a", encoding="ascii") as lock:
        take_lock(lock)
        before = read(path)
        nr_pages = nr_bytes // page_bytes
        try:
            granted = raise_to(path, before + nr_pages, node) - before if nr_bytes else 0
            if granted < nr_pages and step_bytes and granted * page_bytes >= step_bytes:
                nr_pages = granted * page_bytes // step_bytes * step_bytes // page_bytes
                granted = write(path, before + nr_pages) - before
            if granted != nr_pages:
                raise Skip(f"there is no room for {nr_pages} huge pages of {size}")
            yield nr_pages
        finally:
            with endings.put_off():
                restore(path, before)
