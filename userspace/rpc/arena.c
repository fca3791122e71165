// SPDX-License-Identifier: MIT
#include "arena.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_MIN	4096u
#define ALIGN		16u

struct mc_arena_block {
	struct mc_arena_block *next;
	size_t size, used;
	_Alignas(ALIGN) unsigned char data[];
};

static void *pb_alloc(void *ctx, size_t size)
{
	return mc_arena_alloc(ctx, 1, size);
}

static void pb_free(void *ctx, void *p)
{
	(void)ctx;
	(void)p;
}

void mc_arena_init(struct mc_arena *a)
{
	a->blocks = NULL;
	a->pb.alloc = pb_alloc;
	a->pb.free = pb_free;
	a->pb.allocator_data = a;
}

void mc_arena_free(struct mc_arena *a)
{
	struct mc_arena_block *b = a->blocks, *next;

	for (; b; b = next) {
		next = b->next;
		free(b);
	}
	a->blocks = NULL;
}

/* Blocks double, so that a large batch costs few of them and a small call one. */
static struct mc_arena_block *new_block(struct mc_arena *a, size_t need)
{
	size_t size = a->blocks ? a->blocks->size * 2 : BLOCK_MIN;
	struct mc_arena_block *b;

	if (size > (4u << 20))
		size = 4u << 20;
	if (size < need)
		size = need;
	b = malloc(sizeof(*b) + size);
	if (!b)
		return NULL;
	b->size = size;
	b->used = 0;
	b->next = a->blocks;
	a->blocks = b;
	return b;
}

void *mc_arena_alloc(struct mc_arena *a, size_t n, size_t size)
{
	struct mc_arena_block *b = a->blocks;
	size_t bytes;
	void *p;

	if (__builtin_mul_overflow(n, size, &bytes) || bytes > SIZE_MAX / 4)
		return NULL;
	bytes = (bytes + ALIGN - 1) & ~(size_t)(ALIGN - 1);
	if (!b || b->size - b->used < bytes) {
		b = new_block(a, bytes);
		if (!b)
			return NULL;
	}
	p = b->data + b->used;
	b->used += bytes;
	return memset(p, 0, bytes);
}

char *mc_arena_printf(struct mc_arena *a, const char *fmt, ...)
{
	static char oom[] = "out of memory";
	va_list ap;
	char *p;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	p = n < 0 ? NULL : mc_arena_alloc(a, 1, n + 1);
	if (!p)
		return oom;
	va_start(ap, fmt);
	vsnprintf(p, n + 1, fmt, ap);
	va_end(ap);
	return p;
}
