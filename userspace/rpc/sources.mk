# SPDX-License-Identifier: MIT
# Both ends of gRPC over HTTP/2; addr.c, error.c and frame.c are what they share.
rpc-client-srcs := client.c conn.c h2.c addr.c error.c frame.c
rpc-client-libs := libnghttp2 libprotobuf-c

rpc-server-srcs := server.c stream.c arena.c scan.c addr.c error.c frame.c
rpc-server-libs := libnghttp2 libevent_core libprotobuf-c

tests-uses := rpc-client rpc-server proto
tests-libs := cmocka libevent_core
