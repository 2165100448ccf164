#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# The sum at the end of tools/test must not lie.
#
#     tests/test-count-tests.sh SOURCE_ROOT
set -eu
counter=${1:?usage: test-count-tests.sh SOURCE_ROOT}/tools/count-tests.py
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM

# shellcheck source=tests/lib/outcome.sh
. "$(dirname "$0")/lib/outcome.sh"
# sentence, last line expected, exit status expected, line expected; the runs are in $work/runs
counts() {
	status=0
	python3 "$counter" "$work/runs" >"$work/output" || status=$?
	if [ "$(tail -n 1 "$work/output")" != "$2" ] || [ "$status" -ne "$3" ]; then
		status=1
	else
		status=0
		grep -q "${4:-}" "$work/output" || status=1
	fi
	outcome "$1" "$status" "$work/output"
	rm -rf "$work/runs"
	mkdir "$work/runs"
}
program() { # run, result, output
	printf '{"name": "p", "result": "%s", "stdout": "%s"}\n' "$2" "$3" >>"$work/runs/$1.json"
}

mkdir "$work/runs"
program plain OK '100%: Checks: 7, Failures: 0, Errors: 0\n'
program plain OK '4 ok\n3 passed, 0 failed\n'
program plain OK 'nothing that counts'
counts "Check, scripts and plain programs are added up" "11 passed, 0 failed, 0 skipped" 0

program plain FAIL '50%: Checks: 8, Failures: 3, Errors: 1\n'
counts "failures and errors both fail" "4 passed, 4 failed, 0 skipped" 1

program plain TIMEOUT '100%: Checks: 2, Failures: 0, Errors: 0\n'
counts "a program that fails after its tests fails" "2 passed, 1 failed, 0 skipped" 1

program plain OK '50%: Checks: 2, Failures: 1, Errors: 0\n'
counts "a program that failed tests and reports success fails" "1 passed, 1 failed, 0 skipped" 1

program plain SKIP 'skipped: no bus here\n'
program address OK 'fine'
counts "what was skipped is not passed" "1 passed, 0 failed, 1 skipped" 0 \
	'^skipped: plain: p: no bus here$'

program plain SKIP 'skipped: no bus here\n'
echo "plain does not build" >"$work/runs/address.broken"
counts "a run that does not build fails" "0 passed, 1 failed, 1 skipped" 1

echo "no such sanitizer" >"$work/runs/thread.skipped"
program plain OK '1 passed, 0 failed, 2 skipped\n'
counts "a run that was skipped is one" "1 passed, 0 failed, 3 skipped" 0

say_sum
