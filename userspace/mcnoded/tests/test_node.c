// SPDX-License-Identifier: MIT
/* mcnoded's flow against a kernel and a master made of tables, on a clock of the test's own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "log.h"
#include "node.h"

struct kernel {
	int fail_rail, fail_clock, fail_peer;	/* -errno to answer with */
	int node_sets, key_sets, rail_adds, peer_sets, peer_dels, pool_creates, pool_destroys, reopens;
	uint32_t auth;
	int64_t offset;
	uint64_t error, epoch, at;
	size_t n_rails, n_peers, n_pools;
	struct mcnl_rail rails[8];
	struct mcnl_peer peers[8];
	struct mcnl_pool pools[8];
	uint8_t next_uuid;
};

struct master {
	int fail_ping, fail_mount;
	bool need_remount, inherited;
	uint64_t version, epoch, now_ns;
	uint64_t asked_version;
	size_t n_nodes;
	struct nd_remote nodes[8];
	int pings, mounts, unmounts;
	uint8_t mounted[MC_UUID_LEN];
	size_t announced_rails;
	int gone_calls, fail_gone;
	size_t n_gone;
	uint8_t last_gone[MC_UUID_LEN];
};

static struct kernel kern;
static struct master mast;
static uint64_t clock_now;
static uint64_t clock_step;
static int n_logged;
static char last_log[1024];
static struct nd_config cfg;
static struct nd_node nd;

static uint64_t fake_now(void)
{
	clock_now += clock_step;
	return clock_now;
}

static void on_log(enum nd_level level, const char *line)
{
	(void)level;
	n_logged++;
	snprintf(last_log, sizeof(last_log), "%s", line);
}

/* ---- kernel ---- */

static int f_reopen(void *k)
{
	((struct kernel *)k)->reopens++;
	return 0;
}

static const char *f_errmsg(void *k)
{
	(void)k;
	return "the kernel's words";
}

static int f_info(void *k, struct mcnl_info *i)
{
	memset(i, 0, sizeof(*i));
	i->clock_epoch = ((struct kernel *)k)->epoch;
	return 0;
}

static int f_node_set(void *k, const uint8_t *uuid, const uint8_t *cluster, uint32_t auth)
{
	struct kernel *f = k;

	assert_int_equal(uuid[0], 0xA1);
	assert_int_equal(cluster[0], 0xC1);
	f->node_sets++;
	f->auth = auth;
	return 0;
}

static int f_key_set(void *k, uint32_t gen, const uint8_t *key)
{
	assert_int_equal(gen, 3);
	assert_int_equal(key[0], 0x5A);
	((struct kernel *)k)->key_sets++;
	return 0;
}

static int f_clock_set(void *k, uint64_t epoch, int64_t offset, uint64_t error, uint64_t at)
{
	struct kernel *f = k;

	f->at = at;

	f->epoch = epoch;
	f->offset = offset;
	f->error = error;
	return f->fail_clock;
}

static int f_rail_add(void *k, const char *dev, const struct mcnl_addr *addr, uint16_t port)
{
	struct kernel *f = k;
	struct mcnl_rail *r = &f->rails[f->n_rails];

	if (f->fail_rail)
		return f->fail_rail;
	f->rail_adds++;
	r->id = (uint32_t)++f->n_rails;
	strcpy(r->dev, dev);
	r->addr = *addr;
	r->port = port;
	return 0;
}

static void *copy(const void *from, size_t n, size_t size)
{
	void *to = calloc(n + 1, size);

	assert_non_null(to);
	memcpy(to, from, n * size);
	return to;
}

static int f_rails(void *k, struct mcnl_rail **out, size_t *n)
{
	struct kernel *f = k;

	*n = f->n_rails;
	*out = copy(f->rails, *n, sizeof(**out));
	return 0;
}

static struct mcnl_peer *peer_of(struct kernel *f, const uint8_t *uuid)
{
	for (size_t i = 0; i < f->n_peers; i++)
		if (!memcmp(f->peers[i].node_uuid, uuid, MC_UUID_LEN))
			return &f->peers[i];
	return NULL;
}

