# SPDX-License-Identifier: MIT
nl-srcs := mcnl.c mcnl_cmd.c mcnl_dump.c mctext.c
nl-libs := libnl-genl-3.0
nl-uses :=
tests-uses := nl
tests-libs := libnl-genl-3.0
