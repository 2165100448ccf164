# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash source=tests/vm/guest/lib.sh disable=SC2154
# machine: odd
#
# Node ids with a gap, a node without memory, one without CPUs, one whose CPUs all go offline while it
# is filled; and what the unit's settings take away.

before_boot() {
	daemon_settings Reserve=64M EarlyMinimum=16M EarlyShift=63 StallTimeout=2min SettleTimeout=0
	pool pages Kind=hugetlb PageSize=2M Size=8p
	pool small Kind=region PageSize=base Size=32M '[Region]' RegionSize=8M
}

worker_of() { # node: CPUs that its thread may use
	local task
	for task in /proc/"$(main_pid)"/task/*; do
		[ "$(cat "$task/comm")" != "init-node$1" ] || awk '/^Cpus_allowed_list:/ { print $2 }' "$task/status"
	done
}
worker_may_use() { # node, CPUs
	echo "node $1: $(worker_of "$1")"
	[ "$(worker_of "$1")" = "$2" ]
}
check_topology() {
	ok "the machine has the nodes 0 to 3 and 5" equal "$(cat "$nodes/online")" 0-3,5
	ok "node 2 has no memory" equal "$(cat "$nodes/has_memory")" 0-1,3,5
	ok "node 5 has no CPU" equal "$(cat "$nodes/has_cpu")" 0-3
	ok "it came into service at boot" meminitctl --quiet wait --timeout=3min
	ok "with nodes by their ids" equal "$(meminitctl --no-legend nodes | awk '{ print $1 }' | paste -sd' ')" "0 1 2 3 5"
	ok "each node with memory has its huge pages, node 2 none" equal "$(all_huge_pages 2048)" "8 8 0 8 8"
	ok "each page of a region is on a node that has memory, as many on each" \
		equal "$(regions_by_node)" "0:8192 1:8192 3:8192 5:8192"
	ok "the node without CPUs is worked on by its neighbour's" \
		equal "$(node_property 5 HelperNode) $(node_property 5 CPUs)" "3 $(cat "$nodes/node3/cpulist")"
	ok "which is said" says 'node 5 has no CPU' journal_since_start
	ok "the node without memory has no share" equal "$(share small 2 2)" ""
	ok "there is no node in the gap" not busctl get-property org.nodeinit1 /org/nodeinit1/node/4 org.nodeinit1.Node Id

	pool bare Kind=region PageSize=base Size=16M Nodes=2 Required=no '[Region]' RegionSize=8M
	pool nowhere Kind=region PageSize=base Size=16M Nodes=4 Required=no '[Region]' RegionSize=8M
	ok "pools that name a node without memory, or none, do not hold up the others" settle
	ok "a node that is named and has no memory is a failure" equal "$(share bare 2 2) $(share bare 2 7)" "failed memoryless-node"
	ok "a node that is named and is not there, too" equal "$(share nowhere 4 2) $(share nowhere 4 7)" "failed no-such-node"
	ok "the journal says both" says 'no memory on node 2' journal_since_start
	ok "in words" says 'this machine has no node 4' journal_since_start
	rm /etc/nodeinit/pools.d/bare.pool /etc/nodeinit/pools.d/nowhere.pool
}

# Node 3 is halfway when its only CPU goes.
check_cpu_offline() {
	local cpu done_bytes
	cpu=$(cat "$nodes/node3/cpulist")
	no_pools
	pool long Kind=region PageSize=base Size=384M Nodes=3 Early=8M '[Region]' RegionSize=8M
	ok "its early part is in service" systemctl restart nodeinitd
	meminitctl pause
	ok "it pauses halfway" equal "$(pool_property long State) $(manager_property Paused)" "deferred true"
	ok "its worker is bound to its CPU" worker_may_use 3 "$cpu"
	ok "its CPU goes offline" bash -c "echo 0 >/sys/devices/system/cpu/cpu$cpu/online"
	ok "node 3 has no CPU now" equal "$(cat "$nodes/node3/cpulist")" ""
	meminitctl resume
	ok "it is filled all the same" meminitctl --quiet wait --timeout=3min
	done_bytes=$(pool_property long BytesDone)
	ok "in full" equal "$done_bytes" $((384 << 20))
	ok "on its node" equal "$(regions_by_node)" "3:98304"
	ok "started anew, it takes a neighbour's CPUs" settle
	ok "which is shown" not equal "$(node_property 3 HelperNode)" -1
	ok "the CPU comes back" bash -c "echo 1 >/sys/devices/system/cpu/cpu$cpu/online"
	ok "and is used again" settle
	ok "as its own" equal "$(node_property 3 HelperNode) $(node_property 3 CPUs)" "-1 $cpu"
}

check_unit_settings() {
	local room
	no_pools
	pool small Kind=region PageSize=base Size=16M '[Region]' RegionSize=8M
	pool pages Kind=hugetlb PageSize=2M Size=5p Shrink=yes
	unit_settings AllowedMemoryNodes=0-1
	ok "AllowedMemoryNodes=0-1: what is declared elsewhere fails" not settle
	ok "AllowedMemoryNodes=0-1: with the reason" \
		equal "$(share small 3 7) $(share pages 3 7) $(share small 5 7)" "outside-cpuset outside-cpuset outside-cpuset"
	ok "AllowedMemoryNodes=0-1: the allowed nodes are ready" equal "$(share small 0 2) $(share small 1 2)" "ready ready"
	ok "AllowedMemoryNodes=0-1: their pages are on them" equal "$(regions_by_node)" "0:4096 1:4096"
	ok "AllowedMemoryNodes=0-1: the kernel holds it to that" \
		says '^Mems_allowed_list:[[:space:]]*0-1$' cat "/proc/$(main_pid)/status"
	pool small Kind=region PageSize=base Size=16M Nodes=0,1 '[Region]' RegionSize=8M
	pool pages Kind=hugetlb PageSize=2M Size=5p Nodes=0,1
	ok "AllowedMemoryNodes=0-1: pools for these nodes are ready" settle

	pool small Kind=region PageSize=base Size=16M '[Region]' RegionSize=8M
	pool pages Kind=hugetlb PageSize=2M Size=5p
	unit_settings AllowedCPUs=0
	ok "AllowedCPUs=0: all nodes are filled" settle
	ok "AllowedCPUs=0: by node 0's CPU" equal \
		"$(for id in 0 1 3 5; do node_property "$id" CPUs; done | paste -sd' ')" "0 0 0 0"
	ok "AllowedCPUs=0: node 1 says whose CPU it uses" equal "$(node_property 1 HelperNode)" 0
	ok "AllowedCPUs=0: memory is on its own nodes still" equal "$(regions_by_node)" "0:4096 1:4096 3:4096 5:4096"

	no_pools
	pool small Kind=region PageSize=base Size=128M '[Region]' RegionSize=8M
	unit_settings MemoryMax=200M
	ok "MemoryMax=200M: 512 MiB do not fit, which fails" not settle
	ok "MemoryMax=200M: with the reason" equal "$(share small 1 7)" cgroup-limit
	ok "MemoryMax=200M: the plan has said it, with the limit" says 'limited to 200 MiB' journal_since_start
	ok "MemoryMax=200M: nothing was killed" says '^oom_kill 0$' cat /sys/fs/cgroup/nodeinit.slice/nodeinitd.service/memory.events
	ok "MemoryMax=200M: the limit was never hit" says '^max 0$' cat /sys/fs/cgroup/nodeinit.slice/nodeinitd.service/memory.events
	room=$(pool_property small BytesDone)
	ok "MemoryMax=200M: what fits is there" test "$room" -ge $((96 << 20))
	ok "MemoryMax=200M: and no more than that" test "$room" -le $((200 << 20))
	no_pools
	pool pages Kind=hugetlb PageSize=2M Size=64p
	ok "MemoryMax=200M: huge pages of the kernel are not charged to it" settle
	ok "MemoryMax=200M: they are all there" equal "$(all_huge_pages 2048)" "64 64 0 64 64"
	unit_settings
}

checks() {
	check_topology
	check_cpu_offline
	check_unit_settings
	ok "nothing was refused by the sandbox" \
		not says 'Bad system call' journalctl -b -u nodeinitd -o cat
}
