# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash source=tests/vm/guest/lib.sh disable=SC2154
# machine: dimms
#
# Memory blocks that are offline at boot: on node 1 blocks 32 to 35, on node 2 blocks 36 to 39.

before_boot() {
	daemon_settings Reserve=64M EarlyMinimum=16M EarlyShift=63 Retry=20
	pool one Kind=block Nodes=1 '[Block]' Zone=movable
	pool two Kind=block Nodes=2 Size=50% '[Block]' Zone=kernel
	# On node 1 more than it has without its blocks.
	pool pages Kind=hugetlb PageSize=2M Size@0=8p Size@1=320p Size@2=8p
}

share_is() { # pool, node, words 2, 5 and 7 of the share
	equal "$(share "$1" "$2" 2) $(share "$1" "$2" 5) $(share "$1" "$2" 7)" "$3"
}
mib() { echo $(($1 << 20)); }
# No part of the pool begins on the node before all of the pool of blocks has settled there.
comes_after() { # node, pool, pool of blocks
	local first last
	first=$(timeline "$2" | awk -v node="$1" '$1 == node && $2 > 0 { print $2 }' | sort -n | head -n 1)
	last=$(timeline "$3" | awk -v node="$1" '$1 == node { print $3 }' | sort -n | tail -n 1)
	echo "$2 begins at $first, $3 ends at $last"
	[ -n "$first" ] && [ -n "$last" ] && [ "$first" -ge "$last" ]
}

check_boot() {
	ok "the blocks are where this check has them" equal "$(last_blocks 1 4) $(last_blocks 2 4)" "32 33 34 35 36 37 38 39"
	ok "all of it comes into service at boot" meminitctl --quiet wait --timeout=3min
	ok "Zone=movable: all blocks of node 1 are movable" equal "$(blocks_are 32 33 34 35)" "Movable Movable Movable Movable"
	ok "Zone=kernel, Size=50%: the first half of node 2's is for everything, the others are left" \
		equal "$(blocks_are 36 37 38 39)" "Normal Normal offline offline"
	ok "all of node 1's share is there" share_is one 1 "ready $(mib 512) "
	ok "half of node 2's memory is its share" share_is two 2 "ready $(mib 256) "
	ok "node 1 has more huge pages than it had room for" equal "$(all_huge_pages 2048)" "8 320 8"
	ok "they were begun once its blocks were there" comes_after 1 pages one
	ok "the journal has who brought them: we" says 'pool one, node 1: ready, 512 MiB .*4 memory blocks by us, 0 by=other' journal_since_start
	ok "and that none is forgotten" says 'node 1: of 8 memory blocks 8 are online, 0 refused, 0 left offline' journal_since_start
	ok "nor one of those that are left" says 'node 2: of 8 memory blocks 6 are online, 0 refused, 2 left offline' journal_since_start
	ok "a line a node says what it took" \
		equal "$(journal_since_start | grep -cE '^node [012] initialised, [0-9]+ pages in [0-9]+ ms$')" 3
	ok "the node has what is online" equal "$(node_property 1 MemoryTotal)" "$(mib 1024)"
}

check_again() {
	local before
	before=$(nr_onlined)
	ok "a second start is ready" settle
	ok "and brings nothing online" equal "$(nr_onlined)" "$before"
	ok "half of node 2's memory is what it was" share_is two 2 "ready $(mib 256) "
	ok "it knows its own" says 'pool one, node 1: ready, .*4 memory blocks by us, 0 by=other' journal_since_start
	systemctl stop nodeinitd
	ok "what is online stays so when it ends" equal "$(blocks_are 32 33 34 35 36 37)" "Movable Movable Movable Movable Normal Normal"
	sed -i 's/ours/seen/' /run/nodeinit/blocks
	ok "4 of 4 that others have brought online are a success" settle
	ok "that changes nothing" equal "$(nr_onlined)" "$before"
	ok "and says so" says 'pool one, node 1: ready, .*0 memory blocks by us, 4 by=other' journal_since_start
	pool two Kind=block Nodes=2 Size=50% '[Block]' Zone=movable
	ok "in another zone than is wanted now they are no success" not settle
	ok "with the reason" equal "$(share two 2 2) $(share two 2 7)" "failed zone-mismatch"
	ok "and stay where they are" equal "$(blocks_are 36 37 38 39)" "Normal Normal offline offline"
	pool one Kind=block Nodes=1 Size=1G '[Block]' Zone=movable
	pool two Kind=block Nodes=2 Size=50% '[Block]' Zone=kernel
	ok "more than there is cannot be" not settle
	ok "is refused with a word" share_is one 1 "failed $(mib 512) no-offline-memory"
	pool one Kind=block Nodes=1 '[Block]' Zone=movable
}

