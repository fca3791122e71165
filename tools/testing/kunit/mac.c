// SPDX-License-Identifier: GPL-2.0-only OR MIT
/* mc_mac() for programs that can't have OpenSSL: keyed BLAKE2s after RFC 7693, written to be read. */
#include <stdint.h>
#include <string.h>
#include "mc_grant.h"

#define BLOCK 64

static const uint32_t iv[8] = {
	0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19
};

static const uint8_t sigma[10][16] = {
	{ 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 },
	{ 14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3 },
	{ 11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4 },
	{ 7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8 },
	{ 9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13 },
	{ 2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9 },
	{ 12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11 },
	{ 13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10 },
	{ 6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5 },
	{ 10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0 },
};

static uint32_t rotate(uint32_t x, int n)
{
	return x >> n | x << (32 - n);
}

static void mix(uint32_t *v, int a, int b, int c, int d, uint32_t x, uint32_t y)
{
	v[a] += v[b] + x;
	v[d] = rotate(v[d] ^ v[a], 16);
	v[c] += v[d];
	v[b] = rotate(v[b] ^ v[c], 12);
	v[a] += v[b] + y;
	v[d] = rotate(v[d] ^ v[a], 8);
	v[c] += v[d];
	v[b] = rotate(v[b] ^ v[c], 7);
}

static void compress(uint32_t *h, const uint8_t *block, uint32_t count, int last)
{
	uint32_t v[16], m[16];
	int i, r;

	for (i = 0; i < 16; i++)
		m[i] = block[4 * i] | (uint32_t)block[4 * i + 1] << 8 | (uint32_t)block[4 * i + 2] << 16 |
		       (uint32_t)block[4 * i + 3] << 24;
	for (i = 0; i < 8; i++) {
		v[i] = h[i];
		v[i + 8] = iv[i];
	}
	v[12] ^= count;
	v[14] ^= last ? ~0u : 0;
	for (r = 0; r < 10; r++) {
		const uint8_t *s = sigma[r];

		for (i = 0; i < 4; i++)
			mix(v, i, i + 4, i + 8, i + 12, m[s[2 * i]], m[s[2 * i + 1]]);
		for (i = 0; i < 4; i++)
			mix(v, i, (i + 1) % 4 + 4, (i + 2) % 4 + 8, (i + 3) % 4 + 12, m[s[8 + 2 * i]], m[s[9 + 2 * i]]);
	}
	for (i = 0; i < 8; i++)
		h[i] ^= v[i] ^ v[i + 8];
}

void mc_mac(const __u8 *key, const char *label, const void *data, __u32 len, __u8 *out, __u32 out_len)
{
	uint32_t n = (uint32_t)strlen(label) + 1, total = BLOCK + n + len, at;
	uint8_t text[1024] = { 0 };
	uint32_t h[8];

	memcpy(h, iv, sizeof(h));
	h[0] ^= 0x01010000 ^ MC_GRANT_KEY << 8 ^ out_len;
	if (total > sizeof(text) - BLOCK)
		__builtin_trap();
	memcpy(text, key, MC_GRANT_KEY);	/* the key is a block of its own */
	memcpy(text + BLOCK, label, n);
	memcpy(text + BLOCK + n, data, len);
	for (at = BLOCK; at < total; at += BLOCK)
		compress(h, text + at - BLOCK, at, 0);
	compress(h, text + at - BLOCK, total, 1);
	for (at = 0; at < out_len; at++)
		out[at] = (uint8_t)(h[at / 4] >> (8 * (at % 4)));
}
