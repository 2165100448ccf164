# SPDX-License-Identifier: LGPL-2.1-or-later
from lib import regions

NAME = "region-1G"
WHAT = "region pool of huge pages of 1 GiB"


def measure(bench):
    return regions.measure_hugetlb(bench, "1G")
