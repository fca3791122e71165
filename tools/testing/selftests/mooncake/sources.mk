# SPDX-License-Identifier: MIT
# Tests sign grants themselves.
st-uses := mooncake rpc-client proto mac
