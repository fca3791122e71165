#!/bin/bash
# SPDX-License-Identifier: MIT
# tags: long
# A node that speaks the protocol wrongly harms nobody else: a well-behaved client is served all the time and nothing of
# the hostile one is left. Node 1 has a good client (its module) and a hostile program; node 2 owns the pool.
. "$(dirname "$0")/lib.sh"
SEED=${SEED:-7} SECONDS_=${SECONDS_:-$((MC_TIME_SCALE < 5 ? 5 * MC_TIME_SCALE : 25))} REPLAY=${REPLAY:-}
[ -z "${MC_LONG:-}" ] || SECONDS_=120
BAD=99999999-0000-4000-8000-000000000009
F=$MC_B/selftests/fuzzers/fuzz_peer

# meanwhile OUTPUT COMMAND...: again and again while the job runs; how often, or -1000 when it failed once, and the job's end
meanwhile()
{
	local out=$1
	shift
	served=0
	while kill -0 $job 2> /dev/null; do
		served=$((served + 1))
		"$@" > "$OUT/served" 2>&1 || { served=-1000; cat "$OUT/served"; }
	done
	wait $job
	status=$?
	sed 's/^\([^#]\)/# \1/' "$out"
}

reload 1 && reload 2 && join 1 key && join 2 key && introduce || echo "# setting up failed"
s=$(x 2 pool p 4194304)
h=$(x 2 pool hostile 1048576)	# the hostile node may write here: it has the key
x 1 put "$N2" "$s" 0 65536 1 > /dev/null
x 1 put "$N2" "$h" 0 4096 1 > /dev/null		# a pool stays registered once it was open
before=$(objects 2)
# shellcheck disable=SC2086 # --replay is two words or none
hostile() {
	LIMIT=$((SECONDS_ * 2 + 200)) on 1 "$F" --seed "$SEED" --seconds "$SECONDS_" ${REPLAY:+--replay $REPLAY} \
		10.77.0.1 10.77.0.2 $BAD "$N2" "$CLUSTER" 1 "$KEY" "$h"
}
hostile > "$OUT/hostile.out" 2>&1 &
job=$!
good_client() { sleep 0.5; x 1 get "$N2" "$s" 0 65536 1 15000; }
meanwhile "$OUT/hostile.out" good_client
ok "a hostile peer got as far as the protocol lets it" equal $status 0
ok "a good client was served all the while" test $served -gt 0
ok "and is served afterwards" x 1 get "$N2" "$s" 0 65536 1 15000
# grep's 1 is "not there", its 2 is no file.
forgotten() { on 2 sh -c 'grep "$0" /sys/kernel/debug/mooncake/net; [ $? = 1 ]' $BAD; }
ok "nothing of the hostile peer is left" until_true 20 forgotten
same_objects() { equal "$(objects 2)" "$before"; }
ok "its queue pairs and registrations are gone" until_true 20 same_objects

# C-63
half() { LIMIT=400 on 1 "$F" 10.77.0.1 10.77.0.2 $BAD "$N2" "$CLUSTER" 1 "$KEY" "$s" half-open "$1"; }
n=40
[ -z "${MC_LONG:-}" ] || n=200
half $n > "$OUT/half.out" 2>&1 &
job=$!
until_true 30 grep -q opened "$OUT/half.out"
x 1 peer-del "$N2"
introduce
ok "C-63 a real client of that address is served while $n connections say nothing" \
	x 1 get "$N2" "$s" 0 65536 1 $((2000 * MC_TIME_SCALE))
strangers() { on 2 cat /sys/kernel/debug/mooncake/net | grep -c stranger; }
there=$(strangers)
ok "C-63 they are strangers" test "${there:-0}" -gt 0
ok "C-63 one address has a limit" test "${there:-99}" -le 16
wait $job
ok "C-63 all of them were hung up on" equal $? 0
ok "C-63 their queue pairs are gone" until_true 20 same_objects

# Another node with node 1's UUID: refused from elsewhere while node 1 is alive, welcome after its end.
prove() { on 1 "$F" "$1" "$2" "$N1" "$N2" "$CLUSTER" 1 "$KEY" "$s" prove "$3"; }
x 2 rail rxe1 10.77.1.2 > /dev/null
x 1 get "$N2" "$s" 0 65536 1 15000 > /dev/null
ok "a second node with the same UUID is refused" says "error -17" prove 10.77.1.1 10.77.1.2 4711
log() { on 2 dmesg | tail -50; }
ok "the log has both addresses" says "one at 10.77.0.1, refused one at 10.77.1.1" log
ok "the first one is served" x 1 get "$N2" "$s" 0 65536 1 15000
ok "a node that comes back from its address is welcome" says "ack 0" prove 10.77.0.1 10.77.0.2 4712

# The other way round: node 2 opens segments of a hostile owner, and a good client on node 2 uses node 1's.
g=$(x 1 pool good 1048576)
x 2 put "$N1" "$g" 0 65536 3 > /dev/null
x 2 peer $BAD 10.77.0.1 50099
LIMIT=$((SECONDS_ * 2 + 200)) on 1 "$MC_B/selftests/fuzzers/fuzz_owner" --seed "$SEED" --seconds "$SECONDS_" \
	10.77.0.1 50099 $BAD "$N2" "$CLUSTER" 1 "$KEY" > "$OUT/owner.out" 2>&1 &
job=$!
other_owner()
{
	on 2 sh -c "for i in 1 2 3; do timeout 20 $X put $BAD $s 0 200000 5 2000 & done; wait" > /dev/null 2>&1
	x 2 peer-del $BAD > /dev/null && x 2 peer $BAD 10.77.0.1 50099	# no longer a pause than that of a new peer
	x 2 get "$N1" "$g" 0 65536 3 15000
}
meanwhile "$OUT/owner.out" other_owner
ok "a hostile owner was asked for keys" equal $status 0
ok "another owner serves all the while" test $served -gt 0
ok "the hostile owner is forgotten" x 2 peer-del $BAD
ok "no request is left" until_true 20 on 2 grep -qx 0 /sys/class/misc/mooncake/requests

x 1 peer-del "$N2"
ok "a pool goes" x 2 pool-destroy "$s"
ok "and the one that the hostile node had open" x 2 pool-destroy "$h"
ok "the module unloads" reload 2
ok "and that of the good client" reload 1
finish
