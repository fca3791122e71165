// SPDX-License-Identifier: MIT
/* trace: the main job. */
#include "trace_replay.h"

static const struct ctl_opt count_opts[] = {
	{ "trace", "FILE", "JSON lines: timestamp, input_length, output_length, hash_ids" },
	{ "requests", "N", "only the first N (default all)" },
	{ NULL, NULL, NULL },
};

static int trace_count(struct ctl *c)
{
	struct tr_count n;
	struct tr_trace t;
	bool ok;
	int rc = tr_opt_trace(c, c->val[0], c->val[1], &t);

	if (rc)
		return rc;
	ok = tr_count(&t, &n);
	tr_free(&t);
	if (!ok)
		return ctl_fail(c, MCT_EXIT_FAILED, "out of memory");
	return ctl_print(c, json_pack("{sI sI sI sI sI}", "requests", (json_int_t)n.requests, "blocks",
		(json_int_t)n.blocks, "hits", (json_int_t)n.hits, "misses", (json_int_t)n.misses, "unique",
		(json_int_t)n.unique));
}

const struct ctl_cmd ctl_trace_cmds[] = {
	{ "trace", "count", "--trace FILE", 0, 0, "what a replay must come to when nothing is evicted", count_opts,
	  trace_count },
	{ "trace", "conduct", "--trace FILE", 0, 0, "hand out the requests of a trace; print the table",
	  tr_conduct_opts, tr_conduct },
	{ "trace", "replay", "--trace FILE --node I --conductor ADDR", 0, 0,
	  "be a node of a replay: get, verify, put", tr_replay_opts, tr_replay },
	{ NULL, NULL, NULL, 0, 0, NULL, NULL, NULL },
};
