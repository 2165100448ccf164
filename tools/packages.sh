# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash disable=SC2034
# What the tools need from Debian, and how they get it. Sourced, not run.

# To build daemon, client and manual pages.
build_packages=(gcc libc6-dev meson ninja-build pkg-config libsystemd-dev libnuma-dev libinih-dev
	libjson-c-dev libsmartcols-dev libev-dev)
# To run them on a bus of one's own.
run_packages=(dbus-daemon util-linux)
# Besides, for the tests. systemd: systemd-analyze and busctl; it need not be running.
test_packages=(check dbus systemd scdoc shellcheck libxml2-utils python3)
# Besides, for a container with systemd in it; root only.
container_packages=(systemd-container mmdebstrap)
# Besides, for virtual machines with many nodes; root only.
vm_packages=(qemu-system-x86 mmdebstrap e2fsprogs lz4 python3-minimal kmod cpio busybox-static)
# Besides, for the bench; what it is compared with. One that cannot be had costs its rows only.
bench_packages=(python3 check qemu-system-x86 libhugetlbfs-bin dpdk librte-eal23 numactl vmtouch
	strace)
# Besides, for the machine whose kernel is built.
kernel_packages=(linux-source-6.1 make flex bison bc libelf-dev)

die() {
	echo "${0##*/}: $*" >&2
	exit 1
}

# Install those of PACKAGE... that are missing. Asks for sudo's password only when it must.
install_packages() {
	local package log as_root=()
	local missing=()

	if ! command -v dpkg-query apt-get >/dev/null; then
		echo "This is no Debian; these packages, or what they are called here, must be there: $*"
		return 0
	fi
	for package; do
		dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing+=("$package")
	done
	[ ${#missing[@]} -gt 0 ] || return 0

	if [ "$(id -u)" -ne 0 ]; then
		command -v sudo >/dev/null ||
			die "packages are missing and there is no sudo. As root: apt-get install ${missing[*]}"
		as_root=(sudo --)
	fi
	echo "Installing packages that are missing: ${missing[*]}"
	# env: sudo drops variables. Kept in a variable, so that Ctrl-C leaves no file.
	if ! log=$({
		"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q update &&
			"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qy \
				-o DPkg::Lock::Timeout=300 install --no-install-recommends "${missing[@]}"
	} 2>&1 </dev/null); then
		tail -n 15 <<<"$log" >&2
		if [ ${#as_root[@]} -gt 0 ]; then
			die "that did not work; the last words of sudo or apt-get are above." \
				"As root: apt-get install ${missing[*]}"
		fi
		die "cannot install them; apt-get's last words are above"
	fi
}
