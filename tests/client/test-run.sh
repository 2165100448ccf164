#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# meminitctl run on this machine, with copies of files in a directory of the test's own.
#
#     MEMINITCTL=... tests/client/test-run.sh [TEST...]
#
# Each test_* function is one test; those called test_root_* are for root, in a mount namespace of
# their own, and the others run twice where root runs them: also as a user without rights.
# shellcheck disable=SC2317 # the tests are called by name
# shellcheck disable=SC2016 # for the command's shell
set -u
export LC_ALL=C.UTF-8
export PATH=/usr/sbin:/usr/bin:/sbin:/bin # other folders may be closed to the user without rights
unset NODEINIT_REPLICA_DIRECTORY NODEINIT_NODE
: "${MEMINITCTL:?}"
[ -r /sys/devices/system/node/online ] || { echo "skipped: this kernel shows no nodes"; exit 77; }
work=${RUN_WORK:-}
if [ -z "$work" ]; then
	work=$(mktemp -d)
	trap 'rm -rf "$work"' EXIT
	chmod 755 "$work"
	# Where a user without rights finds it.
	cp "$MEMINITCTL" "$work/meminitctl"
	cp "$0" "$work/tests.sh"
	chmod 755 "$work/meminitctl" "$work/tests.sh"
fi
MEMINITCTL=$work/meminitctl
limit=20

# Run the client: $status, $here/out and $here/err.
run() {
	status=0
	NODEINIT_REPLICA_DIRECTORY=$here/copies timeout $limit "$MEMINITCTL" "$@" \
		>"$here/out" 2>"$here/err" </dev/null || status=$?
}
is() { [ "$status" -eq "$1" ] || { echo "exit status $status, not $1"; cat "$here/err"; return 1; }; }
out() { grep -Fq -- "$1" "$here/out" || { echo "not in the output: $1"; cat "$here/out"; return 1; }; }
err() { grep -Fq -- "$1" "$here/err" || { echo "not said: $1"; cat "$here/err"; return 1; }; }
said() { [ "$(<"$here/err")" = "meminitctl: run: $1" ] || { echo "said:"; cat "$here/err"; return 1; }; }
empty() { ! [ -s "$here/out" ] || { echo "printed:"; cat "$here/out"; return 1; }; }
quiet() { ! [ -s "$here/err" ] || { echo "said:"; cat "$here/err"; return 1; }; }
no() { ! "$@" >/dev/null; }
skip() { echo "skipped: $1"; exit 77; }

# The first node that has memory, CPUs and leave for both: the only one on most machines of tests.
node=$(sed 's/[-,].*//' /sys/devices/system/node/has_memory)

# An executable of the test's own that says which file it is run from, and a copy of it.
program() {
	mkdir -p "$here/bin"
	cp "$(command -v readlink)" "$here/bin/program"
	touch -d '2020-01-02 03:04:05.123456789' "$here/bin/program"
}
copy() { # file: the node's copy of it
	mkdir -p "$here/copies/node$node${1%/*}"
	cp -p "$1" "$here/copies/node$node$1"
}
copied() { program; copy "$here/bin/program"; }
run_program() { run run "$@" "$here/bin/program" /proc/self/exe; }
is_original() { is 0; [ "$(<"$here/out")" = "$here/bin/program" ]; }
is_copy() { is 0; [ "$(<"$here/out")" = "$here/copies/node$node$here/bin/program" ]; }
no_copy() { said "no copy of $here/bin/program on node $node ($1); running the original there"; }

