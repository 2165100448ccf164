# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash source=tests/vm/guest/lib.sh disable=SC2154
# machine: four
#
# A machine with four nodes and pools that are there at boot, as an operator has them.

before_boot() {
	daemon_settings Reserve=64M EarlyMinimum=16M EarlyShift=63
	pool pages Kind=hugetlb PageSize=2M Size@0=10p Size@1=25p Size@2=30p Size@3=7p
	pool huge Kind=region PageSize=2M Size=32M '[Region]' RegionSize=16M
	pool wide Kind=region PageSize=thp Size=32M '[Region]' RegionSize=16M
	pool small Kind=region PageSize=base Size=32M Size@1=40M Size@2=48M Size@3=24M '[Region]' RegionSize=8M
	cat >/etc/systemd/system/consumer.service <<-END
		[Unit]
		Requires=nodeinit-ready.target
		After=nodeinit-ready.target
		[Service]
		Type=oneshot
		RemainAfterExit=yes
		ExecStart=/bin/true
	END
	mkdir -p /etc/systemd/system/multi-user.target.wants
	ln -s ../consumer.service /etc/systemd/system/multi-user.target.wants/consumer.service
}

# Of /vm/on-nodes: each region has all its bytes, and pages of one node only. Nodes have different numbers
# of regions, so that those of two nodes cannot be taken for each other.
nowhere_else() { # number of regions of each node
	/vm/on-nodes "$(main_pid)" >/vm/regions || return
	sort /vm/regions | uniq -c
	awk -v numbers="$*" '
		NF != 3 || $1 != $2 { bad++ }
		{ split($3, at, ":"); if (at[2] * 4096 != $1) bad++; nr[at[1]]++; }
		END { split(numbers, wanted); for (i = 0; i < 4; i++) if (nr[i] != wanted[i + 1]) bad++; exit bad > 0 }' /vm/regions
}

all_overlap() { # pool: all nodes have begun before the first one ends
	timeline "$1" | tee /dev/stderr | awk '
		{ nr[$1] = 1; if ($2 > last) last = $2; if (!first || $3 < first) first = $3 }
		END { exit !(length(nr) == 4 && last < first) }'
}
all_have_worked() { # pool
	timeline "$1" | tee /dev/stderr | awk '$4 > 0 { nr[$1] = 1 } END { exit length(nr) != 4 }'
}

# The CPUs that node N's worker may run on, and the one that it was on.
worker_cpus() { # node
	local task
	for task in /proc/"$(main_pid)"/task/*; do
		[ "$(cat "$task/comm")" = "init-node$1" ] || continue
		echo "$(awk '/^Cpus_allowed_list:/ { print $2 }' "$task/status") $(awk '{ print $39 }' "$task/stat")"
	done
}
workers_are_at_home() {
	local id
	for id in 0 1 2 3; do
		echo "node $id: $(worker_cpus "$id")"
		[ "$(worker_cpus "$id")" = "$id $id" ] || return
	done
}

checks() {
	local id ready_usec consumer_usec

	ok "the consumer has been started at boot" systemctl is-active consumer
	ok "the daemon is ready" equal "$(manager_property State)" ready
	ready_usec=$(manager_property ReadyMonotonic)
	consumer_usec=$(systemctl show -P ExecMainStartTimestampMonotonic consumer)
	ok "the consumer's program began after the memory was ready" test "$ready_usec" -lt "$consumer_usec"
	ok "the critical chain of the boot has the consumer behind the target" \
		says 'consumer.service' systemd-analyze critical-chain multi-user.target --no-pager
	ok "and the target behind the wait, the wait behind the daemon" \
		bash -c 'systemd-analyze critical-chain --no-pager multi-user.target | tr -d "\n" |
			grep -E "consumer.service.*nodeinit-ready.target.*nodeinit-wait.service.*nodeinitd.service"'
	ok "the distances are those of the machine" \
		equal "$(cat "$nodes"/node*/distance | paste -sd,)" "10 16 21 21,16 10 21 21,21 21 10 16,21 21 16 10"
	for id in 0 1 2 3; do
		ok "node $id works on its own CPU" equal "$(node_property $id CPUs) $(node_property $id HelperNode)" "$id -1"
	done
	ok "each node has the huge pages that were asked for, and those of its regions" \
		equal "$(all_huge_pages 2048)" "26 41 46 23"
	ok "each node's early budget is its own" \
		equal "$(for id in 0 1 2 3; do node_property $id EarlyBudget; done | sort -u)" 134217728
	ok "no page of a region is on another node, none is missing (move_pages)" nowhere_else 8 9 10 7
	ok "transparent huge pages are huge on each node" equal \
		"$(for id in 0 1 2 3; do node_kib $id ShmemHugePages; done | paste -sd' ')" "32768 32768 32768 32768"
	ok "nothing was refused by the sandbox" \
		not says 'Operation not permitted|Bad system call' journalctl -b -u nodeinitd -o cat

	# A second run finds everything: what is written once more would show as an event.
	ok "a second run is ready, too" settle
	ok "and leaves the huge pages as they were" equal "$(all_huge_pages 2048)" "26 41 46 23"
	ok "it stops" systemctl stop nodeinitd
	ok "then only the huge pages of the hugetlb pool stay" equal "$(all_huge_pages 2048)" "10 25 30 7"
	ok "region memory has gone back" equal \
		"$(for id in 0 1 2 3; do node_kib $id ShmemHugePages; done | paste -sd' ')" "0 0 0 0"

	# In parallel: begun together on all nodes, as nothing is done before the resume.
	no_pools
	ok "without pools it is idle" settle
	meminitctl pause
	pool parallel Kind=region PageSize=base Size@0=128M Size@1=144M Size@2=160M Size@3=112M Early=none \
		'[Region]' RegionSize=16M
	ok "a pool that is declared while it pauses is taken" systemctl reload nodeinitd
	ok "each worker is on its own node's CPU before it works" eventually workers_are_at_home
	ok "nothing has been done yet" equal "$(manager_property BytesDone)" 0
	meminitctl resume
	ok "it fills all nodes" meminitctl --quiet wait --timeout=3min
	ok "all nodes were at work at the same time (GetTimeline)" all_overlap parallel
	ok "each node's worker has spent CPU time of its own" all_have_worked parallel
	ok "each page is on the node of the worker that filled it" nowhere_else 8 9 10 7
}
