#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# tools/packages.sh installs what is missing, or says what to do instead, and leaves nothing behind.
#
#     tests/test-packages.sh SOURCE_ROOT
set -eu
packages=${1:?usage: test-packages.sh SOURCE_ROOT}/tools/packages.sh
command -v bash >/dev/null || { echo "skipped: there is no bash"; exit 77; }
bash=$(command -v bash)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
mkdir "$work/bin" "$work/tmp"
for program in cat grep rm mktemp tail env; do
	ln -s "$(command -v "$program")" "$work/bin/"
done

fake() { # name, script
	printf '#!%s\n%s\n' "$bash" "$2" >"$work/bin/$1"
	chmod +x "$work/bin/$1"
}
# shellcheck disable=SC2016 # for the fake
fake dpkg-query 'case $* in *" here") echo "install ok installed" ;; *) exit 1 ;; esac'

# shellcheck source=tests/lib/outcome.sh
. "$(dirname "$0")/lib/outcome.sh"
judge() { outcome "$1" "$2" "$work/output"; }
# user id, packages...: to $work/output; the status is that of the installation
install_as() {
	fake id "echo $1"
	shift
	rm -f "$work/calls"
	# shellcheck disable=SC2016 # for the inner shell
	CALLS=$work/calls TMPDIR=$work/tmp PATH=$work/bin "$bash" -c \
		'set -euo pipefail; . "$1"; shift; install_packages "$@"' tool "$packages" "$@" \
		>"$work/output" 2>&1
}
says() { # sentence, text that the output has
	status=0
	grep -qF -- "$2" "$work/output" || status=$?
	judge "$1" "$status"
}
fails() { # sentence, as for install_as
	sentence=$1 status=0
	shift
	! install_as "$@" || status=1
	judge "$sentence" "$status"
}
leaves_nothing() {
	status=0
	rmdir "$work/tmp" && mkdir "$work/tmp" || status=$?
	judge "$1" "$status"
}

# shellcheck disable=SC2016 # for the fake
fake apt-get 'echo "$*" >>"$CALLS"; echo progress'
status=0
install_as 0 here || status=$?
[ ! -e "$work/calls" ] || status=1
[ ! -s "$work/output" ] || status=1
judge "what is installed needs no apt-get and no word" "$status"

status=0
install_as 0 here missing || status=$?
grep -q 'install.* missing$' "$work/calls" || status=1
! grep -q ' here' "$work/calls" || status=1
judge "what is missing is installed, and only that" "$status"
says "that is one line" "Installing packages that are missing: missing"
fails "without sudo an ordinary user is told" 1000 missing
says "what root would do" "As root: apt-get install missing"

fake sudo 'echo "sudo: a password is required"; exit 1'
fails "a sudo that refuses is a failure" 1000 missing
says "with its own words" "sudo: a password is required"
says "and what root would do" "As root: apt-get install missing"
leaves_nothing "that leaves nothing behind"

fake apt-get 'echo "E: no such package"; exit 100'
fails "an apt-get that fails is a failure" 0 missing
says "with its last words" "E: no such package"
leaves_nothing "and that leaves nothing, either"

# Whoever runs the tool and apt-get is interrupted: both get the signal.
# shellcheck disable=SC2016 # for the fake
fake apt-get 'kill -INT "$PPID"; kill -INT $$'
fails "an interrupted installation is a failure" 0 missing
leaves_nothing "and leaves nothing behind"

say_sum