# --- the node
test_memory_is_bound_to_the_node() {
	run run -q --node "$node" grep '' /proc/self/numa_maps; is 0; out "bind=static:$node"; quiet
	no grep -Eq 'default|prefer' "$here/out"
}
test_a_command_is_on_the_cpus_of_the_node_that_are_allowed() {
	run run -q --node "node$node" cat /proc/self/status; is 0
	cpu=$(sed -n 's/^Cpus_allowed_list:\t\([0-9]*\).*/\1/p' "$here/out")
	NODEINIT_REPLICA_DIRECTORY=$here taskset -c "$cpu" "$MEMINITCTL" run -q --node="$node" \
		sed -n 's/^Cpus_allowed_list:\t//p' /proc/self/status >"$here/out"
	[ "$(<"$here/out")" = "$cpu" ]
}
test_a_command_is_told_its_node() {
	run run -q --node="$node" env; is 0; grep -qx "NODEINIT_NODE=$node" "$here/out"
	for how in "" --node=auto "--node=77 --node auto"; do
		# shellcheck disable=SC2086
		run run -q $how env; is 0; grep -Eqx 'NODEINIT_NODE=[0-9]+' "$here/out"
	done
}
test_a_node_that_is_not_there_is_4() {
	run run --node 8000 true; is 4; err "no node '8000'"; empty
	run run --node=4294967295 true; is 4
}
test_a_node_that_is_none_is_wrong_usage() {
	for id in x -1 '' node autos 4294967296; do run run "--node=$id" true; is 2; err "no node id"; done
	run run --node=auto; is 2; run --node=auto status; is 2; err "--node=auto is for run"
	run run --strict true; is 2; run --json run true; is 2
	run -H far run true; is 2; err "commands run on this host"; run -M box run true; is 2
}

# --- the command
test_the_exit_status_and_the_pid_are_those_of_the_command() {
	for n in 0 1 3 255; do run run -q sh -c "exit $n"; is "$n"; done
	NODEINIT_REPLICA_DIRECTORY=$here "$MEMINITCTL" run -q sh -c 'echo $$' >"$here/out" & pid=$!
	wait $pid; [ "$(<"$here/out")" = $pid ]
}
test_options_of_the_command_are_its_own_from_its_first_word_on() {
	run run -q printf '%s ' -b --node=77 -- -q; is 0; [ "$(<"$here/out")" = "-b --node=77 -- -q " ]
	run run -q --node="$node" -- printf '%s' --node=77; is 0; [ "$(<"$here/out")" = --node=77 ]
	run -q run printf '%s' --json; is 0; out --json
}
test_a_command_that_is_not_there_is_127_and_one_that_cannot_run_126() {
	touch "$here/plain"; mkdir "$here/folder"
	run run nix-da; is 127; err "run: 'nix-da' cannot be run (No such file or directory)"
	run run "$here/nix"; is 127; run run ''; is 127
	run run "$here/plain"; is 126; err "Permission denied"; run run "$here/folder"; is 126
	printf '#!/nowhere/sh\n' >"$here/script"; chmod +x "$here/script"; run run -q "$here/script"; is 127
	run run; is 2; err "run takes [--] COMMAND..."
}
test_a_command_is_looked_for_in_PATH() {
	copied; PATH=/nowhere:$here/bin:$PATH run run program /proc/self/exe; is 0; out program
	touch "$here/plain"; PATH=$here:$PATH run run plain; is 126
	(cd "$here/bin" && PATH=:/nowhere NODEINIT_REPLICA_DIRECTORY=$here/none "$MEMINITCTL" run -q program /proc/self/exe) \
		>"$here/out"; [ "$(<"$here/out")" = "$here/bin/program" ]
	run run -q env -u PATH "$MEMINITCTL" run -q true; is 0
}
test_arguments_and_the_first_word_are_handed_on_as_given() {
	copied; ln -s program "$here/bin/other"
	mkdir -p "$here/copies/node$node/usr/bin"
	PATH=$here/bin:$PATH run run -q bash -c 'exec -a first cat /proc/self/cmdline'; is 0; out first
	printf '#!/bin/sh\necho "$0 $#"\n' >"$here/bin/script"; chmod +x "$here/bin/script"
	PATH=$here/bin:$PATH run run -q script '' '{}'; is 0; [ "$(<"$here/out")" = "$here/bin/script 2" ]
}

