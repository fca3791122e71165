# SPDX-License-Identifier: MIT
mcnoded-srcs := main.c opts.c config.c log.c node.c peers.c kernel.c master.c loop.c
mcnoded-libs := yaml-0.1 libnl-genl-3.0 libprotobuf-c
mcnoded-uses := nl rpc-client proto

tests-uses := noded nl rpc-client proto
tests-libs := cmocka yaml-0.1 libnl-genl-3.0 libprotobuf-c
