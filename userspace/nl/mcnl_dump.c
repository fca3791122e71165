// SPDX-License-Identifier: MIT
/* Netlink client: dumps and events, attributes to structures. */
#include "mcnl_priv.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* More than this many entries in a dump is an error of the other side, not a reason to eat all memory. */
#define MAX_ENTRIES	(1U << 20)

typedef int (*fill_fn)(struct nlattr **tb, void *entry);

struct list {
	char *mem;
	size_t n, cap, size;
	fill_fn fill;
};

static uint64_t get_u64(struct nlattr **tb, int attr)
{
	return tb[attr] ? nla_get_u64(tb[attr]) : 0;
}

static uint32_t get_u32(struct nlattr **tb, int attr)
{
	return tb[attr] ? nla_get_u32(tb[attr]) : 0;
}

static void get_str(struct nlattr **tb, int attr, char *to, size_t size)
{
	if (tb[attr])
		nla_strlcpy(to, tb[attr], size);
}

static void get_uuid(struct nlattr **tb, int attr, uint8_t *to)
{
	if (tb[attr])
		memcpy(to, nla_data(tb[attr]), MC_UUID_LEN);
}

/* Buckets behind the last one that was sent are 0; more than there are come from a newer kernel and are left out. */
static void get_hist(struct nlattr **tb, int attr, uint64_t *hist)
{
	size_t len = tb[attr] ? (size_t)nla_len(tb[attr]) : 0;

	if (len > MC_HIST_BUCKETS * sizeof(*hist))
		len = MC_HIST_BUCKETS * sizeof(*hist);
	memset(hist, 0, MC_HIST_BUCKETS * sizeof(*hist));
	if (len)
		memcpy(hist, nla_data(tb[attr]), len - len % sizeof(*hist));
}

static void get_counters(struct nlattr **tb, struct mcnl_counters *c)
{
	c->read_bytes = get_u64(tb, MC_ATTR_READ_BYTES);
	c->write_bytes = get_u64(tb, MC_ATTR_WRITE_BYTES);
	c->read_ops = get_u64(tb, MC_ATTR_READ_OPS);
	c->write_ops = get_u64(tb, MC_ATTR_WRITE_OPS);
	c->errors = get_u64(tb, MC_ATTR_ERRORS);
	c->retries = get_u64(tb, MC_ATTR_RETRIES);
	c->inflight = get_u64(tb, MC_ATTR_INFLIGHT);
	c->reconnects = get_u64(tb, MC_ATTR_RECONNECTS);
}

static void get_addr(struct nlattr **tb, struct mcnl_addr *addr, uint16_t *port)
{
	if (tb[MC_ATTR_ADDR]) {
		addr->len = nla_len(tb[MC_ATTR_ADDR]);
		memcpy(addr->bytes, nla_data(tb[MC_ATTR_ADDR]), addr->len);
	}
	if (tb[MC_ATTR_PORT])
		*port = nla_get_u16(tb[MC_ATTR_PORT]);
}

void mcnl_get_rail(struct nlattr **tb, struct mcnl_rail *r)
{
	r->id = get_u32(tb, MC_ATTR_RAIL_ID);
	r->local_id = get_u32(tb, MC_ATTR_LOCAL_RAIL_ID);
	get_str(tb, MC_ATTR_DEV_NAME, r->dev, sizeof(r->dev));
	get_str(tb, MC_ATTR_STATE, r->state, sizeof(r->state));
	get_str(tb, MC_ATTR_LAST_ERROR, r->last_error, sizeof(r->last_error));
	get_addr(tb, &r->addr, &r->port);
	r->slice_bytes = get_u32(tb, MC_ATTR_SLICE_BYTES);
	r->tail_bytes = get_u32(tb, MC_ATTR_TAIL_BYTES);
	r->tos = get_u32(tb, MC_ATTR_TOS);
	r->service_level = get_u32(tb, MC_ATTR_SERVICE_LEVEL);
	r->numa = tb[MC_ATTR_NUMA_NODE] ? (int32_t)get_u32(tb, MC_ATTR_NUMA_NODE) : -1;
	r->gid_index = tb[MC_ATTR_GID_INDEX] ? (int32_t)get_u32(tb, MC_ATTR_GID_INDEX) : -1;
	get_str(tb, MC_ATTR_GID_REASON, r->gid_reason, sizeof(r->gid_reason));
	get_counters(tb, &r->c);
}

