#!/bin/bash
# SPDX-License-Identifier: MIT
# Loading and unloading: the device node is there when the module is and only then (C-77), and a module that can't work
# here is refused with a reason (C-80).
. "$(dirname "$0")/../lib.sh"
rounds=8
[ -n "${MC_LONG:-}" ] && rounds=100

unload() { ! grep -q '^mooncake ' /proc/modules || rmmod mooncake; }
# shellcheck disable=SC2086 # parameters are words
load() { insmod "$MC_KO" $MC_KO_PARAMS; }
absent() { [ ! -e /dev/mooncake ] && [ ! -e /sys/class/misc/mooncake ] && [ ! -e /sys/kernel/debug/mooncake ]; }

# Root only until udev (or whoever) gives it to a group: group and other have no more than the mode says.
device() {
	local want
	within 5 test -c /dev/mooncake || return
	want=$(cat /sys/class/misc/mooncake/dev)
	[ "$(stat -c '%t:%T' /dev/mooncake)" = "$(printf '%x:%x' "${want%:*}" "${want#*:}")" ] || return
	[ "$(stat -c '%a' /dev/mooncake)" = 660 ] && exec 7<> /dev/mooncake && exec 7>&-
}

# Other char drivers come and go meanwhile, so that the minor that was free last time is not.
others() {
	local m i=$1
	for m in uinput tun fuse ppp_generic vhost_net; do
		i=$((i + 1))
		if [ $((i % 2)) = 0 ]; then modprobe -q $m && moved=$((moved + 1)); else modprobe -q -r $m; fi
	done
	return 0
}

moved=0
again_and_again() {
	local i
	for ((i = 0; i < rounds; i++)); do
		others $i
		unload && within 5 absent && load && device && continue
		echo "# round $i"
		return 1
	done
}

# status TEXT COMMAND...: the command fails and says so
status() {
	local want=$1 out
	shift
	out=$("$@" 2>&1) && return 1
	[[ $out == *"$want"* ]] || { echo "# $out"; return 1; }
}

said() { dmesg | tail -n 200 | grep -q "$1"; }

in_use() {
	exec 8<> /dev/mooncake
	status "in use" rmmod mooncake || return
	device || return
	exec 8>&-
	within 5 rmmod mooncake
}

# A copy of the module with something changed in one section, in place: objcopy would forget the section's relocations, and
# a module without them has no init function.
changed() {
	local section=$1 from=$2 to=$3 at len
	[ ${#from} = ${#to} ] || return
	cp "$MC_KO" "$TMP/mooncake.ko"
	read -r at len < <(readelf -SW "$MC_KO" | sed 's/^ *\[ *[0-9]*\] *//' | awk -v s="$section" '$1 == s { print $4, $5 }')
	tail -c +$((0x$at + 1)) "$MC_KO" | head -c $((0x$len)) | LC_ALL=C sed "s/$from/$to/" |
		dd of="$TMP/mooncake.ko" bs=1 seek=$((0x$at)) conv=notrunc status=none && ! cmp -s "$MC_KO" "$TMP/mooncake.ko"
}

no_rdma() {
	local m
	for m in rxe0 rxe1; do rdma link del $m 2> /dev/null; done
	# Each takes with it what only it needed.
	for m in rdma_ucm rdma_rxe ib_uverbs rdma_cm iw_cm ib_cm ib_core; do
		! grep -q "^$m " /proc/modules || modprobe -r $m
	done
	! grep -q '^ib_core ' /proc/modules
}

rdma_again() {
	local m
	for m in rdma_rxe rdma_cm ib_uverbs rdma_ucm; do modprobe $m || return; done
	rdma link add rxe0 type rxe netdev eth0 && { [ ! -e /sys/class/net/eth1 ] || rdma link add rxe1 type rxe netdev eth1; }
}

alone() { ! grep -q '^mooncakf ' /proc/modules && device; }

plan 20
ok "C-77 the device node comes and goes with the module, $rounds times" again_and_again
note "others were loaded $moved times"
ok "C-77 among other char drivers" [ $moved -gt 0 ]
ok "C-77 a second load is refused" status "File exists" load
ok "C-77 and the first one works on" device
ok "C-77 another module with a device of that name is made" changed .gnu.linkonce.this_module mooncake mooncakf
# shellcheck disable=SC2086 # parameters are words
ok "C-77 it can't be loaded: the name is taken" status "could not insert" insmod "$TMP/mooncake.ko" $MC_KO_PARAMS
ok "C-77 nothing is left of it, and the device is whose it was" alone
ok "C-80 a module with an open descriptor stays, and goes when it is closed" in_use
ok "C-80 a parameter out of range is refused" status "Invalid" insmod "$MC_KO" slice_size=1
ok "C-80 with the value and the range" said "slice_size 1 is not in 4096"
# What modules of all kernels say of themselves, and all kernels compare.
ok "C-80 an unknown kind of build is made" changed .modinfo "mod_unload" "mod_unloae"
ok "C-80 it is refused" status "Invalid module format" insmod "$TMP/mooncake.ko"
ok "C-80 with what was expected and what was found" said "version magic '.*mod_unloae.*' should be '.*mod_unload"
if grep -q '^ib_core ' /proc/modules; then
	ok "C-80 without RDMA core" no_rdma
	ok "C-80 the module is refused" status "Unknown symbol" load
	ok "C-80 and says what is missing" said "mooncake: Unknown symbol ib_"
	ok "C-77 nothing is left of a load that failed" absent
	ok "C-80 with RDMA core again" rdma_again
else
	for t in "it is taken away" "a load is refused" "and says what is missing" "nothing is left" "it comes again"; do
		skip "RDMA core: $t" "RDMA core is built into this kernel"
	done
fi
ok "C-80 it loads" load
ok "C-77 and the device is there" device
chgrp mooncake /dev/mooncake