static int f_peer_set(void *k, const uint8_t *uuid, const struct mcnl_rail *rails, size_t n)
{
	struct kernel *f = k;
	struct mcnl_peer *p = peer_of(f, uuid);

	f->peer_sets++;
	if (f->fail_peer)
		return f->fail_peer;
	if (!p)
		p = &f->peers[f->n_peers++];
	memcpy(p->node_uuid, uuid, MC_UUID_LEN);
	p->n_rails = n;
	memcpy(p->rails, rails, n * sizeof(*rails));
	return 0;
}

static int f_peer_del(void *k, const uint8_t *uuid)
{
	struct kernel *f = k;
	struct mcnl_peer *p = peer_of(f, uuid);

	f->peer_dels++;
	if (!p)
		return -ENOENT;
	*p = f->peers[--f->n_peers];
	return 0;
}

static int f_peers(void *k, struct mcnl_peer **out, size_t *n)
{
	struct kernel *f = k;

	*n = f->n_peers;
	*out = copy(f->peers, *n, sizeof(**out));
	return 0;
}

static int f_pool_create(void *k, const struct mcnl_pool *want, uint8_t *seg_uuid)
{
	struct kernel *f = k;
	struct mcnl_pool *p = &f->pools[f->n_pools++];

	f->pool_creates++;
	*p = *want;
	memset(p->seg_uuid, ++f->next_uuid, MC_UUID_LEN);
	memcpy(seg_uuid, p->seg_uuid, MC_UUID_LEN);
	return 0;
}

static int f_pool_destroy(void *k, const uint8_t *seg_uuid)
{
	struct kernel *f = k;

	f->pool_destroys++;
	assert_memory_equal(seg_uuid, f->pools[0].seg_uuid, MC_UUID_LEN);
	f->n_pools = 0;
	return 0;
}

static int f_pools(void *k, struct mcnl_pool **out, size_t *n)
{
	struct kernel *f = k;

	*n = f->n_pools;
	*out = copy(f->pools, *n, sizeof(**out));
	return 0;
}

static const struct nd_kernel_ops fake_kernel = {
	f_reopen, f_errmsg, f_info, f_node_set, f_key_set, f_clock_set, f_rail_add, f_rails, f_peer_set, f_peer_del,
	f_peers, f_pool_create, f_pool_destroy, f_pools,
};

/* ---- master ---- */

static int f_ping(void *m, struct nd_ping *p, char *err)
{
	struct master *f = m;

	f->pings++;
	f->asked_version = p->have_version;
	f->announced_rails = p->self->n_rails;
	if (f->fail_ping) {
		strcpy(err, "connection refused");
		return f->fail_ping;
	}
	p->need_remount = f->need_remount;
	p->version = f->version;
	p->epoch = f->epoch;
	p->now_ns = f->now_ns;
	p->has_nodes = p->have_version != f->version;
	if (p->has_nodes) {
		p->n_nodes = f->n_nodes;
		p->nodes = copy(f->nodes, f->n_nodes, sizeof(*p->nodes));
	}
	return 0;
}

static int f_mount(void *m, const uint8_t *client, const uint8_t *node, const struct mcnl_pool *pool, bool inherited,
		   char *err)
{
	struct master *f = m;

	assert_memory_equal(client, nd.client, MC_UUID_LEN);
	assert_int_equal(node[0], 0xA1);
	f->mounts++;
	if (f->fail_mount) {
		strcpy(err, "no");
		return f->fail_mount;
	}
	f->inherited = inherited;
	memcpy(f->mounted, pool->seg_uuid, MC_UUID_LEN);
	f->need_remount = false;
	return 0;
}

static int f_unmount(void *m, const uint8_t *client, const uint8_t *seg, char *err)
{
	struct master *f = m;

	(void)client;
	(void)err;
	assert_memory_equal(seg, f->mounted, MC_UUID_LEN);
	f->unmounts++;
	return 0;
}

static int f_clients_gone(void *m, const uint8_t *client, const uint8_t (*gone)[MC_UUID_LEN], size_t n, char *err)
{
	struct master *f = m;

	assert_memory_equal(client, nd.client, MC_UUID_LEN);
	f->gone_calls++;
	f->n_gone += n;
	memcpy(f->last_gone, gone[n - 1], MC_UUID_LEN);
	if (f->fail_gone)
		strcpy(err, "as the test wants");
	return f->fail_gone;
}

static const struct nd_master_ops fake_master = { f_ping, f_mount, f_unmount, f_clients_gone };

/* ---- set-up ---- */

