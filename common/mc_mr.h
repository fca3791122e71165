/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* How memory is described to an RDMA device. */
#ifndef MC_MR_H
#define MC_MR_H

#ifdef __KERNEL__
#include <linux/types.h>
#else
#include <stdint.h>
typedef uint64_t u64;
#endif

/**
 * mc_mr_page_shift - largest page size that a piece of memory can be described with
 * @sizes: page sizes the device knows: bit n for 2^n bytes
 * @bits: all addresses at which a run begins and all lengths but the last one's, or-ed
 * @least: log2 of the page size that is always there
 * @most: log2 of the largest size that makes sense
 *
 * Every run but the last has to be whole pages of that size, aligned to it.
 *
 * Return: log2 of the size, from @least to @most; @least if the device knows none that fits.
 */
unsigned int mc_mr_page_shift(u64 sizes, u64 bits, unsigned int least, unsigned int most);

#endif /* MC_MR_H */
