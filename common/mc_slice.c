// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "mc_slice.h"

u32 mc_slice_len(u64 remaining, u32 block, u32 tail, u64 loc_left, u64 rem_left)
{
	u64 len = remaining > (u64)block + tail ? block : remaining;

	if (len > loc_left)
		len = loc_left;
	return (u32)(len > rem_left ? rem_left : len);
}

u64 mc_chunk_left(u64 pos, u64 chunk)
{
	return chunk ? chunk - (pos & (chunk - 1)) : ~(u64)0;
}
