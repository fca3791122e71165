#!/bin/bash
# SPDX-License-Identifier: MIT
# The fault hooks that other tests build upon do what they say, no more and no less.
. "$(dirname "$0")/lib.sh"

hook() { on "$1" sed -n "s/^$2 //p" /sys/kernel/debug/mooncake/fault; }
fresh || echo "# setting up failed"
s=$(x 2 pool p 8388608)

ok "a hook that is not there is refused by name" says "no fault hook named 'nope'" refuses x 1 fault nope 1
ok "all hooks are off at first" equal "$(on 1 sh -c "grep -vc ' 0$' /sys/kernel/debug/mooncake/fault")" 0

# Refused connections: nothing moves, the reason is told, and without the hook the peer is reached.
x 2 fault connect_refuse 13
ok "a refused connection is the error it was refused with" says "EACCES" x 1 open "$N2" "$s" 3000
ok "the hook stays on" equal "$(hook 2 connect_refuse)" 13
why() { x 1 peers | grep -E 'why=.*(error -13|not authorised)'; }
ok "the peer says why" why
x 2 fault connect_refuse 0
ok "without it the peer is reached" until_true 15 says "open OK" x 1 open "$N2" "$s"

# The n-th completion: exactly one slice fails, the third, and goes again.
errors=$(field 1 rails errors)
x 1 fault wc_status 3
ok "a transfer with one failed completion ends well" x 1 put "$N2" "$s" 0 65536 1
ok "two more are needed" equal "$(hook 1 wc_status)" 2
ok "the transfer that has the third ends well too" x 1 put "$N2" "$s" 0 262144 1
ok "then the hook is off" equal "$(hook 1 wc_status)" 0
ok "the third one failed" until_true 5 more_than "$errors" field 1 rails errors
ok "its bytes are right" x 1 get "$N2" "$s" 0 262144 1

# Delayed completions: the bytes have moved, the requester waits all the same.
x 1 fault wc_delay_ms 700
took() { [ "$(sed -n 's/^ms=\([0-9]*\) .*/\1/p' "$OUT/fault.out")" -ge "$1" ]; }
ok "a transfer with delayed completions ends well" sh -c \
	"'$MCVM' run --set '$MCVM_SET' --build '$MC_B' 1 -- '$X' put $N2 $s 0 65536 1 > '$OUT/fault.out'"
ok "and late" took 700
x 1 fault wc_delay_ms 0
finish
