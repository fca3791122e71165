/* SPDX-License-Identifier: MIT */
/*
 * The other end of a module's connections, in user space and free to say anything: connection requests, control
 * messages and one-sided operations, each right, or wrong on purpose. It knows the cluster key when it is told.
 */
#ifndef HOSTILE_H
#define HOSTILE_H

#include <arpa/inet.h>
#include <infiniband/verbs.h>
#include <poll.h>
#include <rdma/rdma_cma.h>

#include "fuzz.h"
#include "mc_grant.h"
#include "mc_wire.h"

#define SLOTS	32		/* receives, and as many sends */
#define SLOT	1024
#define KEY_LEN	32

/**
 * struct who - the node that this program plays, and the one it plays with
 * @node: own UUID
 * @other: the module's UUID
 * @cluster: cluster
 * @key: cluster key
 * @gen: its generation, 0: no key (auth none)
 */
struct who {
	uint8_t node[16], other[16], cluster[16], key[KEY_LEN];
	uint32_t gen;
};

/**
 * struct conn - one connection
 * @ch: events of @id only
 * @id: rdma_cm's end
 * @pd: of its queue pair
 * @cq: likewise
 * @mr: @mem, which peers may write
 * @mem: SLOTS receives, then SLOTS sends, then a page for one-sided operations
 * @next_tx: next send slot
 * @mute: doesn't post receives again
 */
struct conn {
	struct rdma_event_channel *ch;
	struct rdma_cm_id *id;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	uint8_t *mem;
	unsigned int next_tx;
	bool mute;
};

#define MEM_LEN (2 * SLOTS * SLOT + 4096)

/* What was said, as both sides sign it: HELLO and CHALLENGE without tags. */
struct talk {
	uint8_t key[KEY_LEN];
	uint8_t text[512];
	size_t len;
};

static inline void talk_add(struct talk *t, uint8_t type, const struct mc_wire_hello *h)
{
	struct mc_wire_msg m = { .type = type, .hello = *h };
	uint8_t buf[MC_WIRE_MSG_MAX];
	int n;

	memset(m.hello.tag, 0, sizeof(m.hello.tag));
	n = mc_wire_encode(&m, buf);
	memcpy(t->text + t->len, buf, (size_t)n);
	t->len += (size_t)n;
}

static inline void talk_begin(struct talk *t, const struct who *w, const struct mc_wire_hello *hello,
			      const struct mc_wire_hello *challenge)
{
	uint8_t context[20];
	int i;

	memset(t, 0, sizeof(*t));
	memcpy(context, w->cluster, 16);
	for (i = 0; i < 4; i++)
		context[16 + i] = (uint8_t)(challenge->key_gen >> (8 * i));
	if (w->gen)
		mc_mac(w->key, "mooncake connect", context, sizeof(context), t->key, KEY_LEN);
	talk_add(t, MC_WIRE_HELLO, hello);
	talk_add(t, MC_WIRE_CHALLENGE, challenge);
}

static inline void talk_tag(const struct talk *t, const char *label, uint8_t *out)
{
	mc_mac(t->key, label, t->text, t->len, out, MC_WIRE_TAG);
}

static inline void fill_hello(const struct who *w, struct mc_wire_hello *h, uint64_t instance, uint32_t epoch)
{
	memset(h, 0, sizeof(*h));
	h->major = MC_WIRE_MAJOR;
	h->minor = MC_WIRE_MINOR;
	h->auth = w->gen ? 1 : 0;
	h->key_gen = w->gen;
	memcpy(h->node, w->node, 16);
	memcpy(h->cluster, w->cluster, 16);
	h->instance = instance;
	h->epoch = epoch;
	h->rail = 1;
	h->mtu = 4096;
	memset(h->nonce, (int)epoch, sizeof(h->nonce));
}

/* ---- connections ---- */

static inline void conn_close(struct conn *c, bool politely)
{
	struct rdma_cm_event *ev;

	if (!c)
		return;
	if (c->id && c->id->qp) {
		if (politely)
			rdma_disconnect(c->id);
		rdma_destroy_qp(c->id);
	}
	if (c->mr)
		ibv_dereg_mr(c->mr);
	if (c->cq)
		ibv_destroy_cq(c->cq);
	if (c->ch) {
		/* Events that were not taken would keep the id. */
		fcntl(c->ch->fd, F_SETFL, O_NONBLOCK);
		while (!rdma_get_cm_event(c->ch, &ev))
			rdma_ack_cm_event(ev);
	}
	if (c->id)
		rdma_destroy_id(c->id);
	if (c->pd)
		ibv_dealloc_pd(c->pd);
	if (c->ch)
		rdma_destroy_event_channel(c->ch);
	free(c->mem);
	free(c);
}

static inline void post_rx(struct conn *c, unsigned int i)
{
	struct ibv_sge sge = { (uintptr_t)c->mem + i * SLOT, SLOT, c->mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = i, .sg_list = &sge, .num_sge = 1 }, *bad;

	ibv_post_recv(c->id->qp, &wr, &bad);
}

static inline bool conn_qp(struct conn *c)
{
	struct ibv_qp_init_attr a = { .cap = { 2 * SLOTS, 2 * SLOTS, 1, 1, 0 }, .qp_type = IBV_QPT_RC };
	unsigned int i;

	c->mem = aligned_alloc(4096, MEM_LEN);
	c->pd = ibv_alloc_pd(c->id->verbs);
	c->cq = c->pd ? ibv_create_cq(c->id->verbs, 4 * SLOTS, NULL, NULL, 0) : NULL;
	if (!c->cq || !c->mem)
		return false;
	c->mr = ibv_reg_mr(c->pd, c->mem, MEM_LEN, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
			   IBV_ACCESS_REMOTE_READ);
	a.send_cq = c->cq;
	a.recv_cq = c->cq;
	if (!c->mr || rdma_create_qp(c->id, c->pd, &a))
		return false;
	for (i = 0; i < SLOTS && !c->mute; i++)
		post_rx(c, i);
	return true;
}