# All but one.
check_missing() {
	pool two Kind=block Nodes=2 Minimum=50% '[Block]' Zone=kernel
	unit_settings ReadOnlyPaths=/sys/devices/system/memory/memory39
	ok "3 of 4 are enough for Minimum=50%" settle
	ok "and are partial" share_is two 2 "degraded $(mib 384) not-permitted"
	ok "the others of the node are online" equal "$(blocks_are 36 37 38 39)" "Normal Normal Normal offline"
	ok "the one that is missing is named" says 'pool two, node 2: degraded.*memory39' journal_since_start
	ok "and counted" says 'node 2: of 8 memory blocks 7 are online, 1 refused .memory39: not-permitted., 0 left' journal_since_start
	pool two Kind=block Nodes=2 '[Block]' Zone=kernel
	ok "without Minimum= it is a failure" not settle
	ok "of that pool alone" equal "$(share two 2 2) $(share one 1 2) $(share pages 2 2)" "failed ready ready"
	unit_settings
}

# The kernel has no time for the last block; the other nodes do not wait for it.
is_busy() { [ "$(share two 2 7)" = busy ]; }
others_are_ready() { [ "$(share pages 0 2) $(share pages 1 2)" = "ready ready" ]; }
check_busy() {
	systemctl stop nodeinitd
	echo 0 >"$nodes/node2/hugepages/hugepages-2048kB/nr_hugepages"
	onlining_fails_with 16
	systemctl start --no-block nodeinitd
	ok "EBUSY: it is tried again" eventually is_busy
	ok "EBUSY: the other nodes do not wait for it" eventually others_are_ready
	ok "EBUSY: the other pools of its node do" equal "$(share pages 2 2) $(all_huge_pages 2048)" "waiting 8 320 0"
	ok "EBUSY: nor is the daemon ready" equal "$(manager_property Ready)" false
	ok "EBUSY: this is said" says 'pool two, node 2: short for now .busy.' journal_since_start
	onlining_fails_with 0
	ok "EBUSY: it comes into service once the kernel has time" meminitctl --quiet wait --timeout=2min
	ok "EBUSY: all of it" equal "$(blocks_are 36 37 38 39) $(all_huge_pages 2048)" "Normal Normal Normal Normal 8 320 8"
}

check_refused() {
	local before
	systemctl stop nodeinitd
	ok "a block is taken offline" bash -c "echo offline >$memory/memory35/state"
	onlining_fails_with 22
	before=$(nr_onlined)
	ok "EINVAL: it is not brought back" not settle
	ok "EINVAL: with the reason" share_is one 1 "failed $(mib 384) refused"
	ok "EINVAL: it is tried once" equal "$(nr_onlined)" $((before + 1))
	ok "EINVAL: and named" says 'pool one, node 1: failed.*memory35' journal_since_start
	onlining_fails_with 0
	ok "a retry brings it online" meminitctl retry one
	ok "so that all is ready" meminitctl --quiet wait --timeout=2min
	ok "and where it is to be" equal "$(blocks_are 32 33 34 35)" "Movable Movable Movable Movable"
	ok "with all huge pages" equal "$(all_huge_pages 2048)" "8 320 8"
}

checks() {
	count_onlining
	check_boot
	check_again
	check_missing
	check_busy
	check_refused
	ok "nothing was refused by the sandbox" \
		not says 'Bad system call' journalctl -b -u nodeinitd -o cat
}