static int get_peer_rails(struct nlattr *nest, struct mcnl_peer *p)
{
	struct nlattr *tb[MC_ATTR_MAX + 1], *a;
	int rem;

	nla_for_each_nested(a, nest, rem) {
		if (nla_type(a) != MC_ATTR_RAIL || p->n_rails == MCNL_MAX_RAILS)
			continue;
		if (nla_parse_nested(tb, MC_ATTR_MAX, a, NULL) < 0)
			return -EBADMSG;
		mcnl_get_rail(tb, &p->rails[p->n_rails++]);
	}
	return 0;
}

static int get_path(struct nlattr *nest, struct mcnl_path *p)
{
	struct nlattr *tb[MC_ATTR_MAX + 1], *a;
	int rem;

	if (nla_parse_nested(tb, MC_ATTR_MAX, nest, NULL) < 0)
		return -EBADMSG;
	p->local_rail = get_u32(tb, MC_ATTR_LOCAL_RAIL_ID);
	p->remote_rail = get_u32(tb, MC_ATTR_RAIL_ID);
	get_str(tb, MC_ATTR_STATE, p->state, sizeof(p->state));
	get_str(tb, MC_ATTR_LAST_ERROR, p->last_error, sizeof(p->last_error));
	p->epoch = get_u64(tb, MC_ATTR_EPOCH);
	p->bandwidth = get_u64(tb, MC_ATTR_BANDWIDTH);
	p->attempts = get_u32(tb, MC_ATTR_ATTEMPTS);
	p->mtu = get_u32(tb, MC_ATTR_MTU);
	p->read_depth = get_u32(tb, MC_ATTR_READ_DEPTH);
	p->tos = get_u32(tb, MC_ATTR_TOS);
	p->retries = get_u32(tb, MC_ATTR_RETRY_COUNT);
	p->rnr_retries = get_u32(tb, MC_ATTR_RNR_RETRY_COUNT);
	nla_for_each_nested(a, nest, rem)
		if (nla_type(a) == MC_ATTR_UNREACHABLE &&
		    p->n_unreachable < sizeof(p->unreachable) / sizeof(p->unreachable[0]))
			p->unreachable[p->n_unreachable++] = nla_get_u32(a);
	return 0;
}

static int get_paths(struct nlattr *nest, struct mcnl_peer *p)
{
	struct nlattr *a;
	int rem, rc = 0;

	nla_for_each_nested(a, nest, rem)
		if (!rc && nla_type(a) == MC_ATTR_PATH && p->n_paths < MCNL_MAX_RAILS)
			rc = get_path(a, &p->paths[p->n_paths++]);
	return rc;
}

int mcnl_get_peer(struct nlattr **tb, struct mcnl_peer *p)
{
	get_uuid(tb, MC_ATTR_NODE_UUID, p->node_uuid);
	p->instance = get_u64(tb, MC_ATTR_INSTANCE);
	p->epoch = get_u64(tb, MC_ATTR_EPOCH);
	get_str(tb, MC_ATTR_STATE, p->state, sizeof(p->state));
	get_str(tb, MC_ATTR_LAST_ERROR, p->last_error, sizeof(p->last_error));
	get_counters(tb, &p->c);
	if (tb[MC_ATTR_PATHS] && get_paths(tb[MC_ATTR_PATHS], p))
		return -EBADMSG;
	return tb[MC_ATTR_RAILS] ? get_peer_rails(tb[MC_ATTR_RAILS], p) : 0;
}

