#!/bin/bash
# SPDX-License-Identifier: MIT
# tags: debug
# shellcheck disable=SC1091,SC2154
# The unit tests of common/ in the kernel, as KUnit suites: only debug kernels have KUnit.
set -u
. "$(dirname "$0")/../lib.sh"
ko=$MC_B/debug-$MC_KERNEL/kunit/mc_kunit.ko
results=/sys/kernel/debug/kunit

modprobe kunit enable=1
ok "the module with the tests loads" insmod "$ko"
passed=0
while IFS= read -r name; do
	case $name in
	not\ *) ok "${name#not }" false ;;
	*) ok "$name" true && passed=$((passed + 1)) ;;
	esac
done < <(sed -nE 's/^ +(not )?ok [0-9]+ (- )?([a-z0-9_]+\.[^#]*[^# ]).*/\1\3/p' $results/mooncake-*/results)
ok "as many as the files have tests" \
	[ "$passed" = "$(cat "$MC_TOP"/common/tests/test_*.c | grep -oE '\bcmocka_unit_test\(' | wc -l)" ]
grep -hE '^ *# ' $results/mooncake-*/results | grep -v 'module:\|Totals\|mooncake-.*: pass' | sed 's/^ */# /'
ok "it unloads" rmmod mc_kunit
echo "1..$__count"
