# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# For the two-node tests: TAP, the nodes, and a clean module on both. Run on the host by tools/testing/run, or alone with
# MCVM_SET and MC_B set.
: "${MCVM:=$(dirname "${BASH_SOURCE[0]}")/../../../vm/mcvm}" "${MCVM_SET:?}" "${MC_B:?}" "${MC_TIME_SCALE:=1}"
X=$MC_B/selftests/two/prog_xfer
N1=11111111-0000-4000-8000-000000000001
N2=22222222-0000-4000-8000-000000000002
CLUSTER=cccccccc-0000-4000-8000-000000000000
KEY=000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f
OUT=$(mktemp -d)	# of this program alone: what another one left would be taken for an answer
count=0 failed=0 finished=no

# finish: the last line of each program. One that ends before it has failed, whatever it has tested by then.
finish() { finished=yes; }
leave()
{
	[ $finished = yes ] || ok "the program comes to its end" false
	jobs -p | xargs -r kill 2> /dev/null
	rm -rf "$OUT"
	echo "1..$count"
	exit $((failed > 0))
}
trap leave EXIT

on() { local n=$1; shift; "$MCVM" run --set "$MCVM_SET" --build "$MC_B" --timeout "${LIMIT:-120}" "$n" -- "$@"; }
vm() { local verb=$1; shift; "$MCVM" "$verb" --set "$MCVM_SET" --build "$MC_B" "$@"; }
x() { local n=$1; shift; on "$n" "$X" "$@"; }
uuid() { local v=N$1; echo "${!v}"; }

# ok NAME COMMAND...: one test; what the command printed is shown when it fails
ok()
{
	local name=$1 out
	shift
	count=$((count + 1))
	if out=$("$@" 2>&1); then
		echo "ok $count - $name"
	else
		failed=$((failed + 1))
		echo "not ok $count - $name"
		echo "# $*"
		while IFS= read -r line; do echo "# $line"; done <<< "$out"
	fi
}

# skip NAME REASON: a test that can't run here; lacks TAG: whether this kind of machine has none of that
skip() { count=$((count + 1)); echo "ok $count - $1 # SKIP $2"; }
lacks() { [[ " ${MC_LACKS:-} " == *" $1 "* ]]; }

# says TEXT COMMAND...: the command's output contains TEXT, whatever its status
says()
{
	local want=$1 out
	shift
	out=$("$@" 2>&1)
	echo "$out"
	[[ $out == *"$want"* ]]
}

refuses() { ! "$@"; }
equal() { echo "'$1' is '$2'"; [ "$1" = "$2" ]; }

# gives TEXT COMMAND...: for until_true, which has to run the command anew each time
gives()
{
	local want=$1 is
	shift
	is=$("$@") || return
	equal "$is" "$want"
}

# more_than NUMBER COMMAND...
more_than()
{
	local least=$1 is
	shift
	is=$("$@") || return
	echo "'$is' is not more than $least"
	[ "$is" -gt "$least" ]
}

# until_true SECONDS COMMAND...
until_true()
{
	local end=$((SECONDS + $1 * MC_TIME_SCALE))
	shift
	until "$@" > /dev/null 2>&1; do
		[ $SECONDS -lt $end ] || { "$@"; return; }
		sleep 0.3
	done
}

# field NODE KIND NAME: a number of `prog_xfer KIND`, of the only line
field() { x "$1" "$2" | tr ' ' '\n' | sed -n "s/^$3=//p"; }

# The module anew on a node: no daemons, no rails, no peers, no pools. Parameters follow.
reload()
{
	local n=$1
	shift
	on "$n" sh -c 'for i in 0 1; do
		rdma link show rxe$i/1 > /dev/null 2>&1 || rdma link add rxe$i type rxe netdev eth$i
	done'
	on "$n" "$(readlink -f "$(dirname "${BASH_SOURCE[0]}")/../reset-node")" "$@"
}

# join NODE [none|key [KEY]]: identity and rail
join()
{
	local n=$1 auth=${2:-none}
	x "$n" node "$(uuid "$n")" "$CLUSTER" "$auth"
	[ "$auth" = none ] || x "$n" key 1 "${3:-$KEY}"
	x "$n" rail rxe0 "10.77.0.$n" > /dev/null
}

introduce() { x 1 peer "$N2" 10.77.0.2 && x 2 peer "$N1" 10.77.0.1; }

# Both nodes with a clean module that know each other. Parameters of the module follow.
fresh()
{
	reload 1 "$@" && reload 2 "$@" && join 1 && join 2 && introduce
}

# The same with two rails each, on cables of their own.
fresh_rails()
{
	local n
	for n in 1 2; do
		vm link up
		reload "$n" "$@" && join "$n" && x "$n" rail rxe1 "10.77.1.$n" > /dev/null || return
	done
	introduce_rails
}

introduce_rails()
{
	x 1 peer-rails "$N2" 1=10.77.0.2 2=10.77.1.2 && x 2 peer-rails "$N1" 1=10.77.0.1 2=10.77.1.1
}

# live NODE COUNT: so many of its paths are live
live() { local n; n=$(x "$1" paths | grep -c state=live); echo "$n of $2 paths are live"; [ "$n" = "$2" ]; }

# rail_field NODE RAIL NAME: a number of one rail
rail_field() { x "$1" rails | grep -E "(^| )rail=$2 " | tr ' ' '\n' | sed -n "s/^$3=//p"; }

# objects NODE: what all its devices hold, together
objects() { on "$1" sh -c 'rdma -j resource show | python3 -c "
import json, sys
devices = json.load(sys.stdin)
print(\" \".join(\"%s=%d\" % (k, sum(d.get(k, 0) for d in devices)) for k in (\"mr\", \"qp\", \"cq\", \"pd\", \"cm_id\")))"'; }

# no_objects NODE: each of its devices has what the kernel itself uses, and no more
no_objects() { on "$1" sh -c 'rdma -j resource show | python3 -c "
import json, sys
devices = json.load(sys.stdin)
print(devices)
idle = dict(mr=0, qp=1, cq=1, pd=1, cm_id=0)
sys.exit(any(d.get(k, 0) != idle[k] for d in devices for k in idle))"'; }
