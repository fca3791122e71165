#!/bin/bash
# SPDX-License-Identifier: MIT
# Callers that are killed while the peer or the master doesn't answer are gone at once, whatever they waited in.
set -u
. "$(dirname "$0")/../lib.sh"
plan 9
seed=$(($(od -An -N2 -tu2 /dev/urandom)))
RANDOM=$seed
groups=2
[ -n "${MC_LONG:-}" ] && groups=5
master=10.77.0.1:50051
prog=$MC_B/selftests/two/prog_killable
note "seed $seed, $((groups * 12)) callers"

reset_nodes || note "reset failed"
# As in the case: a task that can't be killed is told of on the console after 30 s.
for n in 1 2; do mc 30 $n sysctl -qw kernel.hung_task_timeout_secs=30 2> /dev/null; done
export AUTH=none MASTER_ARGS="--put-discard-timeout-ms 2000"
ok "a cluster comes up" cluster 48M
node1=$(mc 30 1 mcctl --json node show | sed -n 's/.*"node_uuid": "\([^"]*\)".*/\1/p')
"$MCVM" start 2 killable-serve "$prog" serve "$node1"
ok "each of them works" within 10 mc 60 1 "$prog" works $master

field() { sed -n "s/.*\\b$1=\\([0-9]*\\).*/\\1/p" "$TMP/$2" | awk '{ n += $1 } END { print n + 0 }'; }
late=0
for ((i = 0; i < groups; i++)); do
	mc 60 1 "$prog" peer $master $((seed + i)) >> "$TMP/peer" 2>&1 & run=$!
	sleep $((RANDOM % 2 + 1)).$((RANDOM % 10))
	"$MCVM" pause 2
	mc 30 1 pkill -USR1 -o -x prog_killable
	wait $run || late=1
	"$MCVM" resume 2
done
sed 's/^/# /' "$TMP/peer"
ok "C-79 callers killed while the peer is paused are gone in a second" [ $late = 0 ]
ok "C-79 all $((groups * 6)) of them" [ "$(field killed peer)" = $((groups * 6)) ]
ok "C-79 some of which waited for it" [ "$(field stuck peer)" -ge $groups ]

mc 300 1 "$prog" master $master "$seed" $groups > "$TMP/master" 2>&1
status=$?
sed 's/^/# /' "$TMP/master"
ok "C-79 callers killed while the master is stopped are gone in a second" \
	[ "$status/$(field killed master)" = "0/$((groups * 6))" ]

no_rest() { [ "$(mc 30 1 sh -c 'cat /sys/class/misc/mooncake/pinned_bytes /sys/class/misc/mooncake/requests' | xargs)" = "0 0" ]; }
ok "C-79 nothing of them stays" within 30 no_rest
ok "C-79 everything works afterwards" within 10 mc 60 1 "$prog" works $master
hung() { mc 30 "$1" dmesg | grep 'blocked for more than'; }
no_hung() { ! hung 1 && ! hung 2; }
ok "C-79 no kernel has seen a task that is stuck" no_hung
mc 30 2 pkill -KILL -x prog_killable
mc 30 1 pkill -TERM -x mcnoded
mc 30 2 pkill -TERM -x mcnoded
