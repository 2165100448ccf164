#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# What the source names and operators use is in the manual: settings, options, verbs, reasons,
# message ids, journal fields, packages. The members of the D-Bus interfaces are compared in tests/bus.
#
#     tests/check-docs.sh SOURCE_ROOT
set -eu
# shellcheck source=tests/lib/outcome.sh
. "$(dirname "$0")/lib/outcome.sh"
cd "${1:?usage: check-docs.sh SOURCE_ROOT}"

# Each word on standard input has to be in every FILE as PREFIX word SUFFIX. Fewer words than there
# were when this was written are a failure, too: the source is then written another way than is read
# here. The words come from a file and not by a pipe, in which the count of failures would be lost.
each_is_in() { # what, number of words, prefix, suffix, file...
	what=$1 least=$2 prefix=$3 suffix=$4 nr_words=0 missing=''
	shift 4
	while read -r word; do
		nr_words=$((nr_words + 1))
		for file; do
			grep -qF -e "$prefix$word$suffix" "$file" || missing="$missing, but not $word in $file"
		done
	done
	[ "$nr_words" -ge "$least" ] || missing="$missing, but $least were expected"
	status=0
	[ -z "$missing" ] || status=1
	outcome "$what: all of $nr_words are in $*$missing" "$status"
}
words=$(mktemp)
trap 'rm -f "$words"' EXIT INT TERM

man=docs/man

grep -oE '[0-9a-f]{32}' daemon/messages.h >"$words"
each_is_in "message ids" 10 '|  ' '' $man/nodeinitd.8.scd <"$words"
grep -oE '^\|  [0-9a-f]{32}' $man/nodeinitd.8.scd | cut -c4- >"$words"
each_is_in "message ids of the manual" 10 '' '' daemon/messages.h <"$words"
grep -ohE 'NODEINIT_[A-Z]+=' daemon/*.c | sort -u >"$words"
each_is_in "journal fields" 6 _ _ $man/nodeinitd.8.scd <"$words"

sed -n 's/.*= ROW("\([A-Za-z]*\)".*/\1/p' daemon/config/daemon-conf.c >"$words"
each_is_in "settings of the daemon" 12 '*' '=*' $man/nodeinitd.conf.5.scd <"$words"
each_is_in "settings of the daemon" 12 '#' '=' examples/nodeinitd.conf <"$words"
sed -n 's/.*\[KEY_[A-Z_]*\] = { "\([A-Za-z]*\)".*/\1/p' daemon/config/pool-conf.c >"$words"
each_is_in "settings of a pool" 12 '*' '=*' $man/nodeinit.pool.5.scd <"$words"

sed -n 's/.*{ "\([a-z]*\)", [a-z]*_argument, .*/\1/p' daemon/options.c >"$words"
each_is_in "options of nodeinitd" 7 '*--' '*' $man/nodeinitd.8.scd <"$words"
each_is_in "options of nodeinitd" 7 '"  --' '' daemon/options.c <"$words"
sed -n 's/.*{ "\([a-z-]*\)", [a-z]*_argument, .*/\1/p' client/main.c >"$words"
each_is_in "options of meminitctl" 13 '*--' '' $man/meminitctl.1.scd <"$words"
each_is_in "options of meminitctl" 13 -- '' client/main.c client/completion/bash/meminitctl \
	client/completion/zsh/_meminitctl <"$words"
sed -n 's/^	{ "\([a-z]*\)", [0-9]*, .*/\1/p' client/main.c >"$words"
each_is_in "verbs of meminitctl" 10 '*' '*' $man/meminitctl.1.scd <"$words"
each_is_in "verbs of meminitctl" 10 '' '' client/completion/bash/meminitctl \
	client/completion/zsh/_meminitctl <"$words"

sed -n 's/.*\[\(REASON\|PLAN\)_[A-Z_]*\] = "\([a-z-]\{1,\}\)".*/\2/p' daemon/kinds/kind.c daemon/plan/plan.c |
	sort -u >"$words"
each_is_in "reasons" 17 '*' '*' $man/nodeinitd.8.scd <"$words"
grep -oE '\[SHARE_[A-Z]*\] = "[a-z]+"' daemon/engine/state.c | cut -d'"' -f2 >"$words"
each_is_in "states" 7 '*' '*' $man/nodeinitd.8.scd $man/org.nodeinit1.5.scd <"$words"
sed -n 's/^#define NODEINIT_ERROR_[A-Z_]* *NODEINIT_ERROR("\([A-Za-z]*\)")/\1/p' dbus/names.h >"$words"
each_is_in "D-Bus errors" 7 org.nodeinit1.Error. '' $man/org.nodeinit1.5.scd <"$words"

# What a compiler brings along is left out.
sed -n '/^build_packages=(/,/)/p' tools/packages.sh | grep -oE 'lib[a-z-]+-dev|meson' |
	grep -v '^libc6-' >"$words"
each_is_in "packages to build it with" 7 ' ' '' README.md <"$words"
(cd examples && ls ./*.pool ./*.conf) | cut -c3- >"$words"
each_is_in "examples" 5 "'" "'" examples/meson.build <"$words"

# What a page shows of an example is the example: its one block in that language.
shown() { # page, language, file
	status=0
	sed -n "/^\`\`\`$2\$/,/^\`\`\`\$/p" "$1" | sed '1d;$d' | cmp -s - "$3" || status=1
	outcome "$1 shows $3 as it is" "$status"
}
shown docs/consumers.md sh examples/qemu-leased
shown docs/consumers.md xml examples/leased-domain.xml
shown docs/consumers.md c examples/lease.c

say_sum
