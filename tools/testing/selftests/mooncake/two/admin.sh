#!/bin/bash
# SPDX-License-Identifier: MIT
# What administrators meet: errors that name cause and place, wrong device names, mcnoded that ends and comes back.
set -u
. "$(dirname "$0")/../lib.sh"
share=$MC_B/vm/$MCVM_SET/share
plan 30

# try NODE COMMAND...    its status, with what it printed in $TMP/out and $TMP/err
try() {
	status=0
	mc 60 "$@" > "$TMP/out" 2> "$TMP/err" || status=$?
}
try_ctl() { local node=$1; shift; try "$node" "$MC_USER/bin/mcctl" --master 10.77.0.1:50051 --timeout 10s "$@"; }

# error STATUS WORDS...    one line on stderr with these words, nothing on stdout
error() {
	local want=$1 word
	shift
	[ "$status" = "$want" ] && [ ! -s "$TMP/out" ] && [ "$(wc -l < "$TMP/err")" = 1 ] || {
		note "status $status, $(wc -c < "$TMP/out") bytes on stdout, stderr: $(head -c 400 "$TMP/err")"
		return 1
	}
	for word in "$@"; do
		grep -qF -- "$word" "$TMP/err" || { note "no '$word' in: $(cat "$TMP/err")"; return 1; }
	done
}
listed() { ctl "$1" --json "$2" list 2> "$TMP/err"; }
empty() { [ "$(listed "$1" "$2")" = "[]" ]; }

ok "both nodes are fresh" reset_nodes
echo value > "$share/value"

# ---- C-93: what needs a kernel ----

"$MCVM" start 1 mcmasterd "$MC_USER/bin/mcmasterd" --listen 10.77.0.1
answers() { ctl 1 master status > /dev/null 2>&1; }
ok "a master without nodes answers" within 20 answers
try_ctl 1 object put k /mnt/share/value
ok "C-93 no segment mounted" error 1 "NO_AVAILABLE_HANDLE" "no segment is mounted"
try 1 setpriv --reuid=65534 --regid=65534 --clear-groups "$MC_USER/bin/mcctl" --master 10.77.0.1 object get k
ok "C-93 no permission: the device" error 6 "/dev/mooncake"
try 1 setpriv --reuid=65534 --regid=65534 --clear-groups "$MC_USER/bin/mcctl" pool create p 1M
ok "C-93 no permission: a command that changes something" error 6 "'p'" "CAP_SYS_ADMIN"
try 1 setpriv --reuid=65534 --regid=65534 --clear-groups "$MC_USER/bin/mcctl" --json pool list
ok "anybody may look" [ "$status" = 0 ]
mc 30 2 rmmod mooncake
try_ctl 2 rail list
ok "C-93 module not loaded" error 7 "module mooncake is not loaded"
try_ctl 2 object put k /mnt/share/value
ok "C-93 device missing" error 7 "/dev/mooncake"
try 2 "$MC_USER/bin/mcnoded" --config /dev/null
ok "mcnoded without a configuration" error 2 "/dev/null"
ok "both nodes are fresh again" reset_nodes

# ---- C-96: wrong devices, and other things that are not there ----

try_ctl 1 rail add rxe0 10.77.0.1
ok "a rail before there is an identity is refused" error 1 "identity"
cluster=$(cat /proc/sys/kernel/random/uuid)
try_ctl 1 node set --cluster "$cluster" --uuid "$(cat /proc/sys/kernel/random/uuid)" --auth key
ok "an identity can be set" [ "$status" = 0 ]
try_ctl 1 rail add rxe0 10.77.0.1
ok "a rail without a key, and without leave to go without, is refused" error 1 "no cluster key"
# shellcheck disable=SC2016 # expanded on the node
mc 30 1 sh -c 'rm -f /tmp/key && "$1" key generate /tmp/key && "$1" key load /tmp/key' sh "$MC_USER/bin/mcctl" > /dev/null
for dev in nope0 eth0 "$(printf 'x%.0s' {1..63})"; do
	try_ctl 1 rail add "$dev" 10.77.0.1
	ok "C-96 device '${dev:0:8}' is an error that lists usable ones" error 3 "'$dev'" rxe0
done
try_ctl 1 rail add "" 10.77.0.1
ok "C-96 no name at all" [ "$status" = 3 -o "$status" = 1 ]
try_ctl 1 rail add rxe0 10.77.0.77
ok "C-96 an address that the node has not" [ "$status" = 1 -a ! -s "$TMP/out" ]
ok "C-96 nothing is half-open after all that" empty 1 rail
try_ctl 1 pool destroy nope
ok "a pool that is not there" error 3 "'nope'"
try_ctl 1 rail del 7
ok "a rail that is not there" error 3 "rail 7"

# ---- mcnoded: wrong device, kill, SIGTERM ----

cat > "$share/wrong.yaml" <<EOT
master: 10.77.0.1
cluster: $cluster
auth: none
uuid_file: /tmp/wrong-uuid
rails: [{device: nope0, address: 10.77.0.1}]
pool: {name: p, size: 1M}
EOT
try 1 "$MC_USER/bin/mcnoded" --config /mnt/share/wrong.yaml
ok "C-96 mcnoded with a wrong device ends, naming it and the usable ones" error 1 nope0 rxe0
ok "C-96 and leaves no pool" empty 1 pool
ok "a cluster comes up, under another identity" cluster 16M
segment() { ctl "$1" --json pool list | sed -n 's/.*"segment_uuid": "\(.*\)".*/\1/p'; }
mounts() { [ "$(ctl 1 --json master segments 2> /dev/null | grep -c '"state": "ok"')" = "$1" ]; }
ctl 2 object put kept /mnt/share/value > /dev/null
ctl 1 object put kept2 /mnt/share/value > /dev/null
before=$(segment 2)
mc 30 2 pkill -KILL -x mcnoded
"$MCVM" start 2 mcnoded-2b "$MC_USER/bin/mcnoded"
back() { grep -qs 'is mounted' "$share/mcnoded-2b.log"; }
ok "a killed mcnoded comes back" within 20 back
ok "with the same pool" [ -n "$before" -a "$(segment 2)" = "$before" ]
both() { ctl 2 object get kept "$1" > /dev/null && cmp -s "$share/value" "$share/got" &&
	ctl 1 object get kept2 "$1" > /dev/null && cmp -s "$share/value" "$share/got"; }
ok "and objects are still there" both /mnt/share/got
mc 30 2 pkill -TERM -x mcnoded
ok "SIGTERM unmounts" within 20 mounts 1
ok "and leaves the pool in the kernel" [ "$(segment 2)" = "$before" ]
mc 30 1 pkill -TERM -x mcnoded
ok "the other one too" within 20 mounts 0
