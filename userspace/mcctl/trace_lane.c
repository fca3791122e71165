// SPDX-License-Identifier: MIT
/* A lane: connection to the conductor, store, memory; then requests until it is told to stop. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "trace_lane.h"

#define SEND_MS		10000

static int __attribute__((format(printf, 3, 4)))
lane_fail(struct tr_lane *l, int status, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(l->why, sizeof(l->why), fmt, ap);
	va_end(ap);
	l->status = status;
	return status;
}

static int lane_memory(struct tr_lane *l)
{
	size_t n = l->job->trace.longest ? l->job->trace.longest : 1;
	void *p;

	l->mem_len = n * l->job->block_bytes;
	p = mmap(NULL, l->mem_len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	l->mem = p == MAP_FAILED ? NULL : p;
	l->keys = calloc(n, sizeof(*l->keys));
	l->exist = calloc(n, sizeof(*l->exist));
	l->items = calloc(n, sizeof(*l->items));
	l->pieces = calloc(n, sizeof(*l->pieces));
	if (!l->mem || !l->keys || !l->exist || !l->items || !l->pieces)
		return lane_fail(l, MCT_EXIT_FAILED, "no memory for %zu blocks of %llu bytes", n,
				 (unsigned long long)l->job->block_bytes);
	return 0;
}

static int lane_store(struct tr_lane *l)
{
	const struct ctl *c = l->job->c;
	struct mc_store_config cfg;
	struct mc_error err;

	mc_store_config_init(&cfg);
	cfg.master = c->master;
	cfg.tenant = c->tenant;
	cfg.timeout_ms = c->timeout_ms;
	cfg.device = c->device;
	if (mc_store_open(&cfg, &l->store, &err) ||
	    mc_store_register(l->store, l->mem, l->mem_len, &l->buf, &err))
		return lane_fail(l, ctl_exit_of(err.code, err.sys_errno), "%s (%d): %s", mc_strerror(err.code),
				 err.code, err.text);
	return 0;
}

static int lane_hello(struct tr_lane *l)
{
	const struct tr_job *j = l->job;
	char digest[20], err[256];
	json_t *hello;
	int rc;

	rc = tr_connect(&l->conn, j->conductor, (int)j->wait_ms, err, sizeof(err));
	if (rc)
		return lane_fail(l, rc == -EINVAL ? MCT_EXIT_USAGE : MCT_EXIT_UNREACHABLE, "%s", err);
	snprintf(digest, sizeof(digest), "%016llx", (unsigned long long)j->trace.digest);
	hello = json_pack("{s{si si si sb ss sI sI ss sI}}", "hello", "node", (int)j->node, "nodes", (int)j->nodes,
			  "pid", (int)getpid(), "first", l->index == 0, "host", j->host, "requests",
			  (json_int_t)j->trace.n, "blocks", (json_int_t)j->trace.blocks, "digest", digest,
			  "block_bytes", (json_int_t)j->block_bytes);
	rc = tr_send(&l->conn, hello, SEND_MS);
	if (rc)
		return lane_fail(l, MCT_EXIT_UNREACHABLE, "conductor %s: %s", j->conductor, strerror(-rc));
	return 0;
}

static int lane_run(struct tr_lane *l, json_int_t number)
{
	struct tr_result res;
	int rc;

	if (number < 0 || (uint64_t)number >= l->job->trace.n)
		return lane_fail(l, MCT_EXIT_FAILED, "conductor asks for request %lld of %zu", (long long)number,
				 l->job->trace.n);
	tr_lane_request(l, &l->job->trace.req[number], &res);
	rc = tr_send(&l->conn, json_pack("{sI so}", "done", number, "result", tr_result_json(&res)), SEND_MS);
	if (rc)
		return lane_fail(l, MCT_EXIT_UNREACHABLE, "conductor %s: %s", l->job->conductor, strerror(-rc));
	if (res.why[0] && !l->why[0])
		lane_fail(l, res.verify_errors ? MCT_EXIT_CORRUPT : MCT_EXIT_FAILED, "%s", res.why);
	return 0;
}

/* Nothing of this process runs any more when the first lane is told to stop: every lane has answered before. */
static int lane_stop(struct tr_lane *l)
{
	struct tr_counters now;
	char err[256];
	int rc;

	if (l->index)
		return 0;
	if (!tr_counters_read(&now, err, sizeof(err)))
		return lane_fail(l, MCT_EXIT_FAILED, "%s", err);
	tr_counters_sub(&now, &l->job->before);
	rc = tr_send(&l->conn, json_pack("{so}", "counters", tr_counters_json(&now)), SEND_MS);
	return rc ? lane_fail(l, MCT_EXIT_UNREACHABLE, "conductor %s: %s", l->job->conductor, strerror(-rc)) : 0;
}

static void lane_loop(struct tr_lane *l)
{
	const char *sentence;
	bool stop = false;
	json_t *msg, *run;
	int rc = 0;

	while (!rc && !stop) {
		msg = tr_recv(&l->conn, (int)l->job->idle_ms, &rc);
		if (!msg) {
			lane_fail(l, MCT_EXIT_UNREACHABLE, "conductor %s: %s", l->job->conductor,
				  rc == -EPIPE ? "closed the connection" : strerror(-rc));
			return;
		}
		run = json_object_get(msg, "run");
		sentence = json_string_value(json_object_get(msg, "refused"));
		stop = json_is_true(json_object_get(msg, "stop"));
		if (sentence)
			rc = lane_fail(l, MCT_EXIT_FAILED, "conductor %s: %s", l->job->conductor, sentence);
		else if (json_is_integer(run))
			rc = lane_run(l, json_integer_value(run));
		else if (stop)
			rc = lane_stop(l);
		json_decref(msg);
	}
}

void *tr_lane_main(void *lane)
{
	struct tr_lane *l = lane;

	l->conn.fd = -1;
	if (!lane_memory(l) && !lane_store(l) && !lane_hello(l))
		lane_loop(l);
	tr_close(&l->conn);
	mc_store_close(l->store);
	if (l->mem)
		munmap(l->mem, l->mem_len);
	free(l->keys);
	free(l->exist);
	free(l->items);
	free(l->pieces);
	return NULL;
}
