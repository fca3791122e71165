#!/bin/bash
# SPDX-License-Identifier: MIT
# tags: long
# Connections end before they fail: idle ones are given back and opened again when needed, and a module that is unloaded
# says goodbye, so that its peers needn't find out by its silence.
. "$(dirname "$0")/lib.sh"
: "${MC_USER:=$MC_B/user}"
sys=/sys/class/misc/mooncake
share=$MC_B/vm/$MCVM_SET/share

# A slow machine needs some time to look at what is not idle yet.
idle=$((2 * (MC_TIME_SCALE < 10 ? MC_TIME_SCALE : 10)))
fresh idle_ms=${idle}000 ping_ms=500 || echo "# setting up failed"
qps() { objects "$1" | tr ' ' '\n' | sed -n 's/^qp=//p'; }
none="$(qps 1) $(qps 2)"
s=$(x 2 pool p 4194304)
x 2 put "$N1" 33333333-0000-4000-8000-000000000003 0 4096 1 > /dev/null 2>&1	# ENOENT: but node 2 is connected too
x 1 put "$N2" "$s" 0 1048576 5 > /dev/null
state() { on "$1" cat "$sys/peers/$2/state"; }
ok "a peer that is used is live" equal "$(state 1 "$N2")" live
without() { equal "$(qps 1) $(qps 2)" "$none"; }
ok "there are queue pairs then" refuses without
ok "idle connections are given back, on both nodes" until_true $((idle + 10)) without
ok "it says why" grep "idle for ${idle}000 ms" <<< "$(on 1 cat $sys/peers/"$N2"/last_error)"
ok "a file that was open all the while goes on when it needs them again" \
	x 1 now get "$N2" "$s" 1048576 5 30000 "sleep $((idle + 2))"
ok "and has new ones" [ "$(field 1 peers reconnects)" -ge 2 ]
# One that is in use is not idle, however long a request takes.
x 1 fault wc_delay_ms 300
LIMIT=200 x 1 load "$N2" "$s" 1048576 $((idle + 4)) 9 > "$OUT/idle.out" 2>&1
x 1 fault wc_delay_ms 0
ok "connections in use are kept" grep "end=OK" "$OUT/idle.out"

# ---- goodbye ----

# A node's silence would be found out slowly: after 20 pings of 500 ms.
fresh ping_ms=500 ping_miss=20 || echo "# setting up failed"
s=$(x 2 pool p 4194304)
t=$(x 1 pool t 1048576)
x 2 put "$N1" "$t" 0 65536 1 > /dev/null
x 1 put "$N2" "$s" 0 65536 1 > /dev/null
ok "both are connected to one another" equal "$(state 1 "$N2") $(state 2 "$N1")" "live live"
rm -f "$share/goodbye.log"
vm start 2 goodbye "$MC_USER/bin/mcctl" --json event > /dev/null
# It follows from the moment it has joined: pools come and go until it says so.
joined() {
	x 2 pool-destroy "$(x 2 pool joined 4096)"
	[ -s "$share/goodbye.log" ]
}
ok "somebody follows events" until_true 20 joined
x 1 pool-destroy "$t"
on 1 sh -c '"$0" rail-del 1 && "$0" peer-del "$1" && for i in $(seq 100); do rmmod mooncake 2> /dev/null && exit 0; sleep 0.1; done
	exit 1' "$X" "$N2"
ok "the module unloads" equal $? 0
parted() { [ "$(state 2 "$N1")" != live ]; }
ok "its peer knows at once" until_true 1 parted
ok "since it was told, not for silence" until_true 5 grep '"text": *"the peer.s rail said goodbye"' "$share/goodbye.log"
ok "as an event with its reason" python3 - "$share/goodbye.log" << 'E2'
import json, sys
text, at, found = open(sys.argv[1]).read(), 0, []
while text[at:].strip():
    at += len(text[at:]) - len(text[at:].lstrip())
    value, at = json.JSONDecoder().raw_decode(text, at)
    found.append(value)
down = [e for e in found if e["event"] == "peer-down"]
print(json.dumps(found, indent=1))
sys.exit(not (down and down[0].get("reason") == "asked"))
E2
ok "what it had open there is gone too" until_true 2 gives "" on 2 cat /sys/kernel/debug/mooncake/leases
on 2 pkill -INT -x mcctl
on 1 sh -c 'insmod "$MC_KO"'
join 1
x 1 peer "$N2" 10.77.0.2
ok "it comes back as another load, and is welcome" until_true 15 x 1 get "$N2" "$s" 0 65536 1
finish
