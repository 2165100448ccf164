#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Runs inside the container, see test-service.sh.
set -u
nr_passed=0
nr_failed=0

ok() { # sentence, command...
	local sentence=$1
	shift
	if "$@" >/nodeinit-test/output 2>&1; then
		nr_passed=$((nr_passed + 1))
		echo "ok - $sentence"
	else
		nr_failed=$((nr_failed + 1))
		echo "not ok - $sentence"
		sed 's/^/    /' /nodeinit-test/output
		journalctl -b -o cat -n 12 -u nodeinitd -u 'nodeinit-wait*' | sed 's/^/    journal: /'
	fi
}
not() { ! "$@"; }
says() { # pattern, command...
	local pattern=$1
	shift
	"$@" | tee /dev/stderr | grep -qE -e "$pattern"
}
equal() { # value, value expected
	echo "it is $1, not $2"
	[ "$1" = "$2" ]
}
manager_property() { busctl get-property org.nodeinit1 /org/nodeinit1 org.nodeinit1.Manager "$1" | cut -d' ' -f2; }
# What kind of object each path is: the interfaces that are the daemon's own.
introspect_all() {
	local path
	for path in $(busctl tree --list org.nodeinit1); do
		busctl introspect org.nodeinit1 "$path" |
			awk -v path="$path" '$2 == "interface" && $1 ~ /nodeinit1|LogControl1/ { print path, $1 }'
	done | sort | paste -sd,
}
# How many lines of the journal after $cursor. Not by unit: with a filter, the first line after a cursor
# that does not match it is passed over.
nr_said() { # pattern
	journalctl --sync
	journalctl -o cat --after-cursor="$cursor" | grep -acE -e "$1"
}
quiet() { # command...: succeeds and has nothing to say
	local output status=0
	output=$("$@" 2>&1) || status=$?
	printf '%s' "$output"
	[ "$status" -eq 0 ] && [ -z "$output" ]
}
active() { systemctl is-active --quiet "$1"; }
property() { # unit, property, value: says what it is when it differs
	local value
	value=$(systemctl show -P "$2" "$1")
	echo "$1 $2=$value"
	[ "$value" = "$3" ]
}
pool() { # name, lines of [Pool]...
	local name=$1
	shift
	printf '[Pool]\n' >"/etc/nodeinit/pools.d/$name.pool"
	printf '%s\n' "$@" >>"/etc/nodeinit/pools.d/$name.pool"
}
bus_state() { [ "$(busctl get-property org.nodeinit1 /org/nodeinit1 org.nodeinit1.Manager State)" = "s \"$1\"" ]; }
pool_state() { # name, state
	[ "$(busctl get-property org.nodeinit1 "/org/nodeinit1/pool/$1" org.nodeinit1.Pool State)" = "s \"$2\"" ]
}
# unit, pattern: a line of its journal after $cursor, waited for at most 20 s
said() { timeout 20 grep -qm 1 -e "$2" <(exec journalctl -f -n all -o cat --after-cursor="$cursor" -u "$1"); }
consumer() { # name, what it requires, Wants instead of Requires
	cat >"/etc/systemd/system/$1.service" <<-END
		[Unit]
		${3:-Requires}=$2
		After=$2
		[Service]
		Type=oneshot
		RemainAfterExit=yes
		ExecStart=/bin/true
	END
}

systemd-sysusers
systemctl daemon-reload
systemctl reload dbus

ok "the units verify where they are installed" quiet systemd-analyze verify --man=no nodeinitd.service \
	nodeinit-wait.service nodeinit-wait@small.service nodeinit-prepare@node0.service nodeinit-ready.target \
	nodeinit.slice

# No pool.
ok "it starts without any pool" systemctl start nodeinitd
ok "without any pool its state is idle" bus_state idle
ok "without any pool the target is reached" systemctl start nodeinit-ready.target
ok "it runs as its own user" property nodeinitd User nodeinit
pid=$(systemctl show -P MainPID nodeinitd)
ok "its uid is not root's" test "$(stat -c %U "/proc/$pid")" = nodeinit
ok "CAP_SYS_ADMIN and CAP_CHOWN are all it has" grep -q '^CapBnd:[[:space:]]*0000000000200001$' "/proc/$pid/status"
ok "its directory is root's and sticky, and open to its group" equal "$(stat -c %U:%G:%a /run/nodeinit)" \
	root:nodeinit:1775
