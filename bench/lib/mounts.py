# SPDX-License-Identifier: LGPL-2.1-or-later
"""A file system for as long as something is measured on it; root only."""
import contextlib
import os
import subprocess
import tempfile

from lib import endings
from lib.report import Skip

LIMIT_SECONDS = 60


@contextlib.contextmanager
def mounted(kind, options):
    """The folder it is mounted at. What lies there is removed, so that its memory is free again."""
    folder = tempfile.mkdtemp(prefix="nodeinit-bench.")
    try:
        done = subprocess.run(["mount", "-t", kind, "-o", options, "none", folder], check=False,
                              stderr=subprocess.PIPE, text=True, timeout=LIMIT_SECONDS)
        if done.returncode:
            raise Skip(f"{kind} with {options} cannot be mounted: {done.stderr.strip()}")
        try:
            yield folder
        finally:
            with endings.put_off():
                for name in os.listdir(folder):
                    os.unlink(f"{folder}/{name}")
                subprocess.run(["umount", folder], check=True, timeout=LIMIT_SECONDS)
    finally:
        with contextlib.suppress(OSError):
            os.rmdir(folder)
