# SPDX-License-Identifier: MIT
st-uses := mooncake rpc-client proto
