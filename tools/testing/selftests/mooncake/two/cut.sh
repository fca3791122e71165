#!/bin/bash
# SPDX-License-Identifier: MIT
# Cables are cut and restored at random moments while bytes move over two rails: no wrong byte, no lost completion.
. "$(dirname "$0")/lib.sh"
transfers=300
[ -n "$MC_LONG" ] && transfers=10000
seed=${SEED:-$((RANDOM * 32768 + RANDOM))}
RANDOM=$seed
echo "# seed $seed, $transfers transfers"

fresh_rails path_ms=120000 || echo "# setting up failed"
s=$(x 2 pool p 8388608)
x 1 put "$N2" "$s" 0 4194304 1 > /dev/null
until_true 10 live 1 2
# A round is a WRITE and a READ.
LIMIT=6000 x 1 stream "$N2" "$s" 262144 $((transfers / 2)) "$seed" 5 > "$OUT/cut.out" 2>&1 &
cuts=0
while kill -0 $! 2> /dev/null; do
	sleep "0.$((RANDOM % 9 + 1))"
	link=$((RANDOM % 2))
	case $((RANDOM % 3)) in 0) where="--node 1" ;; 1) where="--node 2" ;; *) where= ;; esac
	# shellcheck disable=SC2086
	vm link down --link $link $where
	sleep "$((RANDOM % 2)).$((RANDOM % 10))"
	vm link up --link $link
	cuts=$((cuts + 1))
done
vm link up
echo "# $cuts cuts, $(tail -1 "$OUT/cut.out")"
ok "0 lost completions, 0 failures" grep "rounds=$((transfers / 2)) failed=0" "$OUT/cut.out"
ok "0 wrong bytes" grep "wrong=0" "$OUT/cut.out"
ok "cables were cut meanwhile" [ $cuts -ge 3 ]
ok "nothing stays in flight" until_true 10 gives 0 field 1 peers inflight
ok "both rails are back" until_true 30 live 1 2
finish
