#!/bin/bash
# SPDX-License-Identifier: MIT
# Each tracepoint of the module is seen when what it is about happens, and says so with the right values.
. "$(dirname "$0")/lib.sh"
T=/sys/kernel/debug/tracing

# traced NODE EVENT TEXT: a line of this event with this text (an expression of grep -E)
traced() { on "$1" grep -E " $2: .*$3" "$T/trace"; }
trace() { on "$1" sh -c "echo $2 > $T/events/mooncake/enable && echo 8192 > $T/buffer_size_kb; echo > $T/trace"; }

fresh revoke_ms=1000 || echo "# setting up failed"
ok "the module's events can be enabled" trace 1 1
ok "on both nodes" trace 2 1
s=$(x 2 pool p 8388608)

ok "a write of 256 KiB" x 1 put "$N2" "$s" 0 262144 1
ok "is submitted" traced 1 mc_submit "WRITE segment $s offset 0 len 262144"
ok "is cut into slices" traced 1 mc_slice_cut 'offset 196608 len 65536'
ok "that are posted" traced 1 mc_slice_post 'offset 0 len 65536 rail 1 tries 0'
ok "and done" traced 1 mc_slice_done 'offset 65536 len 65536 err 0'
ok "and completes with all its bytes" traced 1 mc_complete 'bytes 262144 result 0'
ok "its memory was pinned" traced 1 mc_pin 'pages (64|65) result 0'
ok "and let go" until_true 5 traced 1 mc_unpin 'pages (64|65)$'
ok "its chunk was registered" traced 1 mc_mr_reg 'device rxe0 buffer chunk 0 pages (64|65) result 0'
ok "and withdrawn" until_true 5 traced 1 mc_mr_dereg 'device rxe0 buffer chunk 0'
ok "the owner registered the pool" traced 2 mc_mr_reg 'device rxe0 segment chunk 0 pages [0-9]+ result 0'
ok "the path came up" traced 1 mc_path "node $N2 rail 1 from hello to live err 0"

# A completion that counts as failed: the path breaks, is fenced, and the slice goes again.
x 1 fault wc_status 2
ok "a write over a path that breaks" x 1 put "$N2" "$s" 0 262144 2
ok "the path broke" traced 1 mc_path "node $N2 rail 1 from live to broken err -5"
ok "its slices were fenced" traced 1 mc_slice_fence 'tries 1'
ok "and posted again" traced 1 mc_slice_retry 'tries 1'

# Too little time.
x 1 fault wc_delay_ms 3000
x 1 put "$N2" "$s" 0 262144 3 1000 > /dev/null 2>&1
x 1 fault wc_delay_ms 0
ok "a request is stopped by its deadline" until_true 10 traced 1 mc_stop 'result -110'

# Taken back from a peer that answers, and from one that does not.
LIMIT=280 x 1 load "$N2" "$s" 1048576 250 7 > "$OUT/tp.out" 2>&1 &
until_true 20 grep -q started "$OUT/tp.out"
x 2 pool-destroy "$s"
wait $!
ok "the peer is told that the segment goes" traced 2 mc_revoke_tell "node $N1 segment $s"
ok "it sees it go" until_true 5 traced 1 mc_revoked "node $N2 segment $s"
ok "and acknowledges" until_true 5 traced 2 mc_revoke_ack "node $N1 segment $s"
ok "then it is over" until_true 5 traced 2 mc_revoke_done 'len 8388608 peers cut off 0'
s=$(x 2 pool p 4194304)
x 1 hold "$N2" "$s" 4194304 > "$OUT/tp2.out" 2>&1 &
until_true 10 grep -q started "$OUT/tp2.out"
on 1 tc qdisc add dev eth0 root netem loss 100%
x 2 pool-destroy "$s"
ok "one that is silent is cut off" until_true 20 traced 2 mc_revoke_cut "node $N1 segment $s"
ok "and then it is over too" until_true 10 traced 2 mc_revoke_done 'len 4194304 peers cut off 1'
on 1 tc qdisc del dev eth0 root
on 1 pkill prog_xfer
wait $!

# None is left that this test does not know.
for n in 1 2; do on $n cat "$T/trace" > "$MC_B/tp-$n"; done
for e in $(on 1 ls "$T/events/mooncake"); do
	case $e in
	enable|filter) ;;
	*) ok "$e was seen" sh -c "grep -q ' $e: ' '$MC_B/tp-1' || grep -q ' $e: ' '$MC_B/tp-2'" ;;
	esac
done
for n in 1 2; do trace $n 0; done
ok "no key is in a trace" sh -c "! grep -iE 'key' '$MC_B'/tp-[12]"
finish
