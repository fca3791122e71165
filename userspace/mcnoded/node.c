// SPDX-License-Identifier: MIT
/* The life of a node: kernel set up, pings, mounts, end. */
#include "node.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "mctext.h"

static int __attribute__((format(printf, 3, 4)))
fail(struct nd_node *nd, int rc, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(nd->errmsg, sizeof(nd->errmsg), fmt, ap);
	va_end(ap);
	return rc;
}

static int kernel_failed(struct nd_node *nd, int rc)
{
	return fail(nd, rc, "%s", nd->k->errmsg(nd->kctx));
}

int nd_init(struct nd_node *nd, const uint8_t *uuid)
{
	memcpy(nd->self.uuid, uuid, MC_UUID_LEN);
	snprintf(nd->self.name, sizeof(nd->self.name), "%s", nd->cfg->name);
	return mct_uuid_random(nd->client);
}

/* ---- the kernel's state ---- */

static int setup_identity(struct nd_node *nd)
{
	const struct nd_config *cfg = nd->cfg;
	int rc;

	rc = nd->k->node_set(nd->kctx, nd->self.uuid, cfg->cluster,
			     cfg->auth_none ? MC_AUTH_NONE : MC_AUTH_KEY);
	if (!rc && !cfg->auth_none)
		rc = nd->k->key_set(nd->kctx, nd->key_gen, nd->key);
	return rc ? kernel_failed(nd, rc) : 0;
}

int nd_key_reload(struct nd_node *nd)
{
	uint8_t key[MC_KEY_LEN];
	uint32_t gen = nd->cfg->key_gen;
	int rc = mct_key_load(nd->cfg->key_file, key, &gen, nd->errmsg, sizeof(nd->errmsg));

	if (!rc) {
		rc = nd->k->key_set(nd->kctx, gen, key);
		if (rc)
			kernel_failed(nd, rc);
	}
	if (!rc) {
		memcpy(nd->key, key, sizeof(key));
		nd->key_gen = gen;
	}
	explicit_bzero(key, sizeof(key));
	return rc;
}

static bool has_rail(const struct nd_rail_config *want, const struct mcnl_rail *have, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(have[i].dev, want->device) && have[i].port == want->port &&
		    have[i].addr.len == want->addr.len &&
		    !memcmp(have[i].addr.bytes, want->addr.bytes, want->addr.len))
			return true;
	return false;
}

int nd_refresh_rails(struct nd_node *nd)
{
	struct mcnl_rail *have = NULL;
	size_t n;
	int rc = nd->k->rails(nd->kctx, &have, &n);

	if (rc)
		return kernel_failed(nd, rc);
	nd->self.n_rails = n < ND_MAX_RAILS ? n : ND_MAX_RAILS;
	if (n)
		memcpy(nd->self.rails, have, nd->self.n_rails * sizeof(*have));
	free(have);
	return 0;
}

static int setup_rails(struct nd_node *nd)
{
	struct mcnl_rail *have = NULL;
	size_t n;
	int rc = nd->k->rails(nd->kctx, &have, &n);

	for (size_t i = 0; i < nd->cfg->n_rails && !rc; i++) {
		const struct nd_rail_config *want = &nd->cfg->rails[i];

		if (!has_rail(want, have, n))
			rc = nd->k->rail_add(nd->kctx, want->device, &want->addr, want->port);
	}
	free(have);
	return rc ? kernel_failed(nd, rc) : nd_refresh_rails(nd);
}

/*
 * The pool outlives mcnoded. One with the right name but another shape is not ours to destroy. Which master has
 * handed it out the kernel knows: mcnoded tells it a master's time before it mounts a pool there.
 */
static int take_over(struct nd_node *nd, const struct mcnl_pool *have)
{
	const struct mcnl_pool *want = &nd->cfg->pool;
	struct mcnl_info info;
	int rc;

	if (have->len != want->len || have->page_size != want->page_size)
		return fail(nd, -EEXIST, "pool '%s' exists with %llu bytes in pages of %u, configured are "
			    "%llu bytes in pages of %u; destroy it (mcctl pool destroy %s) or change the file",
			    want->name, (unsigned long long)have->len, have->page_size,
			    (unsigned long long)want->len, want->page_size, want->name);
	if (memcmp(nd->pool.seg_uuid, have->seg_uuid, MC_UUID_LEN)) {
		rc = nd->k->info(nd->kctx, &info);
		if (rc)
			return kernel_failed(nd, rc);
		nd->pool_epoch = info.clock_epoch;
		nd->inherited = false;
	}
	nd->pool = *have;
	return 0;
}

