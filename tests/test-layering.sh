#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# The layering check must refuse what it forbids: one violation of each rule, one by one, in a copy
# of the tree.
#
#     tests/test-layering.sh SOURCE_ROOT
set -eu
source_root=${1:?usage: test-layering.sh SOURCE_ROOT}
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT INT TERM

# shellcheck source=tests/lib/outcome.sh
. "$(dirname "$0")/lib/outcome.sh"
spdx='/* SPDX-License-Identifier: LGPL-2.1-or-later */'

check() {
	sh "$copy/tests/check-layering.sh" "$copy" >"$copy/findings" 2>&1
}

# sentence, file, text of the file: the check must name the file
refused() {
	mkdir -p "$copy/${2%/*}"
	printf '%s\n' "$3" >"$copy/$2"
	status=0
	if check || ! grep -q "^$2:" "$copy/findings"; then
		status=1
		cat "$copy/findings"
	fi
	outcome "$1" "$status"
	rm "$copy/$2"
}

for folder in daemon client dbus docs examples systemd tests tools .ci; do
	[ ! -d "$source_root/$folder" ] || cp -R "$source_root/$folder" "$copy/"
done
cp "$source_root"/meson.build "$source_root"/meson_options.txt "$copy/"

status=0
check || status=1
outcome "the tree as it is passes" "$status" "$copy/findings"

lower=base
for layer in machine config plan kinds engine lease bus; do
	case $layer in lease) lower=kinds ;; esac
	refused "$lower does not look up into $layer" "daemon/$lower/violation.c" \
		"$spdx
#include \"../$layer/violation.h\""
	lower=$layer
done
refused "machine does not know the configuration" daemon/machine/violation.h \
	"$spdx
#include \"../config/config.h\""
refused "config does not know the machine" daemon/config/violation.c \
	"$spdx
#include \"../machine/machine.h\""
refused "engine does not know leases" daemon/engine/violation.c \
	"$spdx
#include \"../lease/violation.h\""
refused "leases do not know the engine" daemon/lease/violation.c \
	"$spdx
#include \"../engine/worker.h\""
refused "no layer looks into the top" daemon/bus/violation.c \
	"$spdx
#include \"../manager.h\""
refused "a detour through another folder is seen" daemon/base/violation.c \
	"$spdx
#include \"../base/../machine/machine.h\""
refused "the client does not know the daemon" client/violation.c \
	"$spdx
#include \"../daemon/base/size.h\""
refused "the kinds do not know the bus names" daemon/kinds/violation.c \
	"$spdx
#include \"../../dbus/names.h\""
refused "a folder that is no layer is refused" daemon/extras/violation.c "$spdx"

refused "numa.h is seen in machine only" daemon/kinds/violation.c "$spdx
#include <numa.h>"
refused "numaif.h is seen in kinds only" daemon/machine/violation.c "$spdx
#include <numaif.h>"
refused "mbind is called in kinds only" daemon/engine/violation.c "$spdx
int f(void) { return mbind(0, 0, 0, 0, 0, 0); }"
refused "madvise is called in kinds only" daemon/violation.c "$spdx
int f(void) { return madvise(0, 0, 0); }"
refused "the plan takes no locks" daemon/plan/violation.c "$spdx
#include <pthread.h>"
refused "threads start in the engine" daemon/kinds/violation.c "$spdx
int f(void) { return pthread_create(0, 0, 0, 0); }"
refused "atomics do not reach the plan" daemon/plan/violation.h "$spdx
#include <stdatomic.h>"
refused "libev does not reach the engine" daemon/engine/violation.c "$spdx
# include <ev.h>"
refused "sd-bus does not reach the kinds" daemon/kinds/violation.c "$spdx
#include <systemd/sd-bus.h>"
refused "INI files are read in config only" daemon/plan/violation.c "$spdx
#include <ini.h>"
refused "JSON is not written by the bus" daemon/bus/violation.c "$spdx
#include <json-c/json.h>"
refused "tables are printed by the plan and the client" daemon/violation.c "$spdx
#include <libsmartcols/libsmartcols.h>"

refused "a file of more than 600 lines is refused" tests/unit/violation.c "$spdx
$(awk 'BEGIN { for (i = 0; i < 600; i++) print "/* line */" }')"
refused "a source without SPDX line is refused" daemon/base/violation.c "int x;"
refused "a tool without SPDX line is refused" tools/violation "echo"
refused "a unit without SPDX line is refused" systemd/violation.service "[Unit]"
for name in utils common misc helpers; do
	refused "a file named $name.c is refused" "daemon/base/$name.c" "$spdx"
done
for call in 'sleep(1)' 'usleep(10)' 'nanosleep(&t, NULL)' 'clock_nanosleep(0, 0, &t, 0)' 'poll(NULL, 0, 10)'; do
	refused "a test must not call $call" tests/unit/violation.c "$spdx
int f(void) { return $call; }"
done
nap='sleep' # not in one word with its time: this script is looked at, too
refused "a script of tests must not sleep either" tests/violation.sh "# SPDX-License-Identifier: LGPL-2.1-or-later
until true; do $nap 0.1; done"

say_sum
