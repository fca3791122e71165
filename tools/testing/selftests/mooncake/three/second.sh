#!/bin/bash
# SPDX-License-Identifier: MIT
# tags: long
# C-22: a second copy is really used. Node 1 reads and writes objects whose copies are on nodes 2 and 3; RDMA to node 2
# falls silent, everything else of it goes on, so the master still takes it for a good place.
set -u
. "$(dirname "$0")/../lib.sh"
share=$MC_B/vm/$MCVM_SET/share
plan 7
count=20
[ -z "${MC_LONG:-}" ] || count=100

for n in 1 2 3; do mc 60 $n "$MC_TOP/tools/testing/selftests/mooncake/reset-node" || note "reset of node $n failed"; done
rm -f "$share/"{mcmasterd,mcnoded-1,mcnoded-2,mcnoded-3}.log
ok "a cluster of three comes up" env NODES=3 POOL=64M "$MC_TOP/tools/demo/cluster-up"

# Nothing of RDMA gets from node 1 to node 2 or the other way round, and nobody is told: a firewall that refuses what is
# sent would be an error at once, and soft-RoCE tries again for ever.
silence='tc qdisc add dev eth0 root handle 1: prio
	tc qdisc add dev eth0 parent 1:3 handle 30: netem loss 100%
	tc filter add dev eth0 parent 1:0 protocol ip u32 match ip dst 10.77.0.2 match ip protocol 17 0xff \
		match ip dport 4791 0xffff flowid 1:3
	nft add table inet t
	nft add chain inet t i "{ type filter hook input priority 0; }"
	nft add rule inet t i ip saddr 10.77.0.2 udp dport 4791 drop'
mc 900 1 "$MC_B/selftests/three/prog_second" 10.77.0.1:50051 pool2 pool3 $count 1000 "$silence" > "$TMP/out" 2>&1
status=$?
sed 's/^/# /' "$TMP/out"
value() { sed -n "s/.*\b$1=\([0-9]*\).*/\1/p" "$TMP/out" | head -1; }
ok "C-22 the first copy was asked and was silent" [ "$(value retried)" -ge 1 ]
ok "C-22 $count gets bring their objects" [ "$(value gets)/$(value failed)" = "$count/0" ]
ok "C-22 the first one within 2 s" [ "$(value first)" -le $((2000 * MC_TIME_SCALE)) ]
ok "C-22 the others within 200 ms" [ "$(value slowest)" -le $((200 * MC_TIME_SCALE)) ]
ok "C-22 each of $count puts stores a whole object, or none" [ "$(value puts)/$status" = "$count/0" ]
mc 30 1 sh -c 'nft flush ruleset; tc qdisc del dev eth0 root'
head -c 100000 /dev/urandom > "$share/after"
put_get() {
	ctl 1 object put after /mnt/share/after --replicas 2 && ctl 3 object get after /mnt/share/after.got &&
		cmp "$share/after" "$share/after.got"
}
ok "C-22 and with the way open again both copies are written" within 60 put_get
