// SPDX-License-Identifier: MIT
/*
 * A hostile owner: the module of another node connects to this program, proves itself, opens segments and moves bytes,
 * and is answered rightly, wrongly, late or never; revoked from, and reached for with keys that nobody gave.
 *
 *	fuzz_owner [--seed S] [--seconds N] ADDR PORT OWN-UUID OTHER-UUID CLUSTER GEN KEY
 */
#include "hostile.h"

#define CONNS	48
#define SEG_LEN	(1u << 20)

/**
 * struct peer_conn - one connection of the module
 * @c: the connection, NULL: free
 * @index: in its set
 * @epoch: of its set
 * @talk: what was said on it
 */
struct peer_conn {
	struct conn *c;
	uint8_t index;
	uint32_t epoch;
	struct talk talk;
};

static struct fuzz_opt opt;
static struct who who;
static struct peer_conn conns[CONNS];
static struct rdma_event_channel *channel;
static struct rdma_cm_id *listener;
static struct ibv_pd *pd;
static struct ibv_mr *seg_mr;
static uint64_t counts[32], op;
static uint32_t last_lease;

static struct fuzz_rng next_op(void)
{
	if (op % 500 == 0)
		mark("fuzz_owner", &opt, op);
	return fuzz_op(&opt, 0, op++);
}

/* Everything of a connection but its domain, which all share, so that one key is good on each of them. */
static void drop(struct peer_conn *p, bool politely)
{
	struct conn *c = p->c;

	p->c = NULL;
	if (politely)
		rdma_disconnect(c->id);
	if (c->id->qp)
		rdma_destroy_qp(c->id);
	if (c->mr)
		ibv_dereg_mr(c->mr);
	if (c->cq)
		ibv_destroy_cq(c->cq);
	rdma_destroy_id(c->id);
	free(c->mem);
	free(c);
}

static bool make_qp(struct conn *c)
{
	struct ibv_qp_init_attr a = { .cap = { 2 * SLOTS, 2 * SLOTS, 1, 1, 0 }, .qp_type = IBV_QPT_RC };
	unsigned int i;

	c->mem = aligned_alloc(4096, MEM_LEN);
	c->cq = ibv_create_cq(c->id->verbs, 4 * SLOTS, NULL, NULL, 0);
	if (!c->mem || !c->cq)
		return false;
	c->mr = ibv_reg_mr(pd, c->mem, MEM_LEN, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
			   IBV_ACCESS_REMOTE_READ);
	a.send_cq = c->cq;
	a.recv_cq = c->cq;
	if (!c->mr || rdma_create_qp(c->id, pd, &a))
		return false;
	for (i = 0; i < SLOTS; i++)
		post_rx(c, i);
	return true;
}

/* All memory of the "segment" under one key that counts from 0, as the module expects. */
static bool make_segment(struct ibv_context *verbs)
{
	void *mem = aligned_alloc(4096, SEG_LEN);

	pd = ibv_alloc_pd(verbs);
	if (!mem || !pd)
		return false;
	memset(mem, 0, SEG_LEN);
	seg_mr = ibv_reg_mr_iova(pd, mem, SEG_LEN, 0, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				 IBV_ACCESS_REMOTE_READ);
	return seg_mr;
}

static void accept_one(struct rdma_cm_event *ev)
{
	struct rdma_conn_param param = { .responder_resources = 4, .initiator_depth = 4, .rnr_retry_count = 3 };
	struct fuzz_rng r = next_op();
	struct peer_conn *p = NULL;
	struct mc_wire_req req;
	int i;

	for (i = 0; i < CONNS && !p; i++)
		if (!conns[i].c)
			p = &conns[i];
	if (!p) {
		p = &conns[pick(&r, CONNS)];
		drop(p, true);
	}
	if (chance(&r, 3) || mc_wire_req_decode(&req, ev->param.conn.private_data, ev->param.conn.private_data_len)) {
		uint8_t why[8];

		mutate(&r, memset(why, 0, sizeof(why)), sizeof(why));
		rdma_reject(ev->id, why, sizeof(why));
		rdma_destroy_id(ev->id);
		return;
	}
	memset(p, 0, sizeof(*p));
	p->c = calloc(1, sizeof(*p->c));
	p->c->id = ev->id;
	ev->id->context = p->c;
	p->index = req.index;
	p->epoch = req.epoch;
	if (!make_qp(p->c) || rdma_accept(ev->id, &param))
		drop(p, false);
	counts[0]++;
}

