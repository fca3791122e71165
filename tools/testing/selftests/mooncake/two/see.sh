#!/bin/bash
# SPDX-License-Identifier: MIT
# Seeing what a node does: mcctl event, stat and top, against what was done.
. "$(dirname "$0")/lib.sh"
: "${MC_USER:=$MC_B/user}"
CTL=$MC_USER/bin/mcctl
share=$MC_B/vm/$MCVM_SET/share

# json FILE EXPRESSION: Python's opinion about the JSON values in a file, one a line or one in all, as the list `all`
json() {
	python3 - "$@" << 'PY'
import json, sys
text, at, all = open(sys.argv[1]).read(), 0, []
while text[at:].strip():
    at += len(text[at:]) - len(text[at:].lstrip())
    value, at = json.JSONDecoder().raw_decode(text, at)
    all.append(value)
def events(event, /, **want):
    return [e for e in all if e.get("event") == event and all_in(want, e)]
def all_in(want, e):
    return set(want.items()) <= set(e.items())
if not eval(sys.argv[2]):
    print(json.dumps(all, indent=1)[-3000:])
    sys.exit(1)
PY
}
told() { json "$share/events.log" "$1"; }

fresh || echo "# setting up failed"
rm -f "$share/events.log"
vm start 1 events "$CTL" --json event > /dev/null
# It follows from the moment it has joined: pools come and go until it says so.
joined() {
	x 1 pool-destroy "$(x 1 pool joined 4096)"
	[ -s "$share/events.log" ]
}
ok "mcctl event follows" until_true 10 joined
ok "a destroyed pool has name, owner and reason" \
	told "events('segment-gone', name='joined', node_uuid='$N1', reason='asked')"

s=$(x 2 pool p 8388608)
ok "8 writes of 256 KiB" on 1 sh -c "for i in 0 1 2 3 4 5 6 7; do $X put $N2 $s 0 262144 1 || exit 1; done"
ok "the peer that was connected" until_true 5 told "events('peer-up', node_uuid='$N2')"
ok "and the path, with both its ends" until_true 5 told "events('rail-up', rail=1, device='rxe0', node_uuid='$N2',
	remote_rail=1, remote_address='10.77.0.2', remote_port=50060)"
ok "each process that ended" until_true 5 told "len(events('buffer-gone', bytes=262144, reason='exit')) == 8"
ok "with its number" told "len({e['pid'] for e in events('buffer-gone', bytes=262144)}) == 8"

# ---- stat ----

on 1 "$CTL" --json stat > "$share/stat.json"
t() { json "$share/stat.json" "[t for t in all[0]['transports'] if (t['transport'], t['op']) == ('rdma', '$1')][0]$2"; }
ok "stat counts 8 requests" t write "['requests'] == 8"
ok "and their bytes" t write "['bytes'] == 8 * 262144"
ok "no reads" t read "['requests'] == 0"
ok "no errors" t write "['errors'] == 0"
ok "the histogram has each of them" json "$share/stat.json" \
	"[sum(h['count'] for h in t['histogram']) for t in all[0]['transports'] if t['transport'] == 'rdma'] == [0, 8]"
ok "the rail's histogram has each slice" json "$share/stat.json" \
	"[sum(h['count'] for h in t['histogram']) for t in all[0]['rails'][0]['slices']] == [0, 32]"
ok "a request takes longer than 1 us and less than 20 s" json "$share/stat.json" \
	"1000 < [t['p50_ns'] for t in all[0]['transports'] if t['requests']][0] < 20e9"
ok "a request that fails is an error, not a latency" refuses x 1 put "$N2" "$s" 8388000 65536 1
on 1 sh -c "$X fault wc_status 1; $X put $N2 $s 0 4096 1" > /dev/null 2>&1
on 1 "$CTL" stat > "$share/stat.txt"
ok "stat draws bars" grep -q '#####' "$share/stat.txt"
ok "and says which rail" grep -q 'rail 1 (rxe0), slices written' "$share/stat.txt"

