// SPDX-License-Identifier: MIT
/*
 * A hostile node connects to a module's rail: strangers that say nothing, garbage or a wrong proof; and a node of the
 * cluster, which knows the key, that says anything in any order, floods, lies about keys and ranges, leaves connections
 * half open and opens several sets at once.
 *
 *	fuzz_peer [--seed S] [--seconds N] [--replay FROM-TO] SRC DST OWN-UUID OTHER-UUID CLUSTER GEN KEY SEGMENT
 *	fuzz_peer ... SRC DST ... half-open N		open N connections, say nothing, wait for their end
 *	fuzz_peer ... SRC DST ... prove INSTANCE	prove who it is, once, and print the answer
 */
#include "hostile.h"

#define HELD	24	/* connections left half open at a time */

static struct fuzz_opt opt;
static struct who who;
static struct sockaddr_in src, dst;
static uint8_t segment[16];
static uint64_t counts[16];
static uint32_t epoch;
static struct conn *held[HELD];

enum { STRANGERS, REFUSED, PROVEN, MESSAGES, ANSWERS, LEASES, DATA };

static struct conn *open_index(uint8_t index, uint64_t instance, uint32_t ep, const uint8_t *session, bool mute,
			       struct fuzz_rng *r)
{
	struct mc_wire_req req = { .major = MC_WIRE_MAJOR, .index = index, .instance = instance, .rail = 1,
				   .epoch = ep };
	uint8_t bytes[MC_WIRE_REQ_LEN];
	struct conn *c;
	uint8_t len = sizeof(bytes);

	memcpy(req.node, who.node, 16);
	mc_wire_req_encode(&req, bytes);
	if (session)
		mc_mac(session, "request", bytes, MC_WIRE_REQ_SIGNED, bytes + MC_WIRE_REQ_SIGNED, MC_WIRE_REQ_TAG);
	if (r && chance(r, 15))
		mutate(r, bytes, sizeof(bytes));
	if (r && chance(r, 4))
		len = (uint8_t)pick(r, sizeof(bytes));
	c = conn_open((struct sockaddr *)&src, (struct sockaddr *)&dst, bytes, len, mute);
	counts[c ? STRANGERS : REFUSED]++;
	return c;
}

/* HELLO to HELLO_ACK in three steps, so that several sets can be at it at once; what is said may be spoilt. */
struct proof {
	struct conn *c;
	struct mc_wire_hello mine;
	struct talk t;
};

static void say_hello(struct proof *p, struct conn *c, uint64_t instance, uint32_t ep, struct fuzz_rng *r)
{
	struct mc_wire_msg m = { .type = MC_WIRE_HELLO, .id = 1 };

	p->c = c;
	fill_hello(&who, &p->mine, instance, ep);
	if (r && chance(r, 10))
		mutate(r, &p->mine, sizeof(p->mine));
	m.hello = p->mine;
	send_msg(c, &m);
}

static bool respond(struct proof *p, struct fuzz_rng *r)
{
	struct mc_wire_msg m;

	if (!recv_msg(p->c, &m, 300 * (int)time_scale()) || m.type != MC_WIRE_CHALLENGE)
		return false;
	talk_begin(&p->t, &who, &p->mine, &m.hello);
	memset(&m, 0, sizeof(m));
	m.type = MC_WIRE_RESPONSE;
	m.id = 2;
	talk_tag(&p->t, "initiator", m.tag);
	if (r && chance(r, 10))
		mutate(r, m.tag, sizeof(m.tag));
	send_msg(p->c, &m);
	if (r && chance(r, 10))
		send_msg(p->c, &m);
	return true;
}

static bool acked(struct proof *p, uint8_t *session)
{
	struct mc_wire_msg m;

	if (!recv_msg(p->c, &m, 1000 * (int)time_scale()) || m.type != MC_WIRE_HELLO_ACK)
		return false;
	mc_mac(p->t.key, "session", p->t.text, p->t.len, session, KEY_LEN);
	counts[PROVEN]++;
	return true;
}