# --- the copy
test_without_copies_the_original_runs_and_one_line_says_so() {
	program; run_program; is_original; no_copy "none is there"
	run_program -q; is_original; quiet; run_program --quiet; quiet
	mkdir -p "$here/copies/node$node"; run_program; is_original; no_copy "none is there"
	NODEINIT_REPLICA_DIRECTORY='' timeout $limit "$MEMINITCTL" run "$here/bin/program" /proc/self/exe >"$here/out" 2>"$here/err"
	is_original; no_copy "none is there"
}
test_a_link_in_place_of_a_copy_is_the_original() {
	program; mkdir -p "$here/copies/node$node$here/bin"
	ln -s "$here/bin/program" "$here/copies/node$node$here/bin/program"
	run_program; is_original; no_copy "linked to the original: meminitctl pools says why"
	# Nor is a copy taken from a folder that is a link.
	rm -r "$here/copies/node$node"; mkdir -p "$here/copies/node$node${here%/*}"; ln -s "$here" "$here/copies/node$node$here"
	run_program; is_original; no_copy "linked to the original: meminitctl pools says why"
}
test_a_copy_of_another_version_is_not_run() {
	copied; touch -d '2020-01-02 03:04:05.123456788' "$here/bin/program"
	run_program; is_original; no_copy "it is of another version"
	copied; touch -d '2020-01-02 03:04:06.123456789' "$here/bin/program"; run_program; no_copy "it is of another version"
	copied; echo >>"$here/bin/program"; touch -r "$here/copies/node$node$here/bin/program" "$here/bin/program"
	run_program; is_original; no_copy "it is of another version"
}
test_a_copy_that_is_no_file_or_cannot_run_is_not_run() {
	copied; chmod -x "$here/copies/node$node$here/bin/program"; run_program; is_original
	no_copy "it cannot be read and executed as the original can"
	copied; rm "$here/copies/node$node$here/bin/program"; mkfifo "$here/copies/node$node$here/bin/program"
	run_program; is_original; no_copy "none is there"
}
test_an_original_with_rights_of_its_own_is_not_replaced() {
	for mode in 4755 2755; do
		copied; chmod $mode "$here/bin/program"; run_program; is_original
		no_copy "it would lose the rights that the original runs with"
	done
}
test_links_on_the_way_to_the_command_are_followed() {
	copied; ln -s bin "$here/sbin"; ln -s program "$here/bin/alias"
	run run "$here/sbin/alias" /proc/self/exe; is 0; quiet
	[[ $(<"$here/out") == */bin/program ]]
}
test_another_nodes_copy_is_not_taken() {
	copied; mv "$here/copies/node$node" "$here/copies/node9"; run_program; is_original; no_copy "none is there"
}
test_user_runs_the_copy_itself() {
	copied; run_program; is_copy; quiet
	printf '#!/bin/sh\necho "$0"\n' >"$here/bin/script"; chmod +x "$here/bin/script"; copy "$here/bin/script"
	run run "$here/bin/script"; is 0; out "$here/copies/node$node$here/bin/script"
}
test_user_is_told_of_copies_that_are_not_used() {
	copied; echo data >"$here/data"; copy "$here/data"
	run_program; is_copy; said "1 other copy of node $node not used: no mount namespace (Operation not permitted)"
	echo more >"$here/more"; copy "$here/more"
	run_program -q; is_copy; quiet
	rm "$here/copies/node$node$here/bin/program"; run_program; is_original
	err "2 other copies of node $node not used"; err "running the original there"
}
test_user_without_leave_for_the_copies_runs_the_original() {
	copied; chmod 0 "$here/copies/node$node"; run_program; chmod 755 "$here/copies/node$node"
	is_original; no_copy "it cannot be read and executed as the original can"
}

