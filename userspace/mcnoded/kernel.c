// SPDX-License-Identifier: MIT
/* The local kernel through netlink. */
#include "node.h"

static struct mcnl *handle(void *k)
{
	return *(struct mcnl **)k;
}

static int k_reopen(void *k)
{
	struct mcnl **nl = k;

	mcnl_close(*nl);
	return mcnl_open(nl);
}

static const char *k_errmsg(void *k)
{
	return mcnl_errmsg(handle(k));
}

static int k_info(void *k, struct mcnl_info *info)
{
	return mcnl_info(handle(k), info);
}

static int k_node_set(void *k, const uint8_t *uuid, const uint8_t *cluster, uint32_t auth)
{
	return mcnl_node_set(handle(k), uuid, cluster, auth);
}

static int k_key_set(void *k, uint32_t gen, const uint8_t *key)
{
	return mcnl_key_set(handle(k), gen, key);
}

static int k_clock_set(void *k, uint64_t epoch, int64_t offset, uint64_t error, uint64_t at)
{
	return mcnl_clock_set(handle(k), epoch, offset, error, at);
}

static int k_rail_add(void *k, const char *dev, const struct mcnl_addr *addr, uint16_t port)
{
	return mcnl_rail_add(handle(k), dev, addr, port, NULL);
}

static int k_rails(void *k, struct mcnl_rail **out, size_t *n)
{
	return mcnl_rails(handle(k), out, n);
}

static int k_peer_set(void *k, const uint8_t *uuid, const struct mcnl_rail *rails, size_t n)
{
	return mcnl_peer_set(handle(k), uuid, rails, n);
}

static int k_peer_del(void *k, const uint8_t *uuid)
{
	return mcnl_peer_del(handle(k), uuid);
}

static int k_peers(void *k, struct mcnl_peer **out, size_t *n)
{
	return mcnl_peers(handle(k), out, n);
}

static int k_pool_create(void *k, const struct mcnl_pool *want, uint8_t *seg_uuid)
{
	return mcnl_pool_create(handle(k), want->name, want->len, want->numa, want->page_size, seg_uuid);
}

static int k_pool_destroy(void *k, const uint8_t *seg_uuid)
{
	return mcnl_pool_destroy(handle(k), seg_uuid);
}

static int k_pools(void *k, struct mcnl_pool **out, size_t *n)
{
	return mcnl_pools(handle(k), out, n);
}

const struct nd_kernel_ops nd_kernel_mcnl = {
	.reopen = k_reopen,
	.errmsg = k_errmsg,
	.info = k_info,
	.node_set = k_node_set,
	.key_set = k_key_set,
	.clock_set = k_clock_set,
	.rail_add = k_rail_add,
	.rails = k_rails,
	.peer_set = k_peer_set,
	.peer_del = k_peer_del,
	.peers = k_peers,
	.pool_create = k_pool_create,
	.pool_destroy = k_pool_destroy,
	.pools = k_pools,
};
