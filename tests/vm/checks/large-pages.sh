# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash source=tests/vm/guest/lib.sh disable=SC2154
# machine: large
# memory: 6000
# words: hugepagesz=1G hugepages=0:1,1:1,2:1,3:1
#
# Pages of 1 GiB, of which the kernel was asked for one a node, by the boot parameter that gives another
# node what it cannot have on node 0.

before_boot() {
	daemon_settings Reserve=64M EarlyMinimum=16M EarlyShift=63 Retry=1
	all_huge_pages 1048576 >/vm/pages-at-boot
}

# What the kernel took for the page structs of each node at boot, in ms: "-" where it says nothing.
by_kernel() {
	local id
	for id in 0 1 2 3; do
		journalctl -b -k -o cat | sed -n "s/^node $id deferred pages initialised in \\([0-9]*\\)ms\$/\\1/p" | grep . || echo -
	done | paste -sd' '
}
by_client() {
	meminitctl nodes --json | tr -d ' ",' | sed -n 's/^boot_usec:\(.*\)$/\1/p' | sed 's/^null$/-/; s/000$//; s/^0$/0/' | paste -sd' '
}

checks() {
	local before
	before=$(cat /vm/pages-at-boot)
	echo "the boot parameter 0:1,1:1,2:1,3:1 gave $before"
	ok "the boot parameter did not give each node what it says" not equal "$before" "1 1 1 1"

	pool giant Kind=hugetlb PageSize=1G Size=1p Minimum=0p
	ok "the plan says what is too many, and where" \
		says 'node.* 3: 1 huge page of 1 GiB more than the pools want' nodeinitd --plan
	ok "one page a node settles" settle
	ok "nodes that have too few get what is missing, those that have too many keep it" \
		equal "$(all_huge_pages 1048576)" "0 1 1 2"
	ok "what is too many is said in the journal, too" says '1 GiB more than the pools want' journal_since_start
	ok "the kernel has deferred work of its own on nodes of this size" says '[0-9]' by_kernel
	ok "which is shown beside ours" equal "$(by_client)" "$(by_kernel)"
	ok "with what it saved that nodes work side by side" \
		says '^one after another .*, together .*: ([0-9]+ % less|nothing saved)$' \
		meminitctl nodes
	ok "node 0 has no room for one, and says so" equal "$(share giant 0 2) $(share giant 0 7)" "degraded fragmented"
	ok "what is short is counted" equal "$(pool_property giant BytesShort)" 1073741824
	ok "the other nodes are ready" equal "$(share giant 1 2) $(share giant 2 2) $(share giant 3 2)" "ready ready ready"

	systemctl stop nodeinitd
	echo 0 >"$nodes/node2/hugepages/hugepages-1048576kB/nr_hugepages"
	ok "a node has lost its page" equal "$(all_huge_pages 1048576)" "0 1 0 2"
	pool giant Kind=hugetlb PageSize=1G Nodes=1-3 Size=1p
	ok "what is missing is added" settle
	ok "only where it is missing" equal "$(all_huge_pages 1048576)" "0 1 1 2"

	pool giant Kind=hugetlb PageSize=1G Nodes=1-3 Size=1p Shrink=yes
	ok "with Shrink=yes nodes are brought down" settle
	ok "to what is declared" equal "$(all_huge_pages 1048576)" "0 1 1 1"

	pool giant Kind=hugetlb PageSize=1G Nodes=0 Size=1p
	ok "a node that must have one and cannot fails" not settle
	ok "with the reason" says 'pool giant, node 0: failed.*fragmented' journal_since_start

	no_pools
	pool leases Kind=region PageSize=1G Nodes=2 Size=1G '[Region]' RegionSize=1G
	ok "a region of one such page" settle
	ok "takes the page that its node has" equal "$(all_huge_pages 1048576)" "0 1 1 1"
	ok "and is on its node (move_pages)" equal "$(/vm/on-nodes "$(main_pid)")" "1073741824 1073741824 2:262144"
}
