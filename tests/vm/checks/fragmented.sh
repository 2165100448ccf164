# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash source=tests/vm/guest/lib.sh disable=SC2154
# machine: four
#
# A node whose free memory is in pieces: what compaction can put together is had, the rest is short, with
# the reason.

before_boot() { daemon_settings Reserve=8M EarlyMinimum=16M EarlyShift=63 Retry=2; }

# Hold memory of node 1, see fragment.c, until let_go. Returns once it is in pieces.
hold() { # LEAVE_MIB EVERY [pin]
	coproc FRAGMENT { exec /vm/fragment 1 "$@"; }
	read -r -t 300 said <&"${FRAGMENT[0]}" && echo "$said"
}
let_go() {
	local pid=$FRAGMENT_PID input=${FRAGMENT[1]}
	exec {input}>&-
	wait "$pid"
}
vmstat() { awk -v line="$1" '$1 == line { print $2 }' /proc/vmstat; }
free_in_huge_pages() { # how many pages of 2 MiB node 1 could give as it is
	awk '$2 == "1," { print $(4 + 10) + 2 * $(4 + 11) }' /proc/buddyinfo
}

checks() {
	local before wanted in_one_piece

	# Otherwise the kernel keeps so much of each node to itself that its own last pages are the first to go.
	echo 4096 >/proc/sys/vm/min_free_kbytes

	# Every second page of what can be moved is free: half of it can be put together. The kernel does not
	# always get as far as that, not even when it is told to compact by hand; but it gets somewhere.
	hold 64 2
	in_one_piece=$(free_in_huge_pages)
	wanted=$((in_one_piece + 40))
	before=$(vmstat compact_isolated)
	pool pages Kind=hugetlb PageSize=2M Nodes=1 Size="${wanted}p" Minimum=0p
	ok "pages that have to be put together first are asked for" settle
	echo "$in_one_piece pages of 2 MiB were free in one piece, $wanted asked for, $(huge_pages 1 2048) had"
	ok "there are more of them than were free in one piece" test "$(huge_pages 1 2048)" -gt "$in_one_piece"
	ok "by moving others" test "$(vmstat compact_isolated)" -gt "$before"
	ok "it has all of them, or says that memory is fragmented" \
		says '^(ready |degraded fragmented)$' echo "$(share pages 1 2) $(share pages 1 7)"
	ok "memory that was in use is given back" let_go

	no_pools
	echo 0 >"$nodes/node1/hugepages/hugepages-2048kB/nr_hugepages"
	# Pinned pages stay where they are; each of the pieces between them is one page.
	hold 64 8 pin
	wanted=$(($(free_in_huge_pages) + 20))
	pool pages Kind=hugetlb PageSize=2M Nodes=1 Size="${wanted}p" Minimum=0p
	ok "memory in pieces that cannot be moved: it settles" settle
	ok "as degraded, which is short of some and has its minimum" equal "$(pool_property pages State)" degraded
	ok "because it is fragmented, not because there is none" equal "$(share pages 1 7)" fragmented
	ok "what it says it has is what the kernel has" equal \
		"$(pool_property pages BytesDone)" "$(($(huge_pages 1 2048) << 21))"
	ok "bytes done and bytes short add up" equal \
		"$(($(pool_property pages BytesDone) + $(pool_property pages BytesShort)))" "$((wanted << 21))"
	ok "the journal says what is missing" says 'pool pages, node 1: degraded.*fragmented' journal_since_start
	ok "in one line, not one an attempt" equal "$(journal_since_start | grep -c 'node 1: degraded')" 1
	ok "the host is alive" systemctl is-active nodeinitd
	ok "memory that was pinned is given back" let_go
	ok "a retry gets the rest" meminitctl retry pages
	ok "and waits for it" meminitctl --quiet wait --timeout=3min
	ok "all of it" eventually equal_pages 1 "$wanted"

	# As the kernel's own tests do it: nearly everything taken, every 512th page given back.
	no_pools
	systemctl stop nodeinitd
	echo 0 >"$nodes/node1/hugepages/hugepages-2048kB/nr_hugepages"
	hold 48 512 pin
	pool pages Kind=hugetlb PageSize=2M Nodes=1 Size=64p Minimum=0p
	ok "with every 512th page free it settles, too" settle
	ok "as degraded" equal "$(pool_property pages State)" degraded
	ok "with a reason" says 'fragmented|no-memory|exceeds-reserve' share pages 1 7
	echo "the reason is $(share pages 1 7), $(huge_pages 1 2048) of 64 pages, $(node_kib 1 MemFree) KiB of the node free"
	ok "nobody was killed for it" equal "$(vmstat oom_kill)" 0
	ok "and the rest goes back" let_go
}
equal_pages() { [ "$(huge_pages "$1" 2048)" = "$2" ]; }
