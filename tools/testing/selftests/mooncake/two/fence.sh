#!/bin/bash
# SPDX-License-Identifier: MIT
# Packets of a failed WRITE never land on what somebody else has written since.
. "$(dirname "$0")/lib.sh"

fresh || echo "# setting up failed"
s=$(x 2 pool p 8388608)

late() # how many bytes are still on their way
{
	on 1 tc -s qdisc show dev eth0 | awk '$1 == "backlog" { sub("b", "", $2); print $2 + 0; exit }'
}

# late WRITEs: packets of a failed put arrive after the space has been given to somebody else
overtake() # SECONDS: a put fails with its packets held that long; -> how many bytes are still held when the next has ended
{
	x 1 put "$N2" "$s" 0 4194304 10 > /dev/null
	x 1 now put "$N2" "$s" 4194304 11 500 "tc qdisc add dev eth0 root netem delay ${1}s limit 100000" > "$OUT/late.out" 2>&1
	# What is queued stays queued; packets from now on overtake it.
	on 1 tc qdisc change dev eth0 root netem delay 0ms limit 100000
	until_true 20 x 1 put "$N2" "$s" 0 4194304 12 > /dev/null || return
	late
}

# A slow machine connects again only after the packets have come: then they are held longer.
for delay in 4 8 16 32; do
	held=$(overtake $delay)
	[ "${held:-0}" = 0 ] || break
	on 1 tc qdisc del dev eth0 root
done
ok "late WRITE: the put fails at its deadline" grep "put ETIMEDOUT" "$OUT/late.out"
ok "late WRITE: it does not say that the segment is quiesced" grep "flags=0" "$OUT/late.out"
ok "late WRITE: the next put gets through before its packets" [ "${held:-0}" -gt 0 ]
ok "late WRITE: the packets come" until_true $((delay + 10)) gives 0 late
on 1 tc qdisc del dev eth0 root
ok "late WRITE: the old bytes never land on the new ones" x 2 get "$N2" "$s" 0 4194304 12
finish
