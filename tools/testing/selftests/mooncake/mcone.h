/* SPDX-License-Identifier: MIT */
/* For tests of one node: who it is, and a pool with a buffer to move bytes between. */
#ifndef MC_ONE_H
#define MC_ONE_H

#include "mcdev.h"
#include "mcnl.h"

#define ONE_POOL (8u << 20)
#define ONE_BUF (4u << 20)

static const uint8_t node_uuid[16] __attribute__((unused)) = {
	0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x47, 0x88, 0x99, 1, 2, 3, 4, 5, 6, 7
};
static const uint8_t cluster[16] __attribute__((unused)) = { 9 };

/**
 * struct mcone - the device, a pool that is open, and registered memory
 * @d: rings of 64 and 128 entries
 * @pool: a pool of ONE_POOL bytes
 * @seg: it, opened
 * @buf: the memory, registered
 * @mem: ONE_BUF bytes
 */
struct mcone {
	struct mcdev d;
	uint8_t pool[16];
	uint32_t seg, buf;
	uint8_t *mem;
};

/* Returns 0 or -errno. */
static inline int mcone_open(struct mcone *o, const char *name)
{
	uint64_t len = 0;
	int ret = mcnl_node_set(node_uuid, cluster, MC_AUTH_NONE);

	if (!ret)
		ret = mcnl_pool_create(name, ONE_POOL, 0, o->pool);
	if (!ret)
		ret = mcdev_open(&o->d, 64, 128);
	o->mem = mmap(NULL, ONE_BUF, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (!ret)
		ret = o->mem == MAP_FAILED ? -errno : mcdev_reg(o->d.fd, o->mem, ONE_BUF, &o->buf);
	if (!ret)
		ret = mcdev_seg_open(o->d.fd, node_uuid, o->pool, 0, &o->seg, &len);
	return ret || len == ONE_POOL ? ret : -ERANGE;
}

#endif
