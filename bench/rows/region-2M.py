# SPDX-License-Identifier: LGPL-2.1-or-later
from lib import regions

NAME = "region-2M"
WHAT = "region pool of huge pages of 2 MiB"


def measure(bench):
    return regions.measure_hugetlb(bench, "2M")
