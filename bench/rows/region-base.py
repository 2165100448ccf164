# SPDX-License-Identifier: LGPL-2.1-or-later
from lib import regions

NAME = "region-base"
WHAT = "region pool of ordinary pages"


def measure(bench):
    return regions.measure_shmem(bench, "base", None, regions.BASE_BYTES)
