# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash
# Virtual machines with many NUMA nodes: made from Debian packages, started with this tree installed.
# Sourced by run-check.sh and tools/vm, not run. Needs $source_root.
#
#     vm_prepare FOLDER KERNEL    kernel (see vm_has_kernel) and disk, in FOLDER; only what is missing
#     vm_tree FOLDER TREE         what is laid over the guest's files, without the command
#     vm_boot FOLDER TREE OUT KERNEL MACHINE WORDS TALK LIMIT
#
# It is always emulated, never KVM: the same machine everywhere, and nothing that needs rights to it.
# So nothing that runs in it may be judged by how long it took.

# Where programs for root are, also for a root whose search path lacks it.
PATH=$PATH:/usr/sbin:/sbin

# shellcheck source=tests/lib/guest.sh
. "$source_root/tests/lib/guest.sh"
# shellcheck source=tests/vm/machines.sh
. "$source_root/tests/vm/machines.sh"
# shellcheck source=tests/vm/own-kernel.sh
. "$source_root/tests/vm/own-kernel.sh"

vm_obstacle() { # why there can be no machine here, or nothing
	local program

	if [ -n "${NODEINIT_SKIP_VM:-}" ]; then
		echo "NODEINIT_SKIP_VM is set"
	elif [ "$(id -u)" -ne 0 ]; then
		echo "to make the guest's files needs root"
	elif [ "$(uname -m)" != x86_64 ]; then
		echo "the guest is x86_64, this is $(uname -m)"
	else
		for program in qemu-system-x86_64 mmdebstrap mke2fs apt-get dpkg-deb lz4 python3 depmod cpio busybox; do
			command -v "$program" >/dev/null || { echo "there is no $program here"; return; }
		done
	fi
}

# A kernel package's files, in FOLDER/kernel-FLAVOUR, and the kernel proper.
vm_kernel() { # folder, flavour
	local folder=$1 flavour=$2 package
	local files=$folder/kernel-$flavour

	[ ! -e "$folder/vmlinux-$flavour" ] || [ ! -e "$folder/modules-$flavour" ] || return 0
	rm -rf "$files"
	mkdir -p "$files"
	[ -n "$(apt-cache policy "linux-image-$flavour")" ] || apt-get -q update >"$folder/apt.log" 2>&1 || :
	package=$(apt-cache depends "linux-image-$flavour" 2>/dev/null |
		awk '/Depends: linux-image/ { print $2; exit }')
	[ -n "$package" ] || skip "apt knows no package linux-image-$flavour"
	if ! (cd "$files" && apt-get -q download "$package") >>"$folder/apt.log" 2>&1 </dev/null; then
		tail -n 3 "$folder/apt.log"
		skip "the package $package cannot be had"
	fi
	dpkg-deb --extract "$files"/*.deb "$files"
	rm "$files"/*.deb
	python3 "$source_root/tests/vm/extract-vmlinux.py" "$files"/boot/vmlinuz-* "$folder/vmlinux.new"
	[ "$flavour" = "$vm_small_kernel" ] || vm_initrd "$folder" "$files"
	vm_modules "$folder" "$files" "$flavour"
	mv "$folder/vmlinux.new" "$folder/vmlinux-$flavour"
	rm -rf "$files"
}

# Debian's kernel for virtual machines has all built in that it takes to mount the guest's disk. The one
# for all machines is needed for what the other leaves out: it gets a few modules to begin with. What
# neither has is built, see own-kernel.sh: memory for devices.
vm_small_kernel=cloud-amd64
vm_full_kernel=amd64
vm_own_kernel=cma
vm_has_kernel() { [[ " $vm_small_kernel $vm_full_kernel $vm_own_kernel " == *" $1 "* ]]; }

# For the guest: what udev loads for devices that only some machines have, and errors on demand.
vm_guest_modules=(virtio_pci virtio_mem memory-notifier-error-inject)
vm_modules() { # folder, files of the kernel, flavour
	local folder=$1 files=$2 modules=$1/modules-$3 version module path

	version=$(ls "$files/lib/modules")
	rm -rf "$modules" "$modules.new"
	mkdir -p "$modules.new/lib"
	depmod -b "$files" "$version"
	for module in "${vm_guest_modules[@]}"; do
		modprobe -d "$files" -S "$version" --show-depends "$module"
	done | awk '$1 == "insmod" { print $2 }' | while read -r path; do
		install -D -m 644 "$path" "$modules.new/lib/${path#"$files"/lib/}"
	done
	cp "$files/lib/modules/$version"/modules.{builtin,builtin.modinfo,order} "$modules.new/lib/modules/$version/"
	depmod -b "$modules.new" "$version"
	mv "$modules.new" "$modules"
}

vm_initrd() { # folder, files of the kernel
	local folder=$1 files=$2 initrd=$1/initrd version module path

	version=$(ls "$files/lib/modules")
	rm -rf "$initrd"
	mkdir -p "$initrd"/{bin,modules,proc,sys,dev,mnt}
	cp "$(command -v busybox)" "$initrd/bin/busybox"
	install -m 755 "$source_root/tests/vm/guest/initrd-init" "$initrd/init"
	depmod -b "$files" "$version"
	for module in nvme ext4; do
		modprobe -d "$files" -S "$version" --show-depends "$module"
	done | awk '$1 == "insmod" && !seen[$2]++ { print $2 }' >"$folder/modules"
	while read -r path; do
		cp "$path" "$initrd/modules/"
		echo "${path##*/}" >>"$initrd/order"
	done <"$folder/modules"
	(cd "$initrd" && find . | cpio --quiet -o -H newc) >"$folder/initrd-$vm_full_kernel"
	rm -rf "$initrd"
}

