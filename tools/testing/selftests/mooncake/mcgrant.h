/* SPDX-License-Identifier: MIT */
/*
 * Grants for the kernel selftests, signed as the master would sign them. mcdev.h uses this for every pool that a test
 * opens; tests about grants make their own.
 *
 * Key: what MC_TEST_KEY names in hex, else the bytes 0, 1, 2 ... 31, in the newest generation that the module has; none
 * without authentication. Clock: mcnoded's while it runs, else one of the test's own, whose epoch is MCGRANT_EPOCH and
 * whose time is CLOCK_BOOTTIME. The module forgets a clock after 5 s, so mcgrant_clock() is called before each request.
 */
#ifndef MCGRANT_H
#define MCGRANT_H

#include <errno.h>
#include <linux/mooncake.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>

#include "mc_grant.h"
#include "mcnl.h"

#define MCGRANT_EPOCH	1
#define MCGRANT_HOUR	(3600ull * 1000000000ull)

static inline uint64_t mcgrant_boot(void)
{
	struct timespec ts;

	/* A system call on User-Mode Linux: fail-nth can hit it, once. */
	while (clock_gettime(CLOCK_BOOTTIME, &ts))
		;
	return (uint64_t)ts.tv_sec * 1000000000ull + (uint64_t)ts.tv_nsec;
}

static inline int mcgrant_clock_set(uint64_t epoch, int64_t offset, uint64_t error, uint64_t at)
{
	static __thread struct mcnl_msg m;

	mcnl_begin(&m, MC_CMD_CLOCK_SET);
	mcnl_put_u64(&m, MC_ATTR_CLOCK_EPOCH, epoch);
	mcnl_put_u64(&m, MC_ATTR_CLOCK_OFFSET, (uint64_t)offset);
	mcnl_put_u64(&m, MC_ATTR_CLOCK_ERROR, error);
	mcnl_put_u64(&m, MC_ATTR_CLOCK_AT, at);
	return mcnl_call(&m);
}

/**
 * struct mcgrant_node - what the module says of keys and time
 * @gen: newest generation, 0 without authentication
 * @epoch: clock
 * @offset: master time minus CLOCK_BOOTTIME
 */
struct mcgrant_node {
	uint32_t gen;
	uint64_t epoch;
	int64_t offset;
};

static __thread struct mcgrant_node mcgrant_known;
static __thread uint64_t mcgrant_known_at;

/* Keeps the clock good, and tells it. */
static inline int mcgrant_clock(struct mcgrant_node *n)
{
	static __thread struct mcnl_msg m;
	struct mcgrant_node known;
	uint64_t now = mcgrant_boot(), age = ~0ull;
	uint32_t auth = MC_AUTH_NONE;
	int ret = 0;

	if (mcgrant_known_at && now - mcgrant_known_at < 2000000000ull) {
		*n = mcgrant_known;
		return 0;
	}
	mcnl_begin(&m, MC_CMD_INFO_GET);
	ret = mcnl_call(&m);
	memset(&known, 0, sizeof(known));
	mcnl_attr(&m, MC_ATTR_AUTH, &auth, 4);
	if (auth == MC_AUTH_KEY)
		mcnl_attr(&m, MC_ATTR_KEY_GEN, &known.gen, 4);
	mcnl_attr(&m, MC_ATTR_CLOCK_EPOCH, &known.epoch, 8);
	mcnl_attr(&m, MC_ATTR_CLOCK_OFFSET, &known.offset, 8);
	mcnl_attr(&m, MC_ATTR_CLOCK_AGE, &age, 8);
	if (!ret && (known.epoch <= MCGRANT_EPOCH || age > 3000000000ull)) {
		known.epoch = MCGRANT_EPOCH;
		known.offset = 0;
		ret = mcgrant_clock_set(MCGRANT_EPOCH, 0, 0, now);
		/* Who may not set it relies on somebody who may. */
		ret = ret == -EPERM ? 0 : ret;
	}
	if (!ret) {
		mcgrant_known = known;
		mcgrant_known_at = now;
	}
	*n = known;
	return ret;
}

/* The clock is the test's own from now on, whatever it was before. */
static inline int mcgrant_clock_own(void)
{
	mcgrant_known_at = 0;
	return mcgrant_clock_set(MCGRANT_EPOCH, 0, 0, mcgrant_boot());
}

static inline void mcgrant_cluster_key(uint8_t *key, uint32_t gen)
{
	const char *hex = getenv("MC_TEST_KEY");
	int i;

	for (i = 0; i < MC_GRANT_KEY; i++) {
		key[i] = gen ? (uint8_t)i : 0;
		if (gen && hex && hex[2 * i])
			sscanf(hex + 2 * i, "%2hhx", &key[i]);
	}
}

static inline void mcgrant_sign(const struct mc_grant *g, const uint8_t *cluster, uint8_t *out)
{
	uint8_t key[MC_GRANT_KEY];

	mc_grant_key(cluster, g->seg, g->key_gen, key);
	mc_grant_sign(g, key, out);
}

/* A grant with everything right: all of a segment, for an hour. */
static inline int mcgrant_make(struct mc_grant *g, const uint8_t *seg, uint64_t len, uint32_t rights)
{
	struct mcgrant_node n;
	int ret = mcgrant_clock(&n);

	memset(g, 0, sizeof(*g));
	memcpy(g->seg, seg, MC_GRANT_UUID);
	g->len = len;
	g->rights = rights;
	g->key_gen = n.gen;
	g->epoch = n.epoch;
	g->not_after = mcgrant_boot() + (uint64_t)n.offset + MCGRANT_HOUR;
	return ret;
}

/* Loads one that is signed already: its own result, or that of the call. */
static __attribute__((noinline, unused)) int mcgrant_load(int fd, const uint8_t *bytes, uint32_t *id)
{
	struct mc_grant_item item = { .out_id = 0 };
	struct mc_grant_add a = { .size = sizeof(a), .count = 1, .items = (uintptr_t)&item };

	memcpy(item.grant, bytes, MC_GRANT_LEN);
	if (ioctl(fd, MC_IOC_GRANT_ADD, &a))
		return -errno;
	*id = item.out_id;
	return item.out_error;
}

/* Signs with the test's key and loads. */
static __attribute__((noinline, unused)) int mcgrant_add(int fd, const struct mc_grant *g, uint32_t *id)
{
	uint8_t key[MC_GRANT_KEY], bytes[MC_GRANT_LEN];

	mcgrant_cluster_key(key, g->key_gen);
	mcgrant_sign(g, key, bytes);
	return mcgrant_load(fd, bytes, id);
}

static inline int mcgrant_del(int fd, uint32_t id)
{
	struct mc_grant_del d = { .size = sizeof(d), .count = 1, .ids = (uintptr_t)&id };

	return ioctl(fd, MC_IOC_GRANT_DEL, &d) ? -errno : d.out_deleted == 1 ? 0 : -ENOENT;
}

#endif /* MCGRANT_H */
