/* SPDX-License-Identifier: MIT */
/*
 * Memory of one call: the unpacked request and everything the reply points to. Freed as a whole when the call ends.
 */
#ifndef MC_RPC_ARENA_H
#define MC_RPC_ARENA_H

#include <protobuf-c/protobuf-c.h>
#include <stddef.h>

struct mc_arena_block;

/**
 * struct mc_arena - bump allocator
 * @blocks: all blocks, the one in use first
 * @pb: the same memory as an allocator for protobuf-c, whose frees do nothing
 */
struct mc_arena {
	struct mc_arena_block *blocks;
	ProtobufCAllocator pb;
};

/**
 * mc_arena_init() - start empty
 * @a: arena; must not move afterwards, @pb points to it
 */
void mc_arena_init(struct mc_arena *a);

/**
 * mc_arena_free() - give everything back
 * @a: arena
 */
void mc_arena_free(struct mc_arena *a);

/**
 * mc_arena_alloc() - zeroed memory, 16-byte aligned
 * @a: arena
 * @n: elements
 * @size: bytes of one
 *
 * Return: the memory, or NULL when there is none or the product overflows.
 */
void *mc_arena_alloc(struct mc_arena *a, size_t n, size_t size);

/**
 * mc_arena_printf() - formatted text
 * @a: arena
 * @fmt: as for printf
 *
 * Return: never NULL; "out of memory" when there is none.
 */
char *mc_arena_printf(struct mc_arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
