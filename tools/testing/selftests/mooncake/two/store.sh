#!/bin/bash
# SPDX-License-Identifier: MIT
# The store on two nodes, through the command that people use: objects cross the nodes byte by byte, errors are what they
# should be, and a stock gRPC client sees what mcctl sees.
set -u
. "$(dirname "$0")/../lib.sh"
share=$MC_B/vm/$MCVM_SET/share
plan 19

reset_nodes || note "reset failed"
ok "a cluster comes up" cluster 64M

size=$((5 * 1048576 + 4097))
head -c $size /dev/urandom > "$share/a"
head -c $size /dev/urandom > "$share/b"
round_trip() {	# put on one node, get on both
	local key=$1 from=$2 node
	ctl "$from" object put "$key" /mnt/share/a > /dev/null || return 1
	for node in 1 2; do
		rm -f "$share/got"
		ctl "$node" object get "$key" /mnt/share/got > /dev/null || return 1
		cmp "$share/a" "$share/got" || return 1
	done
}
all=0
for i in 1 2 3 4; do round_trip "k$i" $((i % 2 + 1)) || all=1; done
ok "objects put on either node are read on both, byte for byte" [ $all = 0 ]

# Placement is random over two pools: of four objects read on both nodes, with probability 1 - 2^-3 some cross from each
# side; what is certain is that a replica on the other node is read over RDMA.
carried() { ctl "$1" --json rail list | sed -n "s/.*\"$2\": \\([0-9]*\\).*/\\1/p" | head -n 1; }
remote=0
for i in 1 2 3 4; do
	ctl 1 --json object stat "k$i" | grep -q '"segment": "pool2"' && remote=1
done
[ $remote = 0 ] || remote=$(carried 1 read_bytes)
bytes=$(( $(carried 1 read_bytes) + $(carried 1 write_bytes) + $(carried 2 read_bytes) + $(carried 2 write_bytes) ))
ok "the rails carried whole objects" [ "$bytes" -ge $((4 * size)) ]

# A put prefers one segment, so that it is known on which node the object is. Odd lengths have a last page of their own.
ctl 1 object put --segment pool1 m1 /mnt/share/a > /dev/null
rm -f "$share/got"
ctl 1 object get --map m1 /mnt/share/got > /dev/null
ok "an object of this node is read through a mapping, byte for byte" cmp "$share/a" "$share/got"
ctl 2 object get --map m1 /mnt/share/got > "$TMP/out" 2> "$TMP/err"
ok "one of another node is refused by name" grep -q 'NOT_SUPPORTED.*on this node' "$TMP/err"

ctl 1 object put k1 /mnt/share/b > "$TMP/out" 2> "$TMP/err"
status=$?
ok "C-3 a put that stored nothing is not a success" [ $status = 4 ]
ok "C-3 and says so on one line of stderr" [ "$(wc -l < "$TMP/err")/$(wc -c < "$TMP/out")" = 1/0 ]
ctl 2 object get k1 /mnt/share/got > /dev/null
ok "C-3 the first value stays" cmp "$share/a" "$share/got"
ctl 2 --json object put-batch k1=/mnt/share/b new=/mnt/share/b > "$TMP/batch" 2>/dev/null
ok "C-3 a batch tells them apart" \
	[ "$(grep -o '"code": -\{0,1\}[0-9]*' "$TMP/batch" | tr -dc '0-9\n-' | paste -sd,)" = -705,0 ]

# The same replicas for a stock gRPC client.
cat > "$share/stat.py" <<'PY'
import json, sys, subprocess, uuid
proto, out, addr, key = sys.argv[1:5]
subprocess.run([sys.executable, "-m", "grpc_tools.protoc", "-I" + proto, "--python_out=" + out, "--grpc_python_out=" + out,
                "mooncake.proto"], check=True)
