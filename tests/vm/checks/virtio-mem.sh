# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash source=tests/vm/guest/lib.sh disable=SC2154
# machine: virtio_mem
#
# A device that has node 1 get and lose memory as the host likes (virtio-mem): blocks 32 and 33 at boot,
# up to 39 later.

before_boot() {
	daemon_settings Reserve=64M EarlyMinimum=16M EarlyShift=63
	pool grow Kind=block Nodes=all Required=no '[Block]' Zone=movable
	pool pages Kind=hugetlb PageSize=2M Size=16p
}

mib() { echo $(($1 << 20)); }
shows() { equal "$("${@:2}")" "$1"; } # text expected, command...
has_driver() { [ -e /sys/bus/virtio/drivers/virtio_mem/bind ]; }
host_gives() { hmp "qom-set virtual1 requested-size $1M"; }
grow_1() { echo "$(share grow 1 2) $(share grow 1 5)"; }

checks() {
	local before
	has_driver || { skipped "memory by virtio-mem" "this kernel has no module virtio_mem"; return; }
	ok "what the device has at boot comes into service" eventually shows "ready $(mib 256)" grow_1
	ok "where it is to be" equal "$(blocks_are 32 33 34)" "Movable Movable gone"
	ok "all is ready" meminitctl --quiet wait --timeout=2min
	ok "the host gives more" host_gives 512
	ok "which comes into service" eventually shows "ready $(mib 512)" grow_1
	ok "where it is to be" equal "$(blocks_are 32 33 34 35 36)" "Movable Movable Movable Movable gone"
	ok "the node has it" eventually shows "$(mib 1024)" node_property 1 MemoryTotal
	pool pages Kind=hugetlb PageSize=2M Size@0=16p Size@1=320p
	ok "a pool that the node had no room for at boot" systemctl reload nodeinitd
	ok "has it now" meminitctl --quiet wait --timeout=2min
	ok "in full" equal "$(all_huge_pages 2048)" "16 320"
	pool pages Kind=hugetlb PageSize=2M Size=16p Shrink=yes
	ok "it is lowered again" systemctl reload nodeinitd
	ok "and the pages are given back" eventually shows "16 16" all_huge_pages 2048
	ok "the host takes some" host_gives 256
	ok "it is the pool's no more" eventually shows "ready $(mib 256)" grow_1
	ok "nor the node's" eventually shows "$(mib 768)" node_property 1 MemoryTotal
	ok "the host gives all that it has" host_gives 1024
	ok "which comes into service" eventually shows "ready $(mib 1024)" grow_1
	ok "where it is to be" equal "$(blocks_are 32 33 34 35 36 37 38 39 | tr ' ' '\n' | uniq -c | xargs)" "8 Movable"
	before=$(property /org/nodeinit1 Manager Generation)
	ok "all is ready" meminitctl --quiet wait --timeout=2min
	ok "nothing begins anew by itself" equal "$(manager_property Generation)" "$before"
	ok "the daemon runs" equal "$(systemctl show -P NRestarts nodeinitd) $(systemctl is-active nodeinitd)" "0 active"
}
