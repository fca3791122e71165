#!/bin/bash
# SPDX-License-Identifier: MIT
# Packets of a failed WRITE never land on what somebody else has written since.
. "$(dirname "$0")/lib.sh"

fresh || echo "# setting up failed"
s=$(x 2 pool p 8388608)

# late WRITEs: packets of a failed put arrive after the space has been given to somebody else
x 1 put "$N2" "$s" 0 4194304 10 > /dev/null
x 1 now put "$N2" "$s" 4194304 11 500 "tc qdisc add dev eth0 root netem delay 4000ms limit 100000" > "$OUT/late.out" 2>&1
ok "late WRITE: the put fails at its deadline" grep "put ETIMEDOUT" "$OUT/late.out"
ok "late WRITE: it does not say that the segment is quiesced" grep "flags=0" "$OUT/late.out"
# What is queued stays queued; packets from now on overtake it.
on 1 tc qdisc change dev eth0 root netem delay 0ms limit 100000
ok "late WRITE: the next put gets through" until_true 20 x 1 put "$N2" "$s" 0 4194304 12
sleep $((5 * MC_TIME_SCALE))
on 1 tc qdisc del dev eth0 root
ok "late WRITE: the old bytes never land on the new ones" x 2 get "$N2" "$s" 0 4194304 12
