# SPDX-License-Identifier: MIT
# Texts and key files need no netlink: mcmasterd uses them too.
text-srcs := mctext.c

nl-srcs := mcnl.c mcnl_cmd.c mcnl_dump.c
nl-libs := libnl-genl-3.0
nl-uses := text
tests-uses := nl
tests-libs := libnl-genl-3.0
