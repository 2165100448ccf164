#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# Boot a virtual machine and run one of the scripts in checks/ in it.
#
#     tests/vm/run-check.sh SOURCE_ROOT FOLDER CHECK
#
# FOLDER keeps the kernel, the guest's disk and the installation; FOLDER/CHECK what the last run left:
# log, journal.txt, console.txt. A check begins with a line "# machine: NAME" (see machines.sh), and
# "# words: WORDS" for the kernel's command line, "# kernel: FLAVOUR" for another kernel than that for
# virtual machines, "# memory: MIB" where it takes more than 2500. Its function before_boot runs in the
# guest before systemd does.
set -euo pipefail
source_root=$(realpath "${1:?usage: run-check.sh SOURCE_ROOT FOLDER CHECK}")
mkdir -p "${2:?usage: run-check.sh SOURCE_ROOT FOLDER CHECK}"
folder=$(realpath "$2")
check=${3:?usage: run-check.sh SOURCE_ROOT FOLDER CHECK}
script=$source_root/tests/vm/checks/$check.sh
# shellcheck source=tests/vm/vm.sh
. "$source_root/tests/vm/vm.sh"

obstacle=$(vm_obstacle)
[ -z "$obstacle" ] || skip "$obstacle"
header() { sed -n "s/^# $1: *//p" "$script"; }
memory_mib=$(header memory)
kernel=$(header kernel)
: "${kernel:=$vm_small_kernel}"
available_mib=$(awk '/^MemAvailable:/ { print int($2 / 1024) }' /proc/meminfo)
[ "$available_mib" -ge "${memory_mib:=2500}" ] ||
	skip "this machine has $available_mib MiB of memory to spare, the guest needs $memory_mib MiB"

# To build a kernel takes minutes; meanwhile others may have their machines.
[ "$kernel" != "$vm_own_kernel" ] || own_kernel "$folder" "$kernel"

# One machine at a time, also when several build folders are tested: each of them is slow enough.
exec 9>/run/lock/nodeinit-vm.lock
flock 9
SECONDS=0
vm_prepare "$folder" "$kernel"
out=$folder/$check
rm -rf "$out"
mkdir -p "$out"
vm_tree "$folder" "$out/tree"
install -m 644 "$script" "$out/tree/vm/check.sh"
# shellcheck disable=SC2016 # for the guest
printf '%s\n' '. /vm/lib.sh' '. /vm/check.sh' 'before_boot' >"$out/tree/vm/before-boot"
printf '%s\n' '. /vm/lib.sh' '. /vm/check.sh' 'checks' 'finish' >"$out/tree/vm/command"
prepared_seconds=$SECONDS

# An emulated machine may hang before its kernel says a word, and a busy one may be slow: what ran into
# its limit is run again, from the start and with more time at the end. What was answered stands.
boot() { # limit in seconds
	status=0
	rm -f "$out/log"
	vm_boot "$folder" "$out/tree" "$out" "$kernel" "$(header machine)" "$(header words)" \
		"file,id=talk,path=$out/log" "$1" </dev/null 9>&- || status=$?
}
for limit in 200 200 "${NODEINIT_VM_LIMIT:-600}"; do
	boot "$limit"
	[ "$status" -eq 124 ] || break
	echo "nothing final from the guest within $limit s; it had said $(wc -l <"$out/log") lines"
done
rm -rf "$out/tree"

echo "machine $(header machine): prepared in $prepared_seconds s, ran for $((SECONDS - prepared_seconds)) s"
cat "$out/log" 2>/dev/null || :
if [ "$status" -eq 124 ] && ! [ -s "$out/log" ] && ! [ -s "$out/console.txt" ]; then
	skip "the emulator did not get a guest to say anything in three attempts"
fi
case $status in
0 | 1) ;;
*)
	echo "not ok - the guest says how it went (status $status; 124 is a time-out, 125 a guest that died)"
	tail -n 20 "$out/qemu.txt" "$out/console.txt" | cut -c 1-300
	;;
esac
exit "$status"
