#!/bin/bash
# SPDX-License-Identifier: MIT
# tags: long
# Devices and addresses come and go under load.
. "$(dirname "$0")/lib.sh"
rounds=20
[ -n "$MC_LONG" ] && rounds=100

fresh_rails path_ms=60000 || echo "# setting up failed"
s=$(x 2 pool p 8388608)
x 1 put "$N2" "$s" 0 4194304 1 > /dev/null
until_true 10 live 1 2
LIMIT=$((1200 * MC_TIME_SCALE)) x 1 load "$N2" "$s" 1048576 $((rounds * 2 * MC_TIME_SCALE + 10)) 7 > "$OUT/plug.out" 2>&1 &
load=$!
until_true 10 grep -q started "$OUT/plug.out"
LIMIT=$((1200 * MC_TIME_SCALE)) on 1 bash -c 'slowest=0
	for ((i = 0; i < '$rounds'; i++)); do
		t=$(date +%s%N); rdma link del rxe0 || exit 1
		t=$((($(date +%s%N) - t) / 1000000)); [ $t -gt $slowest ] && slowest=$t
		sleep 0.3; rdma link add rxe0 type rxe netdev eth0 || exit 1; sleep 0.7
	done; echo "slowest=$slowest"' > "$OUT/plug2.out" 2>&1
rails_up() { x 1 rails | grep -c 'state=up'; }
ok "C-69 the device is removed and added $rounds times under load" grep slowest= "$OUT/plug2.out"
slowest=$(sed -n 's/.*slowest=//p' "$OUT/plug2.out")
ok "C-69 each removal took at most 10 s" [ "${slowest:-999999}" -le $((10000 * MC_TIME_SCALE)) ]
ok "C-69 its rail is up again" until_true 30 gives 2 rails_up
ok "C-69 and carries" until_true 30 live 1 2
ok "C-69 the load has gone on all the while" on 1 pkill -INT -x prog_xfer
wait $load
ok "C-69 no byte was wrong" refuses grep -E "wrong|changed" "$OUT/plug.out"

# an address goes and comes
on 1 ip addr del 10.77.0.1/24 dev eth0
ok "a rail without its address says so" until_true 10 says "no address" x 1 rails
ok "transfers go on" x 1 put "$N2" "$s" 0 1048576 2
on 1 ip addr add 10.77.0.1/24 dev eth0
ok "it comes back by itself" until_true 30 live 1 2
finish