static void cm_events(void)
{
	struct pollfd pfd = { .fd = channel->fd, .events = POLLIN };
	struct rdma_cm_event *ev, copy;
	uint8_t data[256];
	int i;

	while (poll(&pfd, 1, 0) == 1 && !rdma_get_cm_event(channel, &ev)) {
		copy = *ev;
		if (ev->event == RDMA_CM_EVENT_CONNECT_REQUEST && ev->param.conn.private_data_len) {
			memcpy(data, ev->param.conn.private_data, ev->param.conn.private_data_len);
			copy.param.conn.private_data = data;
		}
		rdma_ack_cm_event(ev);
		if (copy.event == RDMA_CM_EVENT_CONNECT_REQUEST)
			accept_one(&copy);
		for (i = 0; i < CONNS; i++)
			if (copy.event == RDMA_CM_EVENT_DISCONNECTED && conns[i].c && conns[i].c->id == copy.id)
				drop(&conns[i], true);
	}
}

/* ---- answers ---- */

static void challenge(struct fuzz_rng *r, struct peer_conn *p, struct mc_wire_msg *m)
{
	struct mc_wire_hello theirs = m->hello;

	fill_hello(&who, &m->hello, 4711, theirs.epoch);
	m->hello.key_gen = theirs.key_gen;
	talk_begin(&p->talk, &who, &theirs, &m->hello);
	talk_tag(&p->talk, "owner", m->hello.tag);
	m->type = MC_WIRE_CHALLENGE;
	if (chance(r, 6))
		mutate(r, &m->hello, sizeof(m->hello));
}

/* Lengths and shifts: mostly what the memory is, else anything, in which case the module must not use it. */
static void seg_info(struct fuzz_rng *r, struct mc_wire_msg *m)
{
	m->type = MC_WIRE_SEG_INFO;
	m->lease = ++last_lease;
	m->len = chance(r, 80) ? SEG_LEN : chance(r, 50) ? pick(r, 1u << 22) : edge(r);
	m->rights = chance(r, 80) ? MC_WIRE_RIGHT_READ | MC_WIRE_RIGHT_WRITE : (uint8_t)pick(r, 256);
	m->chunk_shift = chance(r, 80) ? 20 : (uint8_t)(chance(r, 70) ? 8 + pick(r, 40) : edge(r));
	counts[2]++;
}

static void seg_keys(struct fuzz_rng *r, struct mc_wire_msg *m)
{
	uint32_t i;

	m->type = MC_WIRE_SEG_KEYS;
	for (i = 0; i < m->count && i < MC_WIRE_KEYS_MAX; i++)
		m->keys[i] = chance(r, 90) ? seg_mr->rkey : (uint32_t)edge(r);
	if (chance(r, 5))
		m->count = pick(r, MC_WIRE_KEYS_MAX + 1);
	if (chance(r, 5))
		m->first = (uint32_t)edge(r);
	counts[3]++;
}

