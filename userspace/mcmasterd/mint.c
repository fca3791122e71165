// SPDX-License-Identifier: MIT
#include "mint.h"

#include <string.h>

void mc_minter_set(struct mc_minter *m, const uint8_t *cluster, uint32_t gen)
{
	memset(m, 0, sizeof(*m));
	memcpy(m->cluster, cluster, MC_GRANT_KEY);
	m->gen = gen;
}

void mc_mint(struct mc_minter *m, struct mc_grant *g, uint8_t *out)
{
	uint8_t i = g->seg[0];

	if (!m->cache[i].valid || memcmp(m->cache[i].seg, g->seg, MC_GRANT_UUID)) {
		mc_grant_key(m->cluster, g->seg, m->gen, m->cache[i].key);
		memcpy(m->cache[i].seg, g->seg, MC_GRANT_UUID);
		m->cache[i].valid = true;
	}
	g->key_gen = m->gen;
	mc_grant_sign(g, m->cache[i].key, out);
}
