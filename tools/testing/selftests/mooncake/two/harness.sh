#!/bin/bash
# SPDX-License-Identifier: MIT
# The harness itself: output, exit status, limits of time, and that a kernel report is found. The reports are made on a
# machine of our own, so that they don't count against the nodes of the other tests.
set -u
. "$(dirname "$0")/../lib.sh"
own=harness-self
plan 9

node1() { mc "${limit:-20}" 1 "$@"; }

out=$(node1 bash -c 'echo out; echo err >&2; exit 7' 2>"$TMP/err")
ok "output and exit status pass through" [ "$?/$out/$(cat "$TMP/err")" = "7/out/err" ]
start=$SECONDS
"$MCVM" run --set "$MCVM_SET" --build "$MC_B" --timeout 2 1 -- sleep 1000 2>/dev/null
status=$?
ok "a command that hangs ends with 124" [ "$status" = 124 ]
ok "and within its time" [ $((SECONDS - start)) -lt 20 ]
gone() { node1 pgrep -f 'sleep 1000' >/dev/null; [ $? = 1 ]; }
ok "and leaves no process" within 5 gone
node1 no-such-program 2>/dev/null
ok "a program that isn't there is 127" [ $? = 127 ]
node1 ping -c 1 -W 5 10.77.0.2 >/dev/null
ok "the nodes reach one another" [ $? = 0 ]

trap '"$MCVM" down --set "$own" --build "$MC_B"; rm -rf "$TMP"' EXIT
"$MCVM" down --set "$own" --build "$MC_B"
"$MCVM" up --set "$own" --build "$MC_B" -n 1 --kernel "${KERNEL:-6.1}" --no-modules --mem 1024 \
	--boot-timeout 600 | sed 's/^/# /'
"$MCVM" check --set "$own" --build "$MC_B" >/dev/null
ok "a console without reports is clean" [ $? = 0 ]
"$MCVM" run --set "$own" --build "$MC_B" 1 -- bash -c \
	'echo "<4>WARNING: CPU: 0 PID: 1 at kmod/x.c:1 harness self test" > /dev/kmsg'
"$MCVM" check --set "$own" --build "$MC_B" >"$TMP/found"
ok "a WARNING on a console fails the check" [ $? = 1 ]
ok "and is shown with its node" grep -q '^node 1: .*harness self test' "$TMP/found"
