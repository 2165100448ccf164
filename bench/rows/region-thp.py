# SPDX-License-Identifier: LGPL-2.1-or-later
from lib import regions

NAME = "region-thp"
WHAT = "region pool of transparent huge pages"


def measure(bench):
    bench.need_root("only root may mount a tmpfs of huge pages")
    return regions.measure_shmem(bench, "thp", regions.GOAL)
