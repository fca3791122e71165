// SPDX-License-Identifier: MIT
/*
 * `mcctl trace conduct`: requests go out in the order of the trace, at most `parallel` are under way, and each to
 * an idle lane of the node it belongs to. With parallel 1 a request is finished, on either node, before the next
 * begins.
 */
#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "trace_replay.h"

#define SEND_MS		10000
#define COUNTERS_MS	20000

enum { C_TRACE, C_REQUESTS, C_BLOCK, C_NODES, C_PARALLEL, C_LISTEN, C_WAIT, C_LIMIT, C_KEEP };

const struct ctl_opt tr_conduct_opts[] = {
	{ "trace", "FILE", "the same as the replaying nodes have" },
	{ "requests", "N", "only the first N (default all)" },
	{ "block", "SIZE", "bytes of a block (default 64K)" },
	{ "nodes", "N", "how many nodes replay (default 2)" },
	{ "parallel", "N", "requests under way at a time (default 1)" },
	{ "listen", "ADDR", "where to wait for the nodes (default 0.0.0.0:50070)" },
	{ "wait", "TIME", "longest wait for the nodes (default 60s)" },
	{ "request-timeout", "TIME", "longest that one request may take (default 2m)" },
	{ "keep-going", NULL, "go on after a request that failed" },
	{ NULL, NULL, NULL },
};

/* A lane as the conductor knows it. */
struct seat {
	struct tr_conn conn;
	bool greeted;
	bool first;		/* of its process: it reports the counters */
	bool busy;
	uint32_t node;
	uint64_t request;
	uint64_t since;
};

struct conduct {
	struct ctl *c;
	struct tr_trace trace;
	struct tr_report rep;
	uint32_t lanes_wanted;
	uint32_t wait_ms, limit_ms;
	bool keep_going;
	int listener;
	struct seat *seats;
	uint32_t n_seats, max_seats;
	uint64_t next, done, inflight;
	uint64_t started, told;
	bool failed;
	int status;
};

static int __attribute__((format(printf, 3, 4)))
give_up(struct conduct *q, int status, const char *fmt, ...)
{
	char line[TR_TEXT];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	if (!q->status)
		q->status = ctl_fail(q->c, status, "%s", line);
	return q->status;
}

/* ---- lanes arrive ---- */

static bool check_hello(const struct conduct *q, const json_t *h, char *why, size_t whylen)
{
	const char *digest = json_string_value(json_object_get(h, "digest"));
	json_int_t node = json_integer_value(json_object_get(h, "node"));
	json_int_t nodes = json_integer_value(json_object_get(h, "nodes"));
	json_int_t block = json_integer_value(json_object_get(h, "block_bytes"));
	char mine[20];

	snprintf(mine, sizeof(mine), "%016llx", (unsigned long long)q->trace.digest);
	if (!digest || strcmp(digest, mine))
		snprintf(why, whylen, "your trace is another one (%lld requests with digest %s, here %zu with %s)",
			 (long long)json_integer_value(json_object_get(h, "requests")), digest ? digest : "none",
			 q->trace.n, mine);
	else if (nodes != q->rep.n_nodes || node < 0 || node >= nodes)
		snprintf(why, whylen, "you are node %lld of %lld, here are %u nodes", (long long)node + 1,
			 (long long)nodes, q->rep.n_nodes);
	else if ((uint64_t)block != q->rep.block_bytes)
		snprintf(why, whylen, "your blocks have %lld bytes, here they have %llu", (long long)block,
			 (unsigned long long)q->rep.block_bytes);
	else
		return true;
	return false;
}

static void greet(struct conduct *q, struct seat *s, json_t *msg)
{
	json_t *h = json_object_get(msg, "hello");
	const char *host = json_string_value(json_object_get(h, "host"));
	char why[256] = "";

	if (!h || !check_hello(q, h, why, sizeof(why))) {
		give_up(q, MCT_EXIT_FAILED, "a lane was refused: %s", h ? why : "it did not say hello");
		tr_send(&s->conn, json_pack("{ss}", "refused", h ? why : "hello expected"), SEND_MS);
		tr_close(&s->conn);
		return;
	}
	s->greeted = true;
	s->first = json_is_true(json_object_get(h, "first"));
	s->node = (uint32_t)json_integer_value(json_object_get(h, "node"));
	snprintf(q->rep.host[s->node], sizeof(q->rep.host[0]), "%s", host ? host : "?");
}

