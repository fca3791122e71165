#!/bin/bash
# SPDX-License-Identifier: MIT
# shellcheck disable=SC1091,SC2034,SC2154 # lib.sh and what it takes and gives
# A bug of each kind is loaded into the debug kernel and must be found by what looks for reports after every test. A detector
# that says nothing would make every other result worthless. On a machine of our own.
set -u
. "$(dirname "$0")/../../selftests/mooncake/lib.sh"
: "${KERNEL:?}" "${MC_B:?}"
MCVM_SET=planted-$KERNEL
ko=$MC_B/debug-$KERNEL/planted/planted.ko
trap '"$MCVM" down --set "$MCVM_SET" --build "$MC_B"; rm -rf "$TMP"' EXIT

node() { mc 30 1 "$@"; }
found() { "$MCVM" check --set "$MCVM_SET" --build "$MC_B"; }
machine() {
	"$MCVM" down --set "$MCVM_SET" --build "$MC_B"
	"$MCVM" up --set "$MCVM_SET" --build "$MC_B" -n 1 --kernel "$KERNEL" --no-modules --mem 1024 --boot-timeout 900 > "$TMP/up"
	sed 's/^/# /' "$TMP/up"
	MC_TIME_SCALE=$(sed -nE 's/.*time scale ([0-9]+).*/\1/p' "$TMP/up")
}

# planted BUG REPORT: the check says nothing new, the bug is loaded, the check tells of it as REPORT
planted() {
	local before
	before=$(found | grep -c '^node')
	node insmod "$ko" "bug=$1" 2> /dev/null
	[ "$1" != leak ] || node "$MC_TOP/tools/testing/debug/node-check" --no-module > "$TMP/leaks"
	sleep 0.5
	found > "$TMP/after"
	tail -n +$((before + 1)) "$TMP/after" | sed 's/^/# /'
	ok "$1 is found" grep -qE "$2" <(tail -n +$((before + 1)) "$TMP/after")
}

planted_all() {
	machine
	ok "the console of a machine that is up has no reports" found
	ok "nothing is wrong with it" node "$MC_TOP/tools/testing/debug/node-check" --no-module
	# Lockdep's first, which other reports turn off.
	planted rcu-unprotected 'suspicious RCU usage'
	if [ "$KERNEL" = uml-debug ]; then
		skip "sleep-in-atomic is found" "tag atomic: User-Mode Linux doesn't count preemption"
	else
		planted sleep-in-atomic 'sleeping function called|scheduling while atomic'
	fi
	planted lock-inversion 'possible circular locking'
	node "$MC_TOP/tools/testing/debug/node-check" --no-module > "$TMP/check"
	ok "that lockdep is off is found" grep -q 'lockdep is off' "$TMP/check"
	machine
	planted leak 'kmemleak: [0-9]+ new suspected'
	ok "and told by the check of a node" grep -q 'kmemleak: .* leaked' "$TMP/leaks"
	planted refcount 'refcount_t: '
	planted ubsan-shift 'UBSAN: shift'
	planted ubsan-bounds 'UBSAN: array-index'
	planted list-corruption 'list_del corruption'
	planted object-freed 'ODEBUG: free active'
	planted slab-overrun 'KASAN: slab-out-of-bounds'
	planted use-after-free 'KASAN: .*use-after-free'
	planted vmalloc-overrun 'KASAN: vmalloc-out-of-bounds'
}

planted_all
echo "1..$__count"
