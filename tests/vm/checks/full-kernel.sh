# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash source=tests/vm/guest/lib.sh disable=SC2154
# machine: one
# kernel: amd64
# memory: 3000
# words: numa=fake=4
#
# What only Debian's kernel for all machines has: one node that is shown as four, with the same CPUs for
# all, and pages that fail.

before_boot() {
	daemon_settings Reserve=64M EarlyMinimum=16M EarlyShift=63
	pool pages Kind=hugetlb PageSize=2M Size@0=4p Size@1=8p Size@2=12p Size@3=16p
	pool small Kind=region PageSize=base Size=32M '[Region]' RegionSize=8M
}

# A region is halfway when a page that it has not reached yet fails.
check_poison() {
	no_pools
	ok "without pools it is idle" settle
	meminitctl pause
	pool halfway Kind=region PageSize=base Size=704M Nodes=1 Early=none '[Region]' RegionSize=64M
	ok "a pool begins with the resume" systemctl reload nodeinitd
	meminitctl resume
	ok "its first bytes are there" eventually some_are_done
	meminitctl pause
	ok "it is halfway" equal "$(pool_property halfway State)" deferred
	ok "a page of a region that is not complete fails" /vm/poison "$(main_pid)"
	ok "the kernel has taken it out of use" says '^HardwareCorrupted: *4 kB' cat /proc/meminfo
	meminitctl resume
	ok "it becomes ready all the same" meminitctl --quiet wait --timeout=5min
	ok "with all its bytes" equal "$(pool_property halfway BytesDone)" $((704 << 20))
	ok "on its node" equal "$(regions_by_node)" "1:180224"
	ok "the journal has it" says . journal_since_start MESSAGE_ID=5f1ec7a2b9a94d1f8c3c6f0e2d7b4a05
	ok "counted once" equal "$(journal_since_start MESSAGE_ID=5f1ec7a2b9a94d1f8c3c6f0e2d7b4a05 | wc -l)" 1
	ok "the daemon was not killed for it" equal "$(systemctl show -P NRestarts nodeinitd)" 0
}
some_are_done() { [ "$(pool_property halfway BytesDone)" -gt 0 ]; }

checks() {
	ok "the kernel shows four nodes" equal "$(cat "$nodes/online")" 0-3
	ok "all of it comes into service" meminitctl --quiet wait --timeout=5min
	ok "each node has its huge pages" equal "$(all_huge_pages 2048)" "4 8 12 16"
	ok "each page of a region is on its node" equal "$(regions_by_node)" "0:8192 1:8192 2:8192 3:8192"
	ok "four workers are shown" equal "$(meminitctl --no-legend nodes | awk '{ print $1 }' | paste -sd' ')" "0 1 2 3"
	ok "a second run is ready, too" settle
	ok "and leaves the huge pages as they were" equal "$(all_huge_pages 2048)" "4 8 12 16"
	check_poison
}
