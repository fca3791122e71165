#!/bin/bash
# SPDX-License-Identifier: MIT
# Who may connect, and what a rail may be named.
. "$(dirname "$0")/lib.sh"

other=ff0102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f
reload 1 && reload 2 || echo "# setting up failed"

ok "no rail without an identity" says "set it first" x 1 rail rxe0 10.77.0.1
x 1 node "$N1" "$CLUSTER" key
ok "no rail without a key" says "no cluster key" x 1 rail rxe0 10.77.0.1
x 1 key 1 $KEY
for name in "" nope0 eth0 rxe0x "$(printf 'x%.0s' {1..33})"; do
	ok "C-96 device '$name' is refused with the list of usable ones" says "usable: rxe0" x 1 rail "$name" 10.77.0.1
done
ok "C-96 an address that is not this node's is refused" refuses x 1 rail rxe0 10.77.0.99
ok "C-96 an address of another device is refused" refuses x 1 rail rxe0 10.0.2.15
ok "C-96 nothing is half open" equal "$(x 1 rails)" ""
x 1 rail rxe0 10.77.0.1 > /dev/null
ok "C-96 the same address again is EEXIST" says "has address" x 1 rail rxe0 10.77.0.1

join 2 key $other
introduce
s=$(x 2 pool p 1048576)
ok "another key is refused" says "open EACCES" x 1 open "$N2" "$s"
ok "the proof is what failed" says "hello: error -13" x 1 peers
ok "nothing was leased" equal "$(field 2 pools leases)" 0
x 2 key 2 $KEY
x 1 key 2 $KEY
ok "with the same newest key the segment opens" says "open OK" x 1 open "$N2" "$s" 15000
ok "and bytes move" x 1 put "$N2" "$s" 0 1048576 1

reload 1
join 1 none
introduce
ok "auth none does not get in where a key is asked for" says "open EACCES" x 1 open "$N2" "$s"
reload 1
x 1 node "$N1" dddddddd-0000-4000-8000-000000000000 key
x 1 key 2 $KEY
x 1 rail rxe0 10.77.0.1 > /dev/null
introduce
ok "another cluster is refused" says "open ENOENT" x 1 open "$N2" "$s"
reload 1
join 1 key
x 1 key 2 $KEY
introduce
x 1 fault hello_version 9
ok "another protocol version is refused" says "open EPROTO" x 1 open "$N2" "$s"
x 1 fault hello_version 0
ok "and its own version gets in" says "open OK" x 1 open "$N2" "$s" 15000
finish