static int setup_pool(struct nd_node *nd)
{
	struct mcnl_pool *have = NULL;
	bool found = false;
	size_t n;
	int rc = nd->k->pools(nd->kctx, &have, &n);

	if (rc)
		return kernel_failed(nd, rc);
	for (size_t i = 0; i < n && !found; i++) {
		found = !strcmp(have[i].name, nd->cfg->pool.name);
		if (found)
			rc = take_over(nd, &have[i]);
	}
	free(have);
	if (found)
		return rc;
	nd->pool = nd->cfg->pool;
	nd->pool_epoch = 0;
	nd->inherited = false;
	rc = nd->k->pool_create(nd->kctx, &nd->cfg->pool, nd->pool.seg_uuid);
	return rc ? kernel_failed(nd, rc) : 0;
}

int nd_setup(struct nd_node *nd)
{
	uint8_t before[MC_UUID_LEN];
	int rc;

	memcpy(before, nd->pool.seg_uuid, sizeof(before));
	rc = setup_identity(nd);
	if (!rc)
		rc = setup_rails(nd);
	if (!rc && nd->cfg->has_pool)
		rc = setup_pool(nd);
	if (!rc)
		rc = nd_peers_adopt(nd);
	if (rc)
		return rc;
	/* a pool that had to be made anew must be mounted anew, and peers are to be installed again */
	if (memcmp(before, nd->pool.seg_uuid, sizeof(before)))
		nd->mounted = false;
	nd->version = 0;
	nd->ready = true;
	return 0;
}

/* ---- the master ---- */

static uint64_t link_down(struct nd_node *nd, int code, const char *why)
{
	if (nd->link != ND_LINK_DOWN || nd->last_code != code)
		nd_log(ND_WARN, "master %s: %s; trying again", nd->cfg->master, why);
	nd->link = ND_LINK_DOWN;
	nd->last_code = code;
	nd->backoff = nd->backoff ? 2 * nd->backoff : ND_PING_NS;
	if (nd->backoff > ND_BACKOFF_MAX_NS)
		nd->backoff = ND_BACKOFF_MAX_NS;
	return nd->backoff;
}

static void link_up(struct nd_node *nd)
{
	if (nd->link != ND_LINK_UP)
		nd_log(ND_INFO, "master %s answers", nd->cfg->master);
	nd->link = ND_LINK_UP;
	nd->last_code = 0;
	nd->backoff = 0;
}

static uint64_t kernel_lost(struct nd_node *nd, int rc)
{
	if (nd->ready || nd->last_code != rc)
		nd_log(ND_ERROR, "kernel: %s; trying again", nd->errmsg);
	nd->ready = false;
	nd->last_code = rc;
	return ND_PING_NS;
}

/* The master's clock at the middle of the round trip; half of it is all that the estimate can be off by. */
static int sync_clock(struct nd_node *nd, const struct nd_ping *p, uint64_t t0, uint64_t t1)
{
	uint64_t middle = t0 + (t1 - t0) / 2;
	int rc = nd->k->clock_set(nd->kctx, p->epoch, (int64_t)(p->now_ns - middle), (t1 - t0) / 2 + 1, t0);

	return rc ? kernel_failed(nd, rc) : 0;
}

static int mount(struct nd_node *nd)
{
	char err[ND_TEXT] = "", uuid[MCT_UUID_TEXT];
	int rc;

	/* Whoever was asked may have mounted it, though no answer came. */
	if (nd->pool_epoch && nd->pool_epoch != nd->epoch)
		nd->inherited = true;
	nd->pool_epoch = nd->epoch;
	rc = nd->m->mount(nd->mctx, nd->client, nd->self.uuid, &nd->pool, nd->inherited, err);
	if (rc) {
		if (nd->last_code != rc)
			nd_log(ND_ERROR, "master %s: mount of pool '%s' (%s): %s; trying again",
			       nd->cfg->master, nd->pool.name, mct_uuid_text(nd->pool.seg_uuid, uuid), err);
		nd->last_code = rc;
		return rc;
	}
	nd->last_code = 0;
	nd->mounted = true;
	nd->inherited = false;
	nd_log(ND_INFO, "pool '%s' (%s, %llu bytes) is mounted", nd->pool.name,
	       mct_uuid_text(nd->pool.seg_uuid, uuid), (unsigned long long)nd->pool.len);
	return 0;
}

static void install_nodes(struct nd_node *nd, const struct nd_ping *p)
{
	if (p->has_nodes)
		nd->version = nd_peers_update(nd, p->nodes, p->n_nodes) ? 0 : p->version;
	nd_peers_expire(nd);
}

