# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash source=tests/vm/guest/lib.sh disable=SC2154
# machine: dimms
#
# Memory that comes while the daemon runs, on nodes that are there and on one that is not. The host is
# told by the check (hmp). At boot, node 1 has the offline blocks 32 to 35, node 2 has 36 to 39.

before_boot() {
	daemon_settings Reserve=64M EarlyMinimum=16M EarlyShift=63 SettleTimeout=infinity
	pool grow Kind=block Nodes=all '[Block]' Zone=movable
	pool pages Kind=hugetlb PageSize=2M Size=16p
	pool late Kind=hugetlb PageSize=2M Nodes=3 Size=8p
	pool files Kind=replica Nodes=all Required=no '[Replica]' 'Paths=/usr/bin/sleep'
}

mib() { echo $(($1 << 20)); }
generation() { manager_property Generation; }
plug() { hmp "device_add pc-dimm,id=$1,memdev=$1,node=$2"; }
share_is() { # pool, node, words 2, 5 and 7 of the share
	equal "$(share "$1" "$2" 2) $(share "$1" "$2" 5) $(share "$1" "$2" 7)" "$3"
}
has_object() { busctl get-property org.nodeinit1 "/org/nodeinit1/node/$1" org.nodeinit1.Node Id; }
shows() { equal "$("${@:2}")" "$1"; } # text expected, command...
# Memory that was hot-added and all that is made of it has settled.
takes_in() { # generation before
	eventually is_beyond "$1" && meminitctl --quiet wait --timeout=2min
}
is_beyond() { [ "$(generation)" -gt "$1" ]; }

check_late_node() {
	local before
	ok "the node that is not there yet is awaited" equal "$(manager_property Ready)" false
	ok "the others are at work meanwhile" eventually shows "ready ready" other_shares
	ok "their blocks are online" equal "$(blocks_are 32 33 34 35 36 37 38 39 | tr ' ' '\n' | uniq -c | xargs)" "8 Movable"
	ok "there is no object of it" not has_object 3
	before=$(generation)
	ok "its first dimm is plugged" plug late3 3
	ok "then all is ready" meminitctl --quiet wait --timeout=2min
	ok "its blocks are online" equal "$(blocks_are 40 41 42 43)" "Movable Movable Movable Movable"
	ok "it has an object" equal "$(node_property 3 Id) $(node_property 3 MemoryTotal)" "3 $(mib 512)"
	ok "which is listed" says '/org/nodeinit1/node/3' busctl call org.nodeinit1 /org/nodeinit1 org.nodeinit1.Manager ListNodes 'a{sv}' 0
	ok "pools with Nodes=all have a share there" share_is grow 3 "ready $(mib 512) "
	ok "all of them" share_is pages 3 "ready $(mib 32) "
	ok "it has the pages of the pool that has waited, too" equal "$(all_huge_pages 2048)" "16 16 16 24"
	ok "root has made a place for copies there" eventually grep -q ' /run/nodeinit/replica/node3 .*mpol=bind[^ ]*:3' /proc/self/mountinfo
	ok "and they are" eventually cmp /usr/bin/sleep /run/nodeinit/replica/node3/usr/bin/sleep
	ok "as files" test -f /run/nodeinit/replica/node3/usr/bin/sleep -a ! -L /run/nodeinit/replica/node3/usr/bin/sleep
	ok "a line says what the node took" says '^node 3 initialised, [0-9]+ pages in [0-9]+ ms$' journal_since_start
	ok "the generation has not gone back" test "$(generation)" -ge "$before"
}
other_shares() { echo "$(share grow 1 2) $(share pages 2 2)"; }

check_late_blocks() {
	local before
	before=$(generation)
	ok "a dimm comes after ready" plug more1 1
	ok "a new generation takes it in" takes_in "$before"
	ok "its blocks are online where they are to be" equal "$(blocks_are 44 45)" "Movable Movable"
	ok "the pool has grown by them" share_is grow 1 "ready $(mib 768) "
	ok "and so has the node" equal "$(node_property 1 MemoryTotal)" "$(mib 1280)"
}

# A rule of udev that is faster.
check_rule() {
	local before
	mkdir -p /run/udev/rules.d
	echo 'ACTION=="add", SUBSYSTEM=="memory", ATTR{state}=="offline", ATTR{state}="online_movable"' >/run/udev/rules.d/10-online.rules
	udevadm control --reload
	before=$(generation)
	ok "another dimm comes, with a rule that brings it online" plug more2 2
	ok "it is taken in all the same" takes_in "$before"
	ok "as done" share_is grow 2 "ready $(mib 768) "
	ok "by others" says 'pool grow, node 2: ready, .*4 memory blocks by us, 2 by=other' journal_since_start
	sed -i s/online_movable/online_kernel/ /run/udev/rules.d/10-online.rules
	udevadm control --reload
	ok "another one comes, with a rule that takes another zone" plug other2 2
	ok "this is no success" eventually shows "failed $(mib 768) zone-mismatch" grow_2
	ok "its block stays where the rule put it" equal "$(blocks_are 48)" Normal
	ok "and is named" says 'pool grow, node 2: failed.*memory48' journal_since_start
	ok "the others are as they were" equal "$(share grow 1 2) $(share grow 3 2) $(share pages 2 2)" "ready ready ready"
	rm /run/udev/rules.d/10-online.rules
	udevadm control --reload
}
grow_2() { echo "$(share grow 2 2) $(share grow 2 5) $(share grow 2 7)"; }

# What others take offline is not brought back behind their back.
check_offlined() {
	ok "somebody takes a block offline" bash -c "echo offline >$memory/memory45/state"
	ok "the pool has it no more" eventually shows "failed $(mib 640) offlined" grow_1
	ok "nor the node" eventually shows "$(mib 1152)" node_property 1 MemoryTotal
	ok "it stays offline" equal "$(blocks_are 45)" offline
	ok "a retry brings it back" meminitctl retry grow
	ok "and the share is ready again" eventually shows "ready $(mib 768) " grow_1
}
grow_1() { echo "$(share grow 1 2) $(share grow 1 5) $(share grow 1 7)"; }

checks() {
	check_late_node
	check_late_blocks
	check_rule
	check_offlined
	ok "nothing was refused by the sandbox" \
		not says 'Bad system call|Operation not permitted' journalctl -b -u nodeinitd -o cat
}
