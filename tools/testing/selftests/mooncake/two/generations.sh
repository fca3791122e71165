#!/bin/bash
# SPDX-License-Identifier: MIT
# tags: long
# A segment that grows: what its owner says of its generations comes late, out of order, or is not true.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib.segment"
MB=1048576

# what the owner says over one path may come long after what it says over another
held() { on 2 cat /sys/kernel/debug/mooncake/leases | tr -d - | grep -c " segment $1 held" || true; }
opens() { says "len=$1 rights=3 gen=$2" say 1 open-uuid "$N2" "$u"; }
fresh_rails || echo "# setting up failed"
start 1
start 2
u=$(uuid_of 2 export late all $MB 41)
ok "a segment is opened" opens $MB 1
ok "over both paths" until_true 10 gives 2 held "$u"
x 1 fault changed_rail 2
x 1 fault changed_delay_ms $((4000 * MC_TIME_SCALE))
ok "it grows" answers "OK off=$MB len=$((2 * MB)) gen=2" 2 export late all $MB 42
ok "one path says so, the other is slow" opens $((2 * MB)) 2
ok "and is taken away" x 1 rail-del 2
ok "its last word was old news" opens $((2 * MB)) 2

# an owner that names an older generation than before
before=$(field 1 peers reconnects)
x 2 fault gen_back 1
x 1 rail-set 1 tos 8
ok "an older answer is asked for again" until_true 15 more_than "$before" field 1 peers reconnects
ok "and its lease is given back" until_true 5 gives 1 held "$u"
x 2 fault gen_old 1
x 1 rail-set 1 tos 16
why() { on 1 grep "segments could not be opened again: error -71" /sys/kernel/debug/mooncake/net; }
ok "an owner that insists is not believed: EPROTO" until_true 15 why
ok "and has not been asked without end" [ "$(held "$u")" -le 3 ]
x 2 fault gen_old 0
ok "all is well when it has come to its senses" until_true 20 answers "OK same" 1 get 0 0 $MB 41
killed 1
killed 2

# the news comes when the connections have been given back
fresh idle_ms=$((2000 * MC_TIME_SCALE)) ping_ms=500 ping_miss=100 revoke_ms=60000 || echo "# setting up failed"
start 1
start 2
u=$(uuid_of 2 export idle all $MB 51)
x 1 fault changed_delay_ms $((3500 * MC_TIME_SCALE))
ok "a segment is opened that is then idle" opens $MB 1
ok "it grows" answers "OK off=$MB len=$((2 * MB)) gen=2" 2 export idle all $MB 52
ok "the connections are given back" until_true 20 live 1 0
# Until the news is in, the length is that of before; from then on whoever opens it waits for the new one.
ok "it can be opened" until_true 10 opens $((2 * MB)) 2
killed 1
killed 2

# Memory that is replaced between a segment's opening and its keys: this node's questions come late.
slow() { x 1 fault ctrl_delay_ms $(($1 * MC_TIME_SCALE)); }
grows() { answers "OK off=$((($1 - 1) * MB)) len=$(($1 * MB)) gen=$1" 2 export quick all $MB $((60 + $1)); }
fresh ping_ms=10000 ping_miss=100 revoke_ms=60000 || echo "# setting up failed"
start 1
start 2
u=$(uuid_of 2 export other all $MB 71)
ok "a segment is opened, so that there is a connection" opens $MB 1
u=$(uuid_of 2 export quick all $MB 61)
slow 1500
say 1 open-uuid "$N2" "$u" > "$OUT/opens" &
ok "of another one the owner has said how long it is" until_true 10 gives 1 held "$u"
ok "it grows before its keys are asked for" grows 2
slow 0
wait $!
ok "and is opened all the same" says "len=$((2 * MB)) rights=3 gen=2" cat "$OUT/opens"
slow 1500
ok "it grows again" grows 3
ok "of which the owner has said how long it is now" until_true 10 gives 1 held "$u"
ok "it grows before the keys of that are asked for" grows 4
slow 0
ok "and is not taken for gone" answers "OK same" 1 get 1 0 $MB 61
ok "the whole of it is there" answers "OK same" 1 get 1 $((3 * MB)) $MB 64
slow 3000
ok "it grows once more" grows 5
say 1 open-uuid "$N2" "$u" > "$OUT/opens" &
sleep 1
ok "the peer is removed before the new length is known" x 1 peer-del "$N2"
wait $!
ok "whoever waits for that is told: EHOSTUNREACH" says EHOSTUNREACH cat "$OUT/opens"
slow 0
killed 1
killed 2
finish
