#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# The units as systemd reads them: all verify clean, the documented consumers order without a
# cycle, one that asks for the impossible is found out, and the daemon is as confined as promised.
#
#     tests/check-units.sh SOURCE_ROOT BUILT_UNITS_FOLDER
set -eu
source_root=${1:?usage: check-units.sh SOURCE_ROOT BUILT_UNITS_FOLDER}
built=${2:?usage: check-units.sh SOURCE_ROOT BUILT_UNITS_FOLDER}

if ! command -v systemd-analyze >/dev/null; then
	echo "skipped: there is no systemd-analyze here"
	exit 77
fi
if [ ! -e /lib/systemd/system/dbus.socket ] && [ ! -e /usr/lib/systemd/system/dbus.socket ]; then
	echo "skipped: there is no dbus.socket here to order after"
	exit 77
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
export SYSTEMD_UNIT_PATH="$work/units:" # the colon: and the system's own
export SYSTEMD_LOG_LEVEL=warning SYSTEMD_COLORS=0 SYSTEMD_PAGER=cat

# shellcheck source=tests/lib/outcome.sh
. "$(dirname "$0")/lib/outcome.sh"

# Nothing is installed while this runs, and verify asks for the programs to be there.
mkdir "$work/units"
for unit in "$built"/*.service "$built"/*.target "$built"/*.slice; do
	sed -E 's;^(Exec[A-Za-z]+=[-+!@:]*)/[^ ]*/(nodeinitd|meminitctl);\1/bin/true;' "$unit" \
		>"$work/units/${unit##*/}"
done
# The units in the documentation: blocks of ini whose first line names the file.
awk -v folder="$work/units" '
	/^```ini$/ { in_block = 1; file = ""; next }
	/^```$/ { in_block = 0 }
	in_block && file == "" { file = folder "/" $2; next }
	in_block { print >file }
' "$source_root/docs/ordering.md"

verify() { # unit...: clean only when nothing at all is said
	(cd "$work/units" && systemd-analyze verify --man=no "$@") >"$work/log" 2>&1 && [ ! -s "$work/log" ]
}

for unit in nodeinitd.service nodeinit-wait.service nodeinit-wait@.service nodeinit-wait@guests.service \
	nodeinit-prepare@node1.service nodeinit-ready.target nodeinit.slice; do
	status=0
	verify "$unit" || status=1
	outcome "$unit verifies clean" "$status" "$work/log"
done
for consumer in guests.service database.service; do
	status=0
	verify "$consumer" nodeinitd.service multi-user.target || status=1
	outcome "the documented consumer $consumer has no cycle" "$status" "$work/log"
done

# Found out for the right reason: without it, nothing is left to complain about.
mkdir "$work/units/sysinit.target.wants"
ln -s ../too-early.service "$work/units/sysinit.target.wants/"
status=0
! verify too-early.service multi-user.target || status=1
grep -q 'ordering cycle' "$work/log" || status=1
outcome "a consumer before sysinit.target is found to be a cycle" "$status" "$work/log"
rm -r "$work/units/sysinit.target.wants"
sed -i '/^Before=sysinit/d' "$work/units/too-early.service"
status=0
verify too-early.service multi-user.target || status=1
outcome "the same without Before=sysinit.target is none" "$status" "$work/log"

exposure() { # unit, limit
	status=0
	systemd-analyze security --offline=true --threshold="$2" "$work/units/$1" >"$work/log" 2>&1 || status=1
	outcome "$1: exposure at most $(awk "BEGIN { print $2 / 10 }") ($(sed -n 's/.*exposure level for [^:]*: \([0-9.]*\).*/\1/p' "$work/log"))" "$status" "$work/log"
}
# Of nodeinitd's, 5 are for the network namespace of the host, 2 for CAP_CHOWN, 2 for openat2(2), 1 for
# AF_NETLINK.
exposure nodeinitd.service 20
exposure nodeinit-prepare@.service 34
exposure nodeinit-wait.service 10
exposure nodeinit-wait@.service 10

say_sum
