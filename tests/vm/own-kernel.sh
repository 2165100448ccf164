# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash disable=SC2154
# A kernel with what none of Debian's for x86_64 has, built from Debian's source of one. Sourced by vm.sh.
#
#     own_kernel FOLDER NAME    FOLDER/vmlinux-NAME, with all lines of NAME.config
#
# Made anew when the lines or the source change. The source is unpacked in FOLDER and does not outlive
# the build. Needs $source_root.

own_kernel_package=linux-source-6.1
own_kernel_archive=/usr/src/$own_kernel_package.tar.xz
own_kernel_mib=800 # in FOLDER, while it is built

own_kernel_obstacle() { # folder: why none can be built here, or nothing
	local program mib

	[ -e "$own_kernel_archive" ] || { echo "the package $own_kernel_package is not installed"; return; }
	for program in make gcc flex bison bc strip; do
		command -v "$program" >/dev/null || { echo "to build a kernel, there is no $program here"; return; }
	done
	echo '#include <gelf.h>' | gcc -E - >/dev/null 2>&1 ||
		{ echo "to build a kernel, there is no libelf-dev here"; return; }
	mib=$(df --output=avail -m "$1" | tail -n 1)
	[ "$mib" -ge "$own_kernel_mib" ] ||
		echo "to build a kernel takes $own_kernel_mib MiB of disk, here are $((mib)) MiB"
}

# What it is made of, in one word.
own_kernel_key() { # file with its lines
	{
		dpkg-query -W -f '${Version}\n' "$own_kernel_package" 2>/dev/null || :
		cat "$1" "$source_root/tests/vm/own-kernel.sh"
	} | sha256sum | cut -d' ' -f1
}

# All of the configuration's files, and of the rest no more than a small kernel for x86_64 takes.
own_kernel_unpack() { # folder
	local leave_out=() part
	for part in 'arch/[!x]*' drivers/{gpu,media,staging,infiniband,usb,scsi,clk,pinctrl,iio,misc,mtd,crypto} \
		'drivers/net/*' sound samples Documentation tools/perf tools/testing; do
		leave_out+=(--exclude="*/$part/*.[chS]" --exclude="*/$part/*.dts*" --exclude="*/$part/*.rst")
	done
	mkdir -p "$1"
	tar -x -f "$own_kernel_archive" -C "$1" --strip-components=1 "${leave_out[@]}"
}

own_kernel_build() { # folder with the source, file with its lines
	local line
	# Nothing of the caller's environment, which may be that of another make.
	local make=(env -i "PATH=$PATH" LC_ALL=C KBUILD_BUILD_USER=nodeinit KBUILD_BUILD_HOST=nodeinit
		nice make -s -C "$1" "-j$(nproc)")

	"${make[@]}" KCONFIG_ALLCONFIG="$2" allnoconfig || return
	# A line that does not apply is dropped without a word.
	while read -r line; do
		grep -qxF -e "$line" "$1/.config" || { echo "this source does not take $line"; return 1; }
	done < <(grep '^CONFIG_' "$2")
	"${make[@]}" vmlinux
}

own_kernel() { # folder, name
	local folder=$1 name=$2
	local lines=$source_root/tests/vm/$name.config work=$folder/linux-$name kernel=$folder/vmlinux-$name
	local key obstacle lock started=$SECONDS

	exec {lock}>"$folder/linux-$name.lock"
	flock "$lock"
	key=$(own_kernel_key "$lines")
	if [ -e "$kernel" ] && [ "$(cat "$kernel.key" 2>/dev/null)" = "$key" ]; then
		exec {lock}>&-
		return 0
	fi
	rm -rf "$work" "$kernel" "$kernel.key"
	obstacle=$(own_kernel_obstacle "$folder")
	[ -z "$obstacle" ] || skip "$obstacle"
	if ! { own_kernel_unpack "$work" && own_kernel_build "$work" "$lines" &&
		strip -o "$kernel" "$work/vmlinux"; } >"$folder/linux-$name.log" 2>&1 </dev/null; then
		rm -rf "$work" "$kernel"
		tail -n 20 "$folder/linux-$name.log"
		echo "not ok - the kernel $name is built"
		return 1
	fi
	rm -rf "$work"
	echo "$key" >"$kernel.key"
	exec {lock}>&-
	echo "the kernel $name was built in $((SECONDS - started)) s"
}
