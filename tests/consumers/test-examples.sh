#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The examples of docs/consumers.md, run on leases.
#
#     NODEINITD=... MEMINITCTL=... EXAMPLE_LEASE=... EXAMPLE_DPDK=... tests/consumers/test-examples.sh lease|dpdk|emulator
set -euo pipefail
folder=$(dirname "$(realpath "$0")")
what=${1:?usage: test-examples.sh lease|dpdk|emulator}
skip() { echo "skipped: $*"; exit 77; }
command -v dbus-daemon >/dev/null || skip "there is no dbus-daemon here"
[ "$what" != lease ] || [ -n "${EXAMPLE_LEASE:-}" ] || skip "this build has another bus name than the example"
[ "$what" != dpdk ] || [ -n "${EXAMPLE_DPDK:-}" ] || skip "it was built without DPDK"
[ "$what" != emulator ] || command -v qemu-system-x86_64 >/dev/null || skip "there is no qemu-system-x86_64 here"

# shellcheck source=tests/lib/outcome.sh
. "$folder/../lib/outcome.sh"
# shellcheck source=tests/lib/scene.sh
. "$folder/../lib/scene.sh"
trap scene_end EXIT
mib=32
scene_pool guests base $((mib * 2))M ${mib}M </dev/null
scene_start
export DBUS_SYSTEM_BUS_ADDRESS=unix:path=$work/bus PATH=${MEMINITCTL%/*}:$PATH

given_back() { eventually scene_is_whole guests $((mib * 2 << 20)); }
says() { grep -Eqx -- "$1" "$work/out" || { echo "not said: $1"; cat "$work/out"; return 1; }; }
refused() { # command...
	if "$@" 2>"$work/out"; then
		echo "not refused: $*"
		return 1
	fi
}

lease_gets_a_region_that_is_zeroed_each_time() {
	for _ in 1 2 3; do
		"$EXAMPLE_LEASE" guests >"$work/out"
		says "lease [0-9]+: $((mib << 20)) bytes on node [0-9]+, the first is 0"
	done
	given_back
}
lease_says_why_there_is_none() {
	refused "$EXAMPLE_LEASE" nix
	says 'no pool nix; meminitctl pools shows all'
	refused "$EXAMPLE_LEASE"
	says 'usage: .+ POOL'
}
dpdk_has_its_packets_in_the_lease() {
	local options=(--no-pci --no-huge --no-shconf --no-telemetry -m 64 --iova-mode=va)
	ctl lease guests 0 -- "$EXAMPLE_DPDK" "${options[@]}" >"$work/out" 2>&1
	says "a packet at [0-9]+ of $((mib << 20)) leased bytes, socket 256"
	given_back
}
# What libvirt does with an emulator: first it asks, then it starts a domain.
emulator_leases_nothing_when_it_is_only_asked() {
	"$folder/../../examples/qemu-leased" --version >"$work/out"
	says 'QEMU emulator version .*'
	grep -q ': lease ' "$work/daemon.log" && return 1
	return 0
}
emulator_starts_a_machine_whose_memory_is_the_lease() {
	printf '{"execute":"%s"}\n' qmp_capabilities query-memdev query-memory-size-summary quit |
		LEASE_POOL=guests LEASE_BYTES=${mib}M LEASE_NODE='' QEMU=qemu-system-x86_64 \
			"$folder/../../examples/qemu-leased" -S -machine q35 -m $mib -nodefaults -display none -qmp stdio \
			-object "memory-backend-file,id=leased,mem-path=/proc/self/fd/3,size=${mib}M,share=on" \
			-machine memory-backend=leased 3>&- 4>&- >"$work/out"
	says ".*\"size\": $((mib << 20)),.*\"id\": \"leased\".*"
	says ".*\"base-memory\": $((mib << 20)).*"
	grep -q 'lease [0-9]*: .* of pool guests' "$work/daemon.log"
	given_back
}
emulator_does_not_replace_a_descriptor_that_it_was_given() {
	LEASE_POOL=guests LEASE_BYTES=0 refused "$folder/../../examples/qemu-leased" --version 4</dev/null
	says 'qemu-leased: descriptors 3 and 4 are taken already'
}

for name in $(declare -F | sed -n "s/^declare -f \(${what}_\)/\1/p"); do
	status=0
	set +e
	(
		set -e
		"$name"
	) >"$work/test.log" 2>&1
	status=$?
	set -e
	outcome "${name//_/ }" "$status" "$work/test.log"
done
say_sum