sys.path.insert(0, out)
import grpc, mooncake_pb2 as pb, mooncake_pb2_grpc as rpc
stub = rpc.MasterStub(grpc.insecure_channel(addr))
r = stub.GetReplicaList(pb.KeyRequest(key=key.encode()), timeout=60)
assert r.status.code == 0, r.status
print(json.dumps([[str(uuid.UUID(bytes=x.node_uuid)), str(uuid.UUID(bytes=x.segment_uuid)), x.offset, x.length, x.status]
                  for x in r.replicas]))
PY
mc 120 1 mkdir -p /tmp/grpc
mc 120 1 /usr/bin/python3 /mnt/share/stat.py "$MC_TOP/userspace/proto" /tmp/grpc 10.77.0.1:50051 k1 \
	> "$TMP/grpc" 2> "$TMP/grpc.err" ||
	sed 's/^/# /' "$TMP/grpc.err"
ctl 1 --json object stat k1 > "$TMP/stat"
same() {
	/usr/bin/python3 - "$TMP/grpc" "$TMP/stat" <<'PY'
import json, sys
a, b = json.load(open(sys.argv[1])), json.load(open(sys.argv[2]))["replicas"]
assert len(a) == len(b) == 1, (a, b)
assert a[0][0] == b[0]["node_uuid"] and a[0][1] == b[0]["segment_uuid"] and a[0][2] == b[0]["offset"], (a, b)
assert a[0][4] == 3, a
PY
}
ok "a stock gRPC client sees the replicas that mcctl sees" same

# Leases last 10 s; those of processes that die end when their kernel says so.
readers=$([ -n "${MC_LONG:-}" ] && [ "${MC_LONG:-0}" != 0 ] && echo 50 || echo 20)
mc 120 2 "$MC_B/selftests/two/prog_store" kill 10.77.0.1:50051 "$readers" 31 > "$TMP/kill" 2>&1
sed 's/^/# /' "$TMP/kill"
# However slow the machine is, well before the lease is over.
limit=$((MC_TIME_SCALE < 6 ? 1000 * MC_TIME_SCALE : 6000))
soon() { [ "$(sed -n 's/.*removed_ms=\([0-9]*\).*/\1/p' "$TMP/kill")" -le $limit ]; }
ok "C-31 what $readers killed readers protected is removed within a second" soon
no_leases() { [ "$(ctl 1 --json master status | grep -c '"leases": 0')" = 1 ]; }
ok "C-31 and no lease is left" no_leases

# Reading k2 took a lease of 10 s: until its end removing is refused.
removed() { ctl 2 object rm k2 2> "$TMP/err"; }
ok "remove works" within 30 removed
ctl 1 object get k2 /mnt/share/got 2> "$TMP/err"
ok "and the object is gone" [ $? = 3 ]

# A pool that is full is an error that says so, and nothing else is disturbed.
head -c $((63 * 1048576)) /dev/zero > "$share/big"
ctl 1 object put big1 /mnt/share/big > /dev/null 2>&1
ctl 1 object put big2 /mnt/share/big > /dev/null 2>&1
ctl 1 object put big3 /mnt/share/big > "$TMP/out" 2> "$TMP/err"
status=$?
ok "no room is an error that names it" grep -q NO_AVAILABLE_HANDLE "$TMP/err"
ok "with its exit status" [ $status = 1 ]

# The master restarts: objects are gone (a miss, never a wrong answer), segments come back by themselves.
mc 20 1 pkill -KILL -x mcmasterd
uuid=$(<"$share/cluster.uuid")
"$MCVM" start 1 mcmasterd "$MC_USER/bin/mcmasterd" --listen 10.77.0.1 --cluster-uuid "$uuid" --restart-rest-ms 0 \
	--key-file /etc/mooncake/cluster.key
mounted() { [ "$(ctl 1 --json master segments 2>/dev/null | grep -c '"state": "ok"')" = 2 ]; }
ok "after a restart of the master the nodes mount again" within 20 mounted
ctl 1 object get k1 /mnt/share/got 2>/dev/null
ok "its objects are misses" [ $? = 3 ]
ok "and it takes new ones" round_trip again 2
mc 30 1 pkill -TERM -x mcnoded
mc 30 2 pkill -TERM -x mcnoded
