# SPDX-License-Identifier: MIT
mcctl-srcs := main.c args.c out.c fail.c copy.c cmd_node.c cmd_kernel.c cmd_see.c see_wait.c see_event.c see_rate.c see_hist.c see_top.c cmd_object.c cmd_master.c cmd_trace.c rpc.c \
	trace_file.c trace_block.c trace_dry.c trace_stats.c trace_line.c trace_counters.c trace_lane.c trace_request.c trace_replay.c \
	trace_conduct.c trace_report.c
mcctl-libs := jansson libnl-genl-3.0 libprotobuf-c
mcctl-uses := mooncake nl rpc-client proto common

tests-uses := ctl mooncake nl rpc-client proto
tests-libs := cmocka jansson libnl-genl-3.0 libprotobuf-c
