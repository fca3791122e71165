#!/bin/bash
# SPDX-License-Identifier: MIT
# shellcheck disable=SC1091,SC2154 # lib.sh and what it takes and gives
# Two minutes of the fuzzers on a debug kernel, on machines of their own.
set -u
. "$(dirname "$0")/../../selftests/mooncake/lib.sh"
: "${KERNEL:?}" "${MC_B:?}"
export MCVM_SET=fuzz-$KERNEL

fuzz() { B=$MC_B "$MC_TOP/tools/testing/fuzz" --seconds 120 --seed 7 --kernel "$KERNEL" > "$TMP/out" 2>&1; }
plan 1
ok "two minutes of ioctls, netlink and hostile nodes, seed 7: nothing found" fuzz
sed 's/^/# /' "$TMP/out"
