#!/bin/sh
# SPDX-License-Identifier: LGPL-2.1-or-later
# The bench runs: its figures are nobody's business here, but that it has some.
#
#     tests/test-bench.sh SOURCE_ROOT BUILD_FOLDER
set -eu
source_root=${1:?usage: test-bench.sh SOURCE_ROOT BUILD_FOLDER}
build=${2:?usage: test-bench.sh SOURCE_ROOT BUILD_FOLDER}
bench=$source_root/bench
if ! python3 -c 'import argparse, json, statistics, subprocess' 2>/dev/null; then
	echo "skipped: there is no python3 with all of its library"
	exit 77
fi
export PYTHONDONTWRITEBYTECODE=1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM

# shellcheck source=tests/lib/outcome.sh
. "$(dirname "$0")/lib/outcome.sh"
exits() { # sentence, status expected, run.py's arguments...
	sentence=$1 expected=$2 status=0
	shift 2
	python3 "$bench/run.py" "$@" >"$work/output" 2>&1 || status=$?
	[ "$status" -ne "$expected" ] || expected=''
	status=0
	[ -z "$expected" ] || status=1
	outcome "$sentence" "$status" "$work/output"
}
python() { # sentence; the program, on standard input, finds what run.py finds
	status=0
	(cd "$bench" && python3 - "$work") >"$work/output" 2>&1 || status=$?
	outcome "$1" "$status" "$work/output"
}

