# SPDX-License-Identifier: LGPL-2.1-or-later
"""What every row is given: programs, sizes, and what this machine is."""
import json
import os
import platform
import shutil
import subprocess

from lib import huge_pages, memory
from lib.report import Skip

MIB, GIB = 1 << 20, 1 << 30
SYS = "/sys/kernel/mm"


class Bench:
    """rounds, size_bytes, quick: as asked for. node: the first one with memory. nr_cpus: those that
    we may use, and on that node. nodeinitd, meminitctl: paths. memory: see lib/memory.py."""

    def __init__(self, build, nr_rounds=0, size_bytes=0, quick=False):
        self.build, self.quick = os.path.abspath(build), quick
        self.nodeinitd = f"{self.build}/daemon/nodeinitd"
        self.meminitctl = f"{self.build}/client/meminitctl"
        self.rounds = nr_rounds or (2 if quick else 7)
        self.node = huge_pages.first_node()
        self.nr_cpus = len(self.node_cpus()) or os.cpu_count()
        self.size_bytes = size_bytes or self.default_size()
        self.is_root = os.geteuid() == 0
        self.memory = memory.Memory(self)

    def default_size(self):
        """8 GiB, or as many whole ones as half of what is available; less on a small machine."""
        half = memory.available_bytes() // 2
        limit = GIB if self.quick else 8 * GIB
        if half >= GIB:
            return min(half // GIB * GIB, limit)
        return max(half // (64 * MIB) * 64 * MIB, 64 * MIB)

    def node_cpus(self):
        """The node's CPUs that we may run on."""
        try:
            with open(f"{huge_pages.NODES}/node{self.node}/cpulist", encoding="ascii") as file:
                text = file.read().strip()
        except OSError:
            return os.sched_getaffinity(0)
        cpus = set()
        for part in filter(None, text.split(",")):
            first, _, last = part.partition("-")
            cpus.update(range(int(first), int(last or first) + 1))
        return cpus & os.sched_getaffinity(0)

    def program(self, name):
        """A C program of bench/programs. Some are built only where the tests are."""
        path = f"{self.build}/bench/programs/{name}"
        if not os.path.exists(path):
            raise Skip(f"{name} is not built: that needs -Dbench=true and -Dtests=true")
        return path

    def tool(self, name, package=""):
        """Somebody else's program, by its path; Skip where it is not here."""
        path = shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin")
        if not path:
            raise Skip(f"there is no {name} here" + (f" (package {package})" if package else ""))
        return path

    def need_root(self, why="only root may do that"):
        if not self.is_root:
            raise Skip(why)

    def output(self, name, *arguments, limit_seconds=0, environment=None):
        """What a program of ours prints. Skip with its words where it ends with 77; RuntimeError
        where it fails, or is not over in time: it is killed then. By default it has five minutes,
        and time for memory that comes as slowly as it ever does: 128 MiB/s."""
        limit_seconds = limit_seconds or 300 + self.size_bytes // (128 * MIB)
        try:
            done = subprocess.run([self.program(name), *map(str, arguments)], check=False,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True, timeout=limit_seconds,
                                  env=environment)
        except subprocess.TimeoutExpired:
            raise RuntimeError(f"{name} was not over in {limit_seconds} s") from None
        if done.returncode == 77:
            raise Skip(done.stderr.strip())
        if done.returncode:
            said = done.stderr.strip()[-400:] or f"it ended with {done.returncode}"
            raise RuntimeError(f"{name}: {said}")
        return done.stdout

    def seconds(self, name, *arguments):
        """Of a program of ours that prints how many its work took."""
        return float(self.output(name, *arguments).split()[-1])

    def facts(self):
        """What the figures depend on, for the head of the report."""
        release = platform.uname()
        facts = {
            "cpu": cpu_model(), "cpus": os.cpu_count(), "cpus_usable": len(os.sched_getaffinity(0)),
            "nodes": nr_nodes(), "memory_bytes": meminfo("MemTotal"),
            "available_bytes": memory.available_bytes(), "kernel": release.release,
            "architecture": release.machine, "hypervisor": is_guest(),
            "thp": chosen(f"{SYS}/transparent_hugepage/enabled"),
            "thp_shmem": chosen(f"{SYS}/transparent_hugepage/shmem_enabled"),
            "hugetlb": hugetlb_sizes(), "load": list(os.getloadavg()),
            "daemon": version(self.nodeinitd), "size_bytes": self.size_bytes,
            "rounds": self.rounds, "root": self.is_root,
        }
        facts.update(self.build_facts())
        return facts

    def build_facts(self):
        try:
            text = subprocess.run(["meson", "introspect", "--buildoptions", self.build], check=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
        except (OSError, subprocess.CalledProcessError):
            return {}
        wanted = ("buildtype", "optimization", "debug", "b_lto", "b_ndebug", "b_sanitize", "c_args")
        return {"build": {option["name"]: option["value"] for option in json.loads(text)
                          if option["name"] in wanted}}


def cpu_model():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        for line in file:
            if line.startswith(("model name", "cpu\t", "Model")):
                return line.partition(":")[2].strip()
    return platform.processor() or "unknown"


def is_guest():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        return any(line.startswith("flags") and " hypervisor" in line for line in file)


def meminfo(key):
    with open("/proc/meminfo", encoding="ascii") as file:
        for line in file:
            if line.startswith(key + ":"):
                return int(line.split()[1]) << 10
    return 0


def nr_nodes():
    try:
        return sum(name[4:].isdigit() for name in os.listdir(huge_pages.NODES)
                   if name.startswith("node"))
    except OSError:
        return 1


def chosen(path):
    """The word in brackets of a sysfs file."""
    try:
        with open(path, encoding="ascii") as file:
            return file.read().partition("[")[2].partition("]")[0]
    except OSError:
        return "none"


def hugetlb_sizes():
    """{bytes of a page: pages in the pool}"""
    try:
        names = os.listdir(f"{SYS}/hugepages")
    except OSError:
        return {}
    return {int(name.removeprefix("hugepages-").removesuffix("kB")) << 10:
            huge_pages.read(f"{SYS}/hugepages/{name}/nr_hugepages") for name in sorted(names)}


def version(program):
    try:
        return subprocess.run([program, "--version"], check=True, stdout=subprocess.PIPE,
                              text=True).stdout.split("\n")[0].strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
