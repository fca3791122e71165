/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* How a request is cut into slices: pure arithmetic for the module and for tests. */
#ifndef MC_SLICE_H
#define MC_SLICE_H

#ifdef __KERNEL__
#include <linux/types.h>
#else
#include <stdint.h>
typedef uint64_t u64;
typedef uint32_t u32;
#endif

/**
 * mc_slice_len - length of the next slice
 * @remaining: bytes of the request that are not cut yet, at least 1
 * @block: slice size, at least 1
 * @tail: bytes of a rest that are not worth a slice of their own
 * @loc_left: bytes to the end of the registration chunk on the buffer's side, at least 1
 * @rem_left: the same on the segment's side
 *
 * A rest of up to @tail bytes joins the last full block. The result is never 0 and never more than @block + @tail.
 */
u32 mc_slice_len(u64 remaining, u32 block, u32 tail, u64 loc_left, u64 rem_left);

/**
 * mc_chunk_left - bytes from a position to the end of its chunk
 * @pos: position
 * @chunk: bytes of a chunk, a power of two; 0: there are no chunks
 */
u64 mc_chunk_left(u64 pos, u64 chunk);

#endif /* MC_SLICE_H */
