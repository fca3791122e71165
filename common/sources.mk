# SPDX-License-Identifier: MIT
tests-uses := common