static void name_node(size_t i, uint8_t uuid, uint32_t addr)
{
	struct nd_remote *r = &mast.nodes[i];

	memset(r, 0, sizeof(*r));
	memset(r->uuid, uuid, MC_UUID_LEN);
	snprintf(r->name, sizeof(r->name), "n%02x", uuid);
	r->n_rails = 1;
	r->rails[0].id = 1;
	r->rails[0].port = 50060;
	r->rails[0].addr.len = 4;
	memcpy(r->rails[0].addr.bytes, &addr, 4);
}

/* A new run of mcnoded: its memory is gone, kernel and master are as they were. */
static void new_run(void)
{
	uint8_t uuid[MC_UUID_LEN];

	nd_fini(&nd);
	memset(&nd, 0, sizeof(nd));
	nd.cfg = &cfg;
	nd.k = &fake_kernel;
	nd.kctx = &kern;
	nd.m = &fake_master;
	nd.mctx = &mast;
	nd.now = fake_now;
	memset(nd.key, 0x5A, sizeof(nd.key));
	nd.key_gen = 3;
	memset(uuid, 0xA1, sizeof(uuid));
	assert_int_equal(nd_init(&nd, uuid), 0);
}

static int setup(void **state)
{
	(void)state;
	memset(&kern, 0, sizeof(kern));
	memset(&mast, 0, sizeof(mast));
	memset(&cfg, 0, sizeof(cfg));
	clock_now = 1000000000000ULL;
	clock_step = 0;
	strcpy(cfg.master, "m:1");
	memset(cfg.cluster, 0xC1, MC_UUID_LEN);
	cfg.key_gen = 3;
	cfg.n_rails = 1;
	strcpy(cfg.rails[0].device, "rxe0");
	cfg.rails[0].addr.len = 4;
	cfg.rails[0].port = 50060;
	cfg.has_pool = true;
	strcpy(cfg.pool.name, "p");
	cfg.pool.len = 1 << 20;
	cfg.pool.numa = -1;
	cfg.pool.page_size = 4096;
	mast.version = 5;
	mast.epoch = 77;
	mast.now_ns = 500;
	mast.n_nodes = 2;
	name_node(0, 0xA1, 1);
	name_node(1, 0xB2, 2);
	nd_log_capture(on_log);
	new_run();
	n_logged = 0;
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	nd_fini(&nd);
	nd_log_capture(NULL);
	return 0;
}

/* ---- tests ---- */

static void test_first_run(void **state)
{
	(void)state;
	assert_int_equal(nd_setup(&nd), 0);
	assert_int_equal(kern.node_sets, 1);
	assert_int_equal(kern.auth, MC_AUTH_KEY);
	assert_int_equal(kern.key_sets, 1);
	assert_int_equal(kern.rail_adds, 1);
	assert_int_equal(kern.pool_creates, 1);
	assert_int_equal(nd_tick(&nd), ND_PING_NS);
	assert_int_equal(mast.announced_rails, 1);
	assert_int_equal(mast.mounts, 1);
	assert_memory_equal(mast.mounted, kern.pools[0].seg_uuid, MC_UUID_LEN);
	assert_int_equal(kern.n_peers, 1);	/* the other node, not this one */
	assert_int_equal(kern.peers[0].node_uuid[0], 0xB2);
	assert_int_equal(nd_tick(&nd), ND_PING_NS);
	assert_int_equal(mast.asked_version, 5);
	assert_int_equal(mast.mounts, 1);
	assert_int_equal(kern.peer_sets, 1);
}

static void test_auth_none(void **state)
{
	(void)state;
	cfg.auth_none = true;
	assert_int_equal(nd_setup(&nd), 0);
	assert_int_equal(kern.auth, MC_AUTH_NONE);
	assert_int_equal(kern.key_sets, 0);
}

static void test_restart_takes_over(void **state)
{
	uint8_t seg[MC_UUID_LEN];

	(void)state;
	assert_int_equal(nd_setup(&nd), 0);
	nd_tick(&nd);
	memcpy(seg, kern.pools[0].seg_uuid, MC_UUID_LEN);
	new_run();
	assert_int_equal(nd_setup(&nd), 0);
	nd_tick(&nd);
	assert_int_equal(kern.rail_adds, 1);
	assert_int_equal(kern.pool_creates, 1);
	assert_int_equal(kern.peer_sets, 1);	/* it was there, with the same rails */
	assert_int_equal(mast.mounts, 2);
	assert_memory_equal(mast.mounted, seg, MC_UUID_LEN);
}

