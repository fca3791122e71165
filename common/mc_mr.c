// SPDX-License-Identifier: GPL-2.0-only OR MIT
#include "mc_mr.h"

unsigned int mc_mr_page_shift(u64 sizes, u64 bits, unsigned int least, unsigned int most)
{
	unsigned int shift, best = least;

	for (shift = least + 1; shift <= most && shift < 64; shift++) {
		if (bits & ((1ULL << shift) - 1))
			break;
		if (sizes & (1ULL << shift))
			best = shift;
	}
	return best;
}
