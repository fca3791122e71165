# SPDX-License-Identifier: MIT
mooncake-srcs := util.c device.c ring.c batch.c grant.c segcache.c health.c items.c put.c get.c map.c objects.c store.c
mooncake-libs := libprotobuf-c
mooncake-uses := rpc-client proto
mooncake-incs := include

tests-uses := mooncake rpc-client proto mac
tests-libs := cmocka
