#!/bin/bash
# SPDX-License-Identifier: MIT
# Grants between two nodes: what they stop before it is posted and while it is under way, keys that are replaced and clocks
# that jump under load, and a peer that has no key.
. "$(dirname "$0")/lib.sh"

reload 1 && reload 2 && join 1 key && join 2 key && introduce || echo "# setting up failed"
s=$(x 2 pool p 4194304)
other=ff0102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f
hour=3600000
moved() { x 1 peers | tr ' ' '\n' | awk -F= '/^(read|write)_bytes=/ { n += $2 } END { print n + 0 }'; }
# refused WANT COMMAND...: the request ends like that, and nothing of it was on the wire
refused()
{
	local before want=$1
	shift
	before=$(moved)
	says "$want" x 1 "$@" && equal "$(moved)" "$before"
}

ok "a request under its grant" says "put OK bytes=65536" x 1 under put "$N2" "$s" 65536 65536 $hour rw
ok "without a grant: EACCES, and no byte moves" refused "put EACCES bytes=0" under put "$N2" "$s" 65536 65536 $hour -
ok "a byte behind it: EACCES, and no byte moves" refused "get EACCES bytes=0" under get "$N2" "$s" 65537 65536 $hour r
ok "without the right to write: EACCES, and no byte moves" refused "put EACCES" under put "$N2" "$s" 65536 65536 $hour r
ok "without the right to read: EACCES, and no byte moves" refused "get EACCES" under get "$N2" "$s" 65536 65536 $hour w
ok "signed with another key: EACCES" says "grant EACCES" on 1 env MC_TEST_KEY=$other "$X" under get "$N2" "$s" 1 1 $hour r
ok "the owner needs a grant too" says "get EACCES bytes=0" x 2 under get "$N2" "$s" 65536 65536 $hour -
ok "ended before it was loaded: ETIME" says "grant ETIME" x 1 under get "$N2" "$s" 65536 65536 -1 r

# 64 slices that wait 100 ms each: the grant ends in the middle
x 1 fault post_delay_ms 100
ok "C-4 a grant that ends in a READ: ETIME, no byte counts" says "get ETIME bytes=0 fail_off=0" \
	x 1 under get "$N2" "$s" 4194304 4194304 1500 r
ok "C-4 a grant that ends in a WRITE: ETIME" says "put ETIME bytes=0 fail_off=0" \
	x 1 under put "$N2" "$s" 4194304 4194304 1500 w
x 1 fault post_delay_ms 0
ok "C-4 afterwards the path carries others" x 1 put "$N2" "$s" 0 1048576 5

# Keys and clocks change while bytes move in both directions.
seconds=$((MC_TIME_SCALE > 3 ? 16 : 10))
x 1 load "$N2" "$s" 300000 $seconds 1 > "$OUT/grants-load.out" 2>&1 &
loader=$!
until_true 20 grep -q started "$OUT/grants-load.out"
ok "the next key on both nodes, under load" eval "x 1 key 2 $other && x 2 key 2 $other"
ok "grants of the new generation" on 1 env MC_TEST_KEY=$other "$X" put "$N2" "$s" 1048576 100000 5
ok "an hour forth, under load" eval 'on 1 date -s "+1 hour" > /dev/null && on 2 date -s "-1 hour" > /dev/null'
wait $loader
ok "no transfer failed" grep "end=OK" "$OUT/grants-load.out"
ok "and there were some" refuses grep "rounds=0 " "$OUT/grants-load.out"
on 1 date -s "-1 hour" > /dev/null
on 2 date -s "+1 hour" > /dev/null
on 1 env MC_TEST_KEY=$other "$X" load "$N2" "$s" 300000 60 1 > "$OUT/grants-old.out" 2>&1 &
loader=$!
until_true 20 grep -q started "$OUT/grants-old.out"
x 1 key 3 "$KEY"
x 1 key 4 "$KEY"
wait $loader
ok "two generations later a grant is EACCES" grep "end=EACCES" "$OUT/grants-old.out"

# A peer without the key gets nowhere.
reload 1
join 1 key $other
introduce
no_lease() { [ "$(field 2 pools leases)" = 0 ]; }
ok "a peer without the key is told EACCES" says "open EACCES" x 1 open "$N2" "$s"
ok "and has no lease" until_true 20 no_lease
finish
