#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Make each known mistake of sd-bus glue in a copy of loop.c and expect test-bus-loop to turn red.
# Usage: mutants.sh SOURCE_ROOT BUS_POLICY
set -eu

root=$(realpath "$1")
policy=$(realpath "$2")
name=$(basename "$policy" .conf) # the bus name that was built for
if ! command -v dbus-daemon >/dev/null; then
	echo "skipped: there is no dbus-daemon"
	exit 77
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export TMPDIR="$work" # a test that times out leaves its directory behind
mkdir -p "$work/daemon" "$work/tests"
cp -r "$root/daemon/base" "$root/daemon/bus" "$work/daemon"
cp -r "$root/tests/bus" "$root/tests/lib" "$work/tests"
cp -r "$root/dbus" "$work"

# build DIRECTORY: its loop.c, everything else as it is
build() {
	# shellcheck disable=SC2046 # pkg-config answers with several words
	${CC:-cc} -std=gnu11 -O0 -D_GNU_SOURCE -DTEST_BUS_POLICY="\"$policy\"" \
		-DNODEINIT_BUS_NAME="\"$name\"" -I"$work/tests/lib" \
		-iquote "$work/daemon/bus" -o "$1/test" "$1/loop.c" "$work/daemon/base/clock.c" \
		"$work/tests/bus/test-bus-loop.c" "$work/tests/lib/bus-fixture.c" \
		"$work/tests/lib/suite.c" $(pkg-config --cflags --libs libsystemd check) -lev
}

# mutant NAME SED_SCRIPT
mutant() {
	place=$(mktemp -d "$work/mutant.XXXXXX")
	sed "$2; s|\"../base/|\"$work/daemon/base/|" "$root/daemon/bus/loop.c" >"$place/loop.c"
	if sed "$2" "$root/daemon/bus/loop.c" | cmp -s - "$root/daemon/bus/loop.c"; then
		echo "not ok: $1: the line it changes is gone"
		return 1
	fi
	build "$place"
	if CK_TIMEOUT_MULTIPLIER=1 "$place/test" >"$place/log" 2>&1; then
		echo "not ok: $1: no test noticed"
		return 1
	fi
	echo "ok: $1: $(grep -c ':[EF]:' "$place/log") tests red"
}

mkdir "$work/original"
sed "s|\"../base/|\"$work/daemon/base/|" "$root/daemon/bus/loop.c" >"$work/original/loop.c"
build "$work/original"
if ! CK_TIMEOUT_MULTIPLIER=10 "$work/original/test" >"$work/original/log" 2>&1; then
	cat "$work/original/log"
	echo "not ok: red without a mutant"
	exit 1
fi

# A mutant hangs until its tests time out: all four at the same time.
mutant "a past deadline arms nothing" \
	's/if (deadline_usec == UINT64_MAX)/if (deadline_usec == UINT64_MAX || !wait_usec)/' &
pids=$!
mutant "read events only" 's/(poll_events & POLLOUT ? EV_WRITE : 0)/0/' &
pids="$pids $!"
mutant "the deadline taken as a duration" \
	's/uint64_t now_usec = clock_monotonic_usec();/uint64_t now_usec = 0;/' &
pids="$pids $!"
mutant "no deadline" 's/ev_timer_start(bus_loop->loop, &bus_loop->deadline);/(void) 0;/' &
pids="$pids $!"

survivors=0
for pid in $pids; do
	wait "$pid" || survivors=$((survivors + 1))
done
exit "$survivors"
