#!/bin/bash
# SPDX-License-Identifier: MIT
# Deadlines, revocation, reboot, a broken path, late WRITEs, killed clients.
. "$(dirname "$0")/lib.sh"

took_at_most() # MS COMMAND...: a request that takes no longer
{
	local limit=$1 out ms
	shift
	out=$("$@" 2>&1)
	echo "$out"
	ms=$(sed -n 's/.*ms=\([0-9]*\).*/\1/p' <<< "$out")
	[[ $out == *ETIMEDOUT* ]] && [ -n "$ms" ] && [ "$ms" -le $((limit * MC_TIME_SCALE)) ] && echo "$ms of $limit"
}

fresh || echo "# setting up failed"
s=$(x 2 pool p 8388608)
x 1 put "$N2" "$s" 0 4194304 1 > /dev/null

# C-59: the peer falls silent
for ms in 200 2000; do
	ok "C-59 get with a deadline of $ms ms from a silent peer" took_at_most $((ms + 500)) \
		x 1 now get "$N2" "$s" 4194304 0 $ms "tc qdisc add dev eth0 root netem loss 100%"
	on 1 tc qdisc del dev eth0 root
done
ok "C-59 the path comes back by itself" until_true 15 x 1 get "$N2" "$s" 0 4194304 1
ok "C-59 nothing stays in flight" equal "$(field 1 peers inflight)" 0

# a lost completion: the slice is posted again on the next path
x 1 fault wc_status 5
ok "a failed slice is retried on a new path" x 1 get "$N2" "$s" 0 4194304 1
ok "and counted" refuses equal "$(field 1 peers errors)" 0

# revocation under load
x 1 load "$N2" "$s" 4194304 30 7 > "$MC_B/revoke.out" 2>&1 &
until_true 10 grep -q started "$MC_B/revoke.out"
sleep 2
ok "revoking under load: the pool is destroyed at once" x 2 pool-destroy "$s"
wait $!
ok "revoking under load: the client ends with ESTALE and saw no wrong byte" grep -q "end=ESTALE" "$MC_B/revoke.out"
ok "revoking under load: no registration is left" until_true 10 says "mr=0" objects 2
ok "revoking under load: the path stays up" says "state=live" x 1 peers
ok "revoking under load: a new open is ENOENT" says "open ENOENT" x 1 open "$N2" "$s"

# a peer that does not acknowledge: its connections are destroyed and the memory is freed all the same
s=$(x 2 pool p 4194304)
x 1 hold "$N2" "$s" 4194304 > "$MC_B/hold.out" 2>&1 &
until_true 10 grep -q started "$MC_B/hold.out"
on 1 tc qdisc add dev eth0 root netem loss 100%
x 2 pool-destroy "$s"
ok "a silent peer is fenced and the memory is freed" until_true 15 says "mr=0" objects 2
ok "its connections are destroyed, not only its lease" on 2 sh -c '! grep -q proven /sys/kernel/debug/mooncake/net'
on 1 tc qdisc del dev eth0 root
on 1 pkill prog_xfer
wait $!

# C-47: killed clients with transfers in flight
s=$(x 2 pool p 67108864)
x 1 open "$N2" "$s" > /dev/null
sleep 1
start=$(objects 1)
rounds=${MC_LONG:+50}
ok "C-47 ${rounds:=20} clients killed with 64 MiB in flight" on 1 sh -c '
	for i in $(seq '"$rounds"'); do
		'"$X"' hold '"$N2 $s"' 67108864 > /tmp/hold.out & pid=$!
		for t in $(seq 300); do grep -q started /tmp/hold.out && break; sleep 0.05; done
		sleep 0.2; kill -9 $pid; wait $pid; : > /tmp/hold.out
	done 2> /dev/null; true'
registrations() { equal "$(objects 1)" "$start"; }
ok "C-47 registrations, queue pairs and domains are back to the start" until_true 20 registrations
ok "C-47 no page stays pinned" until_true 20 equal "$(on 1 cat /sys/class/misc/mooncake/pinned_bytes 2> /dev/null || on 1 cat /sys/class/misc/mooncake/pinned_pages)" 0
ok "C-47 the path still works" x 1 put "$N2" "$s" 0 1000000 3

# late WRITEs: packets of a failed put arrive after the space has been given to somebody else
x 1 put "$N2" "$s" 0 4194304 10 > /dev/null
x 1 now put "$N2" "$s" 4194304 11 500 "tc qdisc add dev eth0 root netem delay 4000ms limit 100000" > "$MC_B/late.out" 2>&1
ok "late WRITE: the put fails at its deadline" grep "put ETIMEDOUT" "$MC_B/late.out"
ok "late WRITE: it does not say that the segment is quiesced" grep "flags=0" "$MC_B/late.out"
# What is queued stays queued; packets from now on overtake it.
on 1 tc qdisc change dev eth0 root netem delay 0ms limit 100000
ok "late WRITE: the next put gets through" until_true 20 x 1 put "$N2" "$s" 0 4194304 12
sleep $((5 * MC_TIME_SCALE))
on 1 tc qdisc del dev eth0 root
ok "late WRITE: the old bytes never land on the new ones" x 2 get "$N2" "$s" 0 4194304 12

# the device goes away and comes back
x 1 load "$N2" "$s" 4194304 30 7 > "$MC_B/dev.out" 2>&1 &
until_true 10 grep -q started "$MC_B/dev.out"
ok "the device is removed under load" on 2 rdma link del rxe0
ok "its rails are gone" equal "$(x 2 rails)" ""
on 2 rdma link add rxe0 type rxe netdev eth0
x 2 rail rxe0 10.77.0.2 > /dev/null
wait $!
ok "the client went on over the new rail" grep -q "end=OK" "$MC_B/dev.out"

# the peer reboots
x 1 load "$N2" "$s" 4194304 60 7 > "$MC_B/reboot.out" 2>&1 &
until_true 10 grep -q started "$MC_B/reboot.out"
vm kill 2
vm boot 2 > /dev/null
join 2
x 2 peer "$N1" 10.77.0.1
wait $!
ok "a reboot of the owner makes its segments stale" grep -q "end=ESTALE" "$MC_B/reboot.out"
s=$(x 2 pool p 4194304)
ok "and new ones can be opened" until_true 20 x 1 put "$N2" "$s" 0 4194304 1

for n in 1 2; do
	ok "node $n: the module unloads cleanly" on $n sh -c '
		for id in $('"$X"' rails | sed -n "s/.*rail=\([0-9]*\).*/\1/p"); do '"$X"' rail-del $id; done
		for d in /sys/class/misc/mooncake/pools/*; do [ -d "$d" ] && '"$X"' pool-destroy ${d##*/}; done
		for i in $(seq 100); do rmmod mooncake 2> /dev/null && exit 0; sleep 0.1; done; exit 1'
	ok "node $n: no RDMA object is left" says "mr=0 qp=1 cq=1 pd=1 cm_id=0" objects $n
	on $n sh -c 'insmod "$MC_KO"'
done