static void test_pool_of_other_size(void **state)
{
	(void)state;
	assert_int_equal(nd_setup(&nd), 0);
	new_run();
	cfg.pool.len = 2 << 20;
	assert_int_equal(nd_setup(&nd), -EEXIST);
	assert_non_null(strstr(nd.errmsg, "'p'"));
	assert_non_null(strstr(nd.errmsg, "1048576"));
	assert_non_null(strstr(nd.errmsg, "2097152"));
	assert_int_equal(kern.pool_creates, 1);
	assert_int_equal(kern.pool_destroys, 0);
}

static void test_need_remount(void **state)
{
	(void)state;
	assert_int_equal(nd_setup(&nd), 0);
	nd_tick(&nd);
	mast.need_remount = true;
	nd_tick(&nd);
	assert_int_equal(mast.mounts, 2);
	nd_tick(&nd);
	assert_int_equal(mast.mounts, 2);
}

static void test_master_restart(void **state)
{
	(void)state;
	assert_int_equal(nd_setup(&nd), 0);
	nd_tick(&nd);
	/* another master whose version happens to be the same, and which only this node has found so far */
	mast.epoch = 78;
	mast.need_remount = true;
	mast.n_nodes = 1;
	assert_int_equal(nd_tick(&nd), 0);
	assert_int_equal(nd_tick(&nd), ND_PING_NS);
	assert_int_equal(mast.asked_version, 0);
	assert_int_equal(mast.mounts, 2);
	assert_int_equal(kern.epoch, 78);
	assert_int_equal(kern.n_peers, 1);	/* not forgotten at once */
	assert_int_equal(kern.peer_dels, 0);
}

static void test_mount_is_tried_again(void **state)
{
	(void)state;
	assert_int_equal(nd_setup(&nd), 0);
	mast.fail_mount = -1010;
	nd_tick(&nd);
	nd_tick(&nd);
	assert_int_equal(mast.mounts, 2);
	mast.fail_mount = 0;
	nd_tick(&nd);
	assert_int_equal(mast.mounts, 3);
	assert_true(nd.mounted);
}

static void test_peers_follow(void **state)
{
	(void)state;
	assert_int_equal(nd_setup(&nd), 0);
	nd_tick(&nd);
	name_node(1, 0xB2, 9);		/* moved */
	name_node(2, 0xC3, 3);		/* new */
	name_node(3, 0xD4, 4);
	mast.nodes[3].n_rails = 0;	/* can't be reached */
	mast.n_nodes = 4;
	mast.version++;
	nd_tick(&nd);
	assert_int_equal(kern.n_peers, 2);
	assert_int_equal(kern.peer_sets, 3);
	assert_int_equal(kern.peers[0].rails[0].addr.bytes[0], 9);
	mast.n_nodes = 2;
	mast.version++;
	nd_tick(&nd);
	clock_now += ND_PEER_GRACE_NS - 1;
	nd_tick(&nd);
	assert_int_equal(kern.peer_dels, 0);
	clock_now += 1;
	nd_tick(&nd);
	assert_int_equal(kern.peer_dels, 1);
	assert_int_equal(kern.n_peers, 1);
	assert_int_equal(kern.peers[0].node_uuid[0], 0xB2);
}

static void test_refused_peer_is_asked_for_again(void **state)
{
	(void)state;
	assert_int_equal(nd_setup(&nd), 0);
	kern.fail_peer = -EINVAL;
	nd_tick(&nd);
	n_logged = 0;
	nd_tick(&nd);
	assert_int_equal(mast.asked_version, 0);
	assert_int_equal(n_logged, 0);		/* said once */
	kern.fail_peer = 0;
	nd_tick(&nd);
	assert_int_equal(kern.n_peers, 1);
	nd_tick(&nd);
	assert_int_equal(mast.asked_version, 5);
}

static void test_clock(void **state)
{
	(void)state;
	assert_int_equal(nd_setup(&nd), 0);
	clock_step = 1000;	/* each look at the clock takes that long: the round trip is one step */
	clock_now = 5000;
	mast.now_ns = 100000;
	nd_tick(&nd);
	/* sent at 6000, back at 7000: the master's 100000 was at 6500 give or take 500 */
	assert_int_equal(kern.offset, 100000 - 6500);
	assert_in_range(kern.error, 500, 501);
	assert_int_equal(kern.epoch, 77);
	assert_int_equal(kern.at, 6000);	/* as old as it may be */
}

