# SPDX-License-Identifier: LGPL-2.1-or-later
"""QEMU's start on a leased region, and on memory that it fills itself."""
import time

from lib import huge_pages, qemu, regions, rounds
from lib.report import Row, Skip
from lib.scene import Scene

NAME = "qemu-start"
WHAT = "QEMU's start on a lease, against its own prealloc"
GOAL = 50
GOAL_FLAT = 1.5
MIB = 1 << 20
SIZES = (512 * MIB, 2048 * MIB)
LEASED = "memory-backend-file,mem-path=/proc/self/fd/3,share=on"


def wait_whole(scene, nr_bytes):
    """The region in the place of the former one is made before the next start, and not measured."""
    end = time.monotonic() + 60
    pool = "/org/nodeinit1/pool/guests"
    while (scene.connection.get(pool, "Pool", "BytesDone") < nr_bytes
           or scene.connection.get(pool, "Pool", "BytesDraining")
           or scene.connection.get(pool, "Pool", "BytesLeased")):
        if time.monotonic() > end:
            raise RuntimeError(f"the pool is not whole again: {scene.log}")
        time.sleep(0.005)


def measure_size(bench, page, nr_bytes, own):
    """own: {"way": a -object}. Returns the samples of each."""
    pools = {"guests": regions.pool(bench, page, nr_bytes, nr_bytes)}
    with Scene(bench, pools, {"LogLevel": "warning"}) as scene:
        scene.start()
        lease = (bench.meminitctl, f"--bus={scene.bus}", "lease", "guests", f"{nr_bytes // MIB}M",
                 "--")
        ways = {"leased": lambda: qemu.start(bench, LEASED, nr_bytes, prefix=lease)}
        for way, memory_object in own.items():
            ways[way] = lambda own=memory_object: qemu.start(bench, own, nr_bytes)
        return rounds.interleave(ways, bench.rounds, lambda: wait_whole(scene, nr_bytes))


def measure_page(bench, page, own, goal, sizes):
    rows, leased = [], []
    for nr_bytes in sizes:
        samples = measure_size(bench, page, nr_bytes, own)
        leased.append(rounds.median(samples["leased"]))
        size = f"{nr_bytes // MIB} MiB of {page}"
        for way in own:
            ratios = rounds.ratios(samples[way], samples["leased"])
            is_goal = goal and "prealloc" in way and nr_bytes == SIZES[-1]
            rows.append(Row(f"{size}: QEMU with {way}, against a lease",
                            f"≥ {goal}" if is_goal else "", ratios, "×",
                            rounds.median(ratios) >= goal if is_goal else None,
                            {f"{size}: {name}": found for name, found in samples.items()}))
    if len(sizes) > 1:
        flat = leased[-1] / leased[0]
        rows.append(Row(f"{page}, leased: {sizes[-1] // MIB} MiB against {sizes[0] // MIB} MiB",
                        f"flat: ≤ {GOAL_FLAT}", flat, "×", flat <= GOAL_FLAT))
    return rows


def measure(bench):
    bench.tool(qemu.PROGRAM, "qemu-system-x86")
    # The lease's, what takes its place while the last QEMU ends, and QEMU's own.
    sizes = [size for size in SIZES if size <= bench.size_bytes // 2] or [SIZES[0]]
    memfd = "memory-backend-memfd,share=on"
    rows = measure_page(bench, "base", {"prealloc=on": f"{memfd},prealloc=on",
                                        "nothing filled": memfd}, GOAL, sizes)
    try:
        with huge_pages.hold(2 * sizes[-1], 2 * MIB, bench.node):
            own = f"{memfd},hugetlb=on,hugetlbsize=2M,prealloc=on"
            rows += measure_page(bench, "2M", {"prealloc=on, 2M": own}, 0, sizes)
    except Skip as reason:
        rows.append(Row.skip("huge pages of 2M", "", reason))
    return rows
