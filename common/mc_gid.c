// SPDX-License-Identifier: GPL-2.0-only OR MIT
#ifdef __KERNEL__
#include <linux/string.h>
#else
#include <string.h>
#endif
#include "mc_gid.h"

static bool is_ipv4(const u8 *gid)
{
	static const u8 prefix[12] = { [10] = 0xff, [11] = 0xff };

	return !memcmp(gid, prefix, sizeof(prefix));
}

static bool is_link_local(const u8 *gid)
{
	if (is_ipv4(gid))
		return gid[12] == 169 && gid[13] == 254;
	return gid[0] == 0xfe && (gid[1] & 0xc0) == 0x80;
}

static bool same_bits(const u8 *a, const u8 *b, u32 bits)
{
	u8 mask = (u8)(0xff00u >> (bits & 7));

	if (bits > 8 * MC_GID_LEN || memcmp(a, b, bits / 8))
		return false;
	return !(bits & 7) || !((a[bits / 8] ^ b[bits / 8]) & mask);
}

enum mc_gid_why mc_gid_check(const struct mc_gid_entry *e, const struct mc_gid_wish *wish)
{
	static const u8 zero[MC_GID_LEN];

	if (e->type == MC_GID_NONE || !memcmp(e->gid, zero, sizeof(zero)))
		return MC_GID_EMPTY;
	if (e->type != MC_GID_ROCE_V2)
		return MC_GID_OLD_TYPE;
	if (!e->own)
		return MC_GID_FOREIGN;
	if (wish->addr)
		return memcmp(e->gid, wish->addr, MC_GID_LEN) ? MC_GID_OTHER : MC_GID_ADDRESS;
	if (is_link_local(e->gid))
		return MC_GID_LINK_LOCAL;
	if (wish->peer && is_ipv4(e->gid) == is_ipv4(wish->peer) && same_bits(e->gid, wish->peer, wish->peer_bits))
		return MC_GID_SUBNET;
	return MC_GID_GLOBAL;
}

/* The smaller the better; 0: not at all. */
static u32 order(enum mc_gid_why why)
{
	switch (why) {
	case MC_GID_ADDRESS:
		return 1;
	case MC_GID_SUBNET:
		return 2;
	case MC_GID_GLOBAL:
		return 3;
	case MC_GID_LINK_LOCAL:
		return 4;
	default:
		return 0;
	}
}

int mc_gid_choose(const struct mc_gid_entry *table, u32 n, const struct mc_gid_wish *wish, enum mc_gid_why *why)
{
	enum mc_gid_why one;
	int best = -1;
	u32 i;

	*why = MC_GID_EMPTY;
	if (wish->forced >= 0) {
		if ((u32)wish->forced >= n)
			return -1;
		*why = mc_gid_check(&table[wish->forced], wish);
		if (!order(*why))
			return -1;
		*why = MC_GID_FORCED;
		return wish->forced;
	}
	for (i = 0; i < n; i++) {
		one = mc_gid_check(&table[i], wish);
		if (!order(one) || (best >= 0 && order(one) >= order(*why)))
			continue;
		best = (int)i;
		*why = one;
	}
	return best;
}

const char *mc_gid_reason(enum mc_gid_why why)
{
	static const char *const text[] = {
		[MC_GID_EMPTY] = "empty",
		[MC_GID_OLD_TYPE] = "not RoCE v2",
		[MC_GID_FOREIGN] = "address of another interface",
		[MC_GID_OTHER] = "another address",
		[MC_GID_ADDRESS] = "the rail's address",
		[MC_GID_SUBNET] = "in the peer's subnet",
		[MC_GID_GLOBAL] = "good beyond the link",
		[MC_GID_LINK_LOCAL] = "link-local, there is no better one",
		[MC_GID_FORCED] = "asked for",
	};

	return text[why];
}
