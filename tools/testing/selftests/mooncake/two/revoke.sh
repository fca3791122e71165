#!/bin/bash
# SPDX-License-Identifier: MIT
# A segment is withdrawn under load, and from a peer that does not answer.
. "$(dirname "$0")/lib.sh"

fresh || echo "# setting up failed"
s=$(x 2 pool p 8388608)

# revocation under load
x 1 load "$N2" "$s" 4194304 30 7 > "$OUT/revoke.out" 2>&1 &
until_true 10 grep -q started "$OUT/revoke.out"
sleep 2
ok "revoking under load: the pool is destroyed at once" x 2 pool-destroy "$s"
wait $!
ok "revoking under load: the client ends with ESTALE and saw no wrong byte" grep -q "end=ESTALE" "$OUT/revoke.out"
ok "revoking under load: no registration is left" until_true 10 says "mr=0" objects 2
ok "revoking under load: the path stays up" says "state=live" x 1 peers
ok "revoking under load: a new open is ENOENT" says "open ENOENT" x 1 open "$N2" "$s"

# a peer that does not acknowledge: its connections are destroyed and the memory is freed all the same
s=$(x 2 pool p 4194304)
x 1 hold "$N2" "$s" 4194304 > "$OUT/hold.out" 2>&1 &
until_true 10 grep -q started "$OUT/hold.out"
on 1 tc qdisc add dev eth0 root netem loss 100%
x 2 pool-destroy "$s"
ok "a silent peer is fenced and the memory is freed" until_true 15 says "mr=0" objects 2
ok "its connections are destroyed, not only its lease" on 2 sh -c '! grep -q proven /sys/kernel/debug/mooncake/net'
on 1 tc qdisc del dev eth0 root
on 1 pkill prog_xfer
wait $!
finish
