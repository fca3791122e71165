#!/bin/bash
# SPDX-License-Identifier: MIT
# tags: long
# Connections: refusals say why, failures slow down and leave nothing behind, settings are applied and shown.
. "$(dirname "$0")/lib.sh"
sys=/sys/class/misc/mooncake

fresh || echo "# setting up failed"
s=$(x 2 pool p 4194304)
x 1 put "$N2" "$s" 0 65536 1 > /dev/null

# C-64
again() { x 1 peer-del "$N2"; x 1 peer "$N2" 10.77.0.2; x 1 open "$N2" "$s" 4000 > /dev/null 2>&1; x 1 peers; }
for e in "71 protocol version" "2 another cluster" "16 too many connections" "12 out of memory" "13 not authorised"; do
	x 2 fault connect_refuse "${e%% *}"
	ok "C-64 a refusal says '${e#* }'" says "${e#* }" again
done
x 2 fault connect_refuse 0
ok "C-64 and passes" until_true 15 x 1 get "$N2" "$s" 0 65536 1

# C-55: every connection comes up and fails with its first work request
x 1 fault wc_fail 1
x 1 put "$N2" "$s" 0 65536 2 60000 > "$OUT/c55.out" 2>&1
ok "C-55 the caller gets an error" grep "put EIO" "$OUT/c55.out"
ms=$(sed -n 's/.*ms=\([0-9]*\).*/\1/p' "$OUT/c55.out")
ok "C-55 in time" [ "${ms:-99999}" -le $((3000 * MC_TIME_SCALE)) ]
on 1 sh -c 'for i in 1 2 3; do "$0" put "$1" "$2" 0 65536 2 60000; done' "$X" "$N2" "$s" > /dev/null 2>&1
attempts() { x 1 paths | sed -E 's/.* attempts=([0-9]+) .*/\1/'; }
a=$(attempts)
# Somebody wants the path all the time: what keeps attempts apart is the back-off alone.
on 1 sh -c 'end=$(($(date +%s) + 10)); while [ "$(date +%s)" -lt $end ]; do "$0" put "$1" "$2" 0 65536 2 2000; done' \
	"$X" "$N2" "$s" > /dev/null 2>&1
b=$(attempts)
ok "C-55 attempts are seconds apart" [ $((${b:-99999} - ${a:-0})) -le 4 ]
x 1 fault wc_fail 0
ok "C-55 and it works when it can" until_true 30 x 1 put "$N2" "$s" 0 65536 2 3000

# C-67, C-54: connections come and go
cycles() # COUNT: in one go on the node
{
	LIMIT=7200 on 1 bash -ec 'for ((i = 0; i < $1; i++)); do
		$0 peer $2 10.77.0.2; $0 put $2 $3 0 1048576 $i; $0 get $2 $3 0 1048576 $i; $0 peer-del $2
	done' "$X" "$1" "$N2" "$s"
}
x 1 peer-del "$N2"
cycles 1 > /dev/null
before=$(objects 1)
rounds=20
[ -n "$MC_LONG" ] && rounds=2000
ok "C-67 $rounds times connect, put, get, disconnect" cycles $rounds
ok "C-67 nothing is left of them" until_true 10 gives "$before" objects 1
x 1 peer "$N2" 10.77.0.2
x 1 put "$N2" "$s" 0 65536 1 > /dev/null
on 1 tc qdisc add dev eth0 root netem loss 100%
on 1 sh -c 'for i in $(seq 20); do "$0" put "$1" "$2" 0 65536 1 100; done' "$X" "$N2" "$s" > /dev/null 2>&1
qps() { on 1 sh -c 'rdma resource show qp link rxe0/1 | wc -l'; }
ok "C-54 calls to a dead peer leave no queue pairs" [ "$(qps)" -le 12 ]
on 1 tc qdisc del dev eth0 root
ok "C-54 and it comes back" until_true 30 x 1 get "$N2" "$s" 0 65536 1

# C-70
ok "C-70 the default" equal "$(on 1 cat $sys/rails/1/tos)" -1
ok "C-70 out of range" says "is not in 0..255" x 1 rail-set 1 tos 256
ok "C-70 out of range" says "is not in 0..15" x 1 rail-set 1 sl 16
x 1 rail-set 1 tos 106 && x 1 rail-set 1 sl 3
ok "C-70 the values are shown" equal "$(on 1 sh -c "cat $sys/rails/1/tos $sys/rails/1/service_level | xargs")" "106 3"
ok "C-70 and are in force" until_true 15 says "state=live" says "tos=106" x 1 paths
ok "C-70 on the wire too" until_true 10 x 1 get "$N2" "$s" 0 65536 1

# slices, tiers and addresses of a rail
x 1 rail-set 1 slice 4096 && x 1 rail-set 1 tail 0
before=$(rail_field 1 1 write_ops)
x 1 put "$N2" "$s" 0 65536 3 > /dev/null
ok "slices of 4 KiB on one rail" equal $(($(rail_field 1 1 write_ops) - before)) 16
ok "a rest larger than a slice is refused" refuses x 1 rail-set 1 tail 4097
ok "the weight follows the distance" equal "$(on 1 cat $sys/rails/1/weights)" 1
x 1 rail-set 1 0 7
ok "or the administrator" equal "$(on 1 cat $sys/rails/1/weights)" 7
ok "a node that is not there is refused" says "no NUMA node" x 1 rail-set 1 5 7
ok "C-56 the rail shows why it has its entry" equal "$(on 1 cat $sys/rails/1/gid_reason)" "the rail's address"
ok "C-56 a bad index is refused with the table" says "10.77.1.1" x 1 rail-gid rxe1 10.77.1.1 0
ok "C-56 the best address is found without help" x 1 rail-auto rxe1
ok "C-56 and it is not the link-local one" equal "$(on 1 sh -c "cat $sys/rails/*/address | tail -1")" 10.77.1.1
finish
