// SPDX-License-Identifier: GPL-2.0-only
/* In a file of its own as the KUnit module holds it too. */
#include <crypto/blake2s.h>
#include <linux/string.h>

#include "mc_grant.h"

void mc_mac(const u8 *key, const char *label, const void *data, u32 len, u8 *out, u32 out_len)
{
	struct blake2s_state state;

	blake2s_init_key(&state, out_len, key, MC_GRANT_KEY);
	blake2s_update(&state, label, strlen(label) + 1);
	blake2s_update(&state, data, len);
	blake2s_final(&state, out);
	memzero_explicit(&state, sizeof(state));
}
