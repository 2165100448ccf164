#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# Every shell script of ours, by shellcheck.
#
#     tests/check-shell.sh SOURCE_ROOT
set -eu
cd "${1:?usage: check-shell.sh SOURCE_ROOT}"
if ! command -v shellcheck >/dev/null; then
	echo "skipped: there is no shellcheck here"
	exit 77
fi
scripts=$(find tests tools bench examples .ci -type f -exec grep -lE -m 1 '^#!/bin/(ba)?sh|^# shellcheck shell=' {} +)
# shellcheck disable=SC2086 # no name of ours has a blank in it
exec shellcheck -x $scripts