# ---- top ----

LIMIT=280 x 1 load "$N2" "$s" 1048576 250 7 > "$OUT/see.out" 2>&1 &
load=$!
until_true 10 grep -q started "$OUT/see.out"
# On a slow machine it may take more than one look until requests have completed in between.
busy() {
	on 1 sh -c "$CTL --json top --once --interval 2s > /mnt/share/top.json"
	json "$share/top.json" "len([t for t in all[0]['transports'] if t['requests_s']]) == 2"
}
ok "top looks once" until_true 10 busy
ok "the rail carries bytes" json "$share/top.json" "all[0]['rails'][0]['write_bytes_s'] > 0"
ok "the peer too, both ways" json "$share/top.json" \
	"all[0]['peers'][0]['write_bytes_s'] > 0 and all[0]['peers'][0]['read_bytes_s'] > 0"
ok "the transport has requests and latencies" json "$share/top.json" \
	"[t for t in all[0]['transports'] if t['requests_s'] and 0 < t['p50_ns'] <= t['p99_ns']]"
ok "over the time that was asked for" json "$share/top.json" "1.9 < all[0]['seconds'] < 20"
ok "for people, no terminal needed" on 1 sh -c "$CTL top --once --interval 500ms < /dev/null > /mnt/share/top.txt 2>&1"
ok "with tables of all three" sh -c "grep -q ^TRANSPORT '$share/top.txt' && grep -q '^1 .*rxe0' '$share/top.txt' &&
	grep -q '^$N2 ' '$share/top.txt'"
ok "and no escape sequence" refuses grep -q "$(printf '\033')" "$share/top.txt"
ok "SIGINT ends top with 0" on 1 timeout --preserve-status -s INT 3 "$CTL" --json top --interval 200ms
ok "on a terminal it draws over itself" on 1 sh -c \
	"script -qec 'timeout --preserve-status -s INT 2 $CTL top --interval 200ms' /dev/null < /dev/null | grep -q '\[H'"

# ---- what an importer is told ----

ok "the owner withdraws the segment" x 2 pool-destroy "$s"
wait $load
ok "the node that had it open is told whose it was" until_true 5 \
	told "events('segment-gone', segment_uuid='$s', node_uuid='$N2', reason='owner')"
ok "a rail goes" x 1 rail-del 1
ok "rail down" until_true 5 told "events('rail-down', rail=1, device='rxe0', reason='asked')"
ok "and with it the peer, in words" until_true 10 told "[e for e in events('peer-down', node_uuid='$N2') if e['text']]"
ok "no number is missing" told "[e['seq'] for e in all] == list(range(all[0]['seq'], all[0]['seq'] + len(all)))"
ok "time does not run backwards" told "[e['time_ns'] for e in all] == sorted(e['time_ns'] for e in all)"

# ---- ends ----

ok "SIGINT ends event with 0" on 1 timeout --preserve-status -s INT 2 "$CTL" event
on 1 "$CTL" --timeout 1s event --count 1 > /dev/null 2>&1
ok "a count that is not reached in time is status 5" equal $? 5
on 1 "$CTL" --timeout 1s event > /dev/null 2>&1
ok "a time without a count is status 0" equal $? 0
ok "a count ends it" on 1 sh -c "(sleep 2; for i in 1 2 3; do u=\$($X pool e 4096); $X pool-destroy \$u; done) &
	$CTL --timeout 60s event --count 2 > /mnt/share/two.txt; s=\$?; wait; exit \$s"
ok "after so many lines" equal "$(wc -l < "$share/two.txt")" 2
ok "lines for people" grep -q '^\[ *[0-9]*\.[0-9]*\] segment-gone segment_uuid .* name e node_uuid .* reason asked$' \
	"$share/two.txt"
on 1 pkill -INT -x mcctl
finish