void mcnl_get_event(int cmd, struct nlattr **tb, struct mcnl_event *ev)
{
	ev->cmd = cmd;
	get_uuid(tb, MC_ATTR_NODE_UUID, ev->node_uuid);
	get_uuid(tb, MC_ATTR_SEG_UUID, ev->seg_uuid);
	get_uuid(tb, MC_ATTR_CLIENT_UUID, ev->client);
	ev->seq = get_u64(tb, MC_ATTR_SEQ);
	ev->time_ns = get_u64(tb, MC_ATTR_TIME);
	ev->reason = get_u32(tb, MC_ATTR_REASON);
	ev->rail_id = get_u32(tb, MC_ATTR_RAIL_ID);
	ev->remote_rail = get_u32(tb, MC_ATTR_REMOTE_RAIL_ID);
	get_addr(tb, &ev->remote_addr, &ev->remote_port);
	ev->buf_id = get_u32(tb, MC_ATTR_BUF_ID);
	ev->pid = get_u32(tb, MC_ATTR_PID);
	ev->uid = get_u32(tb, MC_ATTR_UID);
	ev->len = get_u64(tb, MC_ATTR_LEN);
	get_str(tb, MC_ATTR_DEV_NAME, ev->dev, sizeof(ev->dev));
	get_str(tb, MC_ATTR_NAME, ev->name, sizeof(ev->name));
	get_str(tb, MC_ATTR_LAST_ERROR, ev->text, sizeof(ev->text));
}

static int fill_rail(struct nlattr **tb, void *entry)
{
	mcnl_get_rail(tb, entry);
	return 0;
}

static int fill_peer(struct nlattr **tb, void *entry)
{
	return mcnl_get_peer(tb, entry);
}

static int fill_pool(struct nlattr **tb, void *entry)
{
	struct mcnl_pool *p = entry;

	get_uuid(tb, MC_ATTR_SEG_UUID, p->seg_uuid);
	get_str(tb, MC_ATTR_NAME, p->name, sizeof(p->name));
	get_str(tb, MC_ATTR_STATE, p->state, sizeof(p->state));
	p->len = get_u64(tb, MC_ATTR_LEN);
	p->numa = tb[MC_ATTR_NUMA_NODE] ? (int32_t)nla_get_u32(tb[MC_ATTR_NUMA_NODE]) : -1;
	p->page_size = get_u32(tb, MC_ATTR_PAGE_SIZE);
	p->leases = get_u32(tb, MC_ATTR_LEASES);
	return 0;
}

static int fill_seg(struct nlattr **tb, void *entry)
{
	struct mcnl_seg *s = entry;

	get_uuid(tb, MC_ATTR_SEG_UUID, s->seg_uuid);
	get_str(tb, MC_ATTR_NAME, s->name, sizeof(s->name));
	get_str(tb, MC_ATTR_STATE, s->state, sizeof(s->state));
	s->len = get_u64(tb, MC_ATTR_LEN);
	s->rights = get_u32(tb, MC_ATTR_RIGHTS);
	s->gen = get_u32(tb, MC_ATTR_GEN);
	s->leases = get_u32(tb, MC_ATTR_LEASES);
	s->pid = get_u32(tb, MC_ATTR_PID);
	s->uid = get_u32(tb, MC_ATTR_UID);
	return 0;
}

static int fill_buf(struct nlattr **tb, void *entry)
{
	struct mcnl_buf *b = entry;

	b->id = get_u32(tb, MC_ATTR_BUF_ID);
	b->pid = get_u32(tb, MC_ATTR_PID);
	b->uid = get_u32(tb, MC_ATTR_UID);
	b->len = get_u64(tb, MC_ATTR_LEN);
	b->pinned = get_u64(tb, MC_ATTR_PINNED);
	get_str(tb, MC_ATTR_STATE, b->state, sizeof(b->state));
	return 0;
}

static int fill_client(struct nlattr **tb, void *entry)
{
	struct mcnl_client *c = entry;

	c->pid = get_u32(tb, MC_ATTR_PID);
	c->uid = get_u32(tb, MC_ATTR_UID);
	get_str(tb, MC_ATTR_NAME, c->name, sizeof(c->name));
	get_str(tb, MC_ATTR_STATE, c->state, sizeof(c->state));
	c->buffers = get_u32(tb, MC_ATTR_BUFFERS);
	c->pinned = get_u64(tb, MC_ATTR_PINNED);
	return 0;
}

