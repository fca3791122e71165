// SPDX-License-Identifier: GPL-2.0-only OR MIT
#ifdef __KERNEL__
#include <linux/errno.h>
#include <linux/string.h>
#else
#include <errno.h>
#include <string.h>
#endif
#include "mc_grant.h"

static void put(__u8 *at, __u64 v, int n)
{
	int i;

	for (i = 0; i < n; i++)
		at[i] = v >> (8 * i);
}

static __u64 get(const __u8 *at, int n)
{
	__u64 v = 0;
	int i;

	for (i = 0; i < n; i++)
		v |= (__u64)at[i] << (8 * i);
	return v;
}

void mc_grant_key(const __u8 *cluster, const __u8 *seg, __u32 gen, __u8 *key)
{
	__u8 context[MC_GRANT_UUID + 4];

	memcpy(context, seg, MC_GRANT_UUID);
	put(context + MC_GRANT_UUID, gen, 4);
	mc_mac(cluster, "mooncake grant key", context, sizeof(context), key, MC_GRANT_KEY);
}

void mc_grant_tag(const __u8 *in, const __u8 *key, __u8 *tag)
{
	mc_mac(key, "mooncake grant", in, MC_GRANT_BODY, tag, MC_GRANT_TAG);
}

void mc_grant_sign(const struct mc_grant *g, const __u8 *key, __u8 *out)
{
	memcpy(out, g->seg, MC_GRANT_UUID);
	put(out + 16, g->off, 8);
	put(out + 24, g->len, 8);
	put(out + 32, g->not_after, 8);
	put(out + 40, g->epoch, 8);
	put(out + 48, g->tenant, 8);
	put(out + 56, g->key_gen, 4);
	put(out + 60, g->rights, 4);
	put(out + 64, 0, 8);	/* for members to come */
	mc_grant_tag(out, key, out + MC_GRANT_BODY);
}

int mc_grant_decode(const __u8 *in, struct mc_grant *g)
{
	memcpy(g->seg, in, MC_GRANT_UUID);
	g->off = get(in + 16, 8);
	g->len = get(in + 24, 8);
	g->not_after = get(in + 32, 8);
	g->epoch = get(in + 40, 8);
	g->tenant = get(in + 48, 8);
	g->key_gen = get(in + 56, 4);
	g->rights = get(in + 60, 4);
	if (!g->len || g->off + g->len < g->off || get(in + 64, 8))
		return -EINVAL;
	if (!(g->rights & (MC_GRANT_R | MC_GRANT_W)) || g->rights & ~MC_GRANT_RIGHTS)
		return -EINVAL;
	return 0;
}

bool mc_clock_good(const struct mc_clock *c, __u64 boot)
{
	return c->set && c->error <= MC_CLOCK_SKEW_NS && (boot < c->set_at || boot - c->set_at <= MC_CLOCK_AGE_NS);
}

__u64 mc_grant_left(const struct mc_grant *g, const struct mc_clock *c, __u64 boot)
{
	/* Modulo 2^64: neither an offset nor a time is near the end of its range. */
	__u64 now = boot + (__u64)c->offset;

	if (!c->set || g->epoch != c->epoch || now > g->not_after)
		return 0;
	return g->not_after - now == ~0ULL ? ~0ULL : g->not_after - now + 1;
}

int mc_grant_covers(const struct mc_grant *g, __u32 rights, const __u8 *seg, __u64 off, __u64 len)
{
	if (memcmp(g->seg, seg, MC_GRANT_UUID) || (g->rights & rights) != rights)
		return -EACCES;
	if (off < g->off || off - g->off > g->len || len > g->len - (off - g->off))
		return -EACCES;
	return 0;
}

__u64 mc_grant_tenant(const char *name, __u32 len)
{
	static const __u8 zero[MC_GRANT_KEY];
	__u8 out[8];

	mc_mac(zero, "mooncake tenant", name, len, out, sizeof(out));
	return get(out, 8);
}