static bool answer(struct fuzz_rng *r, struct peer_conn *p, struct mc_wire_msg *m)
{
	m->status = 0;
	switch (m->type) {
	case MC_WIRE_HELLO:
		challenge(r, p, m);
		break;
	case MC_WIRE_RESPONSE:
		m->type = MC_WIRE_HELLO_ACK;
		m->epoch = chance(r, 95) ? p->epoch : (uint32_t)edge(r);
		break;
	case MC_WIRE_SEG_OPEN:
		seg_info(r, m);
		break;
	case MC_WIRE_SEG_KEYS_REQ:
		seg_keys(r, m);
		break;
	case MC_WIRE_FENCE:
		m->type = MC_WIRE_FENCE_ACK;
		break;
	case MC_WIRE_PING:
		m->type = MC_WIRE_PONG;
		break;
	default:
		return false;
	}
	if (chance(r, 3)) {
		m->type = chance(r, 50) ? MC_WIRE_ERROR : (uint8_t)pick(r, 16);
		m->status = -(int32_t)pick(r, 4100);
	}
	if (chance(r, 2))
		m->id ^= (uint32_t)edge(r);
	return !chance(r, 2);
}

/* What nobody asked for. */
static void unasked(struct fuzz_rng *r, struct peer_conn *p)
{
	struct mc_wire_msg m = { .type = MC_WIRE_REVOKE, .lease = last_lease - pick(r, 3) };
	uint8_t bytes[MC_WIRE_MSG_MAX] = { 0 };
	int n;

	if (chance(r, 40))
		m.lease = (uint32_t)edge(r);
	if (chance(r, 20))
		m.type = (uint8_t)pick(r, MC_WIRE_TYPE_END + 1);
	n = mc_wire_encode(&m, bytes);
	n = n > 0 ? n : 16;
	if (chance(r, 20))
		mutate(r, bytes, (size_t)n);
	if (p->index)
		one_sided(p->c, chance(r, 50), edge(r), (uint32_t)edge(r), 1 + pick(r, 4096));
	else
		send_bytes(p->c, bytes, (size_t)n);
	counts[4]++;
}

static void serve(struct peer_conn *p)
{
	struct fuzz_rng r;
	struct mc_wire_msg m;

	if (!p->c || !recv_msg(p->c, &m, 1))
		return;
	r = next_op();
	counts[1]++;
	if (answer(&r, p, &m))
		send_msg(p->c, &m);
	if (chance(&r, 5)) {
		struct peer_conn *other = &conns[pick(&r, CONNS)];

		unasked(&r, other->c ? other : p);
	}
	if (chance(&r, 1))
		drop(p, chance(&r, 50));
}

int main(int argc, char **argv)
{
	int i, a = fuzz_args(argc, argv, &opt);
	struct sockaddr_in addr;
	uint64_t end;

	if (argc - a != 7 || !unhex(argv[a + 2], who.node, 16) || !unhex(argv[a + 3], who.other, 16) ||
	    !unhex(argv[a + 4], who.cluster, 16) || !unhex(argv[a + 6], who.key, KEY_LEN)) {
		fprintf(stderr, "usage: see the top of fuzz_owner.c\n");
		return 2;
	}
	who.gen = (uint32_t)atoi(argv[a + 5]);
	addr = ipv4(argv[a], (uint16_t)atoi(argv[a + 1]));
	channel = rdma_create_event_channel();
	if (!channel || rdma_create_id(channel, &listener, NULL, RDMA_PS_TCP) ||
	    rdma_bind_addr(listener, (struct sockaddr *)&addr) || rdma_listen(listener, 64) ||
	    !make_segment(listener->verbs)) {
		perror("fuzz_owner: listen");
		return 2;
	}
	end = now_ms() + opt.seconds * 1000;
	while (now_ms() < end) {
		cm_events();
		for (i = 0; i < CONNS; i++)
			if (!conns[i].index)
				serve(&conns[i]);
		usleep(200);
	}
	for (i = 0; i < CONNS; i++)
		if (conns[i].c)
			drop(&conns[i], true);
	printf("# fuzz_owner: seed %llu: connections %llu messages %llu segments %llu keys %llu unasked %llu\n",
	       (unsigned long long)opt.seed, (unsigned long long)counts[0], (unsigned long long)counts[1],
	       (unsigned long long)counts[2], (unsigned long long)counts[3], (unsigned long long)counts[4]);
	return counts[3] ? 0 : 1;
}
