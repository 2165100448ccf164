#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Sum up test runs, for tools/test.

    count-tests.py FOLDER

FOLDER holds, for each run, RUN.json (meson's testlog.json), or RUN.broken or RUN.skipped with a
sentence. A program's own tests are counted where its output says how many they were: Check's
"NN%: Checks: N, Failures: N, Errors: N", a script's "N passed, N failed". Any other program is
one test. What failed and what was skipped is listed with its reason; the last line is the sum.
"""
import json
import pathlib
import re
import sys

CHECK = re.compile(r"^\d+%: Checks: (\d+), Failures: (\d+), Errors: (\d+)", re.M)
SCRIPT = re.compile(r"^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?$", re.M)


def own_count(output):
    """(passed, failed, skipped) of one program, or None where it does not say."""
    sums = [0, 0, 0]
    found = False
    for checks, failures, errors in CHECK.findall(output):
        bad = int(failures) + int(errors)
        sums[0] += int(checks) - bad
        sums[1] += bad
        found = True
    for passed, failed, skipped in SCRIPT.findall(output):
        sums[0] += int(passed)
        sums[1] += int(failed)
        sums[2] += int(skipped or 0)
        found = True
    return sums if found else None


def reason(output):
    """The program's last line that says why it was skipped."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    said = [line for line in lines if "skip" in line.lower()]
    return re.sub(r"^skipped:\s*", "", (said or lines or ["it does not say why"])[-1])


def main():
    folder = pathlib.Path(sys.argv[1])
    total = [0, 0, 0]
    for path in sorted(folder.iterdir()):
        run = path.stem
        if path.suffix == ".broken":
            print(f"failed: {path.read_text().strip()}")
            total[1] += 1
        elif path.suffix == ".skipped":
            print(f"skipped: run {run}: {path.read_text().strip()}")
            total[2] += 1
        elif path.suffix == ".json":
            sums = [0, 0, 0]
            for line in path.read_text().splitlines():
                test = json.loads(line)
                output = test.get("stdout", "") + "\n" + test.get("stderr", "")
                name = test["name"]
                if test["result"] == "SKIP":
                    print(f"skipped: {run}: {name}: {reason(output)}")
                    sums[2] += 1
                    continue
                count = own_count(output) or [0, 0, 0]
                if test["result"] in ("OK", "EXPECTEDFAIL"):
                    # A program that counts failures and reports success is itself a failure.
                    if not any(count):
                        count[0] = 1
                elif not count[1]:
                    count[1] = 1
                if count[1]:
                    print(f"failed: {run}: {name}: {count[1]} ({test['result'].lower()})")
                sums = [a + b for a, b in zip(sums, count)]
            print(f"{run}: {sums[0]} passed, {sums[1]} failed, {sums[2]} skipped")
            total = [a + b for a, b in zip(total, sums)]
    print(f"{total[0]} passed, {total[1]} failed, {total[2]} skipped")
    return 1 if total[1] else 0


if __name__ == "__main__":
    sys.exit(main())