static bool prove(struct conn *c, uint64_t instance, uint32_t ep, uint8_t *session, struct fuzz_rng *r)
{
	struct proof p;

	say_hello(&p, c, instance, ep, r);
	return respond(&p, r) && acked(&p, session);
}

struct learnt {
	uint32_t lease, rkey, shift;
	uint64_t len;
};

static void random_msg(struct fuzz_rng *r, struct mc_wire_msg *m, const struct learnt *k)
{
	uint32_t known = MC_WIRE_SEG_OPEN + pick(r, MC_WIRE_TYPE_END - MC_WIRE_SEG_OPEN);

	memset(m, 0, sizeof(*m));
	m->type = (uint8_t)(chance(r, 90) ? known : pick(r, 256));
	m->id = (uint32_t)rnd(r);
	m->status = chance(r, 90) ? 0 : (int32_t)edge(r);
	if (m->type == MC_WIRE_HELLO || m->type == MC_WIRE_CHALLENGE) {
		fill_hello(&who, &m->hello, rnd(r), (uint32_t)edge(r));
		return;
	}
	if (m->type == MC_WIRE_FENCE || m->type == MC_WIRE_FENCE_ACK || m->type == MC_WIRE_HELLO_ACK) {
		m->epoch = chance(r, 80) ? epoch - pick(r, 4) : (uint32_t)edge(r);
		return;
	}
	memcpy(m->seg, segment, 16);
	if (chance(r, 10))
		mutate(r, m->seg, 16);
	m->lease = chance(r, 70) ? k->lease : (uint32_t)edge(r);
	m->first = chance(r, 70) ? 0 : (uint32_t)edge(r);
	m->count = chance(r, 70) ? 1 : pick(r, MC_WIRE_KEYS_MAX + 1);
	m->len = edge(r);
	m->chunk_shift = (uint8_t)edge(r);
}

static void random_bytes(struct fuzz_rng *r, struct conn *c)
{
	uint8_t buf[MC_WIRE_MSG_MAX] = { 0 };
	struct learnt none = { 0 };
	struct mc_wire_msg m;
	int n;

	random_msg(r, &m, &none);
	n = mc_wire_encode(&m, buf);
	if (n <= 0 || chance(r, 20))
		n = (int)pick(r, sizeof(buf) + 1);
	mutate(r, buf, n ? (size_t)n : 1);
	send_bytes(c, buf, (size_t)n);
	counts[MESSAGES]++;
}

static void learn(struct conn *c, struct learnt *k, int ms)
{
	struct mc_wire_msg m;

	while (recv_msg(c, &m, ms)) {
		counts[ANSWERS]++;
		if (m.type == MC_WIRE_SEG_INFO) {
			k->lease = m.lease;
			k->len = m.len;
			k->shift = m.chunk_shift;
			counts[LEASES]++;
		}
		if (m.type == MC_WIRE_SEG_KEYS && m.count)
			k->rkey = m.keys[0];
		ms = 1;
	}
}

/* Keys that it was given, and made-up ones: wrong ones end the queue pair, never reach memory. */
static void use_keys(struct fuzz_rng *r, struct conn *d, const struct learnt *k)
{
	uint32_t n = 1 + pick(r, 4);

	while (n--)
		one_sided(d, chance(r, 50), chance(r, 70) ? pick(r, 4096) : edge(r),
			  chance(r, 70) ? k->rkey : k->rkey ^ (uint32_t)edge(r), 1 + pick(r, 4096));
	counts[DATA]++;
}

