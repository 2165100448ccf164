#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# QEMU on a leased region: what it says of its memory, what the kernel says that it maps, and that
# the lease ends with it.
#
#     NODEINITD=... MEMINITCTL=... tests/consumers/test-qemu.sh base|thp|hugetlb
set -euo pipefail
folder=$(dirname "$(realpath "$0")")
qemu="qemu-system-x86_64"
skip() { echo "skipped: $*"; exit 77; }
for program in dbus-daemon setpriv "$qemu"; do
	command -v "$program" >/dev/null || skip "there is no $program here"
done

# shellcheck source=tests/lib/outcome.sh
. "$folder/../lib/outcome.sh"
# shellcheck source=tests/lib/scene.sh
. "$folder/../lib/scene.sh"
# shellcheck source=tests/lib/huge-pages.sh
. "$folder/../lib/huge-pages.sh"
trap 'scene_end; huge_pages_restore' EXIT
nobody=65534
nr_pages=32 # of 2 MiB at most

case ${1:?usage: test-qemu.sh base|thp|hugetlb} in
base) page=base mib=32 ;;
thp)
	page=thp mib=32
	[ "$(id -u)" -eq 0 ] || skip "transparent huge pages for regions need root"
	;;
hugetlb)
	page=2M mib=16
	huge_pages_add "$nr_pages" || skip "$huge_pages_obstacle"
	;;
*) skip "there are pages base, thp and hugetlb" ;;
esac
node=$(huge_pages_first_node)
region_bytes=$((mib << 20))
scene_pool guests "$page" 0 "${mib}M" <<-END
	Users=$nobody
	[Pool]
	Nodes=$node
	Size@$node=$((mib * 2))M
END
scene_has_pages || skip "there are no pages of kind $1 for regions here"
scene_start

# --- QEMU, and what is known of it ---
options=(-machine none -nodefaults -display none)
memory() { echo "memory-backend-file,id=m,mem-path={},size=$region_bytes,share=on${1:-}"; }

# It speaks on descriptors 8 and 9. $qemu_pid is also that of the lease: one process becomes the other.
start() { # words in front of QEMU, --, more of the memory
	local front=()
	while [ "$1" != -- ]; do
		front+=("$1")
		shift
	done
	rm -f "$work/to" "$work/from"
	mkfifo "$work/to" "$work/from"
	"${front[@]}" "$MEMINITCTL" --bus="unix:path=$work/bus" lease guests "$region_bytes"B --timeout="${scene_limit}s" -- \
		"$qemu" "${options[@]}" -qmp stdio -object "$(memory "${2:-}")" \
		<"$work/to" >"$work/from" 2>"$work/qemu.log" &
	qemu_pid=$!
	exec 8>"$work/to" 9<"$work/from"
	answer=''
	read -rt "$scene_limit" answer <&9 || :
	[[ $answer == *'"QMP"'* ]] || { cat "$work/qemu.log"; return 1; }
	ask qmp_capabilities
}
ask() { # command: $answer is what it says; events are passed over
	echo "{\"execute\":\"$1\"}" >&8
	while read -rt "$scene_limit" answer <&9; do
		[[ $answer != '{"return"'* ]] || return 0
		[[ $answer != '{"error"'* ]] || return 1
	done
	return 1
}
quit() {
	ask quit
	wait "$qemu_pid"
	qemu_pid=''
}
# What a failed test leaves behind would keep its lease from the next one.
clear_away() {
	[ -z "$qemu_pid" ] || kill -KILL "$qemu_pid" 2>/dev/null || :
	[ ! -e "$work/qemu.pid" ] || kill -KILL "$(<"$work/qemu.pid")" 2>/dev/null || :
	wait
	rm -f "$work/qemu.pid"
}
answers() { [[ $answer == *"$1"* ]] || { echo "not in the answer: $1"; echo "$answer"; return 1; }; }

given_back() { eventually scene_is_whole guests $((region_bytes * 2)); }
lease_id() { tr '\0' '\n' <"/proc/$1/environ" | sed -n 's/^NODEINIT_LEASE=//p'; }
is_leased_to() { ctl --json leases | tr -d ' ' | grep -q "\"pid\":$1,"; }

