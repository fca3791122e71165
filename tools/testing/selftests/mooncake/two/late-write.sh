#!/bin/bash
# SPDX-License-Identifier: MIT
# tags: long
# The WRITEs of a failed put are held back in the network. The put gives up and revokes, others put objects wherever there
# is room, then the old packets arrive. No byte of any object that was put well may change.
set -u
. "$(dirname "$0")/../lib.sh"
share=$MC_B/vm/$MCVM_SET/share
plan 6
delay=4

reset_nodes || note "reset failed"
ok "a cluster comes up" cluster 6M
head -c $((1 << 20)) /dev/urandom > "$share/old"

# Connections exist, so that only data is held back.
for i in 1 2 3; do ctl 2 object put "warm$i" /mnt/share/old > /dev/null && ctl 2 object rm "warm$i" > /dev/null; done

hold() {	# packets of RDMA leave node 2 some seconds late; everything else is not touched
	mc 30 2 sh -ec "tc qdisc add dev eth0 root handle 1: prio
		tc qdisc add dev eth0 parent 1:3 handle 30: netem delay ${delay}s limit 100000
		tc filter add dev eth0 parent 1:0 protocol ip u32 match ip protocol 17 0xff match ip dport 4791 0xffff flowid 1:3"
}
ok "RDMA packets are held back" hold

failed=0
for i in 1 2; do
	ctl 2 --timeout 1s object put "late$i" /mnt/share/old --segment pool1 > /dev/null 2>&1 || failed=$((failed + 1))
done
ok "puts over the held path fail" [ $failed = 2 ]

# Fill both pools from node 1: its own by copy, where the late packets will arrive; node 2's over a path of its own
# direction, which is slow now because its acknowledgements are held back too.
n=0
for i in $(seq 8); do
	head -c $((1 << 20)) /dev/urandom > "$share/new$i"
	pool=pool1
	[ "$i" -gt 6 ] && pool=pool2
	ctl 1 --timeout 20s object put "new$i" "/mnt/share/new$i" --segment $pool > /dev/null 2>&1 && n=$((n + 1)) &&
		touch "$share/new$i.put"
done
ok "other objects are put meanwhile" [ $n -ge 4 ]
mc 30 2 tc qdisc del dev eth0 root
sleep $((delay + 2))

wrong=0 read=0
for i in $(seq 8); do
	[ -e "$share/new$i.put" ] || continue
	rm -f "$share/got"
	ctl 1 --timeout 60s object get "new$i" /mnt/share/got > /dev/null || continue
	read=$((read + 1))
	cmp "$share/new$i" "$share/got" || wrong=$((wrong + 1))
done
ok "C-7 0 wrong bytes" [ "$wrong" = 0 ]
ok "and they could be read" [ "$read" = "$n" ]
rm -f "$share"/new* "$share"/late* "$share/old"
mc 30 1 pkill -TERM -x mcnoded
mc 30 2 pkill -TERM -x mcnoded
