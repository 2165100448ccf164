# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash source=tests/vm/guest/lib.sh disable=SC2154
# machine: four
# kernel: cma
# words: cma=128M
#
# Memory that is set aside for devices. The kernel lends it to whoever can be moved, and fills it before
# other memory: so pages of the pools lie there, and the device must have it all the same.

before_boot() {
	daemon_settings Reserve=64M EarlyMinimum=16M EarlyShift=63
	grep ^CmaTotal /proc/meminfo >/vm/cma-at-boot
	pool pages Kind=hugetlb PageSize=2M Size=8p
	pool small Kind=region PageSize=base Size=32M '[Region]' RegionSize=8M
}

area=/sys/kernel/debug/cma/reserved
piece=512 # pages that a device takes at once
cma_total() { grep ^CmaTotal "${1:-/proc/meminfo}"; }
node_of_cma() { awk '/^Node/ { id = $2 + 0 } $1 == "cma" && $2 > 0 { print id }' /proc/zoneinfo; }
free_pages() { # node
	awk '$1 == "nr_free_cma" { print $2 }' "$nodes/node$1/vmstat"
}
# A device takes all that it can get. How many pages it has then.
device_takes() {
	local at
	for ((at = 0; at < $(cat $area/count); at += piece)); do
		echo $piece 2>/dev/null >$area/alloc || :
	done 2>/dev/null
	cat $area/used
}
device_gives() {
	cat $area/count >$area/free
	equal "$(cat $area/used)" "$used_by_kernel"
}
most_of_it() { # pages
	echo "$1 of $(cat $area/count) pages"
	[ "$1" -ge $(($(cat $area/count) * 15 / 16)) ]
}

# A pool takes all of a node that it may have; then a device wants its own.
check_pool() { # what it is called, what must not change, lines of [Pool]...
	local what=$1 same=$2 free taken before
	shift 2
	no_pools
	# Huge pages can only be lent where no small ones are in between, and those that are there stay.
	systemctl stop nodeinitd
	echo 0 >"$nodes/node$node/hugepages/hugepages-2048kB/nr_hugepages"
	echo 3 >/proc/sys/vm/drop_caches
	echo 1 >"$nodes/node$node/compact"
	pool full "$@"
	ok "$what: it takes what it may" settle
	ok "$what: all but what is to be left" equal "$(share full "$node" 7)" exceeds-reserve
	ok "$what: CmaTotal stays" equal "$(cma_total)" "$total"
	free=$(free_pages "$node")
	ok "$what: they lie in memory for devices" test "$free" -lt $(($(cat $area/count) / 4))
	before=$($same)
	taken=$(device_takes)
	echo "$what: $(node_kib "$node" MemFree) kB of node $node are free once the device has $((taken * 4)) kB; $((free * 4)) kB of them were free before"
	ok "$what: the device has it all the same" most_of_it "$taken"
	ok "$what: the pages have gone nowhere else" nowhere_else "$what" "$before" "$($same)"
	ok "$what: all of them are there" equal "$(pool_property full BytesDone)" "$(bytes_there "$same")"
	ok "$what: the device gives it back" device_gives
}
# For a huge page the node must have as large a piece free at that moment: of those a few may go elsewhere.
# 3.5 % have been seen to; without the room that is left for the device it is 21 %.
nowhere_else() { # what it is called, where pages were, where they are
	echo "they were on $2, are on $3"
	[ "$2" != "$3" ] || return 0
	[ "$1" != "base pages" ] || return
	awk -v before="${2#*:}" -v after="${3#"$node:"}" 'BEGIN { exit !(int(after) * 100 >= before * 92) }'
}
bytes_there() { # what has the pages
	case $1 in
	regions_by_node) regions_by_node | awk -v RS=' |\n' -F: '{ nr += $2 } END { print nr * 4096 }' ;;
	*) echo $(($(huge_pages "$node" 2048) << 21)) ;;
	esac
}

checks() {
	local node other total used_by_kernel
	mount -t debugfs debugfs /sys/kernel/debug
	used_by_kernel=$(cat $area/used)
	total=$(cma_total)
	ok "the kernel has set aside 128 MiB" says '^CmaTotal: *131072 kB$' echo "$total"
	node=$(node_of_cma)
	ok "on one node" says '^[0-3]$' echo "$node"
	ok "all pools come into service" meminitctl --quiet wait --timeout=3min
	ok "as declared" equal "$(all_huge_pages 2048) $(regions_by_node)" "8 8 8 8 0:8192 1:8192 2:8192 3:8192"
	ok "CmaTotal is what it was at boot" equal "$(cma_total)" "$(cma_total /vm/cma-at-boot)"
	ok "the journal says what is left to devices" says "node $node: 128 MiB set aside for devices" journal_since_start
	ok "the plan leaves it beside Reserve=" says ' 192 MiB ' bash -c "nodeinitd --plan | grep -E '^ +$node +[0-9.]+ [MG]iB'"

	check_pool "base pages" regions_by_node Kind=region PageSize=base "Size@$node=100%" Minimum=0B '[Region]' RegionSize=8M
	check_pool "thp" regions_by_node Kind=region PageSize=thp "Size@$node=100%" Minimum=0B '[Region]' RegionSize=8M
	# Where pages of a region go, the kernel first looks for huge pages that are free, on any node.
	other=$(((node + 1) % 4))
	echo 40 >"$nodes/node$other/hugepages/hugepages-2048kB/nr_hugepages"
	check_pool "regions of 2M" regions_by_node Kind=region PageSize=2M "Size@$node=100%" Minimum=0B '[Region]' RegionSize=8M
	echo 0 >"$nodes/node$other/hugepages/hugepages-2048kB/nr_hugepages"
	check_pool "huge pages" "all_huge_pages 2048" Kind=hugetlb PageSize=2M "Size@$node=100%" Minimum=0B
	ok "it ends" systemctl stop nodeinitd
	ok "and CmaTotal is still what it was at boot" equal "$(cma_total)" "$(cma_total /vm/cma-at-boot)"
}