/* SIGHUP: the kernel gets what the file holds now; a file that is refused changes nothing. */
static void test_key_is_read_again(void **state)
{
	char path[] = "/tmp/mcnoded-key-XXXXXX";
	int fd = mkstemp(path), sets;
	FILE *f = fdopen(fd, "w");

	(void)state;
	assert_non_null(f);
	assert_int_equal(nd_setup(&nd), 0);
	sets = kern.key_sets;
	for (int i = 0; i < 32; i++)
		fprintf(f, "5a");
	fprintf(f, " 3\n");
	fclose(f);
	snprintf(cfg.key_file, sizeof(cfg.key_file), "%s", path);
	nd.key_gen = 2;
	nd.key[0] = 1;
	assert_int_equal(nd_key_reload(&nd), 0);
	assert_int_equal(kern.key_sets, sets + 1);
	assert_int_equal(nd.key_gen, 3);
	assert_int_equal(nd.key[0], 0x5A);
	chmod(path, 0644);
	assert_int_equal(nd_key_reload(&nd), -EACCES);
	assert_non_null(strstr(nd.errmsg, path));
	assert_int_equal(kern.key_sets, sets + 1);
	unlink(path);
}

/* mcnoded and the master begin anew while the pool stays: the kernel's clock tells whose it was. */
static void test_inherited_pool(void **state)
{
	(void)state;
	assert_int_equal(nd_setup(&nd), 0);
	nd_tick(&nd);
	assert_false(mast.inherited);
	assert_int_equal(kern.epoch, 77);
	/* Another run of mcnoded, the same master. */
	memset(nd.pool.seg_uuid, 0, MC_UUID_LEN);
	nd.mounted = nd.inherited = false;
	nd.epoch = nd.pool_epoch = 0;
	assert_int_equal(nd_setup(&nd), 0);
	nd_tick(&nd);
	assert_int_equal(mast.mounts, 2);
	assert_false(mast.inherited);
	/* Another run, another master, which does not answer the first time. */
	memset(nd.pool.seg_uuid, 0, MC_UUID_LEN);
	nd.mounted = nd.inherited = false;
	nd.epoch = nd.pool_epoch = 0;
	mast.epoch = 78;
	mast.fail_mount = -1;
	assert_int_equal(nd_setup(&nd), 0);
	nd_tick(&nd);
	/* The kernel keeps the mark until the new master knows. */
	assert_int_equal(kern.epoch, 77);
	mast.fail_mount = 0;
	nd_tick(&nd);
	assert_true(mast.inherited);
	assert_int_equal(kern.epoch, 78);
	/* The same run, a third master. */
	mast.epoch = 79;
	mast.version++;
	nd_tick(&nd);
	nd_tick(&nd);
	assert_true(mast.inherited);
	assert_int_equal(kern.epoch, 79);
	/* Mounted again at that one: it knows all of it. */
	mast.need_remount = true;
	nd_tick(&nd);
	assert_false(mast.inherited);
}

static void test_master_down(void **state)
{
	uint64_t waits[6];

	(void)state;
	assert_int_equal(nd_setup(&nd), 0);
	mast.fail_ping = -900;
	for (int i = 0; i < 6; i++)
		waits[i] = nd_tick(&nd);
	assert_int_equal(n_logged, 1);		/* one line for one change of state */
	assert_int_equal(waits[0], ND_PING_NS);
	assert_int_equal(waits[1], 2 * ND_PING_NS);
	assert_int_equal(waits[5], ND_BACKOFF_MAX_NS);
	mast.fail_ping = 0;
	assert_int_equal(nd_tick(&nd), ND_PING_NS);
	n_logged = 0;
	mast.fail_ping = -900;
	nd_tick(&nd);
	assert_int_equal(n_logged, 1);
	assert_non_null(strstr(last_log, "m:1"));
	assert_non_null(strstr(last_log, "connection refused"));
}

static void test_wrong_device(void **state)
{
	(void)state;
	kern.fail_rail = -ENODEV;
	assert_int_equal(nd_setup(&nd), -ENODEV);
	assert_string_equal(nd.errmsg, "the kernel's words");
	assert_int_equal(kern.pool_creates, 0);
}

