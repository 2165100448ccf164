# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash source=tests/vm/guest/lib.sh disable=SC2154
# machine: eight
#
# Eight nodes, two CPUs of the host below them: order and account must hold whatever the speed.

before_boot() {
	daemon_settings Reserve=48M EarlyMinimum=16M EarlyShift=63
	pool pages Kind=hugetlb PageSize=2M Size=4p Size@7=9p
	pool small Kind=region PageSize=base Size=24M '[Region]' RegionSize=8M
	pool wide Kind=region PageSize=thp Size=16M Nodes=1,6 '[Region]' RegionSize=8M
}

checks() {
	local id
	ok "the machine has eight nodes" equal "$(cat "$nodes/online")" 0-7
	ok "all of it comes into service" meminitctl --quiet wait --timeout=5min
	ok "each node has its huge pages" equal "$(all_huge_pages 2048)" "4 4 4 4 4 4 4 9"
	ok "eight nodes are shown" equal "$(meminitctl --no-legend nodes | awk '{ print $1 }' | paste -sd' ')" "0 1 2 3 4 5 6 7"
	ok "each one works on its own CPU" equal \
		"$(for id in 0 1 2 3 4 5 6 7; do node_property $id CPUs; done | paste -sd' ')" "0 1 2 3 4 5 6 7"
	ok "each page is on the node that it was declared for" equal "$(regions_by_node)" \
		"0:6144 1:10240 2:6144 3:6144 4:6144 5:6144 6:10240 7:6144"
	ok "bytes of the nodes add up to those of the host" equal \
		"$(($(for id in 0 1 2 3 4 5 6 7; do node_property $id BytesDone; done | paste -sd+)))" \
		"$(manager_property BytesDone)"
	ok "which are those of the pools" equal \
		"$(($(pool_property pages BytesDone) + $(pool_property small BytesDone) + $(pool_property wide BytesDone)))" \
		"$(manager_property BytesDone)"
	ok "nothing is short" equal "$(manager_property BytesShort)" 0
	ok "it ends cleanly while it works" bash -c 'systemctl --no-block restart nodeinitd; systemctl stop nodeinitd'
	ok "and not as failed" equal "$(systemctl show -P Result nodeinitd)" success
	ok "huge pages of the kernel stay" equal "$(all_huge_pages 2048)" "4 4 4 4 4 4 4 9"
}
