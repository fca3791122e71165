# SPDX-License-Identifier: GPL-2.0-only OR MIT
tests-uses := common mac