static int fill_rail_hist(struct nlattr **tb, void *entry)
{
	struct mcnl_rail_hist *h = entry;

	h->id = get_u32(tb, MC_ATTR_RAIL_ID);
	get_hist(tb, MC_ATTR_READ_HIST, h->read);
	get_hist(tb, MC_ATTR_WRITE_HIST, h->write);
	return 0;
}

static int fill_stat(struct nlattr **tb, void *entry)
{
	struct mcnl_stat *s = entry;

	s->transport = get_u32(tb, MC_ATTR_TRANSPORT);
	s->op = get_u32(tb, MC_ATTR_OP);
	s->reqs = get_u64(tb, MC_ATTR_REQS);
	s->errors = get_u64(tb, MC_ATTR_ERRORS);
	s->bytes = get_u64(tb, MC_ATTR_BYTES);
	get_hist(tb, MC_ATTR_HIST, s->hist);
	return 0;
}

static int append(struct nlattr **tb, void *arg)
{
	struct list *l = arg;
	size_t cap = l->cap ? 2 * l->cap : 16;
	char *mem;

	if (l->n == l->cap) {
		if (cap > MAX_ENTRIES)
			return -E2BIG;
		mem = realloc(l->mem, cap * l->size);
		if (!mem)
			return -ENOMEM;
		l->mem = mem;
		l->cap = cap;
	}
	memset(l->mem + l->n * l->size, 0, l->size);
	return l->fill(tb, l->mem + l->n++ * l->size);
}

/* A dump that changed under the reader starts again, a few times. */
static int dump(struct mcnl *nl, int cmd, const char *what, size_t size, fill_fn fill, void **out,
		size_t *n)
{
	int rc = -EAGAIN;

	*out = NULL;
	*n = 0;
	for (int attempt = 0; attempt < 5 && rc == -EAGAIN; attempt++) {
		struct list l = { .size = size, .fill = fill };

		rc = mcnl_call(nl, mcnl_req(nl, cmd, NLM_F_DUMP), what, append, &l);
		if (rc) {
			free(l.mem);
			continue;
		}
		*out = l.mem;
		*n = l.n;
	}
	return rc;
}

int mcnl_rails(struct mcnl *nl, struct mcnl_rail **out, size_t *n)
{
	return dump(nl, MC_CMD_RAIL_GET, "rail list", sizeof(**out), fill_rail, (void **)out, n);
}

int mcnl_peers(struct mcnl *nl, struct mcnl_peer **out, size_t *n)
{
	return dump(nl, MC_CMD_PEER_GET, "peer list", sizeof(**out), fill_peer, (void **)out, n);
}

int mcnl_pools(struct mcnl *nl, struct mcnl_pool **out, size_t *n)
{
	return dump(nl, MC_CMD_POOL_GET, "pool list", sizeof(**out), fill_pool, (void **)out, n);
}

int mcnl_bufs(struct mcnl *nl, struct mcnl_buf **out, size_t *n)
{
	return dump(nl, MC_CMD_BUF_GET, "buffer list", sizeof(**out), fill_buf, (void **)out, n);
}

int mcnl_clients(struct mcnl *nl, struct mcnl_client **out, size_t *n)
{
	return dump(nl, MC_CMD_CLIENT_GET, "client list", sizeof(**out), fill_client, (void **)out, n);
}

int mcnl_stats(struct mcnl *nl, struct mcnl_stat **out, size_t *n)
{
	return dump(nl, MC_CMD_STAT_GET, "stat", sizeof(**out), fill_stat, (void **)out, n);
}

int mcnl_rail_hists(struct mcnl *nl, struct mcnl_rail_hist **out, size_t *n)
{
	return dump(nl, MC_CMD_RAIL_GET, "rail latencies", sizeof(**out), fill_rail_hist, (void **)out, n);
}

int mcnl_segs(struct mcnl *nl, struct mcnl_seg **out, size_t *n)
{
	return dump(nl, MC_CMD_SEG_GET, "segment ls", sizeof(**out), fill_seg, (void **)out, n);
}
