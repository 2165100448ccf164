#!/bin/bash
# SPDX-License-Identifier: LGPL-2.1-or-later
# The installed service under a real systemd, in a container: started, watched, waited for, failed,
# killed, reloaded. What is tested is in guest.sh; this makes the container.
#
#     tests/nspawn/test-service.sh SOURCE_ROOT FOLDER
#
# FOLDER keeps the container's file system (made once, by mmdebstrap) and the installation.
set -euo pipefail
source_root=$(realpath "${1:?usage: test-service.sh SOURCE_ROOT FOLDER}")
mkdir -p "${2:?usage: test-service.sh SOURCE_ROOT FOLDER}"
folder=$(realpath "$2")

# shellcheck source=tests/lib/guest.sh
. "$source_root/tests/lib/guest.sh"
[ "$(id -u)" -eq 0 ] || skip "a container with systemd in it needs root"
for program in systemd-nspawn mmdebstrap; do
	command -v "$program" >/dev/null || skip "there is no $program here"
done

# The mounts below end with this namespace, whatever happens.
if [ "${3:-}" != unshared ]; then
	unshare --mount true 2>/dev/null || skip "mount namespaces are not allowed here"
	exec unshare --mount --propagation private "$0" "$source_root" "$folder" unshared
fi

guest_root "$folder"
layer=$folder/layer
rm -rf "$layer" "$folder/work"
mkdir -p "$layer" "$folder/work" "$folder/merged"
guest_install "$source_root" "$folder" "$layer"

mkdir -p "$layer/nodeinit-test" "$layer/etc/systemd/system" "$layer/etc/nodeinit/pools.d"
install -m 755 "$source_root/tests/nspawn/guest.sh" "$layer/nodeinit-test/guest.sh"
for unit in systemd-logind systemd-networkd systemd-resolved systemd-timesyncd e2scrub_reap; do
	ln -s /dev/null "$layer/etc/systemd/system/$unit.service"
done
cat >"$layer/etc/systemd/system/nodeinit-test.target" <<-'END'
	[Unit]
	Requires=multi-user.target
	Wants=nodeinit-test.service
	After=multi-user.target
END
# Whatever becomes of it, the container ends with it.
cat >"$layer/etc/systemd/system/nodeinit-test.service" <<-'END'
	[Unit]
	After=multi-user.target
	SuccessAction=poweroff-force
	FailureAction=poweroff-force
	[Service]
	Type=oneshot
	ExecStart=/bin/bash -c '/nodeinit-test/guest.sh >/nodeinit-test/log 2>&1'
	TimeoutStartSec=240
END

# Nothing of the machine's own memory is touched: /sys is read-only in a container.
if ! mount -t overlay nodeinit-test -o "lowerdir=$folder/root,upperdir=$layer,workdir=$folder/work" "$folder/merged"; then
	skip "overlay mounts are not allowed here"
fi
SYSTEMD_NSPAWN_UNIFIED_HIERARCHY=1 timeout --kill-after=10 300 \
	systemd-nspawn --quiet --directory="$folder/merged" --register=no --keep-unit --boot --console=pipe \
	--private-network -- --unit=nodeinit-test.target systemd.show_status=0 \
	</dev/null >"$folder/console.log" 2>&1 || :
umount "$folder/merged"

if [ ! -e "$layer/nodeinit-test/log" ]; then
	tail -n 20 "$folder/console.log"
	# Nothing ran at all: the container was not allowed to boot.
	skip "systemd does not boot in a container here"
fi
cat "$layer/nodeinit-test/log"
tail -n 1 "$layer/nodeinit-test/log" | grep -qE '^[0-9]+ passed, 0 failed$'
