#!/bin/bash
# SPDX-License-Identifier: MIT
# Rails and peers in sysfs: one value a file, the same as over netlink.
. "$(dirname "$0")/lib.sh"
D=/sys/class/misc/mooncake

value() { on "$1" cat "$D/$2"; }
is() { gives "$3" value "$1" "$2"; }

fresh || echo "# setting up failed"
s=$(x 2 pool p 8388608)
ok "a rail has a directory with its device" is 1 rails/1/device rxe0
ok "its address" is 1 rails/1/address 10.77.0.1
ok "and its port" is 1 rails/1/port 50060
ok "a peer nobody has used is down" is 1 "peers/$N2/state" down
ok "3 MiB are put" x 1 put "$N2" "$s" 0 3145728 1
ok "1 MiB is got" x 1 get "$N2" "$s" 0 1048576 1
ok "the peer is live" is 1 "peers/$N2/state" live
ok "no error is left" is 1 "peers/$N2/last_error" ""
ok "the peer's bytes written" is 1 "peers/$N2/write_bytes" 3145728
ok "the peer's bytes read" is 1 "peers/$N2/read_bytes" 1048576
ok "the peer's slices of 64 KiB" is 1 "peers/$N2/write_ops" 48
ok "the rail's bytes written" is 1 rails/1/write_bytes 3145728
ok "nothing in flight" is 1 rails/1/inflight 0
ok "the owner's processor took no part" is 2 "peers/$N1/write_bytes" 0
ok "the epoch is netlink's" is 1 "peers/$N2/epoch" "$(field 1 peers epoch)"

ok "the transport's requests" is 1 transports/rdma/write_requests 1
ok "and their bytes" is 1 transports/rdma/write_bytes 3145728
ok "its median is a time" sh -c "[ $(value 1 transports/rdma/write_p50_ns) -gt 1000 ]"
ok "which the 99th percentile is not below" sh -c \
	"[ $(value 1 transports/rdma/write_p99_ns) -ge $(value 1 transports/rdma/write_p50_ns) ]"
ok "nothing went over tcp" is 1 transports/tcp/write_requests 0

# Every file against the document, with one of each kind of object there.
x 1 pool here 4096 > /dev/null
top=$(readlink -f "$(dirname "$0")/..")
ok "every file is described, readable and one value, and every description has its file" \
	on 1 "$top/abi-walk" "$(readlink -f "$top/../../../../Documentation/ABI/testing/sysfs-class-misc-mooncake")"

ok "mcctl lists the segment" says "here" on 1 "${MC_USER:-$MC_B/user}/bin/mcctl" segment ls

# Internals: readable by root alone, bounded, and without a key.
G=/sys/kernel/debug/mooncake
ok "debugfs has files" refuses equal "$(on 1 find $G -type f)" ""
ok "and is root's alone" gives "" on 1 find $G -type f ! -perm 0400 ! -perm 0600
x 1 fault wc_delay_ms 400
x 1 put "$N2" "$s" 0 3145728 1 60000 > /dev/null 2>&1 &
ok "slices in flight are shown" until_true 10 on 1 grep -q 'node .* write pid .* len 65536' $G/inflight
ok "who holds a segment open" until_true 5 on 2 grep -q "node $N1 rail 1 segment $s held" $G/leases
ok "which chunks are registered" on 2 grep -q 'rxe0 segment pages 2048 chunks 0-.* registered' $G/keys
x 1 fault wc_delay_ms 0
wait $!
q=$(x 2 pool q 8388608)
x 1 fault wc_delay_ms 3000
x 1 put "$N2" "$q" 0 3145728 1 60000 > /dev/null 2>&1 &
until_true 10 on 1 grep -q 'node .* write pid' $G/inflight
on 1 pkill -KILL -x prog_xfer
wait $!
number='[1-9][0-9]*'
ok "a killed process's buffer waits for its requests, since when and on which device" until_true 2 on 1 sh -c \
	"cat $G/quarantine; grep -A1 -E '^buffer [0-9a-f]{8} pid $number bytes 3145728 requests $number since [0-9]+ ms' \
		$G/quarantine | grep -q '  device rxe0 has $number of $number chunks'"
