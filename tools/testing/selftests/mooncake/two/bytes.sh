#!/bin/bash
# SPDX-License-Identifier: MIT
# Every byte arrives where it belongs: over chunk borders, at any alignment, in both directions, and nothing beside it changes.
. "$(dirname "$0")/lib.sh"

fresh mr_max=1048576 || echo "# setting up failed"
len=$((5 * 1048576))
s2=$(x 2 pool p2 $len)
s1=$(x 1 pool p1 $len)
ok "C-45 a segment larger than one registration opens with its length" says "open OK len=$len" x 1 open "$N2" "$s2"
ok "C-45 every chunk of the segment is one registration" says "mr=$((5 + 0))" objects 2
ok "a new pool is all zero for a peer" x 1 zero "$N2" "$s2" 0 $len
n=0
for border in 1 2 4; do
	for delta in -1 0 1; do
		n=$((n + 1))
		off=$((border * 1048576 + delta - 300000))
		ok "C-45 600001 bytes written across $border MiB $delta" x 1 put "$N2" "$s2" $off 600001 $n
		ok "C-45 600001 bytes read across $border MiB $delta" x 1 get "$N2" "$s2" $off 600001 $n
		ok "C-45 the owner finds the same bytes across $border MiB $delta" x 2 get "$N2" "$s2" $off 600001 $n
	done
done
ok "C-45 all of the segment in one request" x 1 put "$N2" "$s2" 0 $len 77
ok "C-45 all of the segment back, buffer misaligned" x 1 get "$N2" "$s2" 0 $len 77 30000 1234
for misalign in 1 4095; do
	ok "1 byte at offset 7, buffer at $misalign" x 1 put "$N2" "$s2" 7 1 5 30000 $misalign
	ok "1 byte back, buffer at $misalign" x 1 get "$N2" "$s2" 7 1 5 30000 $misalign
done
ok "the other direction: written" x 2 put "$N1" "$s1" 3 3000000 9
ok "the other direction: read" x 2 get "$N1" "$s1" 3 3000000 9
ok "the other direction: the owner finds the same bytes" x 1 get "$N1" "$s1" 3 3000000 9
# Large and small pages, in the buffer and at the owner.
lacks hugetlb || on 1 sh -c 'echo 4 > /proc/sys/vm/nr_hugepages'
xmem() { local kind=$1; shift; on 1 env MC_MEM="$kind" "$X" "$@"; }
for kind in hugetlb thp scattered mixed; do
	if [[ $kind != thp && $kind != scattered ]] && lacks hugetlb; then
		skip "$kind memory" "tag hugetlb: this kind of machine has none"
		continue
	fi
	ok "$kind memory: written from a start inside a page" xmem $kind put "$N2" "$s2" 12345 3000001 9 30000 1234
	ok "$kind memory: read back to another one" xmem $kind get "$N2" "$s2" 12345 3000001 9 30000 4095
done
lacks hugetlb || on 1 sh -c 'echo 0 > /proc/sys/vm/nr_hugepages'
ok "a request past the end of the segment is ERANGE" says "put ERANGE" x 1 put "$N2" "$s2" $((len - 1)) 2 1
before=$(field 1 peers read_bytes)
x 1 get "$N2" "$s2" 0 1000000 0 > /dev/null 2>&1
ok "counters say what was read" equal $(($(field 1 peers read_bytes) - before)) 1000000
ok "an unknown node is EHOSTUNREACH" says "open EHOSTUNREACH" x 1 open 33333333-0000-4000-8000-000000000003 "$s2"
ok "an unknown segment is ENOENT" says "open ENOENT" x 1 open "$N2" 33333333-0000-4000-8000-000000000003

# The third registration of five fails: nothing is left of the first two.
x 2 pool-destroy "$s2"
until_true 5 says "mr=0" objects 2
start=$(objects 2)
s2=$(x 2 pool p3 $len)
x 2 fault mr_reg 3
ok "C-45 the third registration fails: so does opening" says "open EIO" x 1 open "$N2" "$s2"
ok "C-45 and takes the first two back" equal "$(objects 2)" "$start"
ok "C-45 the next attempt succeeds" says "open OK" x 1 open "$N2" "$s2"

# What the devices were given meanwhile, all of it looked at before.
verbs() { on "$1" cat /sys/kernel/debug/mooncake/verbs | tr '\n' ' '; }
ok "C-68 the initiator has sent, received, moved bytes and registered" refuses grep -E '(send|recv|rdma|reg) 0 ' <<< "$(verbs 1)"
for n in 1 2; do
	ok "C-68 node $n: no request was malformed" grep ' malformed 0 ' <<< "$(verbs $n)"
done
finish