ok "without copies to make it has no place for them" test ! -e /run/nodeinit/replica
ok "it ends cleanly" systemctl stop nodeinitd
ok "and not as failed" property nodeinitd Result success
ok "the target does not outlive it" not active nodeinit-ready.target

# A pool of each page kind that a container can have.
pool small Kind=region PageSize=base Size=64M
pool wide Kind=region PageSize=thp Size=64M
consumer guests nodeinit-ready.target
consumer patient nodeinit-ready.target Wants
systemctl daemon-reload
ok "a consumer pulls in all of it, and waits" systemctl start guests
ok "so does one that only wants it" systemctl start patient
ok "the daemon is ready then" bus_state ready
ok "meminitctl says so too" meminitctl status
ok "the wait says how far it got" test -n "$(systemctl show -P StatusText nodeinit-wait)"
ok "the daemon says so in its status" test -n "$(systemctl show -P StatusText nodeinitd)"
ok "one pool can be waited for" systemctl start nodeinit-wait@small
ok "memory of the pool is there" test "$(busctl get-property org.nodeinit1 /org/nodeinit1/pool/small org.nodeinit1.Pool BytesDone)" = "t 67108864"
ok "memory of huge pages is there" test "$(busctl get-property org.nodeinit1 /org/nodeinit1/pool/wide org.nodeinit1.Pool BytesDone)" = "t 67108864"
ok "a share's end is in the journal with its pool" grep -q . <(journalctl -b -u nodeinitd NODEINIT_POOL=small -o cat)

# What is said of it, and where.
ok "an event has one line, with its fields" test "$(journalctl -b -u nodeinitd -o cat MESSAGE_ID=5f1ec7a2b9a94d1f8c3c6f0e2d7b4a02 NODEINIT_POOL=small NODEINIT_NODE=0 | wc -l)" -eq 1
ok "which says how much it was" grep -qx 67108864 <(journalctl -b -u nodeinitd -F NODEINIT_BYTES)
ok "its status says how much is in service" says '[0-9] [MG]iB in service' systemctl show -P StatusText nodeinitd
ok "the log level can be asked for" equal "$(systemctl service-log-level nodeinitd)" info
ok "and set" systemctl service-log-level nodeinitd debug
ok "which holds" equal "$(systemctl service-log-level nodeinitd)" debug
systemctl service-log-level nodeinitd info
ok "every object can be introspected, and there are no others" equal "$(introspect_all)" \
	"/org/freedesktop/LogControl1 org.freedesktop.LogControl1,/org/nodeinit1 org.nodeinit1.Manager,\
/org/nodeinit1/node/0 org.nodeinit1.Node,/org/nodeinit1/pool/small org.nodeinit1.Pool,/org/nodeinit1/pool/wide org.nodeinit1.Pool"

# Early and deferred.
pool large Kind=region PageSize=base Size=768M Early=16M '[Region]' RegionSize=16M
ok "it starts with a pool that is large" systemctl restart nodeinitd
ok "and a consumer waits for it" systemctl start guests
ok "start returned before all was there" test "$(systemctl show -P ActiveEnterTimestampMonotonic nodeinitd)" -lt "$(manager_property ReadyMonotonic)"
ok "but not before the early part was" test "$(systemctl show -P ActiveEnterTimestampMonotonic nodeinitd)" -ge "$(manager_property EarlyMonotonic)"
ok "the target came after all of it" test "$(systemctl show -P ActiveEnterTimestampMonotonic nodeinit-ready.target)" -ge "$(manager_property ReadyMonotonic)"
ok "a consumer came after the target" test "$(systemctl show -P ExecMainStartTimestampMonotonic guests)" -ge "$(systemctl show -P ActiveEnterTimestampMonotonic nodeinit-ready.target)"
rm /etc/nodeinit/pools.d/large.pool

# Reload.
pool later Kind=region PageSize=base Size=16M
ok "reload takes a new pool" systemctl reload nodeinitd
ok "which can be waited for" meminitctl wait later
pool broken Kind=region PageSize=base Size=16
ok "reload says that a file is broken" not systemctl reload nodeinitd
ok "and the daemon goes on" active nodeinitd
ok "with the other pools as they were" pool_state later ready
ok "but it does not call itself ready" bus_state failed
rm /etc/nodeinit/pools.d/broken.pool /etc/nodeinit/pools.d/later.pool

