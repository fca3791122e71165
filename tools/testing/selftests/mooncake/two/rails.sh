#!/bin/bash
# SPDX-License-Identifier: MIT
# Two rails between two nodes: both carry, a lost one costs time and no data, and nothing late lands.
. "$(dirname "$0")/lib.sh"

fresh_rails path_ms=60000 || echo "# setting up failed"
s=$(x 2 pool p 8388608)
x 1 put "$N2" "$s" 0 4194304 1 > /dev/null
ok "both rails are connected" until_true 10 live 1 2
ok "C-57 same-rail pairs only" equal "$(x 1 paths | sed -E 's/.*(local=. remote=.) .*/\1/' | sort | xargs)" \
	"local=1 remote=1 local=2 remote=2"
both_carried()
{
	local rail
	x 1 put "$N2" "$s" 0 4194304 2 && x 1 get "$N2" "$s" 0 4194304 2 || return
	for rail in 1 2; do
		[ "$(rail_field 1 $rail read_bytes)" -gt 0 ] && [ "$(rail_field 1 $rail write_bytes)" -gt 0 ] || return
	done
}
ok "both rails carry" until_true 10 both_carried
ok "C-66 retry counts are finite and shown" says "retries=7 rnr_retries=6" x 1 paths

# What is held back in one cable belongs to a WRITE that has ended over the other one.
x 1 now put "$N2" "$s" 4194304 3 30000 "tc qdisc add dev eth0 root netem delay 8000ms limit 100000" \
	> "$OUT/fence.out" 2>&1
t0=$SECONDS
ok "late WRITE: the put goes on over the other rail, and is quiesced" grep "put OK .*flags=1" "$OUT/fence.out"
ok "late WRITE: others write over it" x 1 put "$N2" "$s" 0 4194304 4
on 1 tc qdisc change dev eth0 root netem delay 0ms limit 100000
[ $((SECONDS - t0)) -ge 10 ] || sleep $((t0 + 10 - SECONDS))
on 1 tc qdisc del dev eth0 root
ok "late WRITE: the old bytes never land on the new ones" x 2 get "$N2" "$s" 0 4194304 4
ok "and the first rail comes back" until_true 30 live 1 2

# C-58: cut and restore, at one end and at both
carries() # NODE RAIL: it carries now
{
	local before
	before=$(rail_field "$1" "$2" write_bytes)
	x "$1" put "$N2" "$s" 4194304 4194304 5 && [ "$(rail_field "$1" "$2" write_bytes)" -gt "$before" ]
}
for where in "--node 1" "--node 2"; do
	rm -f "$OUT/stream.out"
	LIMIT=300 x 1 stream "$N2" "$s" 262144 60 100 5 > "$OUT/stream.out" 2>&1 &
	until_true 10 grep -q at=10 "$OUT/stream.out"
	# shellcheck disable=SC2086
	vm link down --link 0 $where
	until_true 30 grep -q at=40 "$OUT/stream.out"
	vm link up --link 0
	wait $!
	ok "C-58 link cut ($where): every byte arrives" grep "rounds=60 failed=0" "$OUT/stream.out"
	slowest=$(sed -n 's/.*slowest=\([0-9]*\).*/\1/p' "$OUT/stream.out")
	ok "C-58 link cut ($where): the slowest took at most 5 s" [ "${slowest:-999999}" -le $((5000 * MC_TIME_SCALE)) ]
	ok "C-58 link cut ($where): the rail carries again" until_true 30 carries 1 1
done

# C-57: two networks without a way between them, nothing but numbers to go by, and the numbers are crossed
for n in 1 2; do
	reload $n && on $n sh -ec "
		ip addr add 10.78.0.$n/32 dev eth0 && ip addr add 10.79.0.$n/32 dev eth1
		ip route add 10.78.0.$((3 - n))/32 dev eth0 src 10.78.0.$n
		ip route add 10.79.0.$((3 - n))/32 dev eth1 src 10.79.0.$n"
	x $n node "$(uuid $n)" "$CLUSTER" none
done
x 1 rail rxe0 10.78.0.1 > /dev/null && x 1 rail rxe1 10.79.0.1 > /dev/null
x 2 rail rxe1 10.79.0.2 > /dev/null && x 2 rail rxe0 10.78.0.2 > /dev/null
x 1 peer-rails "$N2" 1=10.79.0.2 2=10.78.0.2 && x 2 peer-rails "$N1" 1=10.78.0.1 2=10.79.0.1
s=$(x 2 pool p 4194304)
rounds=20
[ -n "$MC_LONG" ] && rounds=500
ok "C-57 transfers between two separate networks" x 1 stream "$N2" "$s" 1048576 $rounds 7
ok "C-57 both find their partner" until_true 30 live 1 2
ok "C-57 by the cable, not by the number" equal "$(x 1 paths | sed -E 's/.*(local=. remote=.) .*/\1/' | sort | xargs)" \
	"local=1 remote=2 local=2 remote=1"
attempts=$(x 1 paths | sed -E 's/.* attempts=([0-9]+) .*/\1/' | paste -sd+ | bc)
ok "C-57 at most two attempts failed" [ "${attempts:-99}" -le 4 ]
sleep 3
ok "C-57 and none followed" equal "$(x 1 paths | sed -E 's/.* attempts=([0-9]+) .*/\1/' | paste -sd+ | bc)" "$attempts"
for n in 1 2; do on $n sh -c "ip addr del 10.78.0.$n/32 dev eth0; ip addr del 10.79.0.$n/32 dev eth1"; done
finish
