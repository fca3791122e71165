/* SPDX-License-Identifier: GPL-2.0-only OR MIT */
/*
 * Grants: what the master allows somebody to do with a range of a segment, for how long, and the tag that proves it.
 * Pure code for the module, the master and tests; Documentation/protocol.rst tells what they mean.
 *
 * A grant travels as MC_GRANT_LEN bytes: the encoded members, then the tag. The tag is BLAKE2s keyed by the grant key
 * of the segment, which is itself BLAKE2s keyed by the cluster key over the segment's UUID and the key's generation:
 * a grant for one segment says nothing about the key for another.
 */
#ifndef MC_GRANT_H
#define MC_GRANT_H

#include <linux/types.h>
#ifndef __KERNEL__
#include <stdbool.h>
#endif

#define MC_GRANT_UUID		16
#define MC_GRANT_KEY		32	/* bytes of the cluster key and of every key derived from it */
#define MC_GRANT_BODY		72	/* bytes that the tag covers */
#define MC_GRANT_TAG		16

#define MC_GRANT_R		(1U << 0)	/* the segment's bytes may be read */
#define MC_GRANT_W		(1U << 1)	/* and written */
#define MC_GRANT_WHOLE_PAGES	(1U << 2)	/* nobody else has anything in the last page of the range */
#define MC_GRANT_RIGHTS		(MC_GRANT_R | MC_GRANT_W | MC_GRANT_WHOLE_PAGES)

/* A clock that may be off by more, or was set longer ago, is no clock: grants are refused. */
#define MC_CLOCK_SKEW_NS	500000000ULL
#define MC_CLOCK_AGE_NS		5000000000ULL

/**
 * struct mc_grant - a grant
 * @seg: segment
 * @off: first byte
 * @len: bytes, at least 1; @off + @len does not wrap
 * @not_after: last moment of it, master time in ns
 * @epoch: the master's clock that @not_after is read on
 * @tenant: number of the tenant (mc_grant_tenant())
 * @key_gen: generation of the cluster key; 0 without authentication
 * @rights: MC_GRANT_R, MC_GRANT_W or both, perhaps with MC_GRANT_WHOLE_PAGES
 */
struct mc_grant {
	__u8 seg[MC_GRANT_UUID];
	__u64 off;
	__u64 len;
	__u64 not_after;
	__u64 epoch;
	__u64 tenant;
	__u32 key_gen;
	__u32 rights;
};

/**
 * struct mc_clock - the master's time as this node last heard it
 * @set: it did
 * @epoch: the master's clock
 * @offset: master time minus CLOCK_BOOTTIME, ns
 * @error: bound of the error, ns
 * @set_at: CLOCK_BOOTTIME of the measurement, ns
 */
struct mc_clock {
	bool set;
	__u64 epoch;
	__s64 offset;
	__u64 error;
	__u64 set_at;
};

/**
 * mc_mac - BLAKE2s keyed by @key over the label (with its NUL, so that a tag of one kind can't serve as another) and
 * data
 * @key: MC_GRANT_KEY bytes
 * @label: what it is for
 * @data: bytes
 * @len: their number
 * @out: result
 * @out_len: bytes of it, 1 to 32
 *
 * Each side brings its own: the module the kernel's BLAKE2s, programs OpenSSL's.
 */
void mc_mac(const __u8 *key, const char *label, const void *data, __u32 len, __u8 *out, __u32 out_len);

/**
 * mc_grant_key - derive the key that signs the grants of a segment
 * @cluster: cluster key of generation @gen
 * @seg: segment
 * @gen: generation
 * @key: result, MC_GRANT_KEY bytes
 */
void mc_grant_key(const __u8 *cluster, const __u8 *seg, __u32 gen, __u8 *key);

/**
 * mc_grant_sign - encode a grant and its tag
 * @g: grant
 * @key: from mc_grant_key()
 * @out: MC_GRANT_BODY + MC_GRANT_TAG bytes
 */
void mc_grant_sign(const struct mc_grant *g, const __u8 *key, __u8 *out);

/**
 * mc_grant_decode - read a grant; its tag is not looked at
 * @in: MC_GRANT_BODY + MC_GRANT_TAG bytes
 * @g: result
 *
 * Return: 0, -EINVAL (empty or wrapping range, no or unknown rights).
 */
int mc_grant_decode(const __u8 *in, struct mc_grant *g);

/**
 * mc_grant_tag - the tag that these bytes must have
 * @in: encoded grant, MC_GRANT_BODY bytes count
 * @key: from mc_grant_key()
 * @tag: result, MC_GRANT_TAG bytes
 */
void mc_grant_tag(const __u8 *in, const __u8 *key, __u8 *tag);

/**
 * mc_clock_good - may this clock decide about grants?
 * @c: clock
 * @boot: CLOCK_BOOTTIME now, ns
 *
 * Return: false when it was never set, is off by more than MC_CLOCK_SKEW_NS or was set more than MC_CLOCK_AGE_NS ago.
 */
bool mc_clock_good(const struct mc_clock *c, __u64 boot);

/**
 * mc_grant_left - how long does a grant last?
 * @g: grant
 * @c: clock
 * @boot: CLOCK_BOOTTIME now, ns
 *
 * Return: ns until it has ended, 0 when it has or when @c shows another master's time.
 */
__u64 mc_grant_left(const struct mc_grant *g, const struct mc_clock *c, __u64 boot);

/**
 * mc_grant_covers - does a grant allow this?
 * @g: grant
 * @rights: MC_GRANT_R or MC_GRANT_W
 * @seg: segment
 * @off: first byte
 * @len: bytes, at least 1
 *
 * Return: 0 or -EACCES.
 */
int mc_grant_covers(const struct mc_grant *g, __u32 rights, const __u8 *seg, __u64 off, __u64 len);

/**
 * mc_grant_tenant - the number of a tenant
 * @name: its name
 * @len: bytes
 *
 * Return: the first 64 bits of a BLAKE2s of the name, little endian.
 */
__u64 mc_grant_tenant(const char *name, __u32 len);

#endif /* MC_GRANT_H */