# The mapping of the file at descriptor 3: its lines in FILE (maps, smaps or numa_maps) of a process.
mapping() { # pid, file
	local device inode
	device=$(printf '%02x:%02x' "$(stat -L -c %Hd "/proc/$1/fd/3")" "$(stat -L -c %Ld "/proc/$1/fd/3")")
	inode=$(stat -L -c %i "/proc/$1/fd/3")
	awk -v is="$device $inode" '/^[0-9a-f]+-[0-9a-f]+ / { found = $4 " " $5 == is } found' "/proc/$1/$2"
}
mapped_bytes() {
	local range
	range=$(mapping "$1" maps | cut -d' ' -f1)
	echo $((0x${range#*-} - 0x${range%-*}))
}
mapped_kib() { mapping "$1" smaps | awk -v key="$2:" '$1 == key { sum += $2 } END { print sum + 0 }'; }
# Pages of that mapping: "N0=8192".
mapped_nodes() {
	local start
	start=$(mapping "$1" maps | cut -d- -f1)
	grep "^$start " "/proc/$1/numa_maps" | grep -oE 'N[0-9]+=[0-9]+'
}
# The free pages of the machine's huge page pool, for which nobody but us has the lock.
huge_pages_total() { cat "/sys/devices/system/node/node$node/$huge_pages_file"; }

# --- the tests ---
test_qemu_says_that_it_has_memory_of_this_size_on_this_node() {
	start -- ",host-nodes=$node,policy=bind"
	ask query-memdev
	answers "\"size\": $region_bytes"
	answers "\"host-nodes\": [$node]"
	answers '"share": true'
	is_leased_to "$qemu_pid"
	quit
	given_back
}
test_what_qemu_maps_is_the_leased_memory_shared_and_whole() {
	start --
	[ "$(mapped_bytes "$qemu_pid")" = "$region_bytes" ]
	mapping "$qemu_pid" maps | grep -q ' rw-s 00000000 '
	cmp -n "$region_bytes" "/proc/$qemu_pid/fd/3" /dev/zero
	quit
	given_back
}
test_the_memory_is_of_its_kind_of_page_and_on_its_node() {
	start -- ",prealloc=on,align=2M"
	case $page in
	2M) [ "$(mapped_kib "$qemu_pid" KernelPageSize)" = 2048 ] ;;
	thp) [ "$(mapped_kib "$qemu_pid" ShmemPmdMapped)" = $((mib * 1024)) ] ;;
	base) [ "$(mapped_kib "$qemu_pid" Rss)" = $((mib * 1024)) ] ;;
	esac
	[[ $(mapped_nodes "$qemu_pid") == "N$node="* ]]
	quit
	given_back
}
test_prealloc_takes_nothing_besides_the_lease() {
	local before
	start --
	before="$(stat -L -c %b "/proc/$qemu_pid/fd/3")"
	quit
	given_back
	before+=" $(huge_pages_total)"
	start -- ",prealloc=on,prealloc-threads=2"
	ask query-memdev
	answers '"prealloc": true'
	[ "$(stat -L -c %b "/proc/$qemu_pid/fd/3") $(huge_pages_total)" = "$before" ]
	[ "$(stat -L -c %s "/proc/$qemu_pid/fd/3")" = "$region_bytes" ]
	[ "$(mapped_kib "$qemu_pid" Anonymous)" = 0 ]
	quit
	given_back
}
test_another_region_takes_the_place_of_the_one_that_was_given_back() {
	local first second third
	for turn in first second third; do
		start --
		printf -v "$turn" %s "$(lease_id "$qemu_pid")"
		echo "$turn" | dd of="/proc/$qemu_pid/fd/3" conv=notrunc status=none || [ "$page" = 2M ]
		quit
		given_back
	done
	[ "$first" != "$second" ] && [ "$second" != "$third" ] && [ "$first" != "$third" ]
	start --
	cmp -n "$region_bytes" "/proc/$qemu_pid/fd/3" /dev/zero
	quit
}
test_a_machine_has_the_lease_as_its_memory() {
	# shellcheck disable=SC2054 # these commas are QEMU's
	local options=(-machine q35,memory-backend=m,accel=tcg -m "$mib" -nodefaults -display none -S)
	start --
	ask query-memory-size-summary
	answers "\"base-memory\": $region_bytes"
	[ "$(mapped_bytes "$qemu_pid")" = "$region_bytes" ]
	quit
	given_back
}
test_a_guest_with_two_nodes_has_two_leases() {
	local file="memory-backend-file,size=$region_bytes,share=on" ids
	cat >"$work/two" <<-END
		#!/bin/sh
		exec 5<&3 6<&4
		exec "$MEMINITCTL" --bus="unix:path=$work/bus" lease guests 0 --timeout=${scene_limit}s -- \
			"$qemu" -machine q35,accel=tcg -m $((mib * 2)) -nodefaults -display none -S -daemonize \
			-pidfile "$work/qemu.pid" -object $file,id=m0,mem-path=/proc/self/fd/5 -object $file,id=m1,mem-path={} \
			-numa node,memdev=m0 -numa node,memdev=m1
	END
	ctl lease guests 0 --timeout="${scene_limit}s" -- sh "$work/two"
	ids=$(ctl --no-legend leases guests | grep -c ' leased ')
	[ "$ids" = 2 ]
	[ "$(grep -cE ' rw-s 00000000 .*(memfd:nodeinit|/#)' "/proc/$(<"$work/qemu.pid")/maps")" = 2 ]
	kill -TERM "$(<"$work/qemu.pid")"
	given_back
}
test_qemu_runs_as_a_user_of_the_pool() {
	[ "$(id -u)" -eq 0 ] || { echo "another user needs root"; return 77; }
	start setpriv --reuid=$nobody --regid=$nobody --clear-groups --
	[ "$(stat -c %u "/proc/$qemu_pid")" = $nobody ]
	[ "$(mapped_bytes "$qemu_pid")" = "$region_bytes" ]
	quit
	given_back
}
test_a_killed_qemu_gives_its_lease_back() {
	start --
	kill -KILL "$qemu_pid"
	wait "$qemu_pid" || :
	given_back
}
test_qemu_in_the_background_keeps_its_lease_until_it_ends() {
	local pid
	ctl lease guests 0 --timeout="${scene_limit}s" -- "$qemu" "${options[@]}" -object "$(memory)" -daemonize \
		-pidfile "$work/qemu.pid"
	pid=$(<"$work/qemu.pid")
	[ "$(mapped_bytes "$pid")" = "$region_bytes" ]
	ctl --no-legend leases guests | grep -q ' leased '
	kill -TERM "$pid"
	given_back
}

for name in $(declare -F | sed -n 's/^declare -f \(test_\)/\1/p'); do
	status=0
	# Not in a condition, where -e would count for nothing.
	set +e
	(
		qemu_pid=''
		trap clear_away EXIT
		set -e
		"$name"
	) >"$work/test.log" 2>&1
	status=$?
	set -e
	sentence=${name#test_}
	if [ "$status" -eq 77 ]; then
		left_out "$1: ${sentence//_/ }" "$(tail -n 1 "$work/test.log")"
		continue
	fi
	outcome "$1: ${sentence//_/ }" "$status" "$work/test.log"
	given_back || break
done
say_sum
