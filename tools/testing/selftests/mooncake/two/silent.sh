#!/bin/bash
# SPDX-License-Identifier: MIT
# Deadlines hold when the peer is silent, and a failed slice is posted again.
. "$(dirname "$0")/lib.sh"

took_at_most() # MS COMMAND...: a request that takes no longer
{
	local limit=$1 out ms
	shift
	out=$("$@" 2>&1)
	echo "$out"
	ms=$(sed -n 's/.*ms=\([0-9]*\).*/\1/p' <<< "$out")
	echo "$ms" > "$OUT/ms"
	[[ $out == *ETIMEDOUT* ]] && [ -n "$ms" ] && [ "$ms" -le $((limit * MC_TIME_SCALE)) ] && echo "$ms of $limit"
}

fresh || echo "# setting up failed"
s=$(x 2 pool p 8388608)
x 1 put "$N2" "$s" 0 4194304 1 > /dev/null

# C-59: the peer falls silent
for ms in 200 2000; do
	ok "C-59 get with a deadline of $ms ms from a silent peer" took_at_most $((ms + 500)) \
		x 1 now get "$N2" "$s" 4194304 0 $ms "tc qdisc add dev eth0 root netem loss 100%"
	on 1 tc qdisc del dev eth0 root
done
# Without a deadline of its own: the default one and a second more, then it is taken off the wire.
x 1 fault default_timeout_ms 500
ok "C-59 the grace after the default deadline ends" took_at_most 2500 \
	x 1 now get "$N2" "$s" 4194304 0 0 "tc qdisc add dev eth0 root netem loss 100%"
ok "C-59 and was granted" [ "$(cat "$OUT/ms")" -ge 1400 ]
on 1 tc qdisc del dev eth0 root
x 1 fault default_timeout_ms 0
ok "C-59 the path comes back by itself" until_true 15 x 1 get "$N2" "$s" 0 4194304 1
ok "C-59 nothing stays in flight" equal "$(field 1 peers inflight)" 0

# a lost completion: the slice is posted again on the next path
x 1 fault wc_status 5
ok "a failed slice is retried on a new path" x 1 get "$N2" "$s" 0 4194304 1
ok "and counted" refuses equal "$(field 1 peers errors)" 0
finish
