#!/bin/bash
# SPDX-License-Identifier: MIT
# C-59: every call ends by its deadline, whatever does not answer: the other node's kernel, the network, the master.
set -u
. "$(dirname "$0")/../lib.sh"
share=$MC_B/vm/$MCVM_SET/share
plan 11

reset_nodes || note "reset failed"
ok "a cluster comes up" cluster 64M

# Runs on the node: how many milliseconds a command took, and its exit status.
cat > "$share/took" <<'SH'
#!/bin/sh
a=$(date +%s%N)
"$@" > /mnt/share/took.out 2> /mnt/share/took.err
status=$?
echo "$((($(date +%s%N) - a) / 1000000)) $status"
SH
chmod +x "$share/took"
timed() {	# NODE ARGUMENT... -> $ms, $status
	local node=$1
	shift
	read -r ms status <<< "$(mc 60 "$node" /mnt/share/took "$MC_USER/bin/mcctl" --master 10.77.0.1:50051 "$@")"
	note "$*: $ms ms, exit $status: $(cat "$share/took.err")"
}
# The deadline held: an error, not later than half a second (times the scale) behind the deadline, beside what starting a
# program takes. It may come sooner, when the kernel knows that no path leads to the node.
held() { [ "$status" != 0 ] && [ "$ms" -le $(($1 + 500 * MC_TIME_SCALE + start)) ]; }

head -c 1048576 /dev/urandom > "$share/a"
timed 1 object put warm /mnt/share/a
timed 1 object exist warm
start=$ms

# Objects on the other node: written there until one is.
far=
for i in 1 2 3 4 5 6 7 8 9 10 11 12; do
	ctl 1 object put "k$i" /mnt/share/a > /dev/null || note "put k$i failed"
	if ctl 1 --json object stat "k$i" | grep -q '"segment": "pool2"'; then
		far=k$i
		break
	fi
done
ok "an object lies on the other node" [ -n "$far" ]
[ -n "$far" ] || exit 1
ctl 1 object get "$far" /mnt/share/got > /dev/null || note "get failed"

# Node 2 keeps its host, but nothing gets through to it; the master is on node 1.
"$MCVM" link --set "$MCVM_SET" --build "$MC_B" down
for t in 200 2000; do
	timed 1 --timeout ${t}ms object get "$far" /mnt/share/got
	ok "C-59 get with a deadline of $t ms while the other node is cut off" held $t
done
# A caller that is killed while it waits is gone at once.
cat > "$share/killed" <<'SH'
#!/bin/sh
"$@" > /dev/null 2>&1 &
pid=$!
sleep 1
grep -H . "/proc/$pid/stat" > /dev/null || { echo 99999; exit 1; }
a=$(date +%s%N)
kill -9 $pid
wait $pid
echo $((($(date +%s%N) - a) / 1000000))
SH
chmod +x "$share/killed"
gone=$(mc 60 1 /mnt/share/killed "$MC_USER/bin/mcctl" --master 10.77.0.1:50051 --timeout 20s object get "$far" /mnt/share/got)
note "killed caller gone after $gone ms"
ok "C-59 a killed caller is gone within a second" [ "$gone" -le $((1000 * MC_TIME_SCALE)) ]
timed 1 --timeout 10s object get "$far" /mnt/share/got
ok "C-59 get with a deadline of 10 s" held 10000

# A put may go to either pool; the one to the other node has to end in time, the local one succeeds.
late=0
for i in 1 2 3; do
	timed 1 --timeout 2000ms object put "p$i" /mnt/share/a
	[ "$status" = 0 ] || held 2000 || [ "$ms" -le $((2500 + start)) ] || late=1
done
ok "C-59 puts with a deadline of 2000 ms" [ $late = 0 ]

stuck() { mc 60 1 sh -c 'cat /proc/[0-9]*/stat 2>/dev/null' | grep -c '(mcctl) D'; }
ok "C-59 nobody is left in an uninterruptible sleep" within 5 sh -c "[ '$(stuck)' = 0 ]"
"$MCVM" link --set "$MCVM_SET" --build "$MC_B" up

# The master is stopped, not gone: its connection stays open.
mc 60 1 sh -c 'kill -STOP $(pidof mcmasterd)'
for t in 200 2000; do
	timed 1 --timeout ${t}ms object get "$far" /mnt/share/got
	ok "C-59 get with a deadline of $t ms while the master is stopped" held $t
done
timed 1 --timeout 2000ms object put late /mnt/share/a
ok "C-59 put with a deadline of 2000 ms while the master is stopped" held 2000
mc 60 1 sh -c 'kill -CONT $(pidof mcmasterd)'
