// SPDX-License-Identifier: MIT
/*
 * What blocks hold: a function of id and place, so that a page of another block, or of another place in the same
 * block, is wrong in nearly every byte.
 */
#include <string.h>

#include "trace.h"

static uint64_t scramble(uint64_t x)
{
	x ^= x >> 30;
	x *= 0xbf58476d1ce4e5b9ULL;
	x ^= x >> 27;
	x *= 0x94d049bb133111ebULL;
	return x ^ (x >> 31);
}

/* One round a word: the id is scrambled first, so that neighbours in id are not neighbours in bytes. */
static uint64_t word(uint64_t scrambled_id, uint64_t index)
{
	return scramble(scrambled_id + (index + 1) * 0x9e3779b97f4a7c15ULL);
}

uint8_t tr_block_byte(uint64_t id, uint64_t off)
{
	uint64_t w = word(scramble(id + 1), off / 8);

	return ((const uint8_t *)&w)[off % 8];
}

void tr_block_fill(uint64_t id, void *to, size_t len)
{
	uint64_t s = scramble(id + 1), w;
	uint8_t *p = to;
	size_t i, words = len / 8;

	for (i = 0; i < words; i++) {
		w = word(s, i);
		memcpy(p + 8 * i, &w, 8);
	}
	w = word(s, words);
	memcpy(p + 8 * words, &w, len % 8);
}

int64_t tr_block_check(uint64_t id, const void *have, size_t len)
{
	uint64_t s = scramble(id + 1), w, h;
	const uint8_t *p = have;
	size_t i = 0;

	for (; i < len / 8; i++) {
		w = word(s, i);
		memcpy(&h, p + 8 * i, 8);
		if (w != h)
			break;
	}
	for (i *= 8; i < len; i++)
		if (p[i] != tr_block_byte(id, i))
			return (int64_t)i;
	return -1;
}

void tr_noise_fill(uint64_t *state, void *to, size_t len)
{
	uint8_t *p = to;
	uint64_t w;

	for (size_t i = 0; i < len; i += 8) {
		*state += 0x9e3779b97f4a7c15ULL;
		w = scramble(*state);
		memcpy(p + i, &w, len - i < 8 ? len - i : 8);
	}
}