# Who may do what.
ok "everybody may look" setpriv --reuid=nobody --regid=nogroup --clear-groups meminitctl nodes
ok "not everybody may pause" not setpriv --reuid=nobody --regid=nogroup --clear-groups meminitctl pause
ok "root may" meminitctl pause
ok "and resume" meminitctl resume

# Killed.
since=$(systemctl show -P ActiveEnterTimestampMonotonic patient)
cursor=$(journalctl -n 0 --show-cursor | sed -n 's/^-- cursor: //p')
systemctl kill --signal=KILL nodeinitd
ok "a killed daemon is ready again" said nodeinitd '^ready'
ok "since it was started again" property nodeinitd NRestarts 1
ok "and says so on the bus" bus_state ready
ok "a consumer that only wants it has not noticed" property patient ActiveEnterTimestampMonotonic "$since"
ok "one that requires it is started again, after the memory" said guests '^Finished'
ok "stopping it by hand stops them" systemctl stop nodeinitd
ok "with it" not active guests

# A daemon that hangs.
mkdir -p /run/systemd/system/nodeinitd.service.d
printf '[Service]\nWatchdogSec=3s\nTimeoutAbortSec=1s\n' >/run/systemd/system/nodeinitd.service.d/test.conf
systemctl daemon-reload
ok "with a short watchdog it starts" systemctl start nodeinitd
ok "and is ready" meminitctl --quiet wait
cursor=$(journalctl -n 0 --show-cursor | sed -n 's/^-- cursor: //p')
hung=$(systemctl show -P MainPID nodeinitd)
kill -STOP "$hung"
ok "one that hangs is noticed" said nodeinitd 'Watchdog timeout'
ok "and replaced by one that works" said nodeinitd '^ready'
ok "which is another one" not property nodeinitd MainPID "$hung"
rm -r /run/systemd/system/nodeinitd.service.d
systemctl daemon-reload
systemctl stop nodeinitd

