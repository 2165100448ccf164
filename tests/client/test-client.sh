#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# meminitctl on a bus of its own, against tests/lib/fake-daemon.c.
#
#     MEMINITCTL=... FAKE_DAEMON=... COMPLETION=... tests/client/test-client.sh [TEST...]
#
# Each test_* function is one test with a fresh bus and daemon. Nothing sleeps: the fake daemon
# answers each line when it is done, "await" when the client has called, and all reads have limits.
# shellcheck disable=SC2317 # the tests are called by name
set -u
export LC_ALL=C.UTF-8 TERM=xterm
unset NO_COLOR NOTIFY_SOCKET DBUS_SYSTEM_BUS_ADDRESS NODEINITD
: "${MEMINITCTL:?}" "${FAKE_DAEMON:?}" "${COMPLETION:?}"
command -v dbus-daemon >/dev/null || { echo "skipped: there is no dbus-daemon here"; exit 77; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
limit=20

# The bus and the daemon of one test; both end with its subshell.
start_bus() {
	coproc BUS { exec dbus-daemon --session --nofork --address="unix:path=$work/bus" \
		--print-address 2>"$work/bus.log"; }
	bus_pid=$!
	read -rt $limit _ <&"${BUS[0]}"
	address=unix:path=$work/bus
}
start_daemon() {
	mkfifo "$work/to" "$work/from"
	"$FAKE_DAEMON" "$address" <"$work/to" >"$work/from" &
	fake_pid=$!
	exec 8>"$work/to" 9<"$work/from"
	heard ok
}
# Waited for: a bus that ends late takes the socket of the next one with it.
stop_all() {
	# shellcheck disable=SC2046 # one word a process
	kill $(jobs -p) 2>/dev/null
	# A test that failed may have left it stopped.
	kill -CONT "$fake_pid" 2>/dev/null || :
	wait
	rm -rf "${work:?}"/*
}
heard() { read -rt $limit answer <&9 && [[ $answer == *"$1" ]]; }
tell() { echo "$*" >&8; heard ok; }

# Run the client: $status, $work/out and $work/err.
run() {
	status=0
	timeout $limit "$MEMINITCTL" --bus="$address" "$@" >"$work/out" 2>"$work/err" </dev/null || status=$?
}
run_behind() {
	timeout $limit "$MEMINITCTL" --bus="$address" "$@" >"$work/out" 2>"$work/err" </dev/null &
	client_pid=$!
}
ended() {
	status=0
	wait "$client_pid" || status=$?
}
is() { [ "$status" -eq "$1" ] || { echo "exit status $status, not $1"; cat "$work/err"; return 1; }; }
out() { grep -Fq -- "$1" "$work/out" || { echo "not in the output: $1"; cat "$work/out"; return 1; }; }
err() { grep -Fq -- "$1" "$work/err" || { echo "not said: $1"; cat "$work/err"; return 1; }; }
empty() { ! [ -s "$work/out" ] || { echo "printed:"; cat "$work/out"; return 1; }; }
quiet() { ! [ -s "$work/err" ] || { echo "said:"; cat "$work/err"; return 1; }; }
no() { ! "$@" >/dev/null; }
skip() { echo "skipped: $1"; exit 77; }

GIB=$((1 << 30))
two_nodes() {
	tell node 0 CPUs=0-17 BytesTotal=$((4 * GIB)) BytesDone=$GIB Rate=$GIB Threads=18 State=deferred CurrentPool=guests
	tell node 1 CPUs=18-35 BytesTotal=$((4 * GIB)) State=waiting
	tell pool guests State=deferred BytesTotal=$((8 * GIB)) BytesDone=$GIB
	tell share guests 0 deferred $((4 * GIB)) $((2 * GIB)) $GIB 0 -
	tell share guests 1 waiting $((4 * GIB)) $((2 * GIB)) 0 0 -
	tell host State=deferred BytesTotal=$((8 * GIB)) BytesDone=$GIB StartedMonotonic=1000000 EarlyMonotonic=2200000
}
fail_node_1() {
	tell share guests 1 failed $((4 * GIB)) $((2 * GIB)) $((3 * GIB)) $GIB fragmented
	tell pool guests State=failed BytesShort=$GIB
	tell node 1 State=failed BytesDone=$((3 * GIB)) BytesShort=$GIB
	tell host State=failed BytesShort=$GIB
}
all_ready() {
	for n in 0 1; do
		tell node $n BytesDone=$((4 * GIB)) Rate=0 Threads=0 State=ready CurrentPool=
		tell share guests $n ready $((4 * GIB)) $((2 * GIB)) $((4 * GIB)) 0 -
	done
	tell pool guests State=ready BytesDone=$((8 * GIB))
	tell host State=ready Ready=1 BytesDone=$((8 * GIB)) ReadyMonotonic=193000000
}

# --- status, nodes, pools
test_idle_is_success() { run; is 0; out "idle"; quiet; }
test_status_of_a_host_at_work_is_3_and_shows_nodes_and_pools() {
	two_nodes; run; is 3; out "1 GiB of 8 GiB (12 %)"; out "after 1.2 s"; out "0:03"; out "guests"
	grep -Eq '^ +0 deferred +1 GiB +4 GiB +1 GiB/s +0:03 +18 0-17 +guests$' "$work/out"
}
test_status_of_a_failed_host_is_1_with_reason_and_node() {
	two_nodes; fail_node_1; run; is 1; out "fragmented on 1"
	out "pool guests, node 1: failed, 1 GiB of 4 GiB missing (fragmented)"
}
test_status_of_a_ready_host_is_0() { two_nodes; all_ready; run status; is 0; out "after 3 min 12 s"; }
test_a_later_generation_is_ready_at_a_date_and_not_after_the_start() {
	two_nodes; all_ready; tell host Generation=2 ReadyRealtime=86400000000; TZ=UTC run status; is 0
	out "Ready: 1970-01-02 00:00:00 UTC"; no out "after 3 min 12 s"
}
test_status_of_one_node_or_pool_has_its_own_exit_status() {
	two_nodes; fail_node_1
	run status 0; is 3; out "node 0: deferred"
	run status node1; is 1
	run status guests; is 1; out "1 GiB fragmented"
	run status nix; is 4; err "no node or pool 'nix'"
}
test_a_braked_node_says_so_everywhere() {
	two_nodes; run; no out braked; run nodes; no out braked; run status 0; no out braked
	tell node 0 Braked=1
	run; is 3; grep -Eq '^ +0 deferred \(braked\) +1 GiB ' "$work/out"; grep -Eq '^ +1 waiting +0 B ' "$work/out"
	run nodes; grep -Eq '^ +0 deferred \(braked\) +1 GiB ' "$work/out"
	run status 0; is 3; out "node 0: deferred (braked)"
	run status 1; no out braked
	script -qec "stty cols 120 rows 24; '$MEMINITCTL' --bus='$address' watch --timeout=50ms" /dev/null \
		</dev/null >"$work/out" || :
	out "deferred (braked) guests"
}
test_quiet_status_prints_nothing() { two_nodes; run -q; is 3; no out nodeinitd; quiet; }
test_a_host_that_failed_for_a_file_says_so() {
	two_nodes; all_ready; tell host State=failed Ready=0
	run; is 1; out "a declared pool is refused for its file"
	run wait; is 1; err "a declared pool is refused for its file"
	run watch; is 1; err "a declared pool is refused for its file"
	fail_node_1; run; is 1; no out "refused for its file"
}
test_what_is_missing_is_not_rounded_away() {
	two_nodes; tell pool guests BytesDone=$((8 * GIB - 4096)); run pools; is 0; out "7.9 GiB"
	tell pool guests BytesDone=$((GIB - 1)); run pools; is 0; out "1023.9 MiB"
}
test_bytes_are_exact_with_b() { two_nodes; run -b pools; is 0; out "1073741824 8589934592"; }
test_no_legend_leaves_only_data() {
	two_nodes; run --no-legend pools; is 0; [ "$(wc -l <"$work/out")" = 1 ]; [[ $(<"$work/out") == guests* ]]
}
test_an_unknown_pool_is_4() { two_nodes; run pools guests nix; is 4; no out guests; err "no pool 'nix'"; }
test_json_is_one_document_with_bytes() {
	two_nodes; run --json; is 3
	python3 - "$work/out" <<-'END'
		import json, sys
		host = json.load(open(sys.argv[1]))
		assert host["state"] == "deferred" and host["total"] == 8 << 30 and host["ready"] is False
		assert [n["id"] for n in host["nodes"]] == [0, 1]
		assert host["nodes"][0]["helper_node"] is None and host["nodes"][0]["cpus"] == "0-17"
		share = host["pools"][0]["shares"][0]
		assert share == {"node": 0, "state": "deferred", "total": 4 << 30, "early": 2 << 30,
		                 "done": 1 << 30, "short": 0, "reason": ""}
	END
}
test_nodes_are_sorted_by_id_not_by_name() {
	tell many 12; run --no-legend nodes; is 0
	[ "$(awk '{ printf "%s ", $1 }' "$work/out")" = "0 1 2 3 4 5 6 7 8 9 10 11 " ]
}
test_nodes_show_what_each_took_and_what_was_saved_side_by_side() {
	two_nodes; run nodes; is 0; quiet; no out "one after another"
	head -1 "$work/out" | grep -Eq '^NODE +STATE .* POOL +BOOT +TIME$'
	grep -Eq '^ +0 deferred .* guests +- +-$' "$work/out"
	all_ready; tell node 0 StartedMonotonic=1000000 FinishedMonotonic=4000000
	tell node 1 StartedMonotonic=1500000 FinishedMonotonic=4500000
	run nodes; is 0; grep -Eq '^ +0 ready .* 3.0 s$' "$work/out"; grep -Eq '^ +1 ready .* - +3.0 s$' "$work/out"
	[ "$(tail -1 "$work/out")" = "one after another 6.0 s, together 3.5 s: 41 % less" ]
	for how in --no-legend -q; do run $how nodes; is 0; out 3.0; no out "one after another"; done
	run status; is 0; no out BOOT; no out "one after another"
	run --json nodes; is 0
	python3 - "$work/out" <<-'END'
		import json, sys
		nodes = json.load(open(sys.argv[1]))
		assert [n["spent_usec"] for n in nodes] == [3000000, 3000000] and nodes[0]["boot_usec"] is None
	END
	run --json; is 0
	python3 - "$work/out" <<-'END'
		import json, sys
		host = json.load(open(sys.argv[1]))
		assert host["nodes_sum_usec"] == 6000000 and host["nodes_wall_usec"] == 3500000
		assert host["boot_sum_usec"] is None and host["boot_longest_usec"] is None
	END
	tell node 1 State=deferred; run --json status 1; is 3; out '"spent_usec":null'
	run nodes; out "so far, one after another 3.0 s, together 3.0 s: nothing saved"
}
# A journal of this boot, made by journald itself: it takes a FIFO for /dev/kmsg, one record at a time.
with_kernel_log() {
	local journald=/lib/systemd/systemd-journald
	unshare -m true 2>/dev/null || skip "a journal takes root and a mount namespace"
	[ -x $journald ] || skip "there is no journald here"
	[ -s /etc/machine-id ] || skip "a journal takes a machine id"
	mkfifo "$work/kmsg"
	cat >"$work/inside" <<-END
		set -e
		eventually() { until "\$@"; do [ \$SECONDS -lt $limit ]; done; }
		has() { journalctl -k --no-pager 2>/dev/null | grep -c deferred | grep -qx "\$1"; }
		mount -t tmpfs none /run; mount -t tmpfs none /var/log/journal 2>/dev/null || :
		mkdir -p /run/log/journal /run/systemd/journal
		mount --bind "$work/kmsg" /dev/kmsg
		exec 7<>/dev/kmsg
		$journald >/dev/null 2>&1 7>&- & journald=\$!
		trap 'kill \$journald; wait \$journald || :' EXIT
		n=0
		while read -r line; do
			echo "6,\$((++n)),\$((n * 1000)),-;\$line" >&7
			eventually has \$n
		done <"$work/kernel-log"
		eventually test -S /run/systemd/journal/stdout
		systemd-cat -t kernel echo "node 2 deferred pages initialised in 7ms"
		journalctl --sync
		"\$@"
	END
	unshare -m bash "$work/inside" "$@" 7>&- 8>&- 9<&-
}
test_nodes_show_what_the_kernel_took_at_boot() {
	two_nodes; tell node 2 State=waiting
	printf 'node %s deferred pages initialised in %sms\n' 0 96 0 5000 1 40 >"$work/kernel-log"
	cat >"$work/ask" <<-'END'
		"$1" nodes; "$1" --json nodes; "$1" --bus="$DBUS_SYSTEM_BUS_ADDRESS" nodes
		echo 00000000-0000-4000-8000-000000000000 >/run/boot_id; mount --bind /run/boot_id /proc/sys/kernel/random/boot_id
		"$1" --no-legend nodes
	END
	DBUS_SYSTEM_BUS_ADDRESS=$address with_kernel_log bash "$work/ask" "$MEMINITCTL" >"$work/out"
	sed -n 2p "$work/out" | grep -Eq '^ +0 deferred .* guests +96 ms +-$'
	sed -n 3p "$work/out" | grep -Eq '^ +1 waiting .* 40 ms +-$'; sed -n 4p "$work/out" | grep -Eq '^ +2 waiting .* - +-$'
	[ "$(sed -n 5p "$work/out")" = "boot: one after another 136 ms, together 96 ms (the longest): 29 % less" ]
	[ "$(grep -c '"boot_usec":96000' "$work/out")" = 1 ]; [ "$(grep -c '"boot_usec":null' "$work/out")" = 1 ]
	# Of a bus at an address, and of another boot, nothing is known.
	[ "$(grep -c '96 ms +- *$' -E "$work/out")" = 1 ]; [ "$(grep -c '^boot:' "$work/out")" = 1 ]
}
test_a_host_of_108_nodes_fits_into_80_columns() {
	tell many 108; COLUMNS=80 script -qec "stty cols 80 rows 24; '$MEMINITCTL' --bus='$address' nodes" /dev/null \
		</dev/null >"$work/out"
	[ "$(grep -c guests "$work/out")" = 36 ]
	sed 's/\x1b\[[0-9;]*m//g; s/\r//' "$work/out" >"$work/plain"
	[ "$(wc -L <"$work/plain")" -le 80 ]
}
test_data_that_cannot_be_written_is_a_failure() {
	status=0; "$MEMINITCTL" --bus="$address" status >/dev/full 2>"$work/err" || status=$?
	is 1; err "takes no more"
}
test_foreign_text_cannot_drive_the_terminal() {
	tell 'pool' 'evil\x1b]0;x\x07' 'State=dead\x1b[2J' 'Kind=\xc2\x9b31m'
	for how in status --json pools 'status --json'; do
		# shellcheck disable=SC2086
		run $how
		no env LC_ALL=C grep -aP '[\x00-\x09\x0b-\x1f\x7f]|\xc2[\x80-\x9f]' "$work/out"
	done
	out '\u001b'
	run pools; out 'dead\x1b[2J'
}
test_colour_only_on_a_terminal_and_not_with_NO_COLOR() {
	two_nodes; run; no grep -q $'\x1b' "$work/out"
	script -qec "'$MEMINITCTL' --bus='$address'" /dev/null </dev/null >"$work/out" || :
	grep -q $'\x1b\\[36m' "$work/out"
	NO_COLOR=1 script -qec "'$MEMINITCTL' --bus='$address'" /dev/null </dev/null >"$work/out" || :
	no grep -q $'\x1b\\[36m' "$work/out"; out nodeinitd
}

# --- no daemon, a silent one, another one
test_no_daemon_is_5_and_names_the_remedy() { tell release; run; is 5; err "systemctl start nodeinitd"; }
test_no_bus_is_5() { address=unix:path=/nowhere; run; is 5; err "no bus at 'unix:path=/nowhere'"; }
test_a_bus_that_is_none_is_wrong_usage() { address=nonsense; run; is 2; err "names no bus"; }
test_a_daemon_that_never_answers_is_given_up() {
	tell mute GetManagedObjects; run --timeout=200ms; is 5; err "gave no answer"
}
test_a_daemon_of_another_version_is_said_so() { tell retype; run; is 1; err "speaks another language"; }
test_the_system_bus_address_of_the_environment_is_used() {
	status=0; DBUS_SYSTEM_BUS_ADDRESS=$address "$MEMINITCTL" >"$work/out" || status=$?; is 0; out idle
}
test_a_host_that_cannot_be_reached_is_5() {
	mkdir "$work/bin"; printf '#!/bin/sh\nexit 255\n' >"$work/bin/ssh"; chmod +x "$work/bin/ssh"
	PATH=$work/bin:$PATH run -H far; is 5; err "the bus of host far cannot be reached"
}
test_a_host_is_asked_through_ssh() {
	command -v systemd-stdio-bridge >/dev/null || skip "there is no systemd-stdio-bridge here"
	two_nodes; mkdir "$work/bin"
	printf '#!/bin/sh\nexec systemd-stdio-bridge --bus-path=%s\n' "$address" >"$work/bin/ssh"; chmod +x "$work/bin/ssh"
	PATH=$work/bin:$PATH run -H far pools; is 0; out guests
}
test_a_machine_that_is_not_there_is_5() { run -M nix; is 5; err "the bus of machine nix cannot be reached"; }

# --- wait
test_wait_on_a_ready_host_returns_at_once() { two_nodes; all_ready; run wait; is 0; quiet; }
test_wait_ends_by_a_signal_and_asks_only_once() {
	two_nodes; run_behind wait; tell await GetAll 1; all_ready; ended; is 0; quiet
	echo "calls GetManagedObjects" >&8; heard "1 ok"
}
test_wait_fails_with_the_sentence_of_the_pool() {
	two_nodes; run_behind wait guests; tell await GetAll 1; fail_node_1; ended; is 1
	err "pool guests, node 1: failed, 1 GiB of 4 GiB missing (fragmented)"
}
test_a_degraded_pool_is_reached() { two_nodes; tell pool guests State=degraded; run wait guests; is 0; }
test_wait_gives_up_after_its_time_limit() { two_nodes; run wait --timeout=50ms; is 3; err "12 %"; }
test_wait_with_limit_0_asks_now() { two_nodes; run wait --timeout=0; is 3; all_ready; run wait --timeout=0; is 0; }
test_wait_with_limit_0_has_the_time_of_an_answer() {
	two_nodes; all_ready
	kill -STOP "$fake_pid"
	run_behind wait --timeout=0
	timeout $limit "$MEMINITCTL" --bus="$address" -q --timeout=100ms 2>/dev/null || :
	kill -CONT "$fake_pid"; ended; is 0
}
test_wait_for_a_pool_that_is_not_there_is_4() { two_nodes; run wait nix; is 4; err "no pool 'nix'"; }
test_wait_for_a_pool_that_is_withdrawn_is_4() {
	two_nodes; run_behind wait guests; tell await GetAll 1; tell remove guests; ended; is 4
}
test_wait_without_a_daemon_is_5() {
	tell release; run wait; is 5; run wait --timeout=0; is 5; run watch --timeout=1min; is 5
	run wait --timeout=50ms; is 5; err "waiting for it"; err "systemctl start nodeinitd"
}
test_wait_with_a_time_limit_survives_a_daemon_that_is_away_at_the_beginning() {
	two_nodes; tell release; mkfifo "$work/said"
	timeout $limit "$MEMINITCTL" --bus="$address" wait --timeout=infinity 2>"$work/said" &
	client_pid=$!
	read -rt $limit line <"$work/said"; [[ $line == *"nodeinitd is not on the bus; waiting for it" ]]
	all_ready; tell acquire; ended; is 0
}
test_wait_survives_a_restart_of_the_daemon() {
	two_nodes; run_behind wait; tell await GetAll 1; tell release; all_ready; tell acquire; ended; is 0
	err "waiting for it to come back"
}
test_wait_survives_a_daemon_that_stops_with_cancelled_shares() {
	two_nodes; run_behind wait; tell await GetAll 1; tell host State=cancelled
	# The waiting one has seen it by the time that another one has come and gone.
	timeout $limit "$MEMINITCTL" --bus="$address" -q || :
	tell release; all_ready; tell acquire; ended; is 0
}
test_shares_that_stay_cancelled_end_the_wait() {
	two_nodes; tell share guests 1 cancelled $((4 * GIB)) 0 0 0 -; tell pool guests State=cancelled
	run wait guests; is 1; err "pool guests, node 1: cancelled, 4 GiB of 4 GiB missing"
}
test_wait_survives_a_restart_of_the_bus() {
	two_nodes; run_behind wait; tell await GetAll 1
	kill "$bus_pid"; wait "$bus_pid" 2>/dev/null || :
	wait "$fake_pid" 2>/dev/null || :
	rm -f "$work/to" "$work/from" "$work/bus"; start_bus; start_daemon; ended; is 0; err "the bus went away"
}
test_wait_does_not_believe_others() {
	two_nodes; run_behind wait --timeout=1s; tell await GetAll 1; tell spoof; ended; is 3
}
test_wait_notifies_its_unit() {
	two_nodes
	python3 - "$work/notify" "$MEMINITCTL" "$address" <<-'END'
		import os, socket, subprocess, sys
		s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); s.bind(sys.argv[1]); s.settimeout(20)
		p = subprocess.Popen([sys.argv[2], "--bus=" + sys.argv[3], "wait"],
		                     env=dict(os.environ, NOTIFY_SOCKET=sys.argv[1]))
		said = s.recv(4096).decode(); p.terminate(); p.wait()
		assert said.startswith("STATUS=deferred, 12 %, 1 GiB of 8 GiB"), said
	END
}

# --- watch
test_watch_prints_lines_and_ends_when_ready() {
	two_nodes; run_behind watch; tell await GetAll 1; all_ready; ended; is 0
	err "node 0: ready, 100 %"; err "ready, 100 %, 8 GiB of 8 GiB"; ! [ -s "$work/out" ]
}
test_watch_of_a_failure_is_1() {
	two_nodes; tell node 0 State=ready; fail_node_1; run watch; is 1; err "1 GiB of 4 GiB missing"
}
test_watch_speaks_once_a_second_per_node_however_often_it_changes() {
	two_nodes; run_behind watch; tell await GetAll 1
	for i in {1..500}; do tell node 0 BytesDone=$((GIB + i)); done
	all_ready; ended; is 0; [ "$(grep -c '^node 0:' "$work/err")" -le 3 ]
}
test_watch_as_json_is_one_object_a_line() {
	two_nodes; run_behind watch --json; tell await GetAll 1; all_ready; ended; is 0
	python3 - "$work/out" <<-'END'
		import json, sys
		lines = [json.loads(line) for line in open(sys.argv[1])]
		assert {line["object"] for line in lines} == {"host", "node", "pool"}
		assert [l["state"] for l in lines if l["object"] == "host"][-1] == "ready"
	END
}
test_watch_draws_a_bar_per_node_on_a_terminal() {
	two_nodes; fail_node_1; tell node 0 State=ready BytesDone=$((4 * GIB))
	script -qec "stty cols 80 rows 24; '$MEMINITCTL' --bus='$address' watch" /dev/null </dev/null >"$work/out" || :
	grep -q 'node 0 .*█████.* 100 %' "$work/out"; grep -q 'node 1 .*███╳.* 75 %' "$work/out"
	sed 's/\x1b\[[0-9;]*[A-Za-z]//g; s/\r//g' "$work/out" | grep '^node' >"$work/plain"
	[ "$(wc -L <"$work/plain")" -le 80 ]
}
test_watch_of_108_nodes_fits_into_24_rows() {
	tell many 108
	script -qec "stty cols 80 rows 24; '$MEMINITCTL' --bus='$address' watch --timeout=50ms" /dev/null \
		</dev/null >"$work/out" || :
	[ "$(grep -c '^' "$work/out")" -le 24 ]; out "and 87 more nodes: 15 working, 36 waiting, 36 settled"
}

# --- control, plan
test_reload_pause_and_resume_are_one_silent_call_each() {
	for verb in Reload Pause Resume; do
		run "${verb,}"; is 0; quiet; echo "calls $verb" >&8; heard "1 ok"
	done
}
test_reload_of_a_refused_file_is_1_with_the_sentence_of_the_daemon() {
	tell refuse Reload org.nodeinit1.Error.ConfigInvalid guests.pool:3: 'Size=12' has no unit
	run reload; is 1; err "guests.pool:3: Size=12 has no unit"
	tell refuse Reload org.nodeinit1.Error.ConfigInvalid 'a.pool:3: no unit\x0ab.pool:1: no section'
	run reload; is 1; err "meminitctl: reload: b.pool:1: no section"; [ "$(wc -l <"$work/err")" = 2 ]
}
test_a_refusal_says_once_that_root_is_needed() {
	tell refuse Pause org.freedesktop.DBus.Error.AccessDenied Rejected send message; run pause; is 1
	[ "$(<"$work/err")" = "meminitctl: pause: access denied, root is needed: Rejected send message" ]
	tell refuse Pause org.freedesktop.DBus.Error.AccessDenied Pause and Resume: for root, not for uid 1.; run pause; is 1
	[ "$(<"$work/err")" = "meminitctl: pause: access denied: Pause and Resume: for root, not for uid 1." ]
}
test_a_remedy_of_the_daemon_is_a_verb_here() {
	two_nodes; tell refuse Lease org.nodeinit1.Error.NoSuchNode There is no node 7 among the 2 nodes\; ListNodes shows all.
	run lease guests 1G --node=7 -- true; is 4; err "the 2 nodes; meminitctl nodes shows all."; no err ListNodes
	tell refuse Retry org.nodeinit1.Error.NotReady ListPools shows it; run retry guests; err "pool guests: meminitctl pools shows it"
}
test_retry_asks_every_pool_and_names_the_one_that_is_not_there() {
	two_nodes; run retry nix guests; is 4
	err "no pool 'nix'; meminitctl status shows what there is"; echo "calls Retry" >&8; heard "1 ok"
}
test_the_object_is_named_once() {
	two_nodes; tell refuse Retry org.nodeinit1.Error.NotReady pool guests is complete
	run retry guests; is 1; [ "$(<"$work/err")" = "meminitctl: pool guests is complete" ]
}
test_plan_is_nodeinitd_with_the_same_options() {
	printf '#!/bin/sh\necho "$@"\nexit 1\n' >"$work/d"; chmod +x "$work/d"
	NODEINITD=$work/d run plan --root "$work" --config=/x --json; is 1
	[ "$(<"$work/out")" = "--plan --root $work --config /x --json" ]
	NODEINITD=$work/none run plan; is 1; err "set NODEINITD="
	run -H far plan; is 2
}

# --- lease
# What the command has open and was given, one a line.
# shellcheck disable=SC2016 # for the command's shell
fds() { printf 'for n in %s; do [ ! -e /proc/$$/fd/$n ] || echo $n; done' "$(seq -s ' ' 0 40)"; }
lease() { two_nodes; run lease "$@"; }
is_asked() { echo asked >&8; heard "$1 ok" || { echo "asked: $answer"; return 1; }; }
test_a_command_gets_the_memory_at_3_and_the_lifetime_at_4() {
	lease guests 16G --node 1 -- sh -c 'head -c1 <&3; readlink /proc/$$/fd/3 /proc/$$/fd/4'; is 0; quiet
	out "1/memfd:fake"; grep -q '^pipe:' "$work/out"; is_asked "$((16 * GIB)) 1 0 0"
}
test_a_command_gets_no_other_descriptor() {
	two_nodes
	{
		sh -c "$(fds)" >"$work/before" 2>/dev/null </dev/null
		run lease guests 1G sh -c "$(fds)"
	} 3>&- 4>&- 8>&- 9<&-
	is 0; [ "$(<"$work/out")" = "$(printf '%s\n' 3 4 "$(<"$work/before")" | sort -nu)" ]
}
test_descriptors_of_the_caller_go_on_to_the_command_but_3_and_4_are_the_lease() {
	echo other >"$work/other"; echo seven >"$work/seven"
	lease guests 1G -- sh -c 'head -c1 <&3; cat <&7; readlink /proc/$$/fd/4' 3<"$work/other" 4<"$work/other" 7<"$work/seven"
	is 0; out 1seven; grep -q '^pipe:' "$work/out"
}
test_closed_standard_descriptors_stay_closed() {
	two_nodes
	ask="head -c1 <&3 >$work/head; { $(fds); } >$work/fds"
	status=0; "$MEMINITCTL" --bus="$address" lease guests 1G sh -c "$ask" 0<&- 1>&- 2>&- 8>&- 9<&- || status=$?
	[ $status = 0 ]; [ "$(<"$work/head")" = 1 ]; tell await-end
	[ "$(head -3 "$work/fds" | tr '\n' ' ')" = "1 3 4 " ]
	"$MEMINITCTL" --bus="$address" lease guests 1G sh -c "$ask" 0<&- 1>&- 8>&- 9<&- || status=$?
	[ $status = 0 ]; [ "$(<"$work/head")" = 2 ]; [ "$(head -4 "$work/fds" | tr '\n' ' ')" = "1 2 3 4 " ]
}
test_a_command_is_told_of_its_lease_by_the_environment() {
	lease guests 1G --node 1 -- env; is 0
	for line in NODEINIT_FD=3 NODEINIT_LIFETIME_FD=4 NODEINIT_NODE=1 NODEINIT_BYTES=$GIB NODEINIT_LEASE=1; do
		grep -qx "$line" "$work/out"
	done
}
test_braces_become_the_path_of_the_memory_everywhere_in_the_arguments() {
	lease guests 1G -- printf '<%s>' mem-path={},share=on {} '{}{}' '{' ''; is 0
	p=/proc/self/fd/3
	[ "$(<"$work/out")" = "<mem-path=$p,share=on><$p><$p$p><{><>" ]
}
test_options_of_the_command_are_its_own_from_its_first_word_on() {
	lease guests 1G printf '%s ' -b --json --node=7 -- -q; is 0; [ "$(<"$work/out")" = "-b --json --node=7 -- -q " ]
	run lease guests --node=1 1G --strict printf '%s' --node=7; is 0; [ "$(<"$work/out")" = --node=7 ]
	is_asked "$GIB 1 1 0"
	run -- lease guests 1G printf '%s' --node=7; is 0; is_asked "$GIB -1 0 0"
}
test_the_exit_status_is_that_of_the_command() {
	for n in 0 1 3 77 255; do lease guests 1G -- sh -c "exit $n"; is $n; done
}
test_the_command_has_the_pid_of_meminitctl_and_its_signals() {
	two_nodes; mkfifo "$work/in" "$work/lines"
	"$MEMINITCTL" --bus="$address" lease guests 1G -- sh -c 'echo $$; exec cat' <"$work/in" >"$work/lines" 2>/dev/null &
	pid=$!
	exec 7>"$work/in" 6<"$work/lines"
	read -rt $limit line <&6; [ "$line" = $pid ]
	echo there >&7; read -rt $limit line <&6; [ "$line" = there ]
	kill -TERM $pid; status=0; wait $pid || status=$?; is 143
	tell await-end
}
test_a_lease_lasts_as_long_as_somebody_has_the_lifetime() {
	mkfifo "$work/in"
	lease guests 1G -- sh -c "cat <'$work/in' >/dev/null & exit 5"; is 5
	echo is-ended >&8; heard "0 ok"
	: >"$work/in"; tell await-end; echo is-ended >&8; heard "1 ok"
}
test_a_command_that_is_not_there_is_127_and_leases_nothing() {
	touch "$work/plain"
	lease guests 1G -- nix-da; is 127; err "'nix-da' cannot be run (No such file or directory)"
	lease guests 1G -- "$work/nix"; is 127
	lease guests 1G -- ''; is 127
	lease guests 1G -- "$work/plain"; is 126; err "Permission denied"
	lease guests 1G -- "$work"; is 126
	PATH=$work:$PATH lease guests 1G -- plain; is 126
	echo "calls Lease" >&8; heard "0 ok"
}
test_a_command_that_turns_out_not_to_run_ends_the_lease() {
	touch "$work/plain"; printf '#!/nowhere/sh\n' >"$work/script"; printf '#!%s\n' "$work/plain" >"$work/denied"
	ln -s loop "$work/loop"; chmod +x "$work/script" "$work/denied"
	lease guests 1G -- "$work/script"; is 127; err "script' cannot be run"; tell await-end
	lease guests 1G -- "$work/denied"; is 126; err "Permission denied"; tell await-end
	lease guests 1G -- "$work/loop"; is 126
}
test_a_bare_number_of_bytes_is_refused_with_both_readings_except_0() {
	lease guests 16 -- true; is 2; err "'16' has no unit and two readings: write 16G for gigabytes or 16B for bytes"
	lease guests 0 -- true; is 0; is_asked "0 -1 0 0"
}
test_bytes_are_read_as_in_a_pool_file() {
	two_nodes
	for pair in "1B 1" "4096B 4096" "2K 2048" "1.5M 1572864" "0.5GiB 536870912" "3GB 3221225472" "16P 18014398509481984" \
		"16383.99P 18446732814710483189" "1.0000000000000000000001K 1024" "007K 7168"; do
		run lease guests "${pair% *}" true; is 0; is_asked "${pair#* } -1 0 0"
	done
	run lease guests "2 MiB" true; is 0; is_asked "2097152 -1 0 0"
	for text in 16384P 340282366920938463463374607431768211457B 99999999999999999999B 18446744073709551616B 99999999999999999999999999999999999999999P; do
		run lease guests $text true; is 2; err "out of range"
	done
	for text in 1.5B 50% 12p 1g 1Gi 1GiBx G 1. .5G 1.5.5G '' 0x10G 1E; do
		run lease guests "$text" true; is 2; err "no number of bytes"
	done
}
test_a_lease_without_its_words_is_wrong_usage() {
	for words in "" "guests" "guests 1G" "guests 1G --" "--node guests" "--node=x guests 1G true" "--node=-1 guests 1G true" \
		"--node=4294967296 guests 1G true" "--strict guests 1G true" "--node= guests 1G true"; do
		# shellcheck disable=SC2086
		run lease $words; is 2; empty
	done
	run lease guests 1G; err "lease takes POOL BYTES [--] COMMAND..."
	run --node=1 status; is 2; err "--node= is for lease and run"
	run --strict leases; is 2; err "--strict is for lease"
	run lease --node=auto guests 1G true; is 2; err "--node=auto is for run"
}
test_a_node_of_a_lease_is_a_number_or_node_and_a_number() {
	lease guests 1G --node node1 -- true; is 0; is_asked "$GIB 1 0 0"
	for node in node nodes1 node-1 node1x node4294967296; do run lease guests 1G --node=$node true; is 2; err "no node id"; done
}
test_json_of_a_verb_that_prints_no_data_is_wrong_usage() {
	two_nodes
	for words in "lease guests 1G true" wait reload pause resume "retry guests" "release 1"; do
		# shellcheck disable=SC2086
		run --json $words; is 2; err "--json has no data to print with '${words%% *}'"
	done
	echo "calls Lease" >&8; heard "0 ok"
}
test_memory_is_not_leased_from_afar() {
	run -H far lease guests 1G true; is 2; err "cannot be handed on from another host"
	run -M box lease guests 1G true; is 2
}
test_a_bus_that_carries_no_descriptors_is_wrong_usage() {
	command -v systemd-stdio-bridge >/dev/null || skip "there is no systemd-stdio-bridge here"
	two_nodes
	# What ssh does: the bridge has pipes and not a socket.
	cat >"$work/relay" <<-END
		#!/usr/bin/env python3
		import os, select, subprocess
		p = subprocess.Popen(["systemd-stdio-bridge", "--bus-path=$address"], stdin=-1, stdout=-1, bufsize=0)
		ways = {0: p.stdin.fileno(), p.stdout.fileno(): 1}
		while True:
		    for end in select.select(list(ways), [], [])[0]:
		        data = os.read(end, 65536)
		        if not data: raise SystemExit
		        os.write(ways[end], data)
	END
	chmod +x "$work/relay"; address=unixexec:path=$work/relay
	run pools; is 0; out guests
	run lease guests 1G true; is 2; err "this bus carries no descriptors"
}
test_sockets_of_systemd_are_not_covered_up() {
	two_nodes
	status=0; (LISTEN_FDS=1 LISTEN_PID=$BASHPID exec "$MEMINITCTL" --bus="$address" lease guests 1G true) \
		3</dev/null 2>"$work/err" || status=$?
	is 2; err "LISTEN_FDS is set"
	LISTEN_FDS=1 LISTEN_PID=1 run lease guests 1G true; is 0
}
test_a_node_that_had_none_ready_is_said_and_not_with_quiet() {
	two_nodes; tell lend 0
	run lease guests 1G --node 1 -- true; is 0
	[ "$(<"$work/err")" = "meminitctl: 1 GiB of pool guests on node 1: on node 0, node 1 had none ready" ]
	run -q lease guests 1G --node 1 -- true; is 0; quiet
	run lease guests 1G --node 0 -- true; is 0; quiet
	tell lend 1; run lease guests 1G -- true; is 0; quiet
}
test_a_lease_without_timeout_does_not_wait() {
	two_nodes; tell lend-later 1
	run lease guests 1G -- true; is 3; is_asked "$GIB -1 0 0"
	err "1 GiB of pool guests: pool guests: 3 regions are being filled"; err "--timeout=5min would wait for it"
	tell lend-later 1; run lease guests 1G --timeout=0 -- true; is 3; echo "calls Lease" >&8; heard "2 ok"
}
test_a_lease_waits_within_its_timeout() {
	two_nodes; tell lend-later 3
	run lease guests 1G --timeout=5min -- echo started; is 0; out started; is_asked "$GIB -1 0 1"
	err "waiting: pool guests: 3 regions are being filled"; [ "$(wc -l <"$work/err")" = 1 ]
	echo "calls Lease" >&8; heard "4 ok"
	tell lend-later 1; run -q lease guests 1G --timeout=infinity -- true; is 0; quiet
}
test_a_lease_gives_up_after_its_timeout() {
	two_nodes; tell lend-later 1000
	run lease guests 1G --timeout=50ms -- true; is 3; err "not ready within the time limit"
}
test_a_wait_for_a_lease_is_cut_off_by_its_timeout() {
	two_nodes; tell lend-later 1; tell lend-never
	run lease guests 1G --timeout=300ms -- true; is 3; err "3 regions are being filled"; err "not ready within the time limit"
}
test_a_lease_waits_when_all_regions_are_leased_and_the_daemon_says_that_one_may_come() {
	two_nodes; tell lend-later 1 Shortfall
	run lease guests 1G -- true; is 1; err "pool guests: 3 regions are being filled"
	tell lend-later 1 Shortfall; run lease guests 1G --timeout=5min -- true; is 0; quiet; is_asked "$GIB -1 0 1"
	tell lend-later 1 Shortfall; tell lend-never
	run lease guests 1G --timeout=100ms -- true; is 3; err "not ready within the time limit"
	tell lend-later 5 Shortfall; run lease guests 1G --timeout=5min -- true; is 1; no err "time limit"
}
test_a_wait_for_a_lease_survives_a_restart_of_the_daemon() {
	two_nodes; tell refuse Lease org.nodeinit1.Error.NotReady filling
	run_behind lease guests 1G --timeout=5min -- echo started; tell await Lease 2
	tell refuse Lease org.nodeinit1.Error.Cancelled nodeinitd leaves the bus; echo calls Lease >&8; heard ok
	tell await Lease $((${answer% ok} + 2)); tell release; tell obey Lease; tell acquire
	ended; is 0; out started; err "waiting: filling"; err "waiting: nodeinitd is away"
	tell refuse Lease org.nodeinit1.Error.Cancelled nodeinitd leaves the bus
	run lease guests 1G -- true; is 5; err "nodeinitd leaves the bus"
}
test_a_wait_for_a_lease_ends_with_5_when_the_daemon_stays_away() {
	two_nodes; tell lend-later 1000; run_behind lease guests 1G --timeout=1s -- true; tell await Lease 2
	tell release; ended; is 5; err "waiting: nodeinitd is away"; err "systemctl start nodeinitd"
}
test_a_lease_that_is_ready_is_had_however_short_the_timeout() { lease guests 1G --timeout=1us -- true; is 0; quiet; }
test_an_error_ends_the_wait_for_a_lease() {
	two_nodes; tell lend-later 2; run_behind lease guests 1G --timeout=5min -- true; tell await Lease 2
	tell refuse Lease org.nodeinit1.Error.Shortfall all 4 regions are leased; ended; is 1; err "all 4 regions are leased"
	no err "time limit"
}
test_refusals_of_a_lease_name_pool_bytes_node_and_the_remedy() {
	two_nodes
	tell refuse Lease org.nodeinit1.Error.QuotaExceeded user 1000 has 64 of 64 leases, see MaxLeases=
	run lease guests 16G --node 1 -- true; is 1
	[ "$(<"$work/err")" = "meminitctl: 16 GiB of pool guests on node 1: user 1000 has 64 of 64 leases, see MaxLeases=" ]
	tell refuse Lease org.nodeinit1.Error.Shortfall no region is as large
	run lease guests 16G -- true; is 1; err "16 GiB of pool guests: no region is as large"
	tell refuse Lease org.freedesktop.DBus.Error.AccessDenied user 1000 is not in Users=
	run lease guests 0 -- true; is 1; err "a region of pool guests: access denied"; err "Users= and Groups= say who may"
	no err "root is needed"
	tell refuse Lease org.freedesktop.DBus.Error.AccessDenied pool guests may be leased by root and by whom its Users= name
	run lease 'guests' 512M -- true; is 1
	[ "$(<"$work/err")" = "meminitctl: 512 MiB of pool guests: access denied: pool guests may be leased by root and by whom its Users= name" ]
	tell refuse Lease org.nodeinit1.Error.NoSuchNode there is no node 7
	run lease guests 1G --node 7 -- true; is 4; err "there is no node 7"
}
test_a_lease_of_a_pool_that_is_not_there_is_4() { lease nix 1G -- true; is 4; err "no pool 'nix'"; }
test_a_lease_with_a_time_limit_waits_for_a_daemon_that_is_away() {
	two_nodes; tell release; mkfifo "$work/said"
	timeout $limit "$MEMINITCTL" --bus="$address" lease guests 1G --timeout=5min -- echo started >"$work/out" 2>"$work/said" &
	client_pid=$!
	exec 7<"$work/said"; read -rt $limit line <&7; [[ $line == *"waiting: nodeinitd is away" ]]
	tell acquire; ended; is 0; out started; exec 7<&-
	tell release; run lease guests 1G --timeout=50ms -- true; is 5; err "waiting: nodeinitd is away"
	run lease guests 1G --timeout=0 -- true; is 5; no err waiting
}
test_a_daemon_that_hangs_is_given_up_at_the_end_of_the_time() {
	two_nodes; kill -STOP "$fake_pid"
	SECONDS=0; run lease guests 1G --timeout=1s -- true; is 5; err "gave no answer"; [ $SECONDS -le 6 ]
	kill -CONT "$fake_pid"; tell mute Lease
	SECONDS=0; run lease guests 1G --timeout=1s -- true; is 5; err "gave no answer"; [ $SECONDS -le 6 ]
}
test_a_limit_of_the_daemon_is_waited_out_and_a_quota_is_not() {
	two_nodes; tell refuse Lease org.freedesktop.DBus.Error.LimitsExceeded 64 calls wait already
	run lease guests 1G -- true; is 1; err "64 calls wait already"
	run lease guests 1G --timeout=600ms -- true; is 3; err "waiting: 64 calls wait already"; err "not ready within the time limit"
	# The time has room for a question each quarter of a second, and no busy loop.
	echo calls Lease >&8; heard ok; [ "${answer% ok}" -le 6 ]
	run_behind lease guests 1G --timeout=5min -- echo started; tell await Lease $((${answer% ok} + 2))
	tell obey Lease; ended; is 0; out started
	tell refuse Lease org.nodeinit1.Error.QuotaExceeded 64 of 64 leases
	run lease guests 1G --timeout=5min -- true; is 1; err "64 of 64 leases"; no err "time limit"
}
test_a_lease_without_a_daemon_is_5() {
	two_nodes; tell release; run lease guests 1G -- true; is 5
	address=unix:path=/nowhere; run lease guests 1G -- true; is 5
}
test_an_answer_that_is_no_lease_is_not_believed() {
	two_nodes
	for member in Lease GetPool; do
		tell babble $member; run lease guests 1G -- true; is 1; err "speaks another language"
	done
	tell babble ListLeases; run leases; is 1; err "speaks another language"
}

# --- leases, release
three_leases() {
	two_nodes
	tell lease 10 guests 1 $((2 * GIB)) leased 0 42 qemu.service 86400000000 5000000
	tell lease 9 guests 0 $((2 * GIB)) draining 4000000000 43 - 86400000000 6000000
	tell lease 11 db 0 $GIB leased 0 44 - 0 7000000
}
test_leases_are_a_table_by_id_with_user_names_where_there_are_some() {
	three_leases; TZ=UTC run leases; is 0; quiet
	head -1 "$work/out" | grep -Eq '^ID +POOL +NODE +BYTES +STATE +UID +PID +UNIT +SINCE$'
	[ "$(awk 'NR > 1 { printf "%s ", $1 }' "$work/out")" = "9 10 11 " ]
	grep -Eq '^ 9 guests +0 2 GiB draining 4000000000 +43 - +1970-01-02 00:00:00 UTC$' "$work/out"
	grep -Eq '^10 guests +1 2 GiB leased +root +42 qemu.service 1970-01-02 00:00:00 UTC$' "$work/out"
}
test_leases_of_one_pool() {
	three_leases; run --no-legend -b leases db; is 0; grep -Eq "^ *11 db +0 +$GIB leased +root +44 +- +-\$" "$work/out"
	[ "$(wc -l <"$work/out")" = 1 ]
	tell pool empty State=ready; run --no-legend leases empty; is 0; empty; quiet
	run leases nix; is 4; err "no pool 'nix'"
}
test_no_leases_are_an_empty_list() {
	run --json leases; is 0; [ "$(tr -d '\n' <"$work/out")" = "[]" ]
	run --no-legend leases; is 0; empty; quiet
	run leases; is 0; empty; [ "$(<"$work/err")" = "meminitctl: nothing is leased" ]; run -q leases; quiet
	run pools; is 0; empty; [ "$(<"$work/err")" = "meminitctl: no pool is declared" ]; run --no-legend pools; quiet
	run leases a b; is 2
}
test_leases_as_json_are_numbers_and_texts() {
	three_leases; run --json leases; is 0
	python3 - "$work/out" <<-'END'
		import json, sys
		leases = json.load(open(sys.argv[1]))
		assert [l["id"] for l in leases] == ["9", "10", "11"]
		assert leases[1] == {"id": "10", "pool": "guests", "node": 1, "bytes": 2 << 30, "state": "leased", "uid": 0,
		                     "pid": 42, "unit": "qemu.service", "since_realtime_usec": 86400000000,
		                     "since_monotonic_usec": 5000000}
		assert leases[0]["uid"] == 4000000000 and leases[0]["unit"] == ""
	END
}
test_uids_of_another_host_are_not_named_here() {
	command -v systemd-stdio-bridge >/dev/null || skip "there is no systemd-stdio-bridge here"
	three_leases; mkdir "$work/bin"
	printf '#!/bin/sh\nexec systemd-stdio-bridge --bus-path=%s\n' "$address" >"$work/bin/ssh"; chmod +x "$work/bin/ssh"
	PATH=$work/bin:$PATH run -H far leases; is 0; no out root; out qemu.service
}
test_foreign_text_in_a_lease_cannot_drive_the_terminal() {
	two_nodes; tell 'lease 1 guests 0 4096 leased 0 1 evil\x1b[2J 0 0'
	run leases; is 0; out 'evil\x1b[2J'; run --json leases; is 0; out '\u001b'
}
test_leased_and_draining_bytes_are_shown_where_there_are_some() {
	two_nodes; run pools; is 0; grep -Eq 'guests .* 0 B +1 GiB +- +- +-$' "$work/out"
	run status guests; no out leased; no out draining
	tell pool guests BytesLeased=$((3 * GIB)) BytesDraining=$GIB
	run pools; is 0; grep -Eq 'SHORT +FREE +LEASED +DRAINING' "$work/out"; grep -Eq 'guests .* 3 GiB +1 GiB +-$' "$work/out"
	run status guests; is 3; out "3 GiB leased, 1 GiB draining"
	run status; out "DRAINING"
	run --json pools; is 0; out '"leased":3221225472'; out '"draining":1073741824'
}
test_what_can_be_leased_is_shown_for_pools_of_regions_only() {
	two_nodes; all_ready; tell pool guests RegionSize=$GIB BytesLeased=$((3 * GIB)); tell pool net Kind=hugetlb State=ready BytesDone=$GIB
	run pools; is 0; head -1 "$work/out" | grep -Eq '^POOL +KIND +PAGE +REGION +STATE +DONE +TOTAL +SHORT +FREE +LEASED'
	grep -Eq '^guests region +2 MiB +1 GiB ready +8 GiB +8 GiB +0 B +5 GiB +3 GiB +- +-$' "$work/out"
	grep -Eq '^net +hugetlb +2 MiB +- ready +1 GiB +0 B +0 B +- +- +- +-$' "$work/out"
	run -b --no-legend pools; grep -Eq "^guests region +2097152 +$GIB ready .* $((5 * GIB)) +$((3 * GIB)) +0 +-\$" "$work/out"
	grep -Eq "^net .* 2097152 +- ready .* 0 +- +0 +0 +-\$" "$work/out"
	run status guests; is 0; out "Kind: region, pages of 2 MiB, regions of 1 GiB, 5 GiB free, 3 GiB leased"
	run status net; no out free; no out regions
	run --json pools; is 0
	python3 - "$work/out" <<-'END'
		import json, sys
		guests, net = json.load(open(sys.argv[1]))
		assert guests["region_size"] == 1 << 30 and guests["free"] == 5 << 30
		assert net["region_size"] is None and net["free"] is None
	END
}
test_a_daemon_that_does_not_say_the_size_of_regions_is_understood() {
	tell unsaid; two_nodes; all_ready; run pools; is 0; grep -Eq '^guests region +2 MiB +- ready .* 8 GiB +- +- +-$' "$work/out"
	run --json pools; out '"region_size":null'; run status guests; is 0; no out "regions of"
}
test_what_is_refilled_of_a_ready_pool_is_shown() {
	two_nodes; all_ready; run status; no out refilling; run pools; no out refilling
	tell pool guests BytesDone=$((5 * GIB)) BytesDraining=$GIB; tell host BytesDone=$((5 * GIB))
	run status; is 0; out ": ready, refilling 2 GiB, generation 1"; out "5 GiB of 8 GiB (62 %)"
	run status guests; is 0; out "pool guests: ready, refilling 2 GiB"; run -b status guests; out "ready, refilling $((2 * GIB))"
	run pools; is 0; grep -Eq ' refilling 2 GiB$' "$work/out"; run wait; is 0; quiet
	tell pool guests BytesDraining=$((3 * GIB)); run status; is 0; no out refilling
	tell pool guests BytesDraining=0 Kind=hugetlb; run status; is 0; no out refilling
	tell pool guests Kind=region State=deferred; run pools; no out refilling
}
test_watch_follows_what_is_refilled_of_a_ready_host() {
	two_nodes; all_ready; tell pool guests BytesDone=0; tell host BytesDone=0
	run watch --timeout=50ms; is 3
	# The last word is that of the pools, whose signal may be in front of the host's.
	run_behind watch; tell await GetAll 2; tell pool guests BytesDone=$((6 * GIB))
	tell pool guests BytesDraining=$((2 * GIB)); ended; is 0; err "ready, 75 %, 6 GiB of 8 GiB, 2 GiB draining"; no err refilling
}
test_blocks_and_copies_have_no_pages_and_no_leases() {
	two_nodes; tell pool dimms Kind=block PageSize=4096 State=ready BytesTotal=$GIB BytesDone=$GIB
	tell pool text Kind=replica PageSize=4096 State=deferred BytesTotal=$GIB BytesDone=$((GIB / 2))
	run pools; is 0
	grep -Eq '^dimms +block +- +- ready +1 GiB +1 GiB +0 B +- +- +- +-$' "$work/out"
	grep -Eq '^text +replica +- +- deferred +512 MiB +1 GiB +0 B +- +- +- +-$' "$work/out"
	run status dimms; is 0; grep -qx '    Kind: block' "$work/out"; run status text; is 3; grep -qx '    Kind: replica' "$work/out"
	run status guests; out "Kind: region, pages of 2 MiB"
}
test_reasons_of_blocks_and_copies_are_explained() {
	two_nodes; tell pool dimms Kind=block State=failed BytesTotal=$((2 * GIB)) BytesShort=$GIB
	tell share dimms 0 ready $GIB 0 $GIB 0 -
	while IFS=: read -r reason words; do
		tell share dimms 1 failed $GIB 0 0 $GIB "$reason"; run wait dimms; is 1
		[ "$(<"$work/err")" = "meminitctl: pool dimms, node 1: failed, 1 GiB of 1 GiB not online ($reason: $words)" ]
	done <<-'END'
		busy:the kernel had no time for it; meminitctl retry asks again
		refused:the kernel does not bring it online
		zone-mismatch:online in another zone than Zone= says
		unsupported-zone:it cannot go into the zone of Zone=
		no-offline-memory:the node has not so much to bring online
		unreadable:the kernel does not say how it is
		gone:unplugged
		offlined:somebody took it offline
	END
	run pools dimms; grep -Eq ' offlined on 1$' "$work/out"
	tell pool text Kind=replica State=degraded BytesTotal=$GIB BytesShort=$((GIB / 4))
	while IFS=: read -r reason words; do
		tell share text 0 degraded $GIB 0 $((GIB * 3 / 4)) $((GIB / 4)) "$reason"; run status; is 3
		out "pool text, node 0: degraded, 256 MiB of 1 GiB not copied ($reason: $words)"
	done <<-'END'
		exceeds-reserve:the node keeps its Reserve=; linked to the original
		exceeds-size:the pool keeps to its Size=; linked to the original
		gone:the original was removed
		changing:the original does not stand still
		unreadable:the original cannot be read
		no-mount:the node has no tmpfs for it; nodeinitd --prepare mounts it
	END
	# Another kind may have the same word with another meaning.
	tell pool guests State=failed; tell share guests 0 failed $GIB 0 0 $GIB exceeds-reserve
	run status; out "pool guests, node 0: failed, 1 GiB of 1 GiB missing (exceeds-reserve)"
}
test_refused_paths_of_a_pool_that_lacks_nothing_are_said() {
	two_nodes; tell pool text Kind=replica State=degraded BytesTotal=$GIB BytesDone=$GIB; tell share text 0 ready $GIB 0 $GIB 0 -
	run status; out "pool text: degraded, some or all of its Paths= are refused"
	run status text; is 0; out " Refused: some or all of its Paths= are refused; nodeinitd --plan"
	tell pool text State=failed; run wait text; is 1; err "pool text: failed, some or all of its Paths= are refused"
	tell share text 0 ready $GIB 0 $GIB 0 no-such-file; run wait text; is 1; err "some or all of its Paths= are refused"
	run status; out "pool text: failed, some or all of its Paths= are refused"
	tell share text 0 degraded $GIB 0 0 $GIB no-mount; run status text; no out Paths=
	tell share text 0 ready $GIB 0 $GIB 0 -; tell pool text State=ready; run status; no out Paths=; run status text; no out Refused
	tell pool text State=degraded Kind=region; run status; no out Paths=
}
test_a_number_of_one_has_no_plural() {
	tell node 0 Threads=1 State=ready; run status 0; is 0; out ", 1 thread"; no out threads
	tell node 0 Threads=2; run status 0; out ", 2 threads"
}
test_release_asks_for_every_lease_and_names_the_one_that_is_not_there() {
	three_leases; run release 5 9 10; is 4; err "no lease 5; meminitctl leases shows those there are"
	[ "$(wc -l <"$work/err")" = 1 ]; echo "calls ReleaseLease" >&8; heard "3 ok"
	[ "$(<"$work/out")" = "$(printf 'lease %s drains until nobody has its memory\n' 9 10)" ]
	run --no-legend leases; [ "$(grep -c draining "$work/out")" = 2 ]
	run release 11; is 0; quiet; out "lease 11 drains until nobody has its memory"
	run -q release 11; is 0; quiet; empty
	run release; is 2
}
test_a_refused_release_says_who_may() {
	three_leases; tell refuse ReleaseLease org.freedesktop.DBus.Error.AccessDenied it is of user 1000
	run release 9; is 1; [ "$(<"$work/err")" = "meminitctl: lease 9: access denied, root or its owner is needed: it is of user 1000" ]
}

# --- usage
test_a_slip_is_answered_with_what_was_meant() {
	run sttaus; is 2; err "did you mean 'status'"
	run --jsno; is 2; err "did you mean '--json'"
	run frobnicate; is 2; err "see meminitctl --help"
}
test_options_and_operands_out_of_place_are_wrong_usage() {
	for words in "nodes x" "retry" "status a b" "--root=/ status" "--notify status" "-H a -M b" "--bus" "-x" \
		"wait --timeout=soon" "--json=x" "wait --timeout=99999999999999999999"; do
		# shellcheck disable=SC2086
		run $words; is 2; no out nodeinitd
	done
}
test_help_and_version_go_to_standard_output() { run --help; is 0; out "Exit status"; run --version; is 0; out meminitctl; }

# --- completion
complete_line() {
	mkdir -p "$work/path"; ln -sf "$MEMINITCTL" "$work/path/meminitctl"
	PATH=$work/path:$PATH bash --norc -c '
		source "$1"; COMP_LINE=$2; COMP_POINT=${#2}; COMP_WORDS=($2); COMP_CWORD=1
		_meminitctl 2>&1; echo "${COMPREPLY[*]}"' - "$COMPLETION" "$1"
}
test_completion_knows_verbs_options_and_pools() {
	two_nodes; tell pool other State=ready
	[ "$(complete_line "meminitctl w")" = "watch wait" ]
	[ "$(complete_line "meminitctl --no")" = "--no-legend --node= --notify" ]
	[ "$(complete_line "meminitctl --bus=se")" = "session" ]
	[ "$(complete_line "meminitctl --bus=$address wait ")" = "guests other" ]
	[ "$(complete_line "meminitctl --bus $address retry gu")" = "guests" ]
	[ "$(complete_line "meminitctl --bus $address retry guests ")" = "other" ]
	[ "$(complete_line "meminitctl --bus $address status ")" = "guests other node0 node1" ]
	[ -z "$(complete_line "meminitctl --bus $address status guests ")" ]
	[ -z "$(complete_line "meminitctl --bus=unix:path=/nowhere wait ")" ]
}
test_completion_knows_leases_and_leaves_a_command_its_options() {
	three_leases
	[ "$(complete_line "meminitctl --bus=$address release ")" = "9 10 11" ]
	[ "$(complete_line "meminitctl --bus=$address release 9 1")" = "10 11" ]
	[ "$(complete_line "meminitctl --bus=$address lease gu")" = "guests" ]
	[ "$(complete_line "meminitctl --bus=$address leases ")" = "guests" ]
	[ -z "$(complete_line "meminitctl --bus=$address lease guests ")" ]
	[ "$(complete_line "meminitctl lease guests 1G --st")" = "--strict" ]
	[[ " $(complete_line "meminitctl lease guests 1G ca") " == *" cat "* ]]
	[[ " $(complete_line "meminitctl lease guests 1G --node 1 -- ca") " == *" cat "* ]]
	[ -z "$(complete_line "meminitctl lease guests 1G cat --st")" ]
	[ -z "$(complete_line "meminitctl lease guests 1G -- --st")" ]
}
test_completion_knows_run_and_leaves_its_command_its_options() {
	two_nodes
	[ "$(complete_line "meminitctl ru")" = "run" ]
	[ "$(complete_line "meminitctl --bus=$address run --node=")" = "0 1 auto" ]
	[ "$(complete_line "meminitctl --bus=$address lease --node=")" = "0 1" ]
	[ "$(complete_line "meminitctl run --nod")" = "--node=" ]
	[[ " $(complete_line "meminitctl run ca") " == *" cat "* ]]
	[[ " $(complete_line "meminitctl run --node 1 -- ca") " == *" cat "* ]]
	[ -z "$(complete_line "meminitctl run cat --st")" ]
}
test_completion_does_not_execute_what_a_pool_is_called() {
	tell pool "\$(touch\${IFS}$work/hurt)" State=ready
	complete_line "meminitctl --bus=$address wait " >/dev/null
	! [ -e "$work/hurt" ]
}

nr_passed=0 nr_failed=0 nr_skipped=0
mapfile -t all < <(declare -F | sed -n 's/^declare -f \(test_\)/\1/p')
[ $# -gt 0 ] || set -- "${all[@]}"
for name; do
	result=0
	(
		trap stop_all EXIT
		set -e
		start_bus
		start_daemon
		"$name"
	) >"$work.log" 2>&1
	result=$?
	if [ $result -eq 0 ]; then
		nr_passed=$((nr_passed + 1))
		echo "PASS ${name//_/ }"
	elif [ $result -eq 77 ]; then
		nr_skipped=$((nr_skipped + 1))
		echo "SKIP ${name//_/ }: $(<"$work.log")"
	else
		nr_failed=$((nr_failed + 1))
		echo "FAIL ${name//_/ }"
		sed 's/^/    /' "$work.log"
	fi
done
rm -f "$work.log"
echo "$nr_passed passed, $nr_failed failed, $nr_skipped skipped"
[ $nr_failed -eq 0 ]
