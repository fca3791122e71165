/* SPDX-License-Identifier: MIT */
/* Signs grants with the key of the newest generation. */
#ifndef MC_MASTER_MINT_H
#define MC_MASTER_MINT_H

#include <stdbool.h>
#include <stdint.h>

#include "mc_grant.h"

#define MC_MINT_BYTES	(MC_GRANT_BODY + MC_GRANT_TAG)
#define MC_MINT_CACHE	256u

/**
 * struct mc_minter - a key, and what was derived from it
 * @cluster: cluster key
 * @gen: its generation; 0: none, the key is all zero
 * @cache: keys of segments, found by the first byte of their UUID
 */
struct mc_minter {
	uint8_t cluster[MC_GRANT_KEY];
	uint32_t gen;
	struct {
		bool valid;
		uint8_t seg[MC_GRANT_UUID];
		uint8_t key[MC_GRANT_KEY];
	} cache[MC_MINT_CACHE];
};

/**
 * mc_minter_set() - sign with this key from now on
 * @m: minter
 * @cluster: MC_GRANT_KEY bytes
 * @gen: generation
 */
void mc_minter_set(struct mc_minter *m, const uint8_t *cluster, uint32_t gen);

/**
 * mc_mint() - sign a grant
 * @m: minter
 * @g: grant; its generation is filled in
 * @out: MC_MINT_BYTES bytes
 */
void mc_mint(struct mc_minter *m, struct mc_grant *g, uint8_t *out);

#endif
