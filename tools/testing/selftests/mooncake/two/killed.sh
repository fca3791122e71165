#!/bin/bash
# SPDX-License-Identifier: MIT
# Killed clients leave nothing behind.
. "$(dirname "$0")/lib.sh"

fresh || echo "# setting up failed"

# C-47: killed clients with transfers in flight
s=$(x 2 pool p 67108864)
x 1 open "$N2" "$s" > /dev/null
sleep 1
start=$(objects 1)
rounds=${MC_LONG:+50}
export LIMIT=$((120 + ${rounds:-20} * 5 * MC_TIME_SCALE))
ok "C-47 ${rounds:=20} clients killed with 64 MiB in flight" on 1 sh -c '
	for i in $(seq '"$rounds"'); do
		'"$X"' hold '"$N2 $s"' 67108864 > /tmp/hold.out & pid=$!
		for t in $(seq 300); do grep -q started /tmp/hold.out && break; sleep 0.05; done
		sleep 0.2; kill -9 $pid; wait $pid; : > /tmp/hold.out
	done 2> /dev/null; true'
LIMIT=120
registrations() { equal "$(objects 1)" "$start"; }
ok "C-47 registrations, queue pairs and domains are back to the start" until_true 20 registrations
ok "C-47 no page stays pinned" until_true 20 gives 0 on 1 cat /sys/class/misc/mooncake/pinned_bytes
ok "C-47 the path still works" x 1 put "$N2" "$s" 0 1000000 3
finish
