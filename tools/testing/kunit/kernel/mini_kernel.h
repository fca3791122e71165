/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/* What the tests of common/ take from libc, in the kernel's terms; the headers beside this one have libc's names. */
#ifndef MC_MINI_KERNEL_H
#define MC_MINI_KERNEL_H

#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/mm.h>
#include <linux/printk.h>
#include <linux/sort.h>
#include <linux/string.h>
#include <linux/timekeeping.h>
#include <linux/types.h>

#define RAND_MAX 0x7fffffff

/**
 * mini_random - next number of a repeatable sequence
 *
 * Returns 31 bits.
 */
long mini_random(void);

/**
 * mini_seed - begin a sequence
 * @seed: which
 */
void mini_seed(unsigned int seed);

#define random() mini_random()
#define rand() ((int)mini_random())
#define srandom(seed) mini_seed(seed)
#define srand(seed) mini_seed(seed)
#define time(p) ((long)ktime_get_real_seconds())
#define getenv(name) ((const char *)NULL)
#define atoi(text) ((int)simple_strtol((text) ?: "0", NULL, 10))
#define malloc(n) kvmalloc(n, GFP_KERNEL)
#define calloc(n, m) kvcalloc(n, m, GFP_KERNEL)
#define free(p) kvfree(p)
#define qsort(base, n, size, compare) sort(base, n, size, compare, NULL)
#define printf print_message

#endif /* MC_MINI_KERNEL_H */