# Leases outlive the daemon, however it ends.
rm /etc/nodeinit/pools.d/*.pool
pool lent Kind=region PageSize=base Size=64M '[Region]' RegionSize=8M Users=nobody
mkfifo -m 666 /nodeinit-test/told /nodeinit-test/hold
# A lessee that writes into its memory, says so, and stays until somebody writes to "hold".
# shellcheck disable=SC2016 # it is its own shell that has $1
lessee() { # unit, user
	systemd-run --quiet --unit="$1" --uid="$2" meminitctl lease lent 8M -- bash -c \
		'yes "$1" | head -c 8388608 >&3; echo "$1" >/nodeinit-test/told; read -r _ </nodeinit-test/hold' - "$1"
	timeout 20 grep -qx "$1" /nodeinit-test/told
}
unharmed() { # unit
	cmp <(yes "$1" | head -c 8388608) "/proc/$(systemctl show -P MainPID "$1")/fd/3"
}
lease_line() { # unit, user, state
	says "^ *[0-9]+ lent +0 8 MiB $3 +$2 +[0-9]+ $1\.service " meminitctl leases
}
both_lessees() {
	unharmed lessee && unharmed other && lease_line lessee root leased && lease_line other nobody leased
}
# Regions of which anybody has a descriptor: the daemon, its lessees, the service manager's store.
nr_regions() { find /proc/[0-9]*/fd -lname '/memfd:nodeinit (deleted)' -exec stat -Lc %i {} + 2>/dev/null | sort -u | wc -l; }
is_whole() { [ "$(busctl get-property org.nodeinit1 /org/nodeinit1/pool/lent org.nodeinit1.Pool BytesDone)" = "t 67108864" ]; }
eventually() { # command...
	local end=$((SECONDS + 20))
	until "$@"; do
		[ "$SECONDS" -lt "$end" ] || { echo "within 20 s never: $*" >&2; return 1; }
	done
}
has_said() { [ "$(nr_said "$1")" -gt 0 ]; }
heard() { eventually has_said "$1"; } # pattern: a line of any unit, also one of many after $cursor
mark() { cursor=$(journalctl -n 0 --show-cursor | sed -n 's/^-- cursor: //p'); }
taken_over() { # what the daemon says that it found
	heard "^taken over from an earlier process: $1" && heard '^org.nodeinit1 is on the bus' &&
		meminitctl --quiet wait &&
		equal "$(nr_said '^pool lent, node 0: started')" 0
}
kill_20_times() {
	local round before
	for round in {1..20}; do
		mark
		before=$(systemctl show -P MainPID nodeinitd)
		kill -KILL "$before"
		echo "round $round"
		taken_over '6 ready regions \(48 MiB\), 0 half filled, 2 leases, 0 that ended' || return
		both_lessees || return
		property nodeinitd NFileDescriptorStore 11 || return
	done
}
ok "a pool to lease from is ready" systemctl start nodeinitd nodeinit-ready.target
ok "root leases" lessee lessee root
ok "and so does another user" lessee other nobody
ok "both are listed with their user and their unit, and have what they wrote" both_lessees
ok "every region, both lifetimes and the record are in the store" property nodeinitd NFileDescriptorStore 11
ok "20 kills lose no lease and fill no region again" kill_20_times
ok "none of them was one too many" property nodeinitd NRestarts 20
mark
ok "a restart" systemctl restart nodeinitd
ok "takes everything over, too" taken_over '6 ready regions \(48 MiB\), 0 half filled, 2 leases, 0 that ended'
ok "with both leases" both_lessees
ok "and the same store" property nodeinitd NFileDescriptorStore 11
mark
kill -KILL "$(systemctl show -P MainPID nodeinitd)" "$(systemctl show -P MainPID other)"
ok "a lessee that is killed along with it" taken_over '6 ready regions .*, 1 lease, 1 that ended'
ok "drains, and its region comes back" eventually is_whole
ok "the other one stays" lease_line lessee root leased
ok "a stop" systemctl stop nodeinitd
ok "gives all back but what is leased" equal "$(nr_regions)" 1
ok "which its lessee still has" unharmed lessee
mkdir -p /run/systemd/system/nodeinitd.service.d
printf '[Service]\nFileDescriptorStoreMax=3\n' >/run/systemd/system/nodeinitd.service.d/test.conf
systemctl daemon-reload
ok "with a store that is too small it starts" systemctl start nodeinitd nodeinit-ready.target
ok "and has three of it" property nodeinitd NFileDescriptorStore 3
mark
kill -KILL "$(systemctl show -P MainPID nodeinitd)"
ok "which the next one says" heard 'not in the service manager.s store.*FileDescriptorStoreMax='
ok "and is ready all the same" heard '^ready: 64 MiB'
rm -r /run/systemd/system/nodeinitd.service.d
ok "the lessee never noticed" unharmed lessee
systemctl daemon-reload
systemctl stop nodeinitd lessee

