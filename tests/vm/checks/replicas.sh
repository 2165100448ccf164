# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash source=tests/vm/guest/lib.sh disable=SC2154
# machine: four
#
# A program and a library with a copy on every node: where the pages of their text are while the program
# runs, its numa_maps say. Node 3 has no room for a copy of the program.

program=/srv/served/hold
library=/usr/lib/x86_64-linux-gnu/libc.so.6
copies=/run/nodeinit/replica

before_boot() {
	daemon_settings Reserve=64M EarlyMinimum=16M EarlyShift=63
	mkdir -p "${program%/*}"
	cp /usr/bin/sleep "$program"
	# What full leaves of node 3 is less than a region, and less than this.
	head -c 16M /dev/zero >>"$program"
	pool served Kind=replica '[Replica]' "Paths=/srv/served/* $library"
	pool full Kind=region PageSize=base Nodes=3 Size=100% Minimum=0B Required=no '[Region]' RegionSize=8M
}

shows() { equal "$("${@:2}")" "$1"; } # text expected, command...
start() { # name, node, what comes before meminitctl...
	local name=$1 node=$2
	shift 2
	systemd-run --quiet --unit="$name" -- "$@" meminitctl run --node "$node" -- "$program" infinity
	eventually runs "$name"
}
pid_of() { systemctl show -P MainPID "$1"; }
runs() { [ "$(cat "/proc/$(pid_of "$1")/comm" 2>/dev/null)" = hold ]; }
# Nodes that have pages of the program's text. By its address: the name of what was replaced is gone.
nodes_of_text() { # name of the unit
	local start
	start=$(awk '{ print $26 }' "/proc/$(pid_of "$1")/stat")
	start=$(printf %x $((start & ~4095)))
	awk -v start="$start" '
		$1 ~ "^0*" start "$" { for (i = 3; i <= NF; i++)
			if ($i ~ /^N[0-9]+=/) { split(substr($i, 2), at, "="); print at[1] } }' \
		"/proc/$(pid_of "$1")/numa_maps" | paste -sd' '
}
# Nodes that have pages of the files whose names end so, as the process has mapped them.
nodes_of() { # name of the unit, end of a file's name
	awk -v file="/$2" '
		{ is_it = 0
		  for (i = 3; i <= NF; i++) {
			if ($i ~ /^file=/ && substr($i, length($i) - length(file) + 1) == file) is_it = 1
		  }
		  for (i = 3; is_it && i <= NF; i++)
			if ($i ~ /^N[0-9]+=/) { split(substr($i, 2), at, "="); nr[at[1]] += at[2] } }
		END { for (id in nr) print id }' "/proc/$(pid_of "$1")/numa_maps" | sort -n | paste -sd' '
}
is_copy() { # node, file
	[ -f "$copies/node$1$2" ] && ! [ -L "$copies/node$1$2" ] && cmp "$2" "$copies/node$1$2"
}
has_exactly() { # PID, file: the program that the process runs is the same, byte for byte
	cmp "/proc/$1/exe" "$2"
}

check_boot() {
	local id
	ok "copies come into service at boot" meminitctl --quiet wait --timeout=3min
	for id in 0 1 2; do
		ok "node $id has a copy of the program" is_copy "$id" "$program"
		ok "node $id has a copy of the library" is_copy "$id" "$library"
		ok "node $id's copies lie on a tmpfs that is bound to it" \
			says "mpol=bind[^:]*:$id " grep " $copies/node$id tmpfs " /proc/mounts
	done
	ok "node 3 has no room for the program, and a link to the original" \
		equal "$(readlink "$copies/node3$program")" "$program"
	ok "with the reason" equal "$(share served 3 2) $(share served 3 7)" "degraded exceeds-reserve"
	ok "nobody writes there, not even root" not touch "$copies/node0/new"
}

check_runs() {
	local id
	for id in 0 1 2; do
		ok "node $id: the program runs" start "run$id" "$id" env
		ok "node $id: pages of its text are on it, and nowhere else" equal "$(nodes_of_text "run$id")" "$id"
		ok "node $id: so are those of the library" equal "$(nodes_of "run$id" libc.so.6)" "$id"
	done
	ok "node 3: the original runs" start run3 3 env
	ok "node 3: which is said" says 'no copy of .*hold on node 3' journalctl -b -o cat -u run3
	ok "another user's program runs" start nobody 2 setpriv --reuid=nobody --regid=nogroup --clear-groups
	ok "from the copy on the node" equal "$(nodes_of_text nobody)" 2
	ok "as that user" equal "$(stat -c %U "/proc/$(pid_of nobody)")" nobody
}

check_replaced() {
	cp "$program" /srv/old
	cp "$program" /srv/served.new
	echo "another version" >>/srv/served.new
	mv /srv/served.new "$program"
	ok "a new version is on each node soon" eventually is_copy 1 "$program"
	ok "on the others, too" eventually is_copy 2 "$program"
	ok "the program that runs is the old one" has_exactly "$(pid_of run1)" /srv/old
	ok "and has its text where it was" equal "$(nodes_of_text run1)" 1
	ok "the program is started again" start again1 1 env
	ok "it is the new one" has_exactly "$(pid_of again1)" "$program"
	ok "from the node" equal "$(nodes_of_text again1)" 1
	rm "$program"
	ok "without the original, there are no copies" eventually not test -e "$copies/node1$program"
	ok "on no node" eventually not test -e "$copies/node2$program"
	ok "those of the library are as they were" is_copy 1 "$library"
	ok "what runs goes on" runs again1
}

checks() {
	check_boot
	check_runs
	check_replaced
	ok "the daemon runs" equal "$(systemctl show -P NRestarts nodeinitd) $(systemctl is-active nodeinitd)" "0 active"
	ok "nothing was refused by the sandbox" \
		not says 'Bad system call|Operation not permitted' journalctl -b -u nodeinitd -o cat
}
