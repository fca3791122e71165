# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# For the shell tests. One test is one `ok "C-47 text" command...`, which passes when the command does.
#
#	plan N                     the number of tests, first
#	ok TEXT COMMAND...         a test; on failure the command is shown
#	skip TEXT REASON           a test that can't run here
#	mc SECONDS NODE COMMAND... run on a node, SECONDS times MC_TIME_SCALE at most (host-side tests)
#	within SECONDS COMMAND...  try until the command succeeds, SECONDS times MC_TIME_SCALE at most
#	note TEXT...               a comment in the log
#
# TMP is a directory of one's own, removed at the end.
__count=0
TMP=$(mktemp -d)
: "${MC_TIME_SCALE:=1}"
trap 'rm -rf "$TMP"' EXIT

plan() { echo "1..$1"; }
note() { echo "# $*"; }

ok() {
	local text=$1
	shift
	__count=$((__count + 1))
	if "$@"; then
		echo "ok $__count - $text"
	else
		echo "not ok $__count - $text"
		echo "# failed: $*"
	fi
}

skip() {
	__count=$((__count + 1))
	echo "ok $__count - $1 # SKIP $2"
}

mc() {
	local seconds=$1 node=$2
	shift 2
	"$MCVM" run --set "$MCVM_SET" --build "$MC_B" --timeout $((seconds * MC_TIME_SCALE)) "$node" -- "$@"
}

within() {
	local end=$((SECONDS + $1 * MC_TIME_SCALE))
	shift
	until "$@"; do
		[ $SECONDS -lt $end ] || return 1
		sleep 0.2
	done
}

# reset_nodes [PARAMETER...]    both nodes with a fresh module and no daemons
reset_nodes() {
	local node
	for node in 1 2; do
		mc 60 "$node" "$MC_TOP/tools/testing/selftests/mooncake/reset-node" "$@" || return 1
	done
}

# cluster POOL    daemons on both nodes, each with a pool of that size
cluster() {
	rm -f "$MC_B/vm/$MCVM_SET/share/"{mcmasterd,mcnoded-1,mcnoded-2}.log
	NODES=2 POOL=$1 "$MC_TOP/tools/demo/cluster-up"
}

# ctl NODE ARGUMENT...    mcctl on a node, speaking to the master of the cluster
ctl() {
	local node=$1
	shift
	mc "${CTL_LIMIT:-60}" "$node" "$MC_USER/bin/mcctl" --master 10.77.0.1:50051 "$@"
}
