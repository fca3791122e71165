#!/bin/bash
# SPDX-License-Identifier: MIT
# tags: long
# Connections that come and go with transfers in flight, on a network that loses and reorders packets; a driver that is
# known to lack a fix is named when the module is loaded. A cycle connects, loads and takes down the two data connections of a
# path: 5,000 of them are the 10,000 of C-65.
. "$(dirname "$0")/lib.sh"
cycles=20
[ -n "${MC_LONG:-}" ] && cycles=5000
seed=${SEED:-$RANDOM}
echo "# seed $seed, $cycles cycles"

for n in 1 2; do on $n dmesg -C; done
fresh || echo "# setting up failed"
# The only kernel of ours whose driver lacks one that is known is the older.
lacks=1
[ "${KERNEL:-6.1}" = 6.12 ] && lacks=0
lines() { on 1 sh -c 'dmesg | grep -c "soft-RoCE of this kernel lacks"'; }
ok "C-65 loading names a fix that soft-RoCE lacks, in one line" equal "$(lines)" $lacks

s=$(x 2 pool p 4194304)
# Once without loss: what stays registered for a pool is there from now on.
on 1 "$MC_B/selftests/two/prog_cycles" 1 "$N2" 10.77.0.2 "$s" 1 > /dev/null
objects1=$(objects 1) objects2=$(objects 2)
for n in 1 2; do on $n tc qdisc add dev eth0 root netem delay 1ms reorder 5% loss 1%; done
LIMIT=$((60 + cycles * 2 * MC_TIME_SCALE))
on 1 "$MC_B/selftests/two/prog_cycles" $cycles "$N2" 10.77.0.2 "$s" "$seed" > "$OUT/cycles.out" 2>&1
export LIMIT=120
sed 's/^[^#]/# &/' "$OUT/cycles.out"
ok "C-65 $cycles times connect, transfer, disconnect: each request ends" grep "cycles=$cycles .*result=0" "$OUT/cycles.out"
ok "C-65 no wrong byte" grep " wrong=0 " "$OUT/cycles.out"
ok "C-65 transfers were in flight at disconnect" refuses grep " cut=0 " "$OUT/cycles.out"
for n in 1 2; do on $n tc qdisc del dev eth0 root; done
left() { equal "$(objects 1), $(objects 2)" "$objects1, $objects2"; }
ok "C-65 queue pairs and registrations are those from before" until_true 20 left
ok "C-65 nothing stays in flight" equal "$(on 1 cat /sys/class/misc/mooncake/requests)" 0
introduce
ok "C-65 and bytes arrive" until_true 20 x 1 get "$N2" "$s" 0 1048576 "$seed"
# The driver warns of responses that it finds out of sequence, on a network that reorders: tools/testing/debug/baseline.
for n in 1 2; do
	ok "C-65 node $n: nothing but that line was said" refuses on $n sh -c \
		'dmesg | grep -E "WARNING|BUG|refcount" | grep -v rxe_completer'
done
finish
