# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash disable=SC2034
# A few huge pages of 2 MiB more for as long as a script runs, on the first node with memory. Sourced,
# not run. Who adds to the machine's pool holds the lock, and leaves the pool as it was.

huge_pages_file=hugepages/hugepages-2048kB/nr_hugepages
huge_pages_lock=/run/lock/nodeinit-hugepages.lock
huge_pages_obstacle=''
huge_pages_place='' huge_pages_before=''

huge_pages_first_node() {
	local folder
	for folder in /sys/devices/system/node/node[0-9]*; do
		if awk '/MemTotal:/ { exit $4 == 0 }' "$folder/meminfo"; then
			echo "${folder##*/node}"
			return
		fi
	done
}

# Return: 1, and $huge_pages_obstacle says why; then nothing is changed.
huge_pages_add() { # number of pages
	local wanted
	huge_pages_place=/sys/devices/system/node/node$(huge_pages_first_node)/$huge_pages_file
	if [ ! -w "$huge_pages_place" ]; then
		huge_pages_obstacle="no right to change the huge pages of 2 MiB here"
		return 1
	fi
	exec 7>"$huge_pages_lock"
	flock 7
	huge_pages_before=$(<"$huge_pages_place")
	wanted=$((huge_pages_before + $1))
	if ! echo "$wanted" >"$huge_pages_place" || [ "$(<"$huge_pages_place")" != "$wanted" ]; then
		huge_pages_restore
		huge_pages_obstacle="there is no room for $1 huge pages"
		return 1
	fi
} 2>/dev/null

huge_pages_restore() {
	local end=$((SECONDS + 5))
	[ -n "$huge_pages_before" ] || return 0
	# A page whose last user has just ended is free a moment later; there is no event for that.
	until echo "$huge_pages_before" >"$huge_pages_place" && [ "$(<"$huge_pages_place")" = "$huge_pages_before" ]; do
		[ "$SECONDS" -lt "$end" ] || break
	done
	[ "$(<"$huge_pages_place")" = "$huge_pages_before" ] ||
		echo "the pool of huge pages is left at $(<"$huge_pages_place"), it was $huge_pages_before" >&2
	huge_pages_before=''
	exec 7>&-
}