/*
 * Another epoch means another master, whose version numbers begin again: its list must be asked for from nothing.
 *
 * The kernel's clock is a mark too: it names the last master that knows all that was handed out of the pool. So it
 * moves on after the new master has taken the pool with the word that it is inherited, not before: a crash in between
 * would lose that.
 */
static uint64_t answered(struct nd_node *nd, struct nd_ping *p, uint64_t t0, uint64_t t1)
{
	bool restarted = nd->epoch && nd->epoch != p->epoch;
	int rc;

	nd->epoch = p->epoch;
	if (restarted)
		nd->mounted = false;
	if (restarted && !p->has_nodes) {
		nd->version = 0;
		return 0;
	}
	link_up(nd);
	install_nodes(nd, p);
	if (p->need_remount)
		nd->mounted = false;
	if (nd->cfg->has_pool && !nd->mounted)
		mount(nd);
	rc = nd->inherited ? 0 : sync_clock(nd, p, t0, t1);
	return rc ? kernel_lost(nd, rc) : ND_PING_NS;
}

static uint64_t ping(struct nd_node *nd)
{
	struct nd_ping p = {
		.client = nd->client, .self = &nd->self, .cluster = nd->cfg->cluster,
		.have_version = nd->version,
	};
	char err[ND_TEXT] = "";
	uint64_t t0 = nd->now(), wait;
	int rc = nd->m->ping(nd->mctx, &p, err);

	wait = rc ? link_down(nd, rc, err) : answered(nd, &p, t0, nd->now());
	free(p.nodes);
	return wait;
}

uint64_t nd_tick(struct nd_node *nd)
{
	int rc;

	if (!nd->ready) {
		rc = nd->k->reopen(nd->kctx);
		rc = rc ? kernel_failed(nd, rc) : nd_setup(nd);
		if (rc)
			return kernel_lost(nd, rc);
		nd_log(ND_INFO, "kernel is set up again");
	}
	return ping(nd);
}

/* Somebody destroyed the pool: the master is told at once that its objects are lost, not when a client finds out. */
bool nd_segment_gone(struct nd_node *nd, const uint8_t *seg_uuid)
{
	char err[ND_TEXT] = "";

	if (!nd->cfg->has_pool || memcmp(nd->pool.seg_uuid, seg_uuid, MC_UUID_LEN))
		return false;
	nd_log(ND_WARN, "pool '%s' was destroyed by somebody else: it is made anew, empty", nd->pool.name);
	if (nd->mounted && nd->m->unmount(nd->mctx, nd->client, nd->pool.seg_uuid, err))
		nd_log(ND_ERROR, "master %s: unmount of pool '%s': %s", nd->cfg->master, nd->pool.name, err);
	nd->mounted = false;
	nd->ready = false;
	return true;
}

void nd_client_gone(struct nd_node *nd, const uint8_t *client)
{
	if (nd->n_gone == ND_GONE_MAX)
		nd_clients_tell(nd);
	memcpy(nd->gone[nd->n_gone++], client, MC_UUID_LEN);
}

void nd_clients_tell(struct nd_node *nd)
{
	char err[ND_TEXT] = "";

	if (nd->n_gone && nd->link == ND_LINK_UP &&
	    nd->m->clients_gone(nd->mctx, nd->client, nd->gone, nd->n_gone, err))
		nd_log(ND_WARN, "master %s: %zu clients are gone: %s; their leases run out", nd->cfg->master,
		       nd->n_gone, err);
	nd->n_gone = 0;
}

int nd_stop(struct nd_node *nd)
{
	char err[ND_TEXT] = "";
	int rc = 0;

	if (nd->mounted) {
		rc = nd->m->unmount(nd->mctx, nd->client, nd->pool.seg_uuid, err);
		if (rc)
			nd_log(ND_ERROR, "master %s: unmount of pool '%s': %s", nd->cfg->master,
			       nd->pool.name, err);
		else
			nd_log(ND_INFO, "pool '%s' is unmounted", nd->pool.name);
		nd->mounted = false;
	}
	if (nd->cfg->has_pool && nd->cfg->destroy_pool &&
	    nd->k->pool_destroy(nd->kctx, nd->pool.seg_uuid)) {
		nd_log(ND_ERROR, "%s", nd->k->errmsg(nd->kctx));
		rc = -1;
	}
	return rc ? -1 : 0;
}

void nd_fini(struct nd_node *nd)
{
	explicit_bzero(nd->key, sizeof(nd->key));
	free(nd->peers);
	nd->peers = NULL;
	nd->n_peers = 0;
}