exits "the rows can be listed" 0 --list
for file in "$bench"/rows/*.py; do basename "$file" .py; done | LC_ALL=C sort >"$work/files"
status=0
LC_ALL=C sort "$work/output" | cmp -s - "$work/files" && [ -s "$work/files" ] || status=1
outcome "and each file of rows is one" "$status" "$work/output"
exits "a row that is not there is a wrong usage" 2 "$build" no-such-row
exits "and so is no folder" 2
exits "a size needs a unit" 2 --size 64 "$build"

python "each row file says its name and what it measures, and has the function" <<-END_OF_PYTHON
	import run
	for name, path in run.row_files().items():
	    row = run.load(name, path)
	    assert row.WHAT and callable(row.measure), name
END_OF_PYTHON
python "ways take turns, another begins each round, and the first does not count" <<-END_OF_PYTHON
	from lib import rounds
	order = []
	def way(name):
	    return lambda: order.append(name) or len(order)
	samples = rounds.interleave({"a": way("a"), "b": way("b")}, 2, lambda: order.append("-"))
	assert "".join(order) == "-a-b-b-a-a-b", order
	assert samples == {"a": [8, 10], "b": [6, 12]}, samples
END_OF_PYTHON
python "a way that cannot be had is left out, the others are measured" <<-END_OF_PYTHON
	from lib import report, rounds
	def no():
	    raise report.Skip("there is none")
	skipped = {}
	samples = rounds.interleave({"a": lambda: 1, "b": no}, 3, skipped=skipped)
	assert samples == {"a": [1, 1, 1], "b": []} and skipped == {"b": "there is none"}, samples
END_OF_PYTHON
python "a ratio is the median of those of each round, and says its least and most" <<-END_OF_PYTHON
	from lib import report, rounds
	row = report.Row("a against b", "<= 3", rounds.ratios([2, 8, 30], [1, 2, 3]), "×", False)
	assert row.measured() == "4.000 × [2.000–10.0]", row.measured()
	assert row.verdict() == "NO", row.verdict()
END_OF_PYTHON

python "a ^C waits until what is held has been given back" <<-END_OF_PYTHON
	import os, signal
	from lib import endings
	endings.unwind()
	given_back = False
	try:
	    with endings.put_off():
	        os.kill(os.getpid(), signal.SIGINT)
	        given_back = True
	    raise AssertionError("it was lost")
	except KeyboardInterrupt:
	    assert given_back
END_OF_PYTHON
python "and a second one does not disturb what the first has begun" <<-END_OF_PYTHON
	import os, signal
	from lib import endings
	endings.unwind()
	given_back = False
	try:
	    try:
	        os.kill(os.getpid(), signal.SIGTERM)
	    finally:
	        os.kill(os.getpid(), signal.SIGINT)
	        given_back = True
	except SystemExit as end:
	    assert given_back and end.code == 143, end.code
END_OF_PYTHON
python "an ending ends the run, also when something fails on the way" <<-END_OF_PYTHON
	import pathlib, sys
	import run
	row = pathlib.Path(sys.argv[1], "row.py")
	row.write_text("""
	NAME = WHAT = "row"
	def measure(bench):
	    try:
	        raise KeyboardInterrupt
	    finally:
	        raise RuntimeError("this is meant to be said")
	""".replace("\n\t", "\n"))
	try:
	    run.measure(None, {"row": row}, lambda rows: None)
	except KeyboardInterrupt:
	    sys.exit(0)
	raise AssertionError("the ending was lost")
END_OF_PYTHON
python "a program that ends with 77 is a reason, one that fails or lasts a fault" <<-END_OF_PYTHON
	from lib import report, setting
	bench = setting.Bench("build")
	bench.program = lambda name: "/bin/" + name
	assert bench.output("echo", 1, "two") == "1 two\n"
	def fails(kind, said, *arguments, **options):
	    try:
	        bench.output("sh", "-c", *arguments, **options)
	    except kind as error:
	        assert said in str(error), error
	        return
	    raise AssertionError(arguments)
	fails(report.Skip, "none here", "echo none here >&2; exit 77")
	fails(RuntimeError, "out of luck", "echo out of luck >&2; exit 3")
	fails(RuntimeError, "not over", "exec tail -f /dev/null", limit_seconds=0.01)
END_OF_PYTHON
python "of a machine that is not there nothing is left, not even of half of one" <<-END_OF_PYTHON
	import os, sys
	from lib import growth
	os.environ["TMPDIR"] = sys.argv[1] + "/trees"
	os.mkdir(os.environ["TMPDIR"])
	class Bench:
	    def output(self, name, *arguments, environment):
	        os.makedirs(environment["TMPDIR"] + "/half/of/it")
	        raise KeyboardInterrupt
	try:
	    with growth.tree(Bench(), 1, 1):
	        raise AssertionError("there is no tree")
	except KeyboardInterrupt:
	    assert os.listdir(os.environ["TMPDIR"]) == [], os.listdir(os.environ["TMPDIR"])
END_OF_PYTHON
python "a result that cannot be written any more costs no table" <<-END_OF_PYTHON
	import os, sys
	import run
	kept = run.Kept(sys.argv[1] + "/kept/json", {})
	os.mkdir(sys.argv[1] + "/kept")
	kept.try_file()
	kept.keep([])
	assert kept.is_good and os.listdir(sys.argv[1] + "/kept") == ["json"]
	os.unlink(kept.path)
	os.rmdir(sys.argv[1] + "/kept")
	kept.keep([])
	assert not kept.is_good
END_OF_PYTHON
python "and to standard output goes one result, behind the table" <<-END_OF_PYTHON
	import contextlib, json, os, subprocess, sys
	program = """
	import run
	kept = run.Kept("/dev/stdout", {})
	kept.try_file()
	kept.keep([])
	print("table", flush=True)
	kept.keep([], is_last=True)
	"""
	for place in (subprocess.PIPE, open(sys.argv[1] + "/out", "w+")):
	    done = subprocess.run([sys.executable, "-c", program], stdout=place, check=True)
	    text = done.stdout or open(sys.argv[1] + "/out", "rb").read()
	    table, result = text.split(b"\\n", 1)
	    assert table == b"table" and json.loads(result) == {"machine": {}, "rows": []}, text
END_OF_PYTHON
python "whoever holds the huge pages is waited for, not for ever, and that is said" <<-END_OF_PYTHON
	import contextlib, fcntl, io, sys
	from lib import huge_pages, report
	with open(sys.argv[1] + "/lock", "w") as theirs, open(sys.argv[1] + "/lock", "w") as ours:
	    fcntl.flock(theirs, fcntl.LOCK_EX)
	    with contextlib.redirect_stderr(io.StringIO()) as said:
	        try:
	            huge_pages.take_lock(ours, 0.25)
	            raise AssertionError("it is held")
	        except report.Skip:
	            assert said.getvalue().count("Waiting") == 1, said.getvalue()
	        fcntl.flock(theirs, fcntl.LOCK_UN)
	        huge_pages.take_lock(ours, 0.25)
END_OF_PYTHON
cat >"$work/silent" <<-'END_OF_SCRIPT'
	#!/bin/sh
	exec tail -f /dev/null
END_OF_SCRIPT
chmod +x "$work/silent"
python "a QEMU that says nothing is a fault, not a sample" <<-END_OF_PYTHON
	import sys
	from lib import qemu
	class Bench:
	    def tool(self, name, package):
	        return sys.argv[1] + "/silent"
	try:
	    qemu.start(Bench(), "memory-backend-memfd", 1 << 20, limit_seconds=0.05)
	except RuntimeError as error:
	    assert "said nothing" in str(error), error
	else:
	    raise AssertionError("it was measured")
END_OF_PYTHON

if [ ! -x "$build/bench/programs/populate" ]; then
	left_out "a row can be measured" "$build is not built with -Dbench=true"
else
	exits "a row can be measured" 0 --quick --size 64M --json "$work/json" "$build" region-base
	exits "a result that cannot be written is said before anything is measured" 1 \
		--quick --size 64M --json "$work/none/json" "$build" region-base
	python "and all its samples are in the JSON" <<-END_OF_PYTHON
		import json, sys
		with open(sys.argv[1] + "/json", encoding="utf-8") as file:
		    found = json.load(file)
		assert found["machine"]["cpus"] > 0 and found["rows"], found
		for row in found["rows"]:
		    assert row["name"] == "region-base" and not row["skipped"], row
		    assert row["median"] > 0, row
		    assert len(row["series"]) == 2, row
		    assert all(len(samples) == 2 for samples in row["series"].values()), row
	END_OF_PYTHON
fi

say_sum
