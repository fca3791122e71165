#!/bin/bash
# SPDX-License-Identifier: MIT
# tags: long
# C-76: everything that ends something meets everything else: processes on node 1 transfer to node 2, close, exit and are
# killed; node 2's pool is destroyed and made again; the RDMA device of either node goes and comes back.
. "$(dirname "$0")/lib.sh"
seconds=8
[ -z "${MC_LONG:-}" ] || seconds=1800
SHARE=$MC_B/vm/$MCVM_SET/share
seed=${SEED:-7}

fresh || echo "# setting up failed"
renew() {
	[ -z "${s:-}" ] || x 2 pool-destroy "$s" > /dev/null
	s=$(x 2 pool p 1048576) && echo "$s" > "$SHARE/segment.new" && mv "$SHARE/segment.new" "$SHARE/segment"
}
# The rail waits for its device and takes it up again.
replug() {
	on "$1" sh -c "rdma link del rxe0; sleep 0.$((RANDOM % 5)); rdma link add rxe0 type rxe netdev eth0"
}
renew
# A device that came back is listed after the other one: in an order of their own.
sorted() { objects 1 | sed 's/ mr=/\nmr=/g' | sort | tr '\n' ' '; }
x 1 peer-del "$N2"
none=$(sorted)
introduce
RANDOM=$seed
echo "# seed $seed"
LIMIT=$((seconds * 2 + 300)) on 1 "$MC_B/selftests/two/prog_races" "$seconds" "$seed" "$N2" /mnt/share/segment \
	> "$OUT/races.out" 2>&1 &
job=$!
rounds=0 bad=0
while kill -0 $job 2> /dev/null; do
	case $((RANDOM % 4)) in
	0) replug 1 || bad=1 ;;
	1) replug 2 || bad=1 ;;
	*) renew || bad=1 ;;
	esac
	rounds=$((rounds + 1))
done
wait $job
status=$?
cat "$OUT/races.out"
ok "C-76 after $rounds ends of devices and pools each request has ended and each page is let go" equal $status 0
ok "C-76 devices and pools came back each time" equal $bad 0
s1=$s
ok "C-76 a transfer works as before" until_true 20 x 1 put "$N2" "$s1" 0 65536 1 10000
x 1 peer-del "$N2"
same() { equal "$(sorted)" "$none"; }
ok "C-76 queue pairs and registrations are those from before" until_true 20 same
x 2 pool-destroy "$s1"
ok "C-76 node 1's module unloads" reload 1
ok "C-76 node 2's module unloads" reload 2
finish
