# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
# A nodeinitd on a bus of its own, for scripts that lease from it. Sourced, not run.
#
# NODEINITD and MEMINITCTL name the programs. What they need lies in $work, which other users may
# read; pools are declared with scene_pool before scene_start. scene_end has to be called.

: "${NODEINITD:?}" "${MEMINITCTL:?}"
scene_limit=30 # seconds
scene_daemon='' scene_bus=''
work=$(mktemp -d)
chmod 755 "$work"
mkdir -p "$work/etc/pools.d"
: >"$work/etc/nodeinitd.conf"

# Look again where there is no event to wait for.
eventually() { # command...
	local end=$((SECONDS + scene_limit))
	until "$@"; do
		[ "$SECONDS" -lt "$end" ] || { echo "within $scene_limit s never: $*" >&2; return 1; }
	done
}

ctl() { timeout "$scene_limit" "$MEMINITCTL" --bus="unix:path=$work/bus" "$@"; }

# Standard input has what follows [Region], if anything does.
scene_pool() { # name, page size, size, region size
	{
		printf '[Pool]\nKind=region\nPageSize=%s\nSize=%s\n[Region]\nRegionSize=%s\n' "$2" "$3" "$4"
		cat
	} >"$work/etc/pools.d/$1.pool"
}

scene_start_bus() {
	cat >"$work/bus.conf" <<-END
		<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-BUS Bus Configuration 1.0//EN"
		 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
		<busconfig>
		  <type>session</type>
		  <listen>unix:path=$work/bus</listen>
		  <auth>EXTERNAL</auth>
		  <policy context="default">
		    <allow user="*"/>
		    <allow send_destination="*"/>
		    <allow receive_sender="*"/>
		    <allow own="*"/>
		  </policy>
		</busconfig>
	END
	mkfifo "$work/address"
	dbus-daemon --config-file="$work/bus.conf" --nofork --nopidfile --print-address=1 \
		>"$work/address" 2>"$work/bus.log" &
	scene_bus=$!
	# It says its address once it listens.
	read -rt "$scene_limit" _ <"$work/address"
}

scene_is_there() {
	local status=0
	kill -0 "$scene_daemon" || { scene_limit=0; return 1; }
	ctl -q status || status=$?
	[ "$status" -ne 5 ]
} >/dev/null 2>&1

# Can there be pools as declared, where the question is the kind of page?
scene_has_pages() {
	local plan
	plan=$("$NODEINITD" --config "$work/etc" --plan 2>&1) || :
	[[ $plan != *unsupported-size* ]]
}

# The daemon runs, and all its pools are ready.
scene_start() {
	scene_start_bus
	"$NODEINITD" --config "$work/etc" --bus "unix:path=$work/bus" >"$work/daemon.log" 2>&1 &
	scene_daemon=$!
	if ! eventually scene_is_there || ! ctl -q wait; then
		cat "$work/daemon.log" >&2
		return 1
	fi
}

# All of the pool is there, and nothing of it leased or draining.
scene_is_whole() { # pool, bytes
	[ -z "$(ctl --no-legend leases "$1")" ] && ctl --json pools "$1" | grep -Eq "\"done\": ?$2,"
}

scene_end() {
	local process
	for process in $scene_daemon $scene_bus; do
		kill -TERM "$process" 2>/dev/null || :
		wait "$process" || :
	done
	scene_daemon='' scene_bus=''
	rm -rf "$work"
}
