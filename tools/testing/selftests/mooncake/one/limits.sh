#!/bin/bash
# SPDX-License-Identifier: MIT
# The table of limits that people read is the one that the module has in force; abi.c compares that with MC_IOC_INFO.
. "$(dirname "$0")/../lib.sh"
limits=/sys/class/misc/mooncake/limits
doc=$(readlink -f "$(dirname "$0")/../../../../../Documentation/limits.rst")
plan 2

table() { sed -n 's/^\([a-z_]*\)  *\([0-9]*\)  .*/\1 \2/p' "$doc" | grep ' [0-9]' | sort; }
files() { for f in "$limits"/*; do echo "${f##*/} $(cat "$f")"; done | sort; }
ok "there are limits" [ "$(files | wc -l)" -ge 13 ]
ok "Documentation/limits.rst says what the module has in force" diff <(table) <(files)
