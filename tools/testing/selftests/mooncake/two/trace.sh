#!/bin/bash
# SPDX-License-Identifier: MIT
# The main job in small: a trace replayed on two nodes comes to exactly the totals that counting gives, every byte over a path
# that somebody accounts for; one wrong stored byte is found and named; a path that breaks ends in errors.
set -u
. "$(dirname "$0")/../lib.sh"
share=$MC_B/vm/$MCVM_SET/share
requests=40
[ -z "${MC_LONG:-}" ] || requests=400
plan 17

replay() { # node programs tenant extra...
	local node=$1 bin=$2 tenant=$3
	shift 3
	mc 300 "$node" "$bin/mcctl" --master 10.77.0.1:50051 --tenant "$tenant" --timeout 10s trace replay \
		--trace /mnt/share/trace.jsonl --block 16K --node $((node - 1)) --conductor 10.77.0.1 "$@" \
		> "$TMP/replay$node" 2>&1
}

job() { # programs tenant extra...; exit statuses in status, status1, status2; the report in $TMP/report
	local one two
	replay 1 "$@" & one=$!
	replay 2 "$@" & two=$!
	mc 300 1 "$MC_USER/bin/mcctl" --json trace conduct --trace /mnt/share/trace.jsonl --block 16K \
		--request-timeout 60s > "$TMP/report" 2> "$TMP/conduct.err"
	status=$?
	wait $one; status1=$?
	wait $two; status2=$?
	sed 's/^/# /' "$TMP/conduct.err" | tail -n 3
}

# value EXPRESSION    of the report, as Python sees it
value() { /usr/bin/python3 -c 'import json, sys; r = json.load(open(sys.argv[1])); print(eval(sys.argv[2]))' "$TMP/report" "$1"; }
is() { [ "$(value "$1")" = "$2" ] || { note "$1 is $(value "$1"), not $2"; return 1; }; }

reset_nodes || note "reset failed"
ok "a cluster comes up" cluster 64M
"$MC_TOP/tools/demo/gen-trace" $requests > "$share/trace.jsonl"
"$MC_USER/bin/mcctl" --json trace count --trace "$share/trace.jsonl" > "$TMP/count"
want() { sed -n "s/.*\"$1\": \\([0-9]*\\).*/\\1/p" "$TMP/count"; }

job "$MC_USER/bin" exact
ok "a replay ends well on all sides" [ "$status/$status1/$status2" = 0/0/0 ]
for total in requests blocks hits misses; do
	ok "its $total are exactly those of counting" is "r['$total']" "$(want $total)"
done
ok "no byte was wrong, nothing failed" is "(r['verify_errors'], r['errors'], r['existed'])" "(0, 0, 0)"
ok "both nodes were served over RDMA" is "all(n['result']['hits_rdma'] > 0 for n in r['nodes'])" True
ok "both nodes were served by local copy" is "all(n['result']['hits_local'] > 0 for n in r['nodes'])" True
ok "the module counted every byte that the clients moved" is "r['other_bytes']" 0
ok "the RDMA devices' packets could have carried it" is "r['nic_agrees'] and r['counters']['nic']" True

# One stored byte is wrong: found by the other node, named, and not a success.
job "$MC_B/user-fault/bin" corrupt --flip-block auto
ok "a wrong stored byte is found" [ $status = 8 ]
ok "and named: key, node, offset, where it came from" \
	grep -qE 'wrong byte: key kv-[0-9]+, node node[12], offset 5461: .* from node .*, segment' "$TMP/conduct.err"
ok "and counted" is "r['verify_errors'] > 0" True

# The path breaks: errors in bounded time, no pass.
broken() {
	local node
	for node in 1 2; do
		mc 30 "$node" sh -c 'nft add table inet broken && nft "add chain inet broken in { type filter hook input priority 0; }" &&
			nft add rule inet broken in udp dport 4791 drop' || return 1
	done
}
ok "UDP port 4791 is dropped on both nodes" broken
began=$SECONDS
job "$MC_USER/bin" broken
ok "a broken path ends in an error, not in a pass" [ $status != 0 ]
ok "in bounded time ($((SECONDS - began)) s)" [ $((SECONDS - began)) -lt $((90 * MC_TIME_SCALE)) ]
for node in 1 2; do
	mc 30 "$node" nft delete table inet broken
	mc 30 "$node" pkill -TERM -x mcnoded
done
