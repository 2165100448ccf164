# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
# For the checks inside the guest. Sourced, not run.
nr_passed=0
nr_failed=0
nr_skipped=0
nodes=/sys/devices/system/node
memory=/sys/devices/system/memory

ok() { # sentence, command...
	local sentence=$1
	shift
	if "$@" >/vm/output 2>&1; then
		nr_passed=$((nr_passed + 1))
		echo "ok - $sentence"
		return
	fi
	nr_failed=$((nr_failed + 1))
	echo "not ok - $sentence"
	uniq /vm/output | sed 's/^/    /'
	meminitctl pools 2>&1 | sed 's/^/    pools: /'
	journalctl -b -o cat -n 15 -u nodeinitd | sed 's/^/    journal: /'
}
skipped() { # sentence, why
	nr_skipped=$((nr_skipped + 1))
	echo "skipped - $1: $2"
}
not() { ! "$@"; }
equal() { # value, value expected
	echo "it is $1, not $2"
	[ "$1" = "$2" ]
}
says() { # pattern, command...: the command says it, whatever its exit status
	local pattern=$1 output
	shift
	output=$("$@" 2>&1)
	printf '%s\n' "$output"
	grep -qE -e "$pattern" <<<"$output"
}
# For what has no event to wait for: looks again and again, a minute at most.
eventually() { # command...
	local deadline=$((SECONDS + 60))
	until "$@"; do
		[ "$SECONDS" -lt "$deadline" ] || return 1
	done
}
finish() {
	echo "$nr_passed passed, $nr_failed failed, $nr_skipped skipped"
	[ "$nr_failed" -eq 0 ]
	exit
}

# Has QEMU's monitor do something, such as "device_add pc-dimm,id=d,memdev=m,node=1", and prints the
# answer: what stands between the answers to two sums, as there is no other end of it. Status: whether it
# was no error.
hmp() { # command
	local line answer='' is_answer=no
	stty -F /dev/ttyS2 raw -echo
	exec 9<>/dev/ttyS2
	printf '\np 0xa0000+1\n%s\np 0xa0000+2\n' "$1" >&9
	while IFS= read -r -t 60 line <&9; do
		line=${line%$'\r'}
		case $line in
		0xa0001) is_answer=yes ;;
		0xa0002) is_answer=over
			break ;;
		*'(qemu)'*) ;;
		*) [ "$is_answer" = no ] || answer+=${line}$'\n' ;;
		esac
	done
	exec 9<&-
	printf '%s' "$answer"
	[ "$is_answer" = over ] && ! grep -q '^Error' <<<"$answer"
}

