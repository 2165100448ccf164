#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# tools/configure.sh sets up a folder, whatever state it was left in.
#
#     tests/test-configure.sh SOURCE_ROOT
set -eu
configure=${1:?usage: test-configure.sh SOURCE_ROOT}/tools/configure.sh
for program in bash meson ninja; do
	command -v "$program" >/dev/null || { echo "skipped: there is no $program"; exit 77; }
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
mkdir "$work/source"
echo "project('none')" >"$work/source/meson.build"
echo "option('word', type: 'string', value: '')" >"$work/source/meson_options.txt"
echo "message('the word is', get_option('word'))" >>"$work/source/meson.build"

nr_passed=0
nr_failed=0
sets_up() { # sentence, word
	# shellcheck disable=SC2016 # for the inner shell
	if bash -c 'set -euo pipefail; . "$1"; shift; configure "$@"' tool "$configure" \
		"$work/build" "$work/source" "-Dword=$2" >"$work/output" 2>&1 &&
		grep -q "the word is $2" "$work/output" && [ -e "$work/build/build.ninja" ]; then
		nr_passed=$((nr_passed + 1))
		echo "ok - $1"
	else
		nr_failed=$((nr_failed + 1))
		echo "not ok - $1"
		cat "$work/output"
	fi
}
sets_up "a folder that is not there" one
sets_up "once more, with another option" two
rm -rf "$work/build"
mkdir -p "$work/build/meson-private" "$work/build/meson-logs"
sets_up "after it was interrupted at the beginning" three
rm "$work/build/build.ninja"
sets_up "after it was interrupted at the end" four

echo "$nr_passed passed, $nr_failed failed"
[ "$nr_failed" -eq 0 ]
