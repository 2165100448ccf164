# SPDX-License-Identifier: LGPL-2.1-or-later
# shellcheck shell=bash disable=SC2034
# The machines that there are to test on, as arguments of QEMU. Sourced, not run.
#
# The kernel gives its own node ids, in the order in which the firmware's tables name the nodes: those
# of CPUs first. So nodes with CPUs come first here, and ids are the same inside and outside.

machine_arguments=() # what machine_NAME leaves
machine_mib=0        # how much memory it has
machine_slots=''     # room for more, as a continuation of -m

node() { # id, MiB (0: none), CPUs (a range; empty: none)
	local words="node,nodeid=$1"
	if [ "$2" -gt 0 ]; then
		machine_arguments+=(-object "memory-backend-ram,id=memory$1,size=$2M")
		words+=",memdev=memory$1"
		machine_mib=$((machine_mib + $2))
	fi
	[ -z "$3" ] || words+=",cpus=$3"
	machine_arguments+=(-numa "$words")
}

# Two nodes in one socket are near, other sockets are far.
distances() { # number of nodes, another pair that is near (FROM-TO)
	local from to value
	for ((from = 0; from < $1; from++)); do
		for ((to = from + 1; to < $1; to++)); do
			value=21
			[ "$((from / 2))" -ne "$((to / 2))" ] && [ "$from-$to" != "${2:-}" ] || value=16
			machine_arguments+=(-numa "dist,src=$from,dst=$to,val=$value")
		done
	done
}

cpus() { # present, possible
	machine_arguments+=(-smp "$1,sockets=${2:-$1},maxcpus=${2:-$1}")
}

machine_one() {
	cpus 2
	node 0 4096 0-1
}

machine_four() {
	local id
	cpus 4
	for id in 0 1 2 3; do node "$id" 768 "$id"; done
	distances 4
}

# Room for pages of 1 GiB. Next to nothing but what is asked for there is allocated on nodes without CPUs:
# what was one piece stays one.
machine_large() {
	cpus 2
	node 0 3072 0
	node 1 3072 1
	node 2 3072 ''
	node 3 3072 ''
	distances 4
}

machine_eight() {
	local id
	cpus 8
	for id in 0 1 2 3 4 5 6 7; do node "$id" 320 "$id"; done
	distances 8
}

# Node 2 has no memory, node 5 no CPU. Node 4 is known to the firmware by a CPU that is not plugged in,
# and so not to sysfs: a gap. Node 5 is near to node 3.
machine_odd() {
	cpus 4 5
	node 0 768 0
	node 1 768 1
	node 2 0 2
	node 3 768 3
	node 4 0 4
	node 5 768 ''
	distances 6 3-5
	kernel_words+=" possible_cpus=4"
}

# Memory that is plugged: blocks of 128 MiB that come up offline (machine_slots makes room for them).
backend() { # id, MiB
	machine_arguments+=(-object "memory-backend-ram,id=$1,size=$2M")
}
dimm() { # id, MiB, node: there at boot
	backend "$1-memory" "$2"
	machine_arguments+=(-device "pc-dimm,id=$1,memdev=$1-memory,node=$3")
}

# Nodes 1 and 2 have half a gigabyte each that is offline at boot. Node 3 is there when its first dimm is.
# more1, more2, other2, late3: memory for dimms that the check plugs.
machine_dimms() {
	machine_slots=,slots=8,maxmem=16G
	cpus 3
	node 0 1024 0
	node 1 512 1
	node 2 512 2
	node 3 0 ''
	distances 4
	dimm dimm1 512 1
	dimm dimm2 512 2
	backend more1 256
	backend more2 256
	backend other2 128
	backend late3 512
}

# Node 1 has a device that gives and takes memory as the host likes, by QEMU's
# "qom-set virtual1 requested-size". 256 MiB of it are there at boot.
machine_virtio_mem() {
	machine_slots=,maxmem=8G
	cpus 2
	node 0 1024 0
	node 1 512 1
	distances 2
	backend virtual1-memory 1024
	machine_arguments+=(-device "virtio-mem-pci,id=virtual1,memdev=virtual1-memory,node=1,requested-size=256M")
}