static void member(struct fuzz_rng *r)
{
	uint64_t instance = chance(r, 70) ? 77 : rnd(r);
	uint32_t ep = ++epoch, n = 4 + pick(r, 40);
	struct conn *c = open_index(0, instance, ep, NULL, chance(r, 5), chance(r, 20) ? r : NULL), *d = NULL;
	struct learnt k = { 0 };
	uint8_t session[KEY_LEN];
	struct mc_wire_msg m;

	if (!c || !prove(c, instance, ep, session, chance(r, 30) ? r : NULL)) {
		conn_close(c, chance(r, 50));
		return;
	}
	if (chance(r, 50))
		d = open_index((uint8_t)(chance(r, 90) ? 1 + pick(r, 3) : edge(r)), instance, ep, session, false,
			       chance(r, 20) ? r : NULL);
	while (n--) {
		if (chance(r, 10)) {
			random_bytes(r, c);
		} else {
			random_msg(r, &m, &k);
			send_msg(c, &m);
			counts[MESSAGES]++;
		}
		if (chance(r, 50))
			learn(c, &k, 20);
		if (d && chance(r, 30))
			use_keys(r, d, &k);
	}
	conn_close(d, chance(r, 50));
	conn_close(c, chance(r, 50));
}

static void stranger(struct fuzz_rng *r)
{
	struct conn *c = open_index(0, rnd(r), (uint32_t)edge(r), NULL, chance(r, 10), r);
	uint32_t n = pick(r, 10), i = pick(r, HELD);

	if (!c)
		return;
	while (n--)
		random_bytes(r, c);
	if (chance(r, 50)) {
		conn_close(c, chance(r, 50));
		return;
	}
	conn_close(held[i], chance(r, 50));
	held[i] = c;
}

/* Several sets of one node at once, of several module loads: each replaces those that proved themselves before it. */
static void rivals(struct fuzz_rng *r)
{
	uint32_t i, first = epoch + 1, n = 2 + pick(r, 3);
	struct mc_wire_msg m = { .type = MC_WIRE_SEG_OPEN, .id = 9 };
	struct proof p[4];
	uint8_t session[KEY_LEN];
	struct conn *c[4];

	epoch += 4;
	memcpy(m.seg, segment, 16);
	for (i = 0; i < n; i++) {
		uint64_t instance = 100 + pick(r, 3);
		uint32_t ep = first + pick(r, 4);

		c[i] = open_index(0, instance, ep, NULL, false, NULL);
		p[i].c = NULL;
		if (c[i])
			say_hello(&p[i], c[i], instance, ep, NULL);
	}
	for (i = 0; i < n; i++)
		if (p[i].c && !respond(&p[i], NULL))
			p[i].c = NULL;
	for (i = 0; i < n; i++)
		if (p[i].c && chance(r, 80) && acked(&p[i], session))
			send_msg(p[i].c, &m);
	for (i = 0; i < n; i++)
		conn_close(c[i], chance(r, 50));
}

static void flood(struct fuzz_rng *r)
{
	uint32_t ep = ++epoch, n = 100 + pick(r, 400);
	struct conn *c = open_index(0, 77, ep, NULL, chance(r, 30), NULL);
	struct mc_wire_msg m = { .type = chance(r, 50) ? MC_WIRE_PING : MC_WIRE_SEG_OPEN };
	uint8_t session[KEY_LEN];
	struct ibv_wc wc;

	if (!c)
		return;
	if (chance(r, 70) && !prove(c, 77, ep, session, NULL))
		n = 0;
	memcpy(m.seg, segment, 16);
	while (n--) {
		m.id++;
		send_msg(c, &m);
		if (ibv_poll_cq(c->cq, 1, &wc) == 1 && wc.wr_id < SLOTS && !c->mute)
			post_rx(c, (unsigned int)wc.wr_id);
		if (n % 16 == 0)
			usleep(1000);
	}
	conn_close(c, chance(r, 50));
}

static void one_op(struct fuzz_rng *r)
{
	uint32_t x = pick(r, 100);

	if (x < 50)
		member(r);
	else if (x < 80)
		stranger(r);
	else if (x < 92)
		rivals(r);
	else
		flood(r);
}

