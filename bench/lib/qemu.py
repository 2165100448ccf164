# SPDX-License-Identifier: LGPL-2.1-or-later
"""QEMU's start: from just before exec to the greeting of its monitor, which comes when the machine,
and with it its memory, is made. The machine is stopped: no guest runs."""
import select
import subprocess
import time

PROGRAM = "qemu-system-x86_64"


def start(bench, memory_object, nr_bytes, limit_seconds=120, prefix=()):
    """Seconds of one start. memory_object: a -object without id and size. prefix: a command that
    runs QEMU; its time counts."""
    kind, _, options = memory_object.partition(",")
    mib = nr_bytes >> 20
    command = [*prefix, bench.tool(PROGRAM, "qemu-system-x86"),
               "-machine", "q35,accel=kvm:tcg,memory-backend=m", "-m", str(mib), "-nodefaults",
               "-display", "none", "-S", "-qmp", "stdio",
               "-object", f"{kind},id=m,size={mib}M" + (f",{options}" if options else "")]
    begun = time.monotonic()
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, start_new_session=True)
    try:
        if not select.select([process.stdout], [], [], limit_seconds)[0]:
            raise RuntimeError(f"QEMU with {memory_object} said nothing in {limit_seconds} s")
        seconds = time.monotonic() - begun
        process.stdin.write(b'{"execute":"qmp_capabilities"}\n{"execute":"quit"}\n')
        said, errors = process.communicate(timeout=limit_seconds)
        if b'"QMP"' not in said:
            raise RuntimeError(f"QEMU with {memory_object}: {errors.decode().strip()}")
        return seconds
    except BrokenPipeError:
        errors = process.stderr.read().decode().strip()
        raise RuntimeError(f"QEMU with {memory_object}: {errors}") from None
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()