vm_disk() { # folder
	local folder=$1

	guest_root "$folder"
	[ ! "$folder/disk" -nt "$folder/root.done" ] || return 0
	rm -f "$folder/disk.new"
	mke2fs -q -F -t ext4 -O ^has_journal -d "$folder/root" "$folder/disk.new" 800M >"$folder/mke2fs.log" 2>&1
	mv "$folder/disk.new" "$folder/disk"
}

vm_prepare() { # folder, kernel
	mkdir -p "$1"
	case $2 in
	"$vm_own_kernel") own_kernel "$1" "$2" ;;
	*) vm_kernel "$1" "$2" ;;
	esac
	vm_disk "$1"
}

# What boots of Debian's is what a test can do without: an emulated CPU is slow.
vm_masked_units=(getty.target serial-getty@ttyS0.service getty@tty1.service
	systemd-logind.service systemd-user-sessions.service systemd-timesyncd.service
	systemd-update-utmp.service systemd-update-utmp-runlevel.service systemd-pstore.service
	systemd-random-seed.service systemd-machine-id-commit.service systemd-firstboot.service
	systemd-boot-system-token.service systemd-remount-fs.service systemd-hwdb-update.service
	modprobe@.service dev-mqueue.mount sys-kernel-debug.mount sys-kernel-tracing.mount
	sys-kernel-config.mount sys-fs-fuse-connections.mount proc-sys-fs-binfmt_misc.automount
	systemd-ask-password-wall.path systemd-ask-password-console.path remote-fs.target
	apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer e2scrub_all.timer
	e2scrub_reap.service fstrim.timer)

vm_tree() { # folder, tree
	local folder=$1 tree=$2 guest=$source_root/tests/vm/guest unit program modules

	rm -rf "$tree"
	mkdir -p "$tree/vm" "$tree/etc/systemd/system" "$tree/etc/systemd/system.conf.d" \
		"$tree/etc/systemd/journald.conf.d" "$tree/etc/nodeinit/pools.d"
	guest_install "$source_root" "$folder" "$tree"
	install -m 755 "$guest/init" "$guest/driver" "$tree/vm/"
	install -m 644 "$guest/lib.sh" "$tree/vm/"
	install -m 644 "$guest/nodeinit-vm.target" "$guest/nodeinit-vm.service" "$tree/etc/systemd/system/"
	for modules in "$folder"/modules-*/lib/modules; do
		[ ! -d "$modules" ] || cp -a "$modules" "$tree/usr/lib/"
	done
	for program in on-nodes fragment poison; do
		cc -D_GNU_SOURCE -std=gnu11 -Wall -Wextra -Werror -O2 -static -s -o "$tree/vm/$program" \
			"$source_root/tests/vm/$program.c"
	done
	for unit in "${vm_masked_units[@]}"; do
		ln -s /dev/null "$tree/etc/systemd/system/$unit"
	done
	echo nodeinit >"$tree/etc/hostname"
	: >"$tree/etc/fstab"
	printf '[Journal]\nStorage=volatile\nRateLimitBurst=0\n' >"$tree/etc/systemd/journald.conf.d/vm.conf"
	printf '[Manager]\nDefaultTimeoutStartSec=5min\n' >"$tree/etc/systemd/system.conf.d/vm.conf"
}