# --- a mount namespace
test_root_has_all_copies_over_their_originals() {
	copied; echo "of the original" >"$here/data"; copy "$here/data"
	mkdir "$here/deep"; touch "$here/deep/old"; copy "$here/deep/old"; touch -d 2001-01-01 "$here/deep/old"
	run run "$here/bin/program" /proc/self/exe; is_original; quiet
	run run -q stat -c '%d:%i' "$here/bin/program" "$here/data" "$here/deep/old"; is 0
	cd "$here/copies/node$node$here"
	[ "$(<"$here/out")" = "$(stat -c '%d:%i' bin/program data; stat -c '%d:%i' "$here/deep/old")" ]
	[ "$(stat -c %i "$here/data")" != "$(stat -c %i data)" ]
}
test_root_cannot_write_to_what_lies_over() {
	echo data >"$here/data"; copy "$here/data"
	run run -q sh -c "echo changed >'$here/data'"; [ "$status" -ne 0 ]; err "Read-only file system"
	[ "$(<"$here/copies/node$node$here/data")" = data ]
	run run -q cat /proc/self/mountinfo; grep -F " $here/data ro,nosuid,nodev" "$here/out"
}
test_root_leaves_no_mount_behind() {
	mkdir "$here/bin"; mount -t tmpfs none "$here/bin"; copied; mount --make-rshared /; grep -c . /proc/self/mountinfo >"$here/before"
	run_program; is_original; grep -c . /proc/self/mountinfo | cmp - "$here/before"
	# What is mounted outside is seen inside.
	mkfifo "$here/to" "$here/from"; mkdir "$here/mount"
	NODEINIT_REPLICA_DIRECTORY=$here/copies "$MEMINITCTL" run -q sh -c "echo; read _; ls '$here/mount'" \
		<"$here/to" >"$here/from" & pid=$!
	exec 7>"$here/to" 8<"$here/from"; read -rt $limit _ <&8
	mount -t tmpfs none "$here/mount"; touch "$here/mount/file"; echo >&7
	read -rt $limit line <&8; [ "$line" = file ]; wait $pid
}
test_root_without_current_copies_has_no_namespace() {
	copied; touch "$here/bin/program"; run run -q readlink /proc/self/ns/mnt; is 0
	[ "$(<"$here/out")" = "$(readlink /proc/self/ns/mnt)" ]
	copied; run run -q readlink /proc/self/ns/mnt; [ "$(<"$here/out")" != "$(readlink /proc/self/ns/mnt)" ]
}
test_root_runs_in_a_run() {
	copied; run run "$MEMINITCTL" run "$here/bin/program" /proc/self/exe; is_original; err "no copy of $MEMINITCTL"
	[ "$(wc -l <"$here/err")" = 1 ]
}
test_root_does_not_lay_a_copy_over_a_link() {
	echo data >"$here/data"; copy "$here/data"; mv "$here/data" "$here/elsewhere"; ln -s elsewhere "$here/data"
	run run -q stat -Lc %i "$here/data" "$here/elsewhere"; [ "$(sort -u "$here/out")" = "$(stat -c %i "$here/elsewhere")" ]
	# Nor below a folder that has become one.
	mkdir "$here/folder"; echo x >"$here/folder/x"; copy "$here/folder/x"; mv "$here/folder" "$here/moved"; ln -s moved "$here/folder"
	run run -q stat -c %i "$here/moved/x"; [ "$(<"$here/out")" = "$(stat -c %i "$here/moved/x")" ]
}
test_root_lays_no_copy_over_what_it_is_less_open_than() {
	copied; over=$here/copies/node$node$here/bin/program
	chown 1:1 "$over"; run run -q stat -c %i "$here/bin/program"; [ "$(<"$here/out")" = "$(stat -c %i "$over")" ]
	chmod 750 "$over" "$here/bin/program"; run_program; is_original
	no_copy "it cannot be read and executed as the original can"
	chown 0:0 "$over"; run_program; is_original; quiet
	chmod 550 "$over"; run_program; is_original; quiet
}
test_root_takes_no_copy_from_where_nothing_can_be_executed() {
	mkdir -p "$here/copies/node$node"; mount -t tmpfs -o noexec none "$here/copies/node$node"; copied
	run_program; is_original; no_copy "it cannot be read and executed as the original can"
}
test_root_takes_no_copy_from_a_directory_of_somebody_else() {
	copied; chown 65534 "$here/copies"; run_program; is_original
	no_copy "the directory of copies is neither root's alone nor yours"
	run run -q cat /proc/self/mountinfo; no grep -F " $here/bin/" "$here/out"
	chown 0 "$here/copies"; chmod 775 "$here/copies"; run_program; is_original
	no_copy "the directory of copies is neither root's alone nor yours"
	chmod 755 "$here/copies"; mv "$here/copies" "$here/real"; ln -s real "$here/copies"
	run_program; is_original; no_copy "Not a directory"; rm "$here/copies"; mv "$here/real" "$here/copies"
	run_program; is_original; quiet
	mv "$here/copies/node$node" "$here/hostile"; ln -s ../hostile "$here/copies/node$node"
	run_program; is_original; no_copy "Not a directory"
}
test_root_lays_no_copy_over_files_with_capabilities() {
	copied; command -v setcap >/dev/null || skip "there is no setcap here"
	setcap cap_net_raw+ep "$here/bin/program" || skip "this file system has no capabilities"
	run_program; is_original; no_copy "it would lose the rights that the original runs with"
}
test_root_without_leave_to_mount_runs_the_copy_itself() {
	copied
	NODEINIT_REPLICA_DIRECTORY=$here/copies setpriv --bounding-set -sys_admin --inh-caps -sys_admin \
		"$MEMINITCTL" run "$here/bin/program" /proc/self/exe >"$here/out" 2>"$here/err"; status=$?; is_copy; quiet
}
test_root_with_many_copies_has_them_all() {
	mkdir -p "$here/many" "$here/copies/node$node$here"
	for n in {1..300}; do echo "$n" >"$here/many/$n"; done
	cp -a "$here/many" "$here/copies/node$node$here/"
	run run -q cat /proc/self/mountinfo; [ "$(grep -Fc " $here/many/" "$here/out")" = 300 ]
}

