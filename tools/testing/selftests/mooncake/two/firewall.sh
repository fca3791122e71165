#!/bin/bash
# SPDX-License-Identifier: MIT
# A node's own firewall drops what RDMA sends: soft-RoCE then repeats each packet for ever, counts no retry, and rdma_cm waits
# for ever for its last message to be sent. What the module promises to end does end, and all is well when the rule is gone.
. "$(dirname "$0")/lib.sh"

drop() { on "$1" sh -c 'nft add table inet wall && nft "add chain inet wall out { type filter hook output priority 0; }" &&
	nft add rule inet wall out udp dport 4791 drop'; }
pass() { on "$1" nft delete table inet wall; }
# Soft-RoCE of 6.12 can give up the queue pair of rdma_cm's messages, which the kernel never revives (failure.rst).
again() { on "$1" sh -c 'rdma resource show qp link rxe0/1 | grep -q "type GSI state ERR" || exit 0
	rdma link delete rxe0 && rdma link add rxe0 type rxe netdev eth0'; }
mrs() { objects "$1" | sed -n 's/.*mr=\([0-9]*\).*/\1/p'; }
returns() { LIMIT=$1 "${@:2}"; }	# SECONDS COMMAND...

fresh connect_ms=500 revoke_ms=500 || echo "# setting up failed"
s=$(x 2 pool p 8388608)
ok "a put before" x 1 put "$N2" "$s" 0 4194304 1

LIMIT=$((20 * MC_TIME_SCALE)) x 1 now put "$N2" "$s" 4194304 2 1000 'nft add table inet wall &&
	nft "add chain inet wall out { type filter hook output priority 0; }" &&
	nft add rule inet wall out udp dport 4791 drop' > "$OUT/put" 2>&1
ms=$(sed -n 's/.*ms=\([0-9]*\).*/\1/p' "$OUT/put")
ok "C-59 a put against the firewall ends with ETIMEDOUT" grep "put ETIMEDOUT" "$OUT/put"
ok "C-59 by its deadline" [ "${ms:-99999}" -le $((1500 * MC_TIME_SCALE)) ]
sleep 2		# attempts to connect are stuck as well
ok "nothing is in flight" until_true 5 gives 0 field 1 peers inflight
ok "the peer can be removed" returns $((10 * MC_TIME_SCALE)) x 1 peer-del "$N2"
ok "and the rail" returns $((10 * MC_TIME_SCALE)) x 1 rail-del "$(x 1 rails | sed -n 's/.*rail=\([0-9]*\).*/\1/p')"
pass 1
again 1
x 1 rail rxe0 10.77.0.1 > /dev/null
x 1 peer "$N2" 10.77.0.2
ok "a put after the rule was removed" until_true 20 x 1 put "$N2" "$s" 0 4194304 3
ok "and its bytes" x 2 get "$N2" "$s" 0 4194304 3

# The owner is the one whose messages do not get out: its memory is free after revoke_ms all the same.
ok "the owner's keys are in use" more_than 0 mrs 2
drop 2
x 2 pool-destroy "$s" > /dev/null
ok "the owner gets its memory back" until_true 6 gives 0 mrs 2
ok "the owner can remove the peer" returns $((10 * MC_TIME_SCALE)) x 2 peer-del "$N1"
ok "and its rail" returns $((10 * MC_TIME_SCALE)) x 2 rail-del "$(x 2 rails | sed -n 's/.*rail=\([0-9]*\).*/\1/p')"
pass 2
for n in 1 2; do
	ok "node $n: the module can be unloaded" returns $((60 * MC_TIME_SCALE)) \
		on $n "$(readlink -f "$(dirname "$0")/../reset-node")" --unload
	ok "node $n: no RDMA object is left" no_objects $n
	on $n sh -c 'insmod "$MC_KO"'
done
finish
