#!/bin/bash
# SPDX-License-Identifier: MIT
# A short run of the fuzzers with a fixed seed; tools/testing/fuzz is the long one.
. "$(dirname "$0")/../lib.sh"
F=${MC_USER%/user}/selftests/fuzzers
seconds=3
[ -n "${MC_LONG:-}" ] && seconds=60

load() {
	# shellcheck disable=SC2086 # parameters are words
	insmod "$MC_KO" $MC_KO_PARAMS && within 5 test -e /dev/mooncake && chgrp mooncake /dev/mooncake && chmod 660 /dev/mooncake
}

plan 4
ok "ioctls, rings and mappings of all kinds leave nothing behind" "$F/fuzz_ioctl" --seed 7 --seconds $seconds
ok "netlink messages of all kinds leave nothing behind" "$F/fuzz_netlink" --seed 7 --seconds $seconds
ok "the module can be unloaded then" rmmod mooncake
ok "and loaded again" load
