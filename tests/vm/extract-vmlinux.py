#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Take the kernel proper out of a compressed one.

    extract-vmlinux.py VMLINUZ VMLINUX

An emulated CPU needs seconds to unpack itself in real mode; QEMU starts an ELF kernel at once.
The header is described in the kernel's Documentation/x86/boot.rst.
"""
import struct
import subprocess
import sys

UNPACKERS = {
    b"\x02\x21\x4c\x18": ["lz4", "-dc"],
    b"\xfd7zX": ["xz", "-dc", "--single-stream"],
    b"\x28\xb5\x2f\xfd": ["zstd", "-dc"],
}


def main():
    with open(sys.argv[1], "rb") as file:
        image = file.read()
    setup_sectors = image[0x1F1]
    offset, length = struct.unpack_from("<II", image, 0x248)
    start = (setup_sectors + 1) * 512 + offset
    payload = image[start : start + length]
    unpacker = UNPACKERS.get(payload[:4])
    if not unpacker:
        sys.exit(f"{sys.argv[1]}: packed in a way that is not known: {payload[:4].hex()}")
    # The size that follows the packed data makes some unpackers complain: what counts is the result.
    kernel = subprocess.run(unpacker, input=payload, stdout=subprocess.PIPE,
                            stderr=subprocess.DEVNULL, check=False).stdout
    if kernel[:4] != b"\x7fELF":
        sys.exit(f"{sys.argv[1]}: {unpacker[0]} does not find a kernel in it")
    with open(sys.argv[2], "wb") as file:
        file.write(kernel)


if __name__ == "__main__":
    main()
