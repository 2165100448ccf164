# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=sh
# How a script of tests says what became of each, and of all. Sourced, not run.
nr_passed=0
nr_failed=0
nr_skipped='' # none

outcome() { # sentence, status (0 good), what to show when it is not
	if [ "$2" -eq 0 ]; then
		nr_passed=$((nr_passed + 1))
		echo "ok - $1"
	else
		nr_failed=$((nr_failed + 1))
		echo "not ok - $1"
		[ -z "${3:-}" ] || cat "$3"
	fi
}

left_out() { # sentence, why
	nr_skipped=$((${nr_skipped:-0} + 1))
	echo "skipped - $1: $2"
}

# The last line, which tools/count-tests.py reads. Return: the status to end with.
say_sum() {
	echo "$nr_passed passed, $nr_failed failed${nr_skipped:+, $nr_skipped skipped}"
	[ "$nr_failed" -eq 0 ]
}