/* The next event, or -1 when none comes in time. */
static inline int conn_event(struct conn *c, int ms)
{
	struct pollfd p = { .fd = c->ch->fd, .events = POLLIN };
	struct rdma_cm_event *ev;
	int type;

	if (poll(&p, 1, ms) != 1 || rdma_get_cm_event(c->ch, &ev))
		return -1;
	type = (int)ev->event;
	rdma_ack_cm_event(ev);
	return type;
}

static inline struct conn *conn_new(void)
{
	struct conn *c = calloc(1, sizeof(*c));

	c->ch = rdma_create_event_channel();
	return c;
}

/* Connect with these bytes; NULL when it was refused. */
static inline struct conn *conn_open(struct sockaddr *src, struct sockaddr *dst, const uint8_t *req, uint8_t req_len,
				     bool mute)
{
	struct rdma_conn_param p = { .private_data = req, .private_data_len = req_len, .responder_resources = 4,
				     .initiator_depth = 4, .retry_count = 3, .rnr_retry_count = 3 };
	int ms = 2000 * (int)time_scale();
	struct conn *c = conn_new();

	c->mute = mute;
	if (!c->ch || rdma_create_id(c->ch, &c->id, NULL, RDMA_PS_TCP) || rdma_resolve_addr(c->id, src, dst, ms) ||
	    conn_event(c, ms) != RDMA_CM_EVENT_ADDR_RESOLVED || rdma_resolve_route(c->id, ms) ||
	    conn_event(c, ms) != RDMA_CM_EVENT_ROUTE_RESOLVED || !conn_qp(c) || rdma_connect(c->id, &p) ||
	    conn_event(c, ms) != RDMA_CM_EVENT_ESTABLISHED) {
		conn_close(c, false);
		return NULL;
	}
	return c;
}

static inline void send_bytes(struct conn *c, const void *data, size_t len)
{
	unsigned int i = SLOTS + c->next_tx++ % SLOTS;
	struct ibv_sge sge = { (uintptr_t)c->mem + i * SLOT, (uint32_t)len, c->mr->lkey };
	struct ibv_send_wr wr = { .wr_id = i, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED }, *bad;
	struct ibv_wc wc;

	memcpy(c->mem + i * SLOT, data, len < SLOT ? len : SLOT);
	/* Completions of sends are only made room for; what arrived stays for conn_recv() in the ring below. */
	if (ibv_post_send(c->id->qp, &wr, &bad) && ibv_poll_cq(c->cq, 1, &wc) == 1 && wc.wr_id < SLOTS && !c->mute)
		post_rx(c, (unsigned int)wc.wr_id);
}

static inline void send_msg(struct conn *c, const struct mc_wire_msg *m)
{
	uint8_t buf[MC_WIRE_MSG_MAX];
	int n = mc_wire_encode(m, buf);

	if (n > 0)
		send_bytes(c, buf, (size_t)n);
}

/* The next message that makes sense; false when the time is over or the queue pair is in error. */
static inline bool recv_msg(struct conn *c, struct mc_wire_msg *m, int ms)
{
	uint64_t end = now_ms() + (uint64_t)ms;
	struct ibv_wc wc;
	int ret;

	while (now_ms() < end) {
		if (ibv_poll_cq(c->cq, 1, &wc) != 1) {
			usleep(200);
			continue;
		}
		if (wc.status != IBV_WC_SUCCESS)
			return false;
		if (wc.wr_id >= SLOTS)
			continue;
		ret = mc_wire_decode(m, c->mem + wc.wr_id * SLOT, wc.byte_len);
		if (!c->mute)
			post_rx(c, (unsigned int)wc.wr_id);
		if (!ret)
			return true;
	}
	return false;
}

/* One READ or WRITE of the scratch page; its outcome does not matter. */
static inline void one_sided(struct conn *c, bool write, uint64_t addr, uint32_t rkey, uint32_t len)
{
	struct ibv_sge sge = { (uintptr_t)c->mem + 2 * SLOTS * SLOT, len > 4096 ? 4096 : len, c->mr->lkey };
	struct ibv_send_wr wr = { .wr_id = 2 * SLOTS, .sg_list = &sge, .num_sge = 1, .send_flags = IBV_SEND_SIGNALED,
				  .opcode = write ? IBV_WR_RDMA_WRITE : IBV_WR_RDMA_READ,
				  .wr.rdma = { .remote_addr = addr, .rkey = rkey } }, *bad;

	ibv_post_send(c->id->qp, &wr, &bad);
}

static inline bool unhex(const char *text, uint8_t *out, size_t len)
{
	size_t n = 0;

	for (; *text && n < 2 * len; text++) {
		int v = *text >= '0' && *text <= '9' ? *text - '0' : *text - 'a' + 10;

		if (*text == '-')
			continue;
		if (v < 0 || v > 15)
			return false;
		out[n / 2] = (uint8_t)(n % 2 ? out[n / 2] | v : v << 4);
		n++;
	}
	return n == 2 * len && !*text;
}

static inline struct sockaddr_in ipv4(const char *text, uint16_t port)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(port) };

	inet_pton(AF_INET, text, &a.sin_addr);
	return a;
}

#endif /* HOSTILE_H */