nr_passed=0 nr_failed=0 nr_skipped=0
# One test as root or as a user, with a folder of its own.
try() { # name, how, command...
	local name=$1 how=$2 result=0
	shift 2
	here=$work/here
	mkdir "$here"
	[ "$how" != "as a user" ] || chown 65534:65534 "$here"
	RUN_WORK=$work here=$here "$@" bash "$work/tests.sh" --one "$name" >"$work/log" 2>&1 || result=$?
	name=${name//_/ }${how:+, $how}
	case $result in
	0) nr_passed=$((nr_passed + 1)); echo "PASS $name" ;;
	77) nr_skipped=$((nr_skipped + 1)); echo "SKIP $name: $(<"$work/log")" ;;
	*) nr_failed=$((nr_failed + 1)); echo "FAIL $name"; sed 's/^/    /' "$work/log" ;;
	esac
	rm -rf "$here"
}
if [ "${1:-}" = --one ]; then
	set -e
	"$2"
	exit 0
fi
mapfile -t all < <(declare -F | sed -n 's/^declare -f \(test_\)/\1/p')
[ $# -gt 0 ] || set -- "${all[@]}"
user=(setpriv --reuid=65534 --regid=65534 --clear-groups)
for name; do
	case $name in
	test_root_*)
		if unshare -m true 2>/dev/null; then
			try "$name" "" unshare -m
		else
			nr_skipped=$((nr_skipped + 1))
			echo "SKIP ${name//_/ }: it takes root and a mount namespace"
		fi ;;
	test_user_*)
		if [ "$(id -u)" = 0 ]; then try "$name" "as a user" "${user[@]}"; else try "$name" "" env; fi ;;
	*)
		try "$name" "" env
		[ "$(id -u)" != 0 ] || try "$name" "as a user" "${user[@]}" ;;
	esac
done
echo "$nr_passed passed, $nr_failed failed, $nr_skipped skipped"
[ $nr_failed -eq 0 ]
