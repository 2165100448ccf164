# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
# What the container of tests/nspawn/ and the virtual machines of tests/vm/ have in common: a small
# Debian, and this tree installed as a package would install it. Sourced, not run. Both are made in
# FOLDER once and kept.

skip() {
	echo "skipped: $*"
	exit 77
}

guest_packages=systemd,systemd-sysv,udev,dbus,procps,libnuma1,libev4,libinih1,libjson-c5,libsmartcols1

# Debian's system manager and the libraries of the daemon, in FOLDER/root.
guest_root() { # folder
	local folder=$1

	[ "$(cat "$folder/root.done" 2>/dev/null)" != "$guest_packages" ] || return 0
	command -v mmdebstrap >/dev/null || skip "there is no mmdebstrap here"
	mkdir -p "$folder"
	rm -rf "$folder/root" "$folder/root.done"
	if ! mmdebstrap --quiet --mode=root --variant=essential \
		--include="$guest_packages" \
		--dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/doc/*' \
		--dpkgopt='path-exclude=/usr/share/locale/*' --aptopt='Acquire::Languages "none"' \
		bookworm "$folder/root" >"$folder/mmdebstrap.log" 2>&1 </dev/null; then
		tail -n 5 "$folder/mmdebstrap.log"
		skip "a Debian file system cannot be made here"
	fi
	: >"$folder/root/etc/machine-id"
	echo "$guest_packages" >"$folder/root.done"
}

# The tree as a package would install it, into DESTINATION: the paths in the units are tested, too.
guest_install() { # source root, folder, destination
	local source_root=$1 folder=$2 destination=$3

	mkdir -p "$folder"
	: >"$folder/build.log"
	# shellcheck source=tools/configure.sh
	. "$source_root/tools/configure.sh"
	if ! configure "$folder/build" "$source_root" --prefix=/usr --sysconfdir=/etc -Dtests=false \
		-Dman=disabled >>"$folder/build.log" 2>&1 ||
		! ninja -C "$folder/build" >>"$folder/build.log" 2>&1; then
		tail -n 40 "$folder/build.log"
		return 1
	fi
	DESTDIR=$destination meson install -C "$folder/build" --no-rebuild >>"$folder/build.log" 2>&1
}
