#!/bin/bash
# SPDX-License-Identifier: MIT
# tags: long
# Every allocation on the way from connect to the last byte fails once, on either node.
. "$(dirname "$0")/lib.sh"
P=$MC_B/selftests/two/prog_failnth
last=30 step=6
[ -z "${MC_LONG:-}" ] || last=100 step=1

fresh || echo "# setting up failed"
s=$(x 2 pool p 1048576)
x 1 put "$N2" "$s" 0 65536 1 > /dev/null
x 1 peer-del "$N2"
none1() { equal "$(objects 1)" "$before1"; }
none2() { equal "$(objects 2)" "$before2"; }
until_true 10 sh -c "! $MCVM run --set $MCVM_SET --build $MC_B 2 -- grep served /sys/kernel/debug/mooncake/net"
before1=$(objects 1)
on 1 "$P" "$N2" 10.77.0.2 "$s" > /dev/null
x 1 peer-del "$N2"
until_true 10 sh -c "! $MCVM run --set $MCVM_SET --build $MC_B 2 -- grep served /sys/kernel/debug/mooncake/net"
before2=$(objects 2)

# shellcheck disable=SC2034 # for on()
LIMIT=$((last * 10 + 200))
ok "C-49 each allocation of the initiator fails once and nothing stays" on 1 "$P" "$N2" 10.77.0.2 "$s" 1 $last
x 1 peer-del "$N2"
ok "C-49 the initiator's queue pairs and registrations are gone" until_true 20 none1
owner() {
	local n
	for ((n = 1; n <= 25; n += step)); do
		x 2 fault any_alloc $n && on 1 "$P" "$N2" 10.77.0.2 "$s" && x 2 fault any_alloc 0 || return 1
	done
}
ok "C-49 allocations of the owner fail and nothing stays" owner
x 2 fault any_alloc 0
x 1 peer-del "$N2"
ok "C-49 the owner's queue pairs and registrations are gone" until_true 20 none2
x 2 pool-destroy "$s"
ok "C-49 both modules unload" reload 1
ok "C-49 the owner's as well" reload 2
finish
