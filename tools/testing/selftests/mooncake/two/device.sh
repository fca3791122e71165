#!/bin/bash
# SPDX-License-Identifier: MIT
# A device goes away, a node reboots, the module unloads.
. "$(dirname "$0")/lib.sh"

# However long a machine takes to boot, requests wait for it.
fresh path_ms=600000 || echo "# setting up failed"
s=$(x 2 pool p 8388608)

# the device goes away and comes back
x 1 load "$N2" "$s" 4194304 30 7 > "$OUT/dev.out" 2>&1 &
until_true 10 grep -q started "$OUT/dev.out"
ok "the device is removed under load" on 2 rdma link del rxe0
ok "its rail waits for it" says "state=no device" x 2 rails
on 2 rdma link add rxe0 type rxe netdev eth0
ok "C-69 the rail comes back by itself" until_true 10 says "state=up" x 2 rails
wait $!
ok "the client went on over it" grep -q "end=OK" "$OUT/dev.out"

# the peer reboots
LIMIT=400 x 1 load "$N2" "$s" 4194304 60 7 > "$OUT/reboot.out" 2>&1 &
until_true 10 grep -q started "$OUT/reboot.out"
vm kill 2
vm boot 2 > /dev/null
join 2
x 2 peer "$N1" 10.77.0.1
wait $!
ok "a reboot of the owner makes its segments stale" grep -q "end=ESTALE" "$OUT/reboot.out"
ok "and gone" until_true 20 says "open ENOENT" x 1 open "$N2" "$s"
s=$(x 2 pool p 4194304)
ok "and new ones can be opened" until_true 20 x 1 put "$N2" "$s" 0 4194304 1

for n in 1 2; do
	ok "node $n: the module unloads cleanly" on $n sh -c '
		for id in $('"$X"' rails | sed -n "s/.*rail=\([0-9]*\).*/\1/p"); do '"$X"' rail-del $id; done
		for d in /sys/class/misc/mooncake/pools/*; do [ -d "$d" ] && '"$X"' pool-destroy ${d##*/}; done
		for i in $(seq 100); do rmmod mooncake 2> /dev/null && exit 0; sleep 0.1; done; exit 1'
	ok "node $n: no RDMA object is left" no_objects $n
	on $n sh -c 'insmod "$MC_KO"'
done
finish
