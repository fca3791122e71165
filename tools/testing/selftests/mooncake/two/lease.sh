#!/bin/bash
# SPDX-License-Identifier: MIT
# A batch that takes much longer than a lease, over a slow link: every object comes whole, none is refused because a timer
# ran out.
set -u
. "$(dirname "$0")/../lib.sh"
plan 6
seed=$(($(od -An -N2 -tu2 /dev/urandom)))
count=350 rate=24mbit pool=32M
[ -n "${MC_LONG:-}" ] && count=7000 rate=200mbit pool=448M
len=65536
master=10.77.0.1:50051
prog=$MC_B/selftests/two/prog_batch
note "seed $seed, $count objects of 64 KiB, $rate"

reset_nodes || note "reset failed"
export MASTER_ARGS="--lease-ttl-ms 2000 --put-discard-timeout-ms 2000" POOLS="8M $pool"
ok "a cluster with leases of 2 s comes up" cluster 8M

# The bytes leave node 1 on put and node 2 on get.
for n in 1 2; do mc 30 $n tc qdisc add dev eth0 root tbf rate $rate burst 64kb latency 30s; done
field() { sed -n "s/.*\\b$1=\\([0-9]*\\).*/\\1/p" "$TMP/$2"; }
mc 600 1 "$prog" put $master pool2 $count $len "$seed" > "$TMP/put" 2>&1
sed 's/^/# /' "$TMP/put"
ok "C-5 the put took at least 6 s, attempts last 2" [ "$(field ms put)" -ge 6000 ]
ok "C-5 each object was stored" [ "$(field good put)" = $count ]
mc 600 1 "$prog" get $master $count $len "$seed" > "$TMP/get" 2>&1
sed 's/^/# /' "$TMP/get"
ok "C-5 the get took at least 6 s, leases last 2" [ "$(field ms get)" -ge 6000 ]
ok "C-5 each object came, whole" [ "$(field good get)" = $count ]
for n in 1 2; do mc 30 $n tc qdisc del dev eth0 root; done
ok "C-5 and at full speed" mc 300 1 "$prog" get $master $count $len "$seed"
mc 30 1 pkill -TERM -x mcnoded
mc 30 2 pkill -TERM -x mcnoded