# Copies of files, on a tmpfs that root has mounted before.
rm /etc/nodeinit/pools.d/*.pool
place=/run/nodeinit/replica/node0
as_nobody() { setpriv --reuid=nobody --regid=nogroup --clear-groups "$@"; }
as_service() { setpriv --reuid=nodeinit --regid=nodeinit --clear-groups "$@"; }
read_only() { "$@" 2>&1 | tee /dev/stderr | grep -q 'Read-only file system'; }
mounted() { awk -v at="$place" '$5 == at && $6 ~ /^ro,nosuid,nodev/ { nr++ } END { exit nr != 1 }' /proc/self/mountinfo; }
daemon_sees_it() {
	equal "$(stat -Lc %d "/proc/$(systemctl show -P MainPID nodeinitd)/root$place")" "$(stat -c %d "$place")"
}
copied() { cmp /usr/bin/true "$place/usr/bin/true" && [ "$(stat -c %U:%a "$place/usr/bin/true")" = root:555 ]; }
ok "without a pool of files it starts" systemctl start nodeinitd
ok "and nothing is mounted" not mounted
pool text Kind=replica '[Replica]' 'Paths=/usr/bin/true /usr/bin/cat'
ok "reload takes one" systemctl reload nodeinitd
ok "then its tmpfs is mounted" mounted
ok "where the daemon sees it, too" daemon_sees_it
ok "bound to its node" says "tmpfs.*mpol=bind=static:0" grep " $place " /proc/self/mountinfo
ok "its copies can be waited for" meminitctl wait text
ok "they are what they are copies of, and as much root's" copied
ok "they run, for everybody" as_nobody "$place/usr/bin/true"
ok "nobody writes there, not the service's own user" read_only as_service touch "$place/new"
ok "nor root" read_only touch "$place/usr/bin/true"
ok "what they lie in is root's" equal "$(stat -c %U:%a /run/nodeinit/replica)" root:755
refused() { "$@" 2>&1 | tee /dev/stderr | grep -q 'Operation not permitted'; }
ok "the service's own user cannot rename that" refused as_service mv -T /run/nodeinit/replica /run/nodeinit/mine
ok "nor remove it" refused as_service rmdir /run/nodeinit/replica
ok "nor put another one in its place" refused as_service mv -T "$(as_service mktemp -d -p /run/nodeinit)" \
	/run/nodeinit/replica
as_service find /run/nodeinit -maxdepth 1 -name 'tmp.*' -exec rmdir {} +
# As the daemon does, in its own view of the file system: a file beside it, and that renamed over it.
in_daemon() { nsenter --target="$(systemctl show -P MainPID nodeinitd)" --mount setpriv --reuid=nodeinit \
	--regid=nodeinit --clear-groups "$@"; }
# What the brake goes by: the host's pressure, where there is any, the unit's own, the busy time.
own_pressure() { # kind
	[ ! -e "/proc/pressure/$1" ] || in_daemon grep -q '^some .* total=[0-9]' "/proc/pressure/$1" \
		"/sys/fs/cgroup/nodeinit.slice/nodeinitd.service/$1.pressure"
}
ok "the daemon is in a cgroup that is its own" \
	grep -qx '0::/nodeinit.slice/nodeinitd.service' "/proc/$(systemctl show -P MainPID nodeinitd)/cgroup"
for kind in cpu memory io; do
	ok "it can read the pressure on $kind, the host's and its own" own_pressure "$kind"
done
ok "and how busy the CPUs are" in_daemon grep -q '^cpu  [0-9]' /proc/stat
# With autogroups: its session is to rank behind others while the work is deferred.
daemon_pid=$(systemctl show -P MainPID nodeinitd)
ok "it leads a session" equal "$(cut -d' ' -f6 "/proc/$daemon_pid/stat")" "$daemon_pid"
# In its view of /proc nobody but itself is seen.
[ ! -e /proc/self/autogroup ] || ok "and may rank it" in_daemon sh -c 'echo 0 >/proc/self/autogroup'
# shellcheck disable=SC2016 # it is its own shell that has $name
save_blocks() {
	in_daemon sh -ec 'name=$(mktemp /run/nodeinit/blocks.XXXXXX); echo "$1" >"$name"; mv -T "$name" \
		/run/nodeinit/blocks' - "$1" && equal "$(cat /run/nodeinit/blocks)" "$1"
}
ok "but the daemon saves its record of blocks there" save_blocks "1-1 seen"
ok "and again, over the first one" save_blocks "1-2 seen"
chown root:root /run/nodeinit/blocks
ok "not over one that root left" not save_blocks "1-3 seen"
rm -f /run/nodeinit/blocks.*
device=$(stat -c %d "$place")
chown -h nodeinit:nodeinit /run/nodeinit
chmod 755 /run/nodeinit
ok "a restart" systemctl restart nodeinitd
ok "makes right a directory of an earlier version" equal "$(stat -c %U:%G:%a /run/nodeinit)" root:nodeinit:1775
ok "and a record that root left" save_blocks "1-4 seen"
rm /run/nodeinit/blocks
ok "finds its tmpfs" equal "$(stat -c %d "$place")" "$device"
ok "which is mounted once" mounted
ok "and has the copies again" meminitctl wait text
ok "as they were" copied
kill -KILL "$(systemctl show -P MainPID nodeinitd)"
ok "a killed daemon's successor has them, too" eventually meminitctl --quiet wait text
ok "once more as they were" copied
ok "a stop" systemctl stop nodeinitd
ok "leaves the tmpfs" mounted
ok "a node that appears while it is stopped" systemctl start nodeinit-prepare@node0
ok "does not start it" not active nodeinitd
ok "the rule has a node prepared" says 'SYSTEMD_WANTS=nodeinit-prepare@node0.service' \
	udevadm test --action=add /sys/devices/system/node/node0
ok "once it starts again" systemctl start nodeinitd
umount "$place"
ok "such a node" systemctl start nodeinit-prepare@node0
ok "has its tmpfs" mounted
ok "where all see it" daemon_sees_it
ok "without a failure" property nodeinit-prepare@node0 Result success
systemctl stop nodeinitd
rm /etc/nodeinit/pools.d/text.pool
ok "without the pool it starts" systemctl start nodeinitd
ok "and again" systemctl restart nodeinitd
ok "then nothing is mounted any more" not grep " $place " /proc/self/mountinfo
# What the service's user could put there.
systemctl stop nodeinitd
rm -rf /run/nodeinit/replica
as_service ln -s /etc /run/nodeinit/replica
pool text Kind=replica '[Replica]' 'Paths=/usr/bin/true'
mark
ok "a link in its place does not stop the daemon" systemctl start nodeinitd
ok "but is said" heard "^/run/nodeinit/replica: cannot be root's own directory: Not a directory"
ok "and not followed" test ! -e /etc/node0
systemctl stop nodeinitd
rm -r /run/nodeinit
ok "without its directory it starts" systemctl start nodeinitd
ok "and has one" equal "$(stat -c %U:%G:%a /run/nodeinit)" root:nodeinit:1775
ok "where it writes" save_blocks "1-5 seen"
ok "with its copies" eventually meminitctl --quiet wait text
systemctl stop nodeinitd
rm /etc/nodeinit/pools.d/text.pool
ok "without the pool it starts once more" systemctl start nodeinitd
ok "so that the next start unmounts" systemctl restart nodeinitd
systemctl stop nodeinitd
rm -r /run/nodeinit/blocks /run/nodeinit/replica
ok "the rule does nothing where no copies are wanted" not says SYSTEMD_WANTS=nodeinit \
	udevadm test --action=add /sys/devices/system/node/node0
pool small Kind=region PageSize=base Size=64M

# Failed: there is no such page in this world.
pool impossible Kind=hugetlb PageSize=512T Size=1p Required=no
consumer unlucky nodeinit-wait@impossible.service
systemctl daemon-reload
cursor=$(journalctl -n 0 --show-cursor | sed -n 's/^-- cursor: //p')
ok "a pool that cannot be had does not stop the daemon" systemctl start nodeinitd
ok "nor what is required" systemctl start nodeinit-ready.target
ok "its own wait fails" not systemctl start nodeinit-wait@impossible
ok "with the pool in the journal" grep -q impossible <(journalctl -b -u nodeinit-wait@impossible -o cat)
ok "a consumer that requires it is not started" not systemctl start unlucky
ok "its program has never run" property unlucky ExecMainStartTimestampMonotonic 0
ok "it was given up once" equal "$(nr_said '^Dependency failed for unlucky')" 1
ok "the daemon has said once that the pool failed" equal "$(nr_said '^pool impossible: no pages of 512 TiB')" 1
ok "and goes on" active nodeinitd
systemctl stop nodeinitd guests patient
systemctl reset-failed

# The same, required by all.
pool impossible Kind=hugetlb PageSize=512T Size=1p
cursor=$(journalctl -n 0 --show-cursor | sed -n 's/^-- cursor: //p')
ok "a required pool that cannot be had does not stop the daemon, either" systemctl start nodeinitd
ok "but the target" not systemctl start nodeinit-ready.target
ok "which says so" property nodeinit-ready.target ActiveState inactive
ok "a consumer that requires the target is not started" not systemctl start guests
ok "its program has not run" not active guests
ok "it was given up once, too" equal "$(nr_said '^Dependency failed for guests')" 1
ok "one that only wants it starts" systemctl start patient
ok "other pools are in service" pool_state small ready
systemctl stop nodeinitd
systemctl reset-failed

# Activation.
ok "while it is not enabled, a call on the bus does not start it" \
	not busctl call org.nodeinit1 /org/nodeinit1 org.nodeinit1.Manager ListPools "a{sv}" 0
ok "it can be enabled" systemctl enable nodeinitd
ok "then a call on the bus starts it" busctl call org.nodeinit1 /org/nodeinit1 org.nodeinit1.Manager ListPools "a{sv}" 0
ok "as its unit" not property nodeinitd MainPID 0
ok "nothing was refused by the sandbox" not grep -E 'Operation not permitted|Bad system call' <(journalctl -b -u nodeinitd -o cat)

echo "$nr_passed passed, $nr_failed failed"
