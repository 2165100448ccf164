#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Measure what nodeinitd promises about speed, next to what it is compared with.

    bench/run.py [--json FILE] [--rounds N] [--size SIZE] [--quick] BUILD [NAME...]
    bench/run.py --list

BUILD is a folder built with -Dbench=true; NAME a row, all of them by default. SIZE is the memory
that is brought into service, with K, M or G; of base pages it is 2G at most, and 4G in the rows
peers-*. All rows take about 20 minutes on two CPUs, with --quick about two. Exit 0: measured,
whether or not a goal is reached; 1: something could not be run that should; 2: wrong usage.
"""
import argparse
import contextlib
import importlib.util
import json
import os
import pathlib
import sys
import time
import traceback

sys.dont_write_bytecode = True  # the source may be somebody else's

from lib import endings, report, setting  # noqa: E402

FOLDER = pathlib.Path(__file__).resolve().parent


def row_files():
    """{name of the row: its file}; the name is the file's."""
    return {path.stem: path for path in sorted((FOLDER / "rows").glob("*.py"))}


def load(name, path):
    spec = importlib.util.spec_from_file_location("row_" + name.replace("-", "_"), path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    if module.NAME != name:
        raise RuntimeError(f"{path} calls itself {module.NAME}")
    return module


def size(text):
    """Bytes of a number with K, M or G."""
    units = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
    if text[-1:].upper() not in units or not text[:-1].isdigit() or int(text[:-1]) == 0:
        raise argparse.ArgumentTypeError(f"{text} is no size: a number with K, M or G")
    return int(text[:-1]) * units[text[-1].upper()]


def positive(text):
    if not text.isdigit() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text} is no number from 1 on")
    return int(text)


