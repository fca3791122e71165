# SPDX-License-Identifier: MIT
mcmasterd-srcs := main.c daemon.c opts.c log.c service.c service_object.c master.c place.c journal.c op.c apply.c state.c \
	segment.c node.c lease.c discard.c mint.c table.c alloc.c names.c
mcmasterd-libs := libnghttp2 libprotobuf-c libevent_core
mcmasterd-uses := rpc-server proto text mac

tests-libs := cmocka libnghttp2 libprotobuf-c libevent_core
tests-uses := master rpc-server proto
