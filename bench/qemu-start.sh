#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# How long QEMU takes to start on a leased region, and on memory that it allocates itself.
#
#     bench/qemu-start.sh BUILD_FOLDER [MIB [ROUNDS]]
#
# A start is from the beginning of the process, meminitctl's where memory is leased, to the greeting of
# QEMU's monitor, which comes when the machine is made. The machine is stopped: no guest runs. All ways
# take turns, the first round is not counted. Printed are median, least and most of ROUNDS (9), and how
# many times the lease's median that is. Memory of MIB (1024) MiB; three times as much has to be free.
# Huge pages as root only; the machine's pool of them is left as it was.
set -euo pipefail
folder=$(dirname "$(realpath "$0")")
build=$(realpath "${1:?usage: qemu-start.sh BUILD_FOLDER [MIB [ROUNDS]]}")
mib=${2:-1024}
nr_rounds=${3:-9}
export NODEINITD=$build/daemon/nodeinitd MEMINITCTL=$build/client/meminitctl LC_ALL=C
qemu="qemu-system-x86_64"
for program in "$qemu" dbus-daemon "$NODEINITD" "$MEMINITCTL"; do
	command -v "$program" >/dev/null || { echo "there is no $program" >&2; exit 1; }
done

# shellcheck source=tests/lib/huge-pages.sh
. "$folder/../tests/lib/huge-pages.sh"
node=$(huge_pages_first_node)
work=''
leave() {
	[ -z "$work" ] || scene_end
	huge_pages_restore
}
trap leave EXIT
trap 'exit 130' INT TERM

# --- one start ---
machine=(-machine "q35,accel=kvm:tcg,memory-backend=m" -m "$mib" -nodefaults -display none -S -qmp stdio)
file="memory-backend-file,id=m,mem-path={},size=${mib}M,share=on"
memfd="memory-backend-memfd,id=m,size=${mib}M,share=on"

# Microseconds are added to the file of this way.
start() { # name of the way, command...
	local way=$1 begun now greeting
	shift
	eventually is_full
	rm -f "$work/to" "$work/from"
	mkfifo "$work/to" "$work/from"
	begun=$EPOCHREALTIME
	"$@" <"$work/to" >"$work/from" 2>"$work/qemu.log" &
	exec 8>"$work/to" 9<"$work/from"
	read -rt 120 greeting <&9 || :
	now=$EPOCHREALTIME
	if [[ ${greeting:-} != *'"QMP"'* ]]; then
		cat "$work/qemu.log" >&2
		return 1
	fi
	echo $((${now/./} - ${begun/./})) >>"$work/times.$way"
	printf '{"execute":"%s"}\n' qmp_capabilities quit >&8
	wait "$!"
}
# The region that takes the place of the former one is made before the next start, whose way ever it
# is: neither is that measured, nor does it disturb.
is_full() { scene_is_whole guests $((mib << 20)); }
start_leased() {
	start leased "$MEMINITCTL" --bus="unix:path=$work/bus" lease guests "${mib}M" -- \
		"$qemu" "${machine[@]}" -object "$file${1:-}"
}
start_own() { start "$1" "$qemu" "${machine[@]}" -object "$memfd$2"; }

round() { # kind of page
	case $1 in
	base)
		start_leased
		start_own own ,prealloc=on
		start_own own-2-threads ,prealloc=on,prealloc-threads=2
		start_own unfilled ""
		;;
	thp) start_leased ,align=2M ;;
	2M)
		start_leased
		start_own own ,hugetlb=on,hugetlbsize=2M,prealloc=on
		start_own own-2-threads ,hugetlb=on,hugetlbsize=2M,prealloc=on,prealloc-threads=2
		;;
	esac
}

# --- a table for each kind of page ---
show() { # kind of page
	local way sorted leased median
	for way in leased own own-2-threads unfilled; do
		[ -e "$work/times.$way" ] || continue
		mapfile -t sorted < <(tail -n +2 "$work/times.$way" | sort -n)
		median=${sorted[${#sorted[@]} / 2]}
		[ "$way" != leased ] || leased=$median
		awk -v page="$1" -v way="$way" -v median="$median" -v least="${sorted[0]}" -v most="${sorted[-1]}" -v leased="$leased" \
			'BEGIN { printf "%-5s %-14s %8.1f %8.1f %8.1f %7.1f\n", page, way, median / 1000, least / 1000, most / 1000, median / leased }'
	done
}
measure() { # kind of page
	local nr
	# shellcheck source=tests/lib/scene.sh
	. "$folder/../tests/lib/scene.sh"
	scene_limit=120
	scene_pool guests "$1" 0 "${mib}M" <<-END
		[Pool]
		Nodes=$node
		Size@$node=${mib}M
	END
	if ! scene_has_pages; then
		printf '%-5s not measured: there are no such pages for regions here\n' "$1"
		scene_end
		work=''
		return
	fi
	scene_start
	for ((nr = 0; nr <= nr_rounds; nr++)); do
		round "$1"
	done
	show "$1"
	scene_end
	work=''
}

printf '%s MiB, %s rounds, %s, Linux %s, %s CPUs\n\n' "$mib" "$nr_rounds" \
	"$("$qemu" --version | grep -oE 'version [0-9.]+' | sed 's/version/QEMU/')" "$(uname -r)" "$(nproc)"
printf '%-5s %-14s %8s %8s %8s %7s\n' page memory 'ms' least most ratio
measure base
measure thp
if huge_pages_add "$mib"; then # for the lease, and for QEMU's own
	measure 2M
else
	echo "2M    not measured: $huge_pages_obstacle"
fi