def parse():
    parser = argparse.ArgumentParser(description=__doc__, usage=argparse.SUPPRESS,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", metavar="FILE", help="write all of it there as well")
    parser.add_argument("--list", action="store_true", help="the rows, one a line")
    parser.add_argument("--rounds", type=positive, metavar="N", default=0,
                        help="samples of each way (7; fewer where one takes long)")
    parser.add_argument("--size", type=size, default=0, help="memory (8G, or half of what is free)")
    parser.add_argument("--quick", action="store_true", help="2 rounds of at most 1G: does it run?")
    parser.add_argument("build", nargs="?", metavar="BUILD")
    parser.add_argument("names", nargs="*", metavar="NAME")
    arguments = parser.parse_intermixed_args()
    files = row_files()
    if not arguments.list and not arguments.build:
        parser.error("which BUILD folder?")
    for name in arguments.names:
        if name not in files:
            parser.error(f"there is no row {name}; there are {' '.join(files)}")
    return arguments, {name: files[name] for name in arguments.names or files}


def print_head(facts):
    def gib(nr_bytes):
        return f"{nr_bytes / (1 << 30):.1f} GiB"
    build = facts.get("build", {})
    hugetlb = ", ".join(f"{nr_bytes >> 20}M: {nr}" for nr_bytes, nr in facts["hugetlb"].items())
    print(f"{facts['cpu']}{', a virtual machine' if facts['hypervisor'] else ''}")
    print(f"{facts['cpus_usable']} of {facts['cpus']} CPUs, {facts['nodes']} nodes, "
          f"{gib(facts['memory_bytes'])}, {gib(facts['available_bytes'])} available")
    print(f"Linux {facts['kernel']} {facts['architecture']}, thp {facts['thp']}, "
          f"shmem {facts['thp_shmem']}, hugetlb pages {hugetlb or 'none'}")
    print(f"{facts['daemon']}, built {build.get('buildtype', 'unknown')} "
          f"-O{build.get('optimization', '?')}{' '.join(['', *build.get('c_args', [])])}, "
          f"sanitizers {build.get('b_sanitize', 'unknown')}")
    print(f"{facts['rounds']} rounds, {gib(facts['size_bytes'])}, "
          f"{'root' if facts['root'] else 'an ordinary user'}, "
          f"load {' '.join(f'{load:.2f}' for load in facts['load'])} at the start")
    if facts["load"][0] > facts["cpus"] / 2:
        print("This machine is not quiet: what else it does is in the figures.")
    print(flush=True)


class Kept:
    """The file of --json, or none. In a file there is always a whole result, of the rows so far: a
    run takes long. To what is no file, or is open already as /dev/stdout is, goes the last one."""

    def __init__(self, path, facts):
        self.path, self.facts, self.is_good = path, facts, True
        self.stream = self.find_stream() if path else None

    def find_stream(self):
        with contextlib.suppress(OSError):
            found = os.stat(self.path)
            for stream in (sys.stdout, sys.stderr):
                if os.path.samestat(found, os.fstat(stream.fileno())):
                    return stream
            if not os.path.isfile(self.path):
                return open(self.path, "w", encoding="utf-8")
        return None

    def write_to(self, file, rows):
        json.dump({"machine": self.facts, "rows": [row.as_json() for row in rows]}, file, indent=1)
        file.write("\n")
        file.flush()

    def try_file(self):
        """Before anything is measured: whether it can be written at all, which raises OSError."""
        if self.path and not self.stream:
            with open(f"{self.path}.new", "w", encoding="utf-8"):
                pass
            os.unlink(f"{self.path}.new")

    def keep(self, rows, is_last=False):
        """What cannot be written is said, and is no reason to lose the table."""
        try:
            if self.stream and is_last:
                self.write_to(self.stream, rows)
            elif self.path and not self.stream:
                path = os.path.realpath(self.path)
                with open(f"{path}.new", "w", encoding="utf-8") as file:
                    self.write_to(file, rows)
                os.replace(f"{path}.new", path)
            self.is_good = True
        except OSError as error:
            self.is_good = False
            print(f"\nrun.py: {self.path}: {error.strerror}", file=sys.stderr, flush=True)


def measure(bench, files, keep):
    """All rows, and whether each could be run; those so far are handed to keep() now and then."""
    rows, is_whole = [], True
    for name, path in files.items():
        what, begun = name, time.monotonic()
        try:
            module = load(name, path)
            what = module.WHAT
            if sys.stderr.isatty():
                print(f"\r\033[K{name}: {what}", end="", file=sys.stderr, flush=True)
            found = module.measure(bench)
        except Exception as error:  # one row's fault is not the others'
            is_skipped = isinstance(error, report.Skip)
            if not is_skipped or endings.behind(error):
                traceback.print_exc()
            if endings.behind(error):
                raise endings.behind(error)
            is_whole = is_whole and is_skipped
            reason = error if is_skipped else f"could not be run: {error}"
            found = [report.Row.skip(what, "", reason)]
        for row in found:
            row.name = name
        rows += found
        keep(rows)
        clear, seconds = "\r\033[K" if sys.stderr.isatty() else "", time.monotonic() - begun
        print(f"{clear}{name}: done in {seconds:.0f} s", file=sys.stderr, flush=True)
    return rows, is_whole


def main():
    arguments, files = parse()
    if arguments.list:
        print("\n".join(files))
        return 0
    endings.unwind()
    if not (pathlib.Path(arguments.build) / "bench/programs/populate").exists():
        print(f"run.py: {arguments.build} is not built with -Dbench=true", file=sys.stderr)
        return 1
    bench = setting.Bench(arguments.build, arguments.rounds, arguments.size, arguments.quick)
    facts = bench.facts()
    kept = Kept(arguments.json, facts)
    try:
        kept.try_file()
    except OSError as error:
        print(f"run.py: {arguments.json}: {error.strerror}", file=sys.stderr)
        return 1
    print_head(facts)
    try:
        rows, is_whole = measure(bench, files, kept.keep)
    except KeyboardInterrupt:
        return 130
    report.print_table(rows, sys.stdout)
    report.print_series(rows, sys.stdout)
    sys.stdout.flush()
    kept.keep(rows, is_last=True)
    return 0 if is_whole and kept.is_good else 1


if __name__ == "__main__":
    sys.exit(main())
