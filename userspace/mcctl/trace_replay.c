// SPDX-License-Identifier: MIT
/* `mcctl trace replay`: the lanes of one node. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "trace_lane.h"
#include "trace_replay.h"

enum { R_TRACE, R_REQUESTS, R_BLOCK, R_NODE, R_OF, R_CONDUCTOR, R_LANES, R_WAIT, R_IDLE, R_SEED, R_FLIP };

const struct ctl_opt tr_replay_opts[] = {
	{ "trace", "FILE", "JSON lines: timestamp, input_length, output_length, hash_ids" },
	{ "requests", "N", "only the first N (default all)" },
	{ "block", "SIZE", "bytes of a block (default 64K)" },
	{ "node", "I", "number of this node, from 0" },
	{ "of", "N", "how many nodes there are (default 2)" },
	{ "conductor", "ADDR", "where `mcctl trace conduct` listens" },
	{ "lanes", "N", "requests that this node does at a time (default 1)" },
	{ "wait", "TIME", "longest wait for the conductor (default 60s)" },
	{ "idle", "TIME", "longest wait for a request (default 10m)" },
	{ "seed", "N", "of the random bytes that buffers are filled with (default random)" },
#ifdef MC_FAULT
	{ "flip-block", "auto|ID", "store this block with one wrong byte; auto: the first that the other node gets" },
#endif
	{ NULL, NULL, NULL },
};

int tr_opt_trace(struct ctl *c, const char *path, const char *requests, struct tr_trace *t)
{
	uint64_t limit = 0;
	char err[512];
	int rc;

	if (!path)
		return ctl_fail(c, MCT_EXIT_USAGE, "--trace is missing");
	rc = tr_opt_number(c, "requests", requests, 1, UINT32_MAX, &limit);
	if (rc)
		return rc;
	return tr_load(path, limit, t, err, sizeof(err)) ? MCT_EXIT_OK : ctl_fail(c, MCT_EXIT_USAGE, "%s", err);
}

int tr_opt_number(struct ctl *c, const char *name, const char *text, uint64_t min, uint64_t max, uint64_t *value)
{
	if (text && !mct_u64_parse(text, min, max, value))
		return ctl_fail(c, MCT_EXIT_USAGE, "--%s '%s' is not a number from %llu to %llu", name, text,
				(unsigned long long)min, (unsigned long long)max);
	return MCT_EXIT_OK;
}

int tr_opt_block(struct ctl *c, const char *text, uint64_t *value)
{
	if (text && (!mct_size_parse(text, value) || !*value || *value > 1ULL << 30))
		return ctl_fail(c, MCT_EXIT_USAGE, "--block '%s' is not a size from 1 to 1G", text);
	return MCT_EXIT_OK;
}

int tr_opt_ms(struct ctl *c, const char *name, const char *text, uint32_t *value)
{
	if (text && !mct_ms_parse(text, value))
		return ctl_fail(c, MCT_EXIT_USAGE, "--%s '%s' is not a time from 1ms to 1h", name, text);
	return MCT_EXIT_OK;
}

static int flip_option(struct tr_job *j, const char *text)
{
	if (!text)
		return MCT_EXIT_OK;
	j->has_flip = true;
	j->flip_at = j->block_bytes / 3;
	if (strcmp(text, "auto"))
		return tr_opt_number(j->c, "flip-block", text, 0, INT64_MAX, &j->flip);
	if (!tr_reused_block(&j->trace, j->nodes, &j->flip))
		return ctl_fail(j->c, MCT_EXIT_USAGE, "no block of this trace is read by another node");
	return MCT_EXIT_OK;
}

static int job_options(struct ctl *c, struct tr_job *j, uint64_t *lanes)
{
	uint64_t node = 0, nodes = 2;
	int rc;

	if (!c->val[R_CONDUCTOR])
		return ctl_fail(c, MCT_EXIT_USAGE, "--conductor is missing");
	if (!c->val[R_NODE])
		return ctl_fail(c, MCT_EXIT_USAGE, "--node is missing");
	rc = tr_opt_number(c, "of", c->val[R_OF], 1, TR_MAX_NODES, &nodes);
	if (!rc)
		rc = tr_opt_number(c, "node", c->val[R_NODE], 0, nodes - 1, &node);
	if (!rc)
		rc = tr_opt_number(c, "lanes", c->val[R_LANES], 1, TR_MAX_LANES, lanes);
	if (!rc)
		rc = tr_opt_block(c, c->val[R_BLOCK], &j->block_bytes);
	if (!rc)
		rc = tr_opt_ms(c, "wait", c->val[R_WAIT], &j->wait_ms);
	if (!rc)
		rc = tr_opt_ms(c, "idle", c->val[R_IDLE], &j->idle_ms);
	j->node = (uint32_t)node;
	j->nodes = (uint32_t)nodes;
	j->conductor = c->val[R_CONDUCTOR];
	return rc;
}

/* The worst lane decides: wrong bytes above all. */
static int run_lanes(struct tr_job *j, struct tr_lane *lanes, uint64_t n, uint64_t seed)
{
	const struct tr_lane *worst = &lanes[0];
	uint64_t started = 0;

	for (; started < n; started++) {
		lanes[started].job = j;
		lanes[started].index = (uint32_t)started;
		lanes[started].noise = seed + started;
		if (pthread_create(&lanes[started].thread, NULL, tr_lane_main, &lanes[started]))
			break;
	}
	for (uint64_t i = 0; i < started; i++) {
		pthread_join(lanes[i].thread, NULL);
		if (lanes[i].status > worst->status)
			worst = &lanes[i];
	}
	if (started < n)
		return ctl_fail(j->c, MCT_EXIT_FAILED, "only %llu of %llu lanes could be started",
				(unsigned long long)started, (unsigned long long)n);
	return worst->status ? ctl_fail(j->c, worst->status, "%s", worst->why) : MCT_EXIT_OK;
}

int tr_replay(struct ctl *c)
{
	struct tr_job j = { .c = c, .block_bytes = 65536, .wait_ms = 60000, .idle_ms = 600000 };
	uint64_t n = 1, seed = 0;
	struct tr_lane *lanes;
	char err[512];
	int rc = job_options(c, &j, &n);

	if (!rc && !c->val[R_SEED] && getrandom(&seed, sizeof(seed), 0) != sizeof(seed))
		seed = tr_now_ns();
	if (!rc)
		rc = tr_opt_number(c, "seed", c->val[R_SEED], 0, UINT64_MAX, &seed);
	if (!rc)
		rc = tr_opt_trace(c, c->val[R_TRACE], c->val[R_REQUESTS], &j.trace);
	if (!rc)
		rc = flip_option(&j, c->val[R_FLIP]);
	if (gethostname(j.host, sizeof(j.host) - 1) || !j.host[0])
		snprintf(j.host, sizeof(j.host), "node%u", j.node + 1);
	if (!rc && !tr_counters_read(&j.before, err, sizeof(err)))
		rc = ctl_fail(c, MCT_EXIT_NO_MODULE, "%s", err);
	if (!rc) {
		fprintf(stderr, "mcctl: trace replay: node %u of %u, %zu requests, seed %llu\n", j.node + 1, j.nodes,
			j.trace.n, (unsigned long long)seed);
		lanes = calloc(n, sizeof(*lanes));
		rc = lanes ? run_lanes(&j, lanes, n, seed) : ctl_fail(c, MCT_EXIT_FAILED, "out of memory");
		free(lanes);
	}
	tr_free(&j.trace);
	return rc;
}