static void accept_lane(struct conduct *q)
{
	int fd = accept4(q->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	struct seat *s;

	if (fd < 0)
		return;
	if (q->n_seats == q->max_seats) {
		give_up(q, MCT_EXIT_FAILED, "more than %u lanes came", q->max_seats);
		s = NULL;
	} else {
		s = &q->seats[q->n_seats++];
	}
	if (!s) {
		struct tr_conn c = { .fd = fd };

		tr_close(&c);
		return;
	}
	memset(s, 0, sizeof(*s));
	s->conn.fd = fd;
}

static bool all_here(const struct conduct *q)
{
	bool there[TR_MAX_NODES] = { false };
	uint32_t greeted = 0;

	for (uint32_t i = 0; i < q->n_seats; i++) {
		greeted += q->seats[i].greeted;
		if (q->seats[i].greeted)
			there[q->seats[i].node] = true;
	}
	for (uint32_t n = 0; n < q->rep.n_nodes; n++)
		if (!there[n])
			return false;
	return greeted >= q->lanes_wanted;
}

/* ---- requests ---- */

static void progress(struct conduct *q, bool last)
{
	uint64_t now = tr_now_ns(), hits = 0, rdma = 0;

	if (!last && now - q->told < 1000000000ULL)
		return;
	q->told = now;
	for (uint32_t n = 0; n < q->rep.n_nodes; n++) {
		hits += q->rep.node[n].hits_local + q->rep.node[n].hits_rdma;
		rdma += q->rep.node[n].hits_rdma;
	}
	fprintf(stderr, "mcctl: trace conduct: %llu of %zu requests, %llu hits (%llu over RDMA), %.0f s\n",
		(unsigned long long)q->done, q->trace.n, (unsigned long long)hits, (unsigned long long)rdma,
		(double)(now - q->started) / 1e9);
}

static void take_done(struct conduct *q, struct seat *s, const json_t *msg)
{
	const json_t *number = json_object_get(msg, "done");
	struct tr_result res;

	if (!s->busy || !json_is_integer(number) || (uint64_t)json_integer_value(number) != s->request ||
	    !tr_result_parse(json_object_get(msg, "result"), &res)) {
		give_up(q, MCT_EXIT_FAILED, "node %s sent an answer that was not asked for",
			q->rep.host[s->node]);
		return;
	}
	s->busy = false;
	q->inflight--;
	q->done++;
	tr_result_add(&q->rep.node[s->node], &res);
	if (res.get_ns && !tr_sample(&q->rep.get, res.get_ns))
		give_up(q, MCT_EXIT_FAILED, "out of memory");
	if (res.put_ns && !tr_sample(&q->rep.put, res.put_ns))
		give_up(q, MCT_EXIT_FAILED, "out of memory");
	if (res.errors || res.verify_errors)
		q->failed = true;
	progress(q, false);
}

static void take_message(struct conduct *q, struct seat *s, json_t *msg)
{
	const json_t *counters = json_object_get(msg, "counters");

	if (!s->greeted)
		greet(q, s, msg);
	else if (counters && s->first && tr_counters_parse(counters, &q->rep.counters[s->node]))
		tr_close(&s->conn);
	else
		take_done(q, s, msg);
	json_decref(msg);
}

static void take_all(struct conduct *q, struct seat *s)
{
	json_t *msg;
	int rc = 0;

	while (s->conn.fd >= 0 && (msg = tr_recv(&s->conn, 0, &rc)))
		take_message(q, s, msg);
	if (s->conn.fd < 0 || !rc || rc == -ETIMEDOUT)
		return;
	if (s->busy || !q->done || q->done < q->next)
		give_up(q, MCT_EXIT_FAILED, "node %s left: %s", s->greeted ? q->rep.host[s->node] : "?",
			rc == -EPIPE ? "it closed the connection" : strerror(-rc));
	tr_close(&s->conn);
}

static void wait_messages(struct conduct *q, int ms)
{
	struct pollfd p[TR_MAX_NODES * 2 + 1];
	uint32_t n = 0, at[TR_MAX_NODES * 2 + 1];

	for (uint32_t i = 0; i < q->n_seats; i++)
		if (q->seats[i].conn.fd >= 0) {
			at[n] = i;
			p[n++] = (struct pollfd){ .fd = q->seats[i].conn.fd, .events = POLLIN };
		}
	p[n] = (struct pollfd){ .fd = q->listener, .events = POLLIN };
	if (poll(p, n + 1, ms) <= 0)
		return;
	if (p[n].revents)
		accept_lane(q);
	for (uint32_t i = 0; i < n; i++)
		if (p[i].revents)
			take_all(q, &q->seats[at[i]]);
}

static struct seat *idle_seat(struct conduct *q, uint32_t node)
{
	for (uint32_t i = 0; i < q->n_seats; i++) {
		struct seat *s = &q->seats[i];

		if (s->greeted && !s->busy && s->conn.fd >= 0 && s->node == node)
			return s;
	}
	return NULL;
}

static void hand_out(struct conduct *q)
{
	bool go = !q->status && (!q->failed || q->keep_going);
	struct seat *s;
	int rc;

	while (go && q->inflight < q->rep.parallel && q->next < q->trace.n) {
		s = idle_seat(q, (uint32_t)(q->next % q->rep.n_nodes));
		if (!s)
			return;
		rc = tr_send(&s->conn, json_pack("{sI}", "run", (json_int_t)q->next), SEND_MS);
		if (rc) {
			give_up(q, MCT_EXIT_UNREACHABLE, "node %s: %s", q->rep.host[s->node], strerror(-rc));
			return;
		}
		s->busy = true;
		s->request = q->next++;
		s->since = tr_now_ns();
		q->inflight++;
	}
}

static void check_limits(struct conduct *q)
{
	uint64_t now = tr_now_ns();

	for (uint32_t i = 0; i < q->n_seats; i++) {
		const struct seat *s = &q->seats[i];

		if (s->busy && now - s->since > q->limit_ms * 1000000ULL)
			give_up(q, MCT_EXIT_UNREACHABLE, "node %s: request %llu has not ended after %u ms",
				q->rep.host[s->node], (unsigned long long)s->request, q->limit_ms);
	}
}

static void gather(struct conduct *q)
{
	uint64_t end = tr_now_ns() + q->wait_ms * 1000000ULL;

	while (!q->status && !all_here(q)) {
		if (tr_now_ns() > end)
			give_up(q, MCT_EXIT_UNREACHABLE, "only %u of %u lanes came in %u ms", q->n_seats,
				q->lanes_wanted, q->wait_ms);
		wait_messages(q, 100);
	}
}

static void replay(struct conduct *q)
{
	q->started = tr_now_ns();
	while (!q->status) {
		hand_out(q);
		if (!q->inflight)
			break;
		wait_messages(q, 250);
		check_limits(q);
	}
	q->rep.wall_ns = tr_now_ns() - q->started;
	progress(q, true);
}

static bool counters_missing(const struct conduct *q)
{
	for (uint32_t i = 0; i < q->n_seats; i++)
		if (q->seats[i].first && q->seats[i].conn.fd >= 0)
			return true;
	return false;
}

static void finish(struct conduct *q)
{
	uint64_t end = tr_now_ns() + COUNTERS_MS * 1000000ULL;

	for (uint32_t i = 0; i < q->n_seats; i++)
		if (q->seats[i].conn.fd >= 0 && q->seats[i].greeted && !q->seats[i].busy)
			tr_send(&q->seats[i].conn, json_pack("{sb}", "stop", 1), SEND_MS);
	while (!q->status && counters_missing(q) && tr_now_ns() < end)
		wait_messages(q, 250);
	for (uint32_t i = 0; i < q->n_seats; i++)
		tr_close(&q->seats[i].conn);
}

static int conduct_options(struct ctl *c, struct conduct *q)
{
	uint64_t nodes = 2, parallel = 1;
	int rc = tr_opt_number(c, "nodes", c->val[C_NODES], 1, TR_MAX_NODES, &nodes);

	if (!rc)
		rc = tr_opt_number(c, "parallel", c->val[C_PARALLEL], 1, TR_MAX_LANES, &parallel);
	if (!rc)
		rc = tr_opt_block(c, c->val[C_BLOCK], &q->rep.block_bytes);
	if (!rc)
		rc = tr_opt_ms(c, "wait", c->val[C_WAIT], &q->wait_ms);
	if (!rc)
		rc = tr_opt_ms(c, "request-timeout", c->val[C_LIMIT], &q->limit_ms);
	q->keep_going = c->val[C_KEEP];
	q->rep.n_nodes = (uint32_t)nodes;
	q->rep.parallel = (uint32_t)parallel;
	q->lanes_wanted = (uint32_t)(nodes * ((parallel + nodes - 1) / nodes));
	q->max_seats = TR_MAX_NODES * 2;
	return rc ? rc : tr_opt_trace(c, c->val[C_TRACE], c->val[C_REQUESTS], &q->trace);
}

/* The table is the answer whatever it says; what is wrong comes as one line behind it. */
static int report(struct conduct *q)
{
	char why[TR_TEXT] = "";
	int status;

	q->rep.asked = q->trace.n;
	if (q->c->json)
		ctl_print(q->c, tr_report_json(&q->rep));
	else
		tr_report_print(&q->rep);
	fflush(stdout);
	status = tr_report_verdict(&q->rep, why, sizeof(why));
	return status ? ctl_fail(q->c, status, "%s", why) : MCT_EXIT_OK;
}

int tr_conduct(struct ctl *c)
{
	struct conduct q = { .c = c, .wait_ms = 60000, .limit_ms = 120000, .listener = -1,
			     .rep.block_bytes = 65536 };
	char err[384];
	int rc = conduct_options(c, &q);

	if (rc)
		return rc;
	q.seats = calloc(q.max_seats, sizeof(*q.seats));
	q.listener = tr_listen(c->val[C_LISTEN] ? c->val[C_LISTEN] : "0.0.0.0", err, sizeof(err));
	if (q.listener == -EINVAL)
		rc = ctl_fail(c, MCT_EXIT_USAGE, "%s", err);
	else if (q.listener < 0 || !q.seats)
		rc = ctl_fail(c, MCT_EXIT_FAILED, "%s", q.seats ? err : "out of memory");
	if (!rc) {
		gather(&q);
		if (!q.status)
			replay(&q);
		finish(&q);
		rc = q.done ? report(&q) : q.status;
		rc = q.status && rc != MCT_EXIT_CORRUPT ? q.status : rc;
	}
	if (q.listener >= 0) {
		struct tr_conn l = { .fd = q.listener };

		tr_close(&l);
	}
	free(q.seats);
	free(q.rep.get.ns);
	free(q.rep.put.ns);
	tr_free(&q.trace);
	return rc;
}
