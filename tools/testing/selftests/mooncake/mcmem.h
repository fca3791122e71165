/* SPDX-License-Identifier: MIT */
/* Memory whose pages are of a chosen kind. */
#ifndef MCMEM_H
#define MCMEM_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define MCMEM_HUGE (2ull << 20)

/* Enough huge pages for @n of them? The pool of the machine is set to that. */
static inline int mcmem_huge_pages(int n)
{
	FILE *f = fopen("/proc/sys/vm/nr_hugepages", "r+");
	int have = 0;

	if (!f)		/* this kernel knows none */
		return n == 0;
	fprintf(f, "%d\n", n);
	fflush(f);
	rewind(f);
	if (fscanf(f, "%d", &have) != 1)
		have = 0;
	fclose(f);
	return have >= n;
}

/* A huge page's worth of small pages that physically follow one another in no order: they are made in another one. */
static inline int mcmem_scatter(uint8_t *at)
{
	uint8_t *from = mmap(NULL, MCMEM_HUGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t i, n = MCMEM_HUGE / 4096, to;

	if (from == MAP_FAILED)
		return -1;
	madvise(from, MCMEM_HUGE, MADV_NOHUGEPAGE);
	for (i = 0; i < n; i++) {
		from[i * 4096] = 1;
		to = i * 37 % n;	/* n is a power of two: each place once */
		if (mremap(from + i * 4096, 4096, 4096, MREMAP_MAYMOVE | MREMAP_FIXED, at + to * 4096) == MAP_FAILED)
			return -1;
	}
	return 0;
}

static inline int mcmem_piece(uint8_t *at, const char *kind)
{
	int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;

	if (!strcmp(kind, "scattered"))
		return mcmem_scatter(at);
	if (!strcmp(kind, "hugetlb"))
		flags |= MAP_HUGETLB;
	if (mmap(at, MCMEM_HUGE, PROT_READ | PROT_WRITE, flags, -1, 0) == MAP_FAILED)
		return -1;
	if (!strcmp(kind, "thp"))
		madvise(at, MCMEM_HUGE, MADV_HUGEPAGE);
	return 0;
}

/*
 * At least @len bytes, rounded up to huge pages and aligned like one. Kinds: hugetlb, thp, scattered, mixed (those
 * three in turn). NULL if they can't be had; hugetlb needs mcmem_huge_pages() first.
 */
static inline uint8_t *mcmem_alloc(uint64_t len, const char *kind)
{
	static const char *const turn[3] = { "hugetlb", "thp", "scattered" };
	uint64_t n = (len + MCMEM_HUGE - 1) / MCMEM_HUGE, i;
	uint8_t *p = mmap(NULL, (n + 1) * MCMEM_HUGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		return NULL;
	p = (uint8_t *)(((uintptr_t)p + MCMEM_HUGE - 1) & ~(uintptr_t)(MCMEM_HUGE - 1));
	for (i = 0; i < n; i++)
		if (mcmem_piece(p + i * MCMEM_HUGE, strcmp(kind, "mixed") ? kind : turn[i % 3]))
			return NULL;
	return p;
}

#endif /* MCMEM_H */
