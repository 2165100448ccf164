# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash source=tests/vm/guest/lib.sh disable=SC2154
# machine: four
#
# Leases on four nodes: from the node that was asked for, from the nearest one, from no other; with each
# kind of page, by another user, under the installed unit and its sandbox, over a SIGKILL of the daemon.

before_boot() {
	local region='[Region]'
	daemon_settings Reserve=64M EarlyMinimum=16M EarlyShift=63
	pool base Kind=region PageSize=base Size=32M "$region" RegionSize=16M Users=nobody
	pool thp Kind=region PageSize=thp Size=32M "$region" RegionSize=16M Users=nobody
	pool huge Kind=region PageSize=2M Size=32M "$region" RegionSize=16M Users=nobody
}

# A service that holds a lease until it is stopped, and the node where it has its pages (move_pages).
hold() { # name, node expected, pool, options of lease...
	local name=$1 node=$2 pool=$3
	shift 3
	systemd-run --quiet --unit="$name" meminitctl --quiet lease "$pool" 16M "$@" -- tail -f /dev/null
	eventually is_held "$name" && eventually is_listed "$name" "$node" && has_pages_on "$name" "$node"
}
is_held() { # name: its program runs, with its memory
	[ "$(cat "/proc/$(systemctl show -P MainPID "$1")/comm" 2>/dev/null)" = tail ]
}
is_listed() { # name, node
	meminitctl --no-legend leases | grep -E "^ *[0-9]+ +[a-z]+ +$2 +16 MiB +leased .* $1.service "
}
has_pages_on() { # name, node
	equal "$(/vm/on-nodes "$(systemctl show -P MainPID "$1")")" "16777216 16777216 $2:4096"
}
nr_leases() { meminitctl --no-legend leases | wc -l; }
has_leases() { equal "$(nr_leases)" "$1"; }
is_whole() { # pool
	equal "$(pool_property "$1" BytesDone) $(pool_property "$1" BytesLeased)" "$((128 << 20)) 0"
}
# What a user who is named in Users= has: bytes other than zero in a lease, which he opens by its path.
bytes_of_nobody() { # pool
	# shellcheck disable=SC2016 # for the shell that the lease runs
	setpriv --reuid=nobody --regid=nogroup --clear-groups meminitctl lease "$1" 16M --timeout=1min -- \
		sh -c 'head -c 16777216 <"$1" | tr -d "\0" | wc -c' sh '{}'
}

# The distances of the four nodes are 10 16 21 21, 16 10 21 21, 21 21 10 16, 21 21 16 10.
check_nodes() { # pool
	ok "$1: a lease is from the node that was asked for, and so are its pages" hold "$1-1" 2 "$1" --node 2
	ok "$1: another one as well" hold "$1-2" 2 "$1" --node 2 --strict
	ok "$1: when there are no more, one that is strict is refused" \
		says 'no region left on node 2' meminitctl lease "$1" 16M --node 2 --strict -- true
	ok "$1: and one that is not is from the nearest node" hold "$1-3" 3 "$1" --node 2
	ok "$1: where there is a second one" hold "$1-4" 3 "$1" --node 2
	ok "$1: then from the next nearest, of two the first" hold "$1-5" 0 "$1" --node 2
	ok "$1: another user has zeroes, by the path, too" equal "$(bytes_of_nobody "$1")" 0
}

checks() {
	local pool name
	ok "all of it comes into service" meminitctl --quiet wait --timeout=5min
	for pool in base thp huge; do
		check_nodes "$pool"
	done
	ok "a user who is not named is refused" says 'uid 1([^0-9]|$)' \
		setpriv --reuid=1 --regid=1 --clear-groups meminitctl lease base 16M -- true
	ok "nothing was refused by the sandbox" \
		not says 'Operation not permitted|Bad system call' journalctl -b -u nodeinitd -o cat

	ok "the daemon is killed" kill -KILL "$(main_pid)"
	ok "it comes back" eventually meminitctl --quiet wait --timeout=1min
	ok "with every lease" eventually has_leases 15
	ok "and fills nothing that was filled" not says 'started' journal_since_start
	for name in base-1 thp-3 huge-5; do
		ok "$name still has its memory" is_held "$name"
	done
	ok "its pages are where they were" has_pages_on thp-3 3

	ok "the lessees end" systemctl stop 'base-*.service' 'thp-*.service' 'huge-*.service'
	for pool in base thp huge; do
		ok "$pool is whole again" eventually is_whole "$pool"
	done
	ok "no lease is left" equal "$(nr_leases)" 0
	ok "each page of a region is on its node" equal "$(regions_by_node)" "0:24576 1:24576 2:24576 3:24576"
	ok "each node has the huge pages that its regions need" equal "$(all_huge_pages 2048)" "16 16 16 16"
	ok "it stops" systemctl stop nodeinitd
	ok "and none of them stays" equal "$(all_huge_pages 2048)" "0 0 0 0"
}
