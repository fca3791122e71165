# SPDX-License-Identifier: MIT
# What common/ needs from outside: keyed BLAKE2s.
mac-srcs := mac.c
mac-libs := libcrypto
mac-uses := common
