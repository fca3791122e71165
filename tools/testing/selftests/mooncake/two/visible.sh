#!/bin/bash
# SPDX-License-Identifier: MIT
# tags: long
# C-6: when PutEnd has returned, every reader anywhere sees every byte. Writers on node 1 put into node 2's pool and tell a
# reader the moment each put has returned; the reader is on node 2 (its copy is local) and then on node 1.
set -u
. "$(dirname "$0")/../lib.sh"
plan 4
seed=$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')
rounds=12
[ -n "$MC_LONG" ] && rounds=6250
prog=$MC_B/selftests/two/prog_store
note "seed $seed, 8 writers, $rounds rounds each, twice"

reset_nodes || note "reset failed"
ok "a cluster comes up" cluster 96M
run() {	# reader's node
	"$MCVM" start --set "$MCVM_SET" --build "$MC_B" "$1" reader "$prog" read "10.77.0.$1" 7117 10.77.0.1:50051 || return 1
	within 10 mc 10 "$1" sh -c 'ss -tln | grep -q :7117' || return 1
	mc $((60 + rounds)) 1 "$prog" write "10.77.0.$1" 7117 10.77.0.1:50051 pool2 8 $rounds $((seed + $1))
}
out=$(run 2)
ok "C-6 the owner's node reads what was acknowledged" [ "$out" = "rounds=$((8 * rounds)) bad=0" ]
out=$(run 1)
ok "C-6 and so does the other node, over RDMA" [ "$out" = "rounds=$((8 * rounds)) bad=0" ]
moved=$(ctl 1 --json rail list | sed -n 's/.*"write_bytes": \([0-9]*\).*/\1/p' | head -n 1)
ok "the objects crossed the rail" [ "${moved:-0}" -ge $((16 * rounds * 4096)) ]
mc 30 1 pkill -KILL -x prog_store
mc 30 2 pkill -KILL -x prog_store
mc 30 1 pkill -TERM -x mcnoded
mc 30 2 pkill -TERM -x mcnoded
