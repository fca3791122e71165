#!/bin/bash
# SPDX-License-Identifier: MIT
# Segments that a process exports, used from another node: names, rights, growth, and the owner's end.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/lib.segment"
MB=1048576

fresh || echo "# setting up failed"
start 1
start 2

# names
ok "an empty name is EINVAL" answers EINVAL 2 export - all $MB 1
ok "a name of slashes is one too" answers EINVAL 2 export /// all $MB 1
ok "a buffer is exported" answers "OK off=0 len=$MB gen=1" 2 export //kv/cache all $MB 1
ok "the other node opens it by its name" answers "OK handle=0 len=$MB rights=3 gen=1" 1 open "$N2" kv/cache
reconnects=$(field 1 peers reconnects)
ok "leading slashes don't count" answers "OK handle=1 len=$MB" 1 open "$N2" /kv/cache
ok "an empty name can't be opened: EINVAL" answers EINVAL 1 open "$N2" -
ok "nor can slashes" answers EINVAL 1 open "$N2" //
ok "a part of a name is no name: ENOENT" answers ENOENT 1 open "$N2" kv
ok "nor is a name of another node: EHOSTUNREACH" answers EHOSTUNREACH 1 open "$CLUSTER" kv/cache

# bytes
ok "every byte can be read" answers "OK same" 1 get 0 0 $MB 1
ok "and written" answers OK 1 put 1 4095 700001 2
ok "where the owner has them" answers same 2 bytes 4095 700001 2
ok "beyond the end is ERANGE" answers ERANGE 1 get 0 1 $MB 1

# rights
say 2 export r read $MB 3 > /dev/null
ok "a segment for reading says so" answers "OK handle=2 len=$MB rights=1" 1 open "$N2" r
ok "it can be read" answers "OK same" 1 get 2 0 $MB 3
ok "writing is EACCES" answers EACCES 1 put 2 0 4096 4
ok "and has changed nothing" answers same 2 bytes 0 $MB 3
say 2 export n none $MB 5 > /dev/null
ok "a segment without rights can be opened" answers "OK handle=3 len=$MB rights=0" 1 open "$N2" n
ok "but not read" answers EACCES 1 get 3 0 4096 5
ok "nor written" answers EACCES 1 put 3 0 4096 6
ok "its bytes are as they were" answers same 2 bytes 0 $MB 5

# growth
u=$(uuid_of 2 export grow all $MB 11)
ok "a segment of one buffer" answers "OK handle=4 len=$MB rights=3 gen=1 uuid=$u" 1 open "$N2" grow
ok "one more makes the next generation of the same segment" \
	answers "OK off=$MB len=$((3 * MB)) gen=2 uuid=$u" 2 export grow all $((2 * MB)) 12
ok "the handle of before reaches the new end" until_true 10 answers "OK same" 1 get 4 $MB $((2 * MB)) 12
ok "one request goes over the border" answers OK 1 put 4 $((MB / 2 + 1)) $MB 13
ok "to where the owner has it" answers same 2 bytes $((MB / 2 + 1)) $MB 13
ok "beyond the new end is ERANGE" answers ERANGE 1 get 4 $((2 * MB)) $((MB + 1)) 1
ok "opened again, by UUID" answers "OK handle=5 len=$((3 * MB)) rights=3 gen=2 uuid=$u" 1 open-uuid "$N2" "$u"
ok "the node has it once" equal "$(on 2 mcctl --json segment ls | grep -c '"grow"')" 1

# withdrawn
say 2 export gone all $MB 21 > /dev/null
ok "one more segment" answers "OK handle=6" 1 open "$N2" gone
ok "it is read" answers "OK same" 1 get 6 0 $MB 21
ok "its owner withdraws it" answers OK 2 unexport
ok "it is ESTALE" until_true 5 answers ESTALE 1 get 6 0 $MB 21
ok "and can't be opened any more: ENOENT" answers ENOENT 1 open "$N2" gone
ok "the others are not touched" answers OK 1 get 4 0 4096 1

# the owner's end
ok "requests are under way" answers begun 1 loop 4
killed 2
ok "the owner is killed: they end with ESTALE at once" until_true 5 grep -q "^ended ESTALE after some" "$OUT/seg1"
ok "so do later ones" answers ESTALE 1 put 4 0 4096 1
ok "and those to its other segments" answers ESTALE 1 get 0 0 4096 1
ok "there is no such segment: ENOENT" answers ENOENT 1 open-uuid "$N2" "$u"
unpinned() { equal "$(on 2 cat /sys/class/misc/mooncake/pinned_bytes)" 0; }
ok "its memory is free" until_true 10 unpinned
ok "no registration is left" until_true 10 says "mr=0" objects 2
start 2
v=$(uuid_of 2 export grow all $MB 31)
ok "the name comes back as another segment" answers "OK handle=7 len=$MB rights=3 gen=1 uuid=$v" 1 open "$N2" grow
ok "which the old handle is not" answers ESTALE 1 get 4 0 4096 31
ok "the new one is" answers "OK same" 1 get 7 0 $MB 31
ok "the path was up all the time" equal "$(field 1 peers reconnects)" "$reconnects"

# One time-out for the look-up of a name and for opening what it finds: each answer takes a second.
ends_within() # MS NODE COMMAND...: it ends with ETIMEDOUT, and sooner than that
{
	local limit=$1 got
	shift
	got=$(say "$@")
	echo "$got"
	[[ $got == "ETIMEDOUT ms="* ]] && [ "${got#*ms=}" -lt "$limit" ]
}

say 2 export slow all $MB 41 > /dev/null
x 2 fault ctrl_delay_ms 1000
for i in 1 2; do
	ok "two answers of a second are too many for 1.5, which is all it takes ($i)" \
		ends_within 1950 1 open-within "$N2" slow 1500
done
x 2 fault ctrl_delay_ms 0
ok "without the delay it is opened" until_true 5 answers OK 1 open-within "$N2" slow 2000
killed 1
killed 2
finish