# Status: the command's, 124 when the time is over, 125 when the guest ended without one. TALK is the
# other end of the guest's second serial line, as an option of QEMU's -chardev. The third one ends at
# QEMU's own monitor: the guest plugs its memory itself (hmp of guest/lib.sh). It has an interrupt of its
# own, as the first and the third line of a PC have one in common. $OUT then has console.txt, qemu.txt,
# journal.txt.
vm_boot() { # folder, tree, out, kernel, machine, kernel words, talk, limit in seconds (0: none)
	local folder=$1 tree=$2 out=$3 kernel=$4 machine=$5 kernel_words=$6 talk=$7 limit=$8 status=0
	local initrd=() sockets
	local first_words="mount -t devtmpfs devtmpfs /dev 2>/dev/null; exec >/dev/console 2>&1; \
tar -xf /dev/nvme0n1 -C / --no-same-owner --keep-directory-symlink; exec /vm/init"

	mkdir -p "$out"
	rm -f "$out/status" "$out/journal.txt"
	tar -cf "$out/in.img" --owner=0 --group=0 -C "$tree" .
	truncate -s %1M "$out/in.img"
	truncate -s 0 "$out/out.img"
	truncate -s 64M "$out/out.img"
	[ ! -e "$folder/initrd-$kernel" ] || initrd=(-initrd "$folder/initrd-$kernel")
	machine_arguments=() machine_mib=0 machine_slots=''
	"machine_$machine"
	# Nobody else gets at the monitor, and a socket's path must be short.
	sockets=$(mktemp -d)

	# Names of disks follow the order of their namespaces; once the last one, the root, is there, so
	# are the others.
	timeout --foreground --kill-after=5 "$limit" qemu-system-x86_64 -M q35 -accel tcg,thread=multi,tb-size=256 \
		-cpu max -m "${machine_mib}M$machine_slots" "${machine_arguments[@]}" \
		-display none -nodefaults -no-user-config -no-reboot \
		-chardev "file,id=console,path=$out/console.txt" -serial chardev:console \
		-chardev "$talk" -serial chardev:talk \
		-chardev "socket,id=monitor,path=$sockets/monitor,server=on,wait=off" -mon chardev=monitor,mode=readline \
		-chardev "socket,id=guest-monitor,path=$sockets/monitor" -device isa-serial,chardev=guest-monitor,index=2,irq=7 \
		-kernel "$folder/vmlinux-$kernel" "${initrd[@]}" -append "console=ttyS0 quiet panic=-1 root=/dev/nvme0n3 rw rootfstype=ext4 \
rootwait nokaslr no5lvl mitigations=off clocksource=hpet random.trust_cpu=1 \
systemd.unit=nodeinit-vm.target systemd.show_status=0 $kernel_words \
init=/bin/sh -- -c \"$first_words\"" \
		-device nvme,id=nvme,serial=nodeinit \
		-drive "file=$out/in.img,format=raw,if=none,id=in,readonly=on" -device nvme-ns,bus=nvme,nsid=1,drive=in \
		-drive "file=$out/out.img,format=raw,if=none,id=out" -device nvme-ns,bus=nvme,nsid=2,drive=out \
		-drive "file=$folder/disk,format=raw,if=none,id=root,snapshot=on" -device nvme-ns,bus=nvme,nsid=3,drive=root \
		2>"$out/qemu.txt" || status=$?
	tar -xf "$out/out.img" -C "$out" 2>/dev/null || :
	rm -rf "$out/in.img" "$out/out.img" "$sockets"
	[ "$status" -ne 124 ] && [ "$status" -ne 137 ] || return 124
	[ -e "$out/status" ] || return 125
	return "$(cat "$out/status")"
}