/* C-63: open and say nothing; returns 0 when the module has hung up on all of them in time. */
static int half_open(unsigned int n)
{
	struct conn **c = calloc(n, sizeof(*c));
	uint64_t end = now_ms() + 35000 * time_scale();
	unsigned int i, opened = 0, gone = 0;

	for (i = 0; i < n; i++) {
		c[i] = open_index(0, 1000 + i, 1, NULL, false, NULL);
		opened += !!c[i];
	}
	printf("opened %u of %u\n", opened, n);
	fflush(stdout);
	while (gone < opened && now_ms() < end)
		for (i = 0, usleep(20000); i < n; i++)
			if (c[i] && conn_event(c[i], 0) == RDMA_CM_EVENT_DISCONNECTED) {
				conn_close(c[i], false);
				c[i] = NULL;
				gone++;
			}
	printf("gone %u after at most %u s\n", gone, 35);
	for (i = 0; i < n; i++)
		conn_close(c[i], false);
	return gone == opened ? 0 : 1;
}

static int prove_once(uint64_t instance)
{
	struct conn *c = open_index(0, instance, 1, NULL, false, NULL);
	struct mc_wire_msg m = { 0 };
	struct proof p;

	if (!c)
		return 2;
	say_hello(&p, c, instance, 1, NULL);
	if (respond(&p, NULL) && recv_msg(c, &m, 5000 * (int)time_scale()))
		printf("%s %d\n", m.type == MC_WIRE_HELLO_ACK ? "ack" : "error", m.status);
	conn_close(c, true);
	return m.type == MC_WIRE_HELLO_ACK ? 0 : 1;
}

int main(int argc, char **argv)
{
	uint64_t op, end, reached;
	int a = fuzz_args(argc, argv, &opt);

	if (argc - a < 8 || !unhex(argv[a + 2], who.node, 16) || !unhex(argv[a + 3], who.other, 16) ||
	    !unhex(argv[a + 4], who.cluster, 16) || !unhex(argv[a + 6], who.key, KEY_LEN) ||
	    !unhex(argv[a + 7], segment, 16)) {
		fprintf(stderr, "usage: see the top of fuzz_peer.c\n");
		return 2;
	}
	src = ipv4(argv[a], 0);
	dst = ipv4(argv[a + 1], 50060);
	who.gen = (uint32_t)atoi(argv[a + 5]);
	if (argc - a == 10 && !strcmp(argv[a + 8], "half-open"))
		return half_open((unsigned int)atoi(argv[a + 9]));
	if (argc - a == 10 && !strcmp(argv[a + 8], "prove"))
		return prove_once(strtoull(argv[a + 9], NULL, 0));
	end = now_ms() + opt.seconds * 1000;
	epoch = (uint32_t)time(NULL);
	for (op = 0; now_ms() < end && op <= opt.to; op++) {
		struct fuzz_rng r = fuzz_op(&opt, 0, op);

		if (op % 50 == 0)
			mark("fuzz_peer", &opt, op);
		if (op >= opt.from)
			one_op(&r);
	}
	reached = op;
	for (op = 0; op < HELD; op++)
		conn_close(held[op], false);
	printf("# fuzz_peer: seed %llu, %llu operations: strangers %llu refused %llu proven %llu",
	       (unsigned long long)opt.seed, (unsigned long long)reached, (unsigned long long)counts[STRANGERS],
	       (unsigned long long)counts[REFUSED], (unsigned long long)counts[PROVEN]);
	printf(" messages %llu answers %llu leases %llu data %llu\n", (unsigned long long)counts[MESSAGES],
	       (unsigned long long)counts[ANSWERS], (unsigned long long)counts[LEASES],
	       (unsigned long long)counts[DATA]);
	if (!counts[PROVEN])
		printf("# fuzz_peer: it never got far: is the key right and the rail up?\n");
	return counts[PROVEN] ? 0 : 1;
}