static void test_module_reloaded(void **state)
{
	(void)state;
	assert_int_equal(nd_setup(&nd), 0);
	nd_tick(&nd);
	kern.fail_clock = -EIO;
	nd_tick(&nd);
	n_logged = 0;
	nd_tick(&nd);
	assert_int_equal(kern.reopens, 1);
	/* back, and empty */
	kern.fail_clock = 0;
	kern.n_rails = kern.n_peers = kern.n_pools = 0;
	nd_tick(&nd);
	nd_tick(&nd);
	assert_int_equal(kern.n_rails, 1);
	assert_int_equal(kern.n_pools, 1);
	assert_int_equal(kern.n_peers, 1);
	assert_memory_equal(mast.mounted, kern.pools[0].seg_uuid, MC_UUID_LEN);
}

static void test_pool_destroyed(void **state)
{
	uint8_t before[MC_UUID_LEN], other[MC_UUID_LEN] = { 9 };

	(void)state;
	assert_int_equal(nd_setup(&nd), 0);
	nd_tick(&nd);
	memcpy(before, nd.pool.seg_uuid, sizeof(before));
	assert_false(nd_segment_gone(&nd, other));
	assert_int_equal(mast.unmounts, 0);
	kern.n_pools = 0;
	assert_true(nd_segment_gone(&nd, before));
	assert_int_equal(mast.unmounts, 1);
	nd_tick(&nd);
	assert_int_equal(kern.n_pools, 1);
	assert_memory_equal(mast.mounted, kern.pools[0].seg_uuid, MC_UUID_LEN);
	assert_true(memcmp(before, nd.pool.seg_uuid, sizeof(before)) != 0);
	assert_false(nd_segment_gone(&nd, before));
}

static void c31_dead_readers(void **state)
{
	uint8_t client[MC_UUID_LEN] = { 7 };
	unsigned int i;

	(void)state;
	assert_int_equal(nd_setup(&nd), 0);
	/* No master yet: their leases run out. */
	nd_client_gone(&nd, client);
	nd_clients_tell(&nd);
	assert_int_equal(mast.gone_calls, 0);
	nd_tick(&nd);
	nd_clients_tell(&nd);
	assert_int_equal(mast.gone_calls, 0);
	/* What one look at the events has brought goes together, in calls of a size that the master takes. */
	for (i = 0; i < ND_GONE_MAX + 3; i++) {
		client[1] = (uint8_t)i;
		nd_client_gone(&nd, client);
	}
	nd_clients_tell(&nd);
	assert_int_equal(mast.gone_calls, 2);
	assert_int_equal(mast.n_gone, ND_GONE_MAX + 3);
	assert_memory_equal(mast.last_gone, client, MC_UUID_LEN);
	/* One that fails is said once. */
	mast.fail_gone = -900;
	nd_client_gone(&nd, client);
	nd_clients_tell(&nd);
	nd_clients_tell(&nd);
	assert_int_equal(mast.gone_calls, 3);
	assert_non_null(strstr(last_log, "as the test wants"));
}

static void test_stop(void **state)
{
	(void)state;
	assert_int_equal(nd_setup(&nd), 0);
	nd_tick(&nd);
	assert_int_equal(nd_stop(&nd), 0);
	assert_int_equal(mast.unmounts, 1);
	assert_int_equal(kern.pool_destroys, 0);
	assert_int_equal(nd_stop(&nd), 0);
	assert_int_equal(mast.unmounts, 1);
	cfg.destroy_pool = true;
	assert_int_equal(nd_stop(&nd), 0);
	assert_int_equal(kern.pool_destroys, 1);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_first_run), T(test_auth_none), T(test_restart_takes_over), T(test_pool_of_other_size),
		T(test_need_remount), T(test_master_restart), T(test_mount_is_tried_again), T(test_peers_follow),
		T(test_refused_peer_is_asked_for_again), T(test_clock), T(test_inherited_pool),
		T(test_key_is_read_again), T(test_master_down), T(test_wrong_device), T(test_module_reloaded),
		T(test_pool_destroyed), T(test_stop),
		{ "C-31 the master hears of dead readers", c31_dead_readers, setup, teardown, NULL },
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("mcnoded node", tests, NULL, NULL);
}
