#!/bin/bash
# SPDX-License-Identifier: MIT
# C-53: what node 2 runs is killed and started again, with the same addresses, while node 1 reads from it all the time. A
# client is killed or asked to end, the module is loaded anew, in the long run the whole node loses its power.
. "$(dirname "$0")/lib.sh"
P=$MC_B/selftests/two/prog_restart
share=$MC_B/vm/$MCVM_SET/share
kills=4 clean=3 module_each=2 power_each=0
[ -z "${MC_LONG:-}" ] || kills=30 clean=20 module_each=2 power_each=6

# The client is number $number from now on.
serve() {
	on 2 sh -c 'for i in 1 2 3 4 5; do
		setsid -f "$0" serve c53 "$1" > /tmp/serve.out 2>&1 < /dev/null
		for t in $(seq 100); do [ -s /tmp/serve.out ] && break; sleep 0.02; done
		grep -q serving /tmp/serve.out && exit 0	# EEXIST: the one before is still ending
		sleep 0.1
	done; cat /tmp/serve.out; exit 1' "$P" "$1"
}
kill_client() {
	on 2 sh -c 'pkill "$0" -x prog_restart; while pgrep -x prog_restart > /dev/null; do sleep 0.02; done' "$1"
}
load_module() { kill_client -KILL && reload 2 && join 2; }
lose_power() { vm kill 2 && vm boot 2 > /dev/null && join 2; }
good() { grep -qx "good $1" "$share/c53.log"; }

# restart NUMBER COMMAND...: end what is there, start the next client, and see how long it takes until it is read from
slowest=0 late=0
restart() {
	local number=$1 t0 ms
	shift
	"$@" || { late=$((late + 1)); echo "# $*: failed"; }
	serve "$number" || { late=$((late + 1)); echo "# client $number did not start"; return; }
	t0=$(date +%s%N)
	for _ in $(seq $((400 * MC_TIME_SCALE))); do
		good "$number" && break
		sleep 0.05
	done
	ms=$((($(date +%s%N) - t0) / 1000000))
	[ $ms -le $slowest ] || slowest=$ms
	[ $ms -le $((5000 * MC_TIME_SCALE)) ] || { late=$((late + 1)); echo "# client $number after $ms ms: $*"; }
}

fresh ping_ms=500 ping_miss=3 connect_ms=1000 || echo "# setting up failed"
rm -f "$share/c53.log"
serve 1
on 1 sh -c 'setsid -f "$0" watch "$1" c53 /mnt/share/c53.log > /mnt/share/c53.out 2>&1 < /dev/null' "$P" "$N2"
ok "C-53 node 1 reads from node 2" until_true 10 good 1
n=1
for ((i = 1; i <= kills; i++)); do
	how="kill_client -KILL"
	[ $power_each -gt 0 ] && [ $((i % power_each)) = 0 ] && how=lose_power
	# shellcheck disable=SC2086 # a command and its argument
	restart $((++n)) $how
done
ok "C-53 after each of $kills kills the first good read comes within 5 s (slowest $slowest ms)" equal $late 0
slowest=0 late=0
for ((i = 1; i <= clean; i++)); do
	how="kill_client -TERM"
	[ $((i % module_each)) = 0 ] && how=load_module
	# shellcheck disable=SC2086
	restart $((++n)) $how
done
ok "C-53 and after $clean clean restarts (slowest $slowest ms)" equal $late 0

# One answer of the handshake comes after its time is over.
x 2 fault ctrl_delay_ms 1600
on 1 sh -c '"$0" peer-del "$1"; "$0" peer "$1" 10.77.0.2' "$X" "$N2"
ok "C-53 a handshake whose answer is late fails" until_true 15 says "hello" x 1 paths
x 2 fault ctrl_delay_ms 0
slowest=0 late=0
restart $((++n)) kill_client -TERM
ok "C-53 the late answer does no harm: the next attempt is good (after $slowest ms)" equal $late 0
on 1 pkill -TERM -x prog_restart
ok "C-53 the reader has ended" until_true 10 grep -q "^reads=" "$share/c53.log"
echo "# $(tail -1 "$share/c53.log")"
lie=$(sed -n 's/.* lie=\([0-9]*\).*/\1/p' "$share/c53.log")
ok "C-53 never 'live' for 5 s while reads fail" [ "${lie:-99999}" -le $((5000 * MC_TIME_SCALE)) ]
ok "C-53 and no read brought other bytes than the client's of the time" grep " wrong=0$" "$share/c53.log"
kill_client -KILL
finish
