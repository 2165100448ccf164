# SPDX-License-Identifier: LGPL-2.1-or-later
from lib import mounts, peers

NAME = "peers-shmem"
WHAT = "region pool of transparent huge pages, and others that fill shared memory"
GOAL_MEMFD = 15


def measure(bench):
    bench.need_root("only root may mount a tmpfs of huge pages")
    group = peers.Group(bench, *peers.sizes(bench))
    with mounts.mounted("tmpfs", "huge=always,size=0,nr_inodes=0") as folder:
        def dd():
            path = f"{folder}/file"
            return peers.run_on(path, 0, [bench.tool("dd"), "if=/dev/zero", f"of={path}", "bs=2M",
                                          f"count={group.nr_bytes >> 21}", "status=none"])

        group.add_daemon("thp")
        # What QEMU takes by itself, and what it takes from a file, of pages that are as large.
        group.add_qemu("memfd", "memory-backend-memfd,share=on", "thp", GOAL_MEMFD)
        on_tmpfs = f"memory-backend-file,mem-path={folder},share=on"
        group.add_qemu("huge tmpfs", on_tmpfs, "thp")
        group.add_qemu("huge tmpfs, align=2M", f"{on_tmpfs},align=2M", "thp")
        group.add("dd to huge tmpfs", dd, peers.DAEMON.format("thp", 1))
        return group.measure(lambda: bench.memory.warm(group.nr_bytes))