x 2 pool-destroy "$q" > /dev/null
ok "a pool waits for who has it open" until_true 2 on 2 sh -c \
	"cat $G/quarantine; grep -A1 -E '^segment $q bytes 8388608 requests [0-9]+ since [0-9]+ ms' $G/quarantine |
		grep -q '  node $N1 has lease $number through rail 1'"
x 1 fault wc_delay_ms 0
all_let_go() { gives "" on 1 cat $G/quarantine && gives "" on 2 cat $G/quarantine; }
ok "both are let go in the end" until_true 20 all_let_go
ok "latencies as text" on 1 grep -q 'rdma write requests [1-9]' $G/latency
# The tool shows the kernel's keys to root; none of them is in a file of ours that is about registrations, in either base.
# Files full of other numbers (processes, cookies) are left out: short keys would be found there by chance.
# shellcheck disable=SC2016 # expanded on the node
keys='all=$(cat '$G'/keys '$G'/leases '$G'/net '$G'/quarantine | tr -c "0-9a-fA-F" "\n" | sort -u)
	n=0
	for k in $(rdma -d -j resource show mr 2> /dev/null | grep -oE "\"[rl]key\":\"?(0x)?[0-9a-f]+" | grep -oE "[0-9a-f]+$"); do
		n=$((n + 1))
		[ ${#k} -lt 3 ] && continue
		case " $(echo $all) " in *" $k "*|*" $(printf %d 0x$k) "*) echo "key $k is shown"; exit 1 ;; esac
	done
	echo "$n keys looked for"; [ $n -gt 0 ]'
ok "no key is in any file" on 2 sh -c "$keys"

# Where a rail is plugged in, and how near that is to other devices.
# shellcheck disable=SC2016 # expanded on the node
pci=$(on 1 sh -c 'd=$(readlink -f /sys/class/net/eth0/device); while [ "${d%%/pci*}" != "$d" ]; do
	case ${d##*/} in *:*:*.*) echo "${d##*/}"; break ;; esac; d=${d%/*}; done')
ok "a rail in software is where its network card is" equal "$(on 1 cat $D/rails/1/pci_device)" "${pci:-none}"
ok "a PCI device that is not there is refused" says "no PCI device" x 1 rail-set 1 0000:ff:1f.7 3
ok "what is no PCI device either" says "no PCI device" x 1 rail-set 1 0000:00:zz 3
other=$(on 1 sh -c 'ls /sys/bus/pci/devices 2> /dev/null | head -1')
if [ -n "$other" ]; then	# User-Mode Linux has no PCI
	x 1 rail-set 1 "$other" 7
	ok "the administrator has a say about a PCI device too" says "$other=7" on 1 cat $D/rails/1/pci_weights
	x 1 rail-set 1 "$other" 0
fi
ok "nobody else's weight is shown" equal "$(on 1 cat $D/rails/1/pci_weights)" none

# A file that is open while its object goes: reading it says ENODEV and keeps nothing alive.
ok "a rail goes while its file is open" on 1 sh -c 'exec 3< '$D'/rails/1/device; '"$X"' rail-del 1; cat <&3 2>&1; true'
ok "its directory is gone" refuses on 1 test -e "$D/rails/1"
ok "a path over no rail is none" until_true 10 says "down" value 1 "peers/$N2/state"
x 1 get "$N2" "$s" 0 4096 1 300 > /dev/null 2>&1
ok "and the peer says why" until_true 10 says "no rail" value 1 "peers/$N2/last_error"
ok "a rail of the old address gets a new number" says "rail=2" sh -c \
	"'$MCVM' run --set '$MCVM_SET' --build '$MC_B' 1 -- sh -c '$X rail rxe0 10.77.0.1; $X rails'"
ok "and the peer is reached over it" until_true 15 x 1 get "$N2" "$s" 0 1048576 1
ok "the new rail counts from 0" is 1 rails/2/write_bytes 0
finish