# --- configuration ---
# The brake is off unless a line says otherwise: a check that looks again and again takes the emulated CPUs,
# and what it waits for would give way to it.
daemon_settings() { # lines of [Daemon]...
	mkdir -p /etc/nodeinit/pools.d
	printf '[Daemon]\nBrakePressure=0\n' >/etc/nodeinit/nodeinitd.conf
	printf '%s\n' "$@" >>/etc/nodeinit/nodeinitd.conf
}
pool() { # name, lines of [Pool]...
	local name=$1
	shift
	printf '[Pool]\n' >"/etc/nodeinit/pools.d/$name.pool"
	printf '%s\n' "$@" >>"/etc/nodeinit/pools.d/$name.pool"
}
no_pools() { rm -f /etc/nodeinit/pools.d/*.pool; }
unit_settings() { # lines of [Service]...; none: as installed
	local drop_in=/run/systemd/system/nodeinitd.service.d/test.conf
	rm -f "$drop_in"
	if [ $# -gt 0 ]; then
		mkdir -p "${drop_in%/*}"
		printf '[Service]\n' >"$drop_in"
		printf '%s\n' "$@" >>"$drop_in"
	fi
	systemctl daemon-reload
}
# Start afresh and wait until all has settled: status of meminitctl wait.
settle() {
	systemctl reset-failed
	systemctl restart nodeinitd && meminitctl --quiet wait --timeout=3min
}
journal_since_start() { # more to match
	journalctl -b -o cat "$@" _SYSTEMD_INVOCATION_ID="$(systemctl show -P InvocationID nodeinitd)"
}

# --- what the daemon says ---
property() { busctl get-property org.nodeinit1 "$1" "org.nodeinit1.$2" "$3" | cut -d' ' -f2- | tr -d '"'; }
manager_property() { property /org/nodeinit1 Manager "$1"; }
node_property() { property "/org/nodeinit1/node/$1" Node "$2"; }
pool_property() { property "/org/nodeinit1/pool/$1" Pool "$2"; }
# What GetTimeline says of POOL's stages that have settled: lines of node, start, end, CPU time in
# microseconds. An entry has eight words and, as the last of them says, so many times three more.
timeline() { # pool
	busctl call org.nodeinit1 /org/nodeinit1 org.nodeinit1.Manager GetTimeline 'a{sv}' 0 |
		awk -v pool="\"$1\"" '{
			for (at = 3; at + 7 <= NF; at += 8 + 3 * $(at + 7)) {
				cpu = 0
				for (i = at + 8; i < at + 8 + 3 * $(at + 7); i += 3)
					if ($i == "\"cpu_usec\"")
						cpu = $(i + 2)
				if ($(at + 1) == pool && $(at + 3) == "\"settled\"")
					print $at, $(at + 4), $(at + 5), cpu
			}
		}'
}
# Of a pool's share: its words are node, state, total, early, done, short, reason.
share() { # pool, node, number of the word
	pool_property "$1" Shares | awk -v node="$2" -v word="$3" '{
		at = 2
		for (i = 0; i < $1; i++) {
			# An empty reason is no word once its quotes are gone.
			n = ($(at + 6) ~ /^[0-9]*$/) ? 6 : 7
			if ($at == node)
				print (word <= n) ? $(at + word - 1) : ""
			at += n
		}
	}'
}
main_pid() { systemctl show -P MainPID nodeinitd; }

# --- what the machine says ---
huge_pages() { # node, KiB of a page
	cat "$nodes/node$1/hugepages/hugepages-$2kB/nr_hugepages"
}
all_huge_pages() { # KiB of a page: one number a node, in the order of their ids
	local id
	for id in $(seq 0 63); do
		[ ! -e "$nodes/node$id" ] || huge_pages "$id" "$1"
	done | paste -sd' '
}
node_kib() { # node, line of its meminfo
	awk -v line="$2:" '$3 == line { print $4 }' "$nodes/node$1/meminfo"
}
# What each of the memory blocks is: the zone where it is online, or its state.
blocks_are() { # number of a block...
	local block state
	for block; do
		state=$(cat "$memory/memory$block/state" 2>/dev/null) || state=gone
		[ "$state" != online ] || state=$(cat "$memory/memory$block/valid_zones")
		echo "$state"
	done | paste -sd' '
}
last_blocks() { # node, how many: the numbers of its last ones
	local blocks=("$nodes/node$1"/memory[0-9]*)
	printf '%s\n' "${blocks[@]##*/memory}" | sort -n | tail -n "$2" | paste -sd' '
}
# How often anybody has told the kernel to bring something online, after count_onlining.
count_onlining() {
	mountpoint -q /sys/kernel/tracing || mount -t tracefs tracefs /sys/kernel/tracing
	echo 'p:onlining device_online' >/sys/kernel/tracing/kprobe_events
	echo 1 >/sys/kernel/tracing/events/kprobes/onlining/enable
}
nr_onlined() { awk '$1 == "onlining" { print $2 }' /sys/kernel/tracing/kprobe_profile; }
# The kernel answers so to whoever brings memory online, until it is 0.
onlining_fails_with() { # errno
	local error=/sys/kernel/debug/notifier-error-inject/memory/actions/MEM_GOING_ONLINE/error
	if [ ! -e "$error" ]; then
		echo memory-notifier-error-inject >/etc/modules-load.d/vm.conf
		/lib/systemd/systemd-modules-load 2>/dev/null
		mountpoint -q /sys/kernel/debug || mount -t debugfs debugfs /sys/kernel/debug
	fi
	echo "-$1" >"$error"
}
# Where the pages of the daemon's regions are: NODE:PAGES of each node that has some.
regions_by_node() {
	/vm/on-nodes "$(main_pid)" | awk '{
		for (i = 3; i <= NF; i++) { split($i, at, ":"); nr[at[1]] += at[2] }
	} END { for (id in nr) print id ":" nr[id] }' | sort -n | paste -sd' '
}
