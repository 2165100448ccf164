# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash source=tests/vm/guest/lib.sh disable=SC2154
# machine: dimms
#
# Memory that is unplugged while pools are made of it. The host is told by the check (hmp). At boot, node 1
# has the offline blocks 32 to 35; nodes 1 and 3 get a dimm more before the daemon starts.

before_boot() {
	daemon_settings Reserve=64M EarlyMinimum=16M EarlyShift=63 SettleTimeout=infinity
	hmp "device_add pc-dimm,id=late3,memdev=late3,node=3"
	hmp "device_add pc-dimm,id=more1,memdev=more1,node=1"
	pool grow Kind=block Nodes=1,3 '[Block]' Zone=movable
	pool pages Kind=hugetlb PageSize=2M Size=16p
	pool late Kind=hugetlb PageSize=2M Nodes=3 Size=8p
}

mib() { echo $(($1 << 20)); }
unplug() { hmp "device_del $1"; }
plugged() { hmp "info memory-devices" | grep -q "\"$1\""; }
has_object() { busctl get-property org.nodeinit1 "/org/nodeinit1/node/$1" org.nodeinit1.Node Id; }
shows() { equal "$("${@:2}")" "$1"; } # text expected, command...

# The node's memory goes, with its huge pages in use by no one.
check_unplugged_node() {
	ok "what was plugged before comes into service at boot" meminitctl --quiet wait --timeout=3min
	ok "all of it" equal "$(share grow 1 5) $(share grow 3 5) $(all_huge_pages 2048)" "$(mib 768) $(mib 512) 16 16 16 24"
	ok "all of a node's memory is unplugged" unplug late3
	ok "it goes, whatever pools have there" eventually not plugged late3
	ok "so does the node" eventually not test -e "$nodes/node3"
	ok "and its object" eventually not has_object 3
	ok "its huge pages are in no sum" eventually shows "$(mib 96)" pool_property pages BytesDone
	ok "the pool that is for it alone has nothing" eventually shows "0" pool_property late BytesDone
	ok "and the daemon is not ready" equal "$(manager_property Ready)" false
	ok "the daemon runs" equal "$(systemctl show -P NRestarts nodeinitd) $(systemctl is-active nodeinitd)" "0 active"
	ok "the node comes back" hmp "object_add memory-backend-ram,id=again3,size=512M"
	ok "with memory" hmp "device_add pc-dimm,id=again3,memdev=again3,node=3"
	ok "and what was lost" eventually shows "ready $(mib 16)" late_3
	ok "as before" eventually shows "ready $(mib 512) " grow_3
}
late_3() { echo "$(share late 3 2) $(share late 3 5)"; }
grow_3() { echo "$(share grow 3 2) $(share grow 3 5) $(share grow 3 7)"; }

# The bytes that a pool of regions promises, and what is on the node.
promise_is_kept() {
	local done_bytes pages
	done_bytes=$(share fill 1 5)
	pages=$(regions_by_node)
	echo "$done_bytes bytes are done; regions: $pages"
	[ "$pages" = "1:$((done_bytes / 4096))" ]
}
check_unplugged_regions() {
	no_pools
	daemon_settings Reserve=64M EarlyMinimum=16M EarlyShift=63 SettleTimeout=1s
	pool grow Kind=block Nodes=1 Size=768M Minimum=256M '[Block]' Zone=movable
	pool fill Kind=region Nodes=1 PageSize=base Size=480M Minimum=64M '[Region]' RegionSize=16M
	ok "most of a node is a pool of regions" systemctl reload nodeinitd
	ok "which is ready" meminitctl --quiet wait --timeout=3min
	ok "with all its pages on the node" promise_is_kept
	ok "a dimm is unplugged under it" unplug more1
	ok "it goes" eventually not plugged more1
	ok "the pool says so" eventually shows "degraded $(mib 512)" grow_now
	ok "what it promises is on its node, and nothing else" eventually promise_is_kept
	ok "the larger dimm is unplugged" unplug dimm1
	ok "it goes, too" eventually not plugged dimm1
	ok "there is no room for all then" eventually shows "degraded" share fill 1 2
	ok "what it promises is still on its node, and nothing else" eventually promise_is_kept
	ok "a lease is of that node" says '^16777216 16777216 1:4096$' meminitctl lease fill 16M --node 1 --strict -- bash -c '/vm/on-nodes $$'
	ok "the daemon runs" equal "$(systemctl show -P NRestarts nodeinitd) $(systemctl is-active nodeinitd)" "0 active"
}
grow_now() { echo "$(share grow 1 2) $(share grow 1 5)"; }

checks() {
	check_unplugged_node
	check_unplugged_regions
	ok "nothing was refused by the sandbox" \
		not says 'Bad system call|Operation not permitted' journalctl -b -u nodeinitd -o cat
}
