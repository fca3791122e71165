// SPDX-License-Identifier: MIT
/* event, stat, top, segment: what the module does, as it does it. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "mc_hist.h"
#include "nlctl.h"
#include "see.h"

/* A line at a time: whoever reads it through a pipe is not to wait for the next one. */
static bool put_line(const struct ctl *c, json_t *o, const char *text)
{
	if (c->json && o)
		json_dumpf(o, stdout, JSON_COMPACT);
	else
		fputs(text, stdout);
	json_decref(o);
	putchar('\n');
	return fflush(stdout) == 0;
}

static const struct ctl_opt event_opts[] = {
	{ "count", "N", "end after N events" },
	{ NULL, NULL, NULL },
};

static bool put_lost(const struct ctl *c, uint64_t lost)
{
	char text[64];

	snprintf(text, sizeof(text), "%llu events were lost", (unsigned long long)lost);
	return put_line(c, json_pack("{ss sI}", "event", "lost", "count", (json_int_t)lost), text);
}

static bool put_event(const struct ctl *c, const struct mcnl_event *ev)
{
	char text[512];

	return put_line(c, see_event_json(ev), see_event_text(ev, text, sizeof(text)));
}

/* Until the count, the time or a signal; an exit status. */
static int follow(struct ctl *c, struct mcnl *nl, uint64_t count)
{
	uint64_t until = c->timeout_given ? see_now_ms() + c->timeout_ms : UINT64_MAX, seen = 0, last = 0, lost;
	const volatile sig_atomic_t *stopping = see_signals();
	struct mcnl_event ev;
	bool ok = true;
	int rc;

	while (ok && seen < count && see_wait(mcnl_fd(nl), until)) {
		while (ok && seen < count && (rc = mcnl_event_next(nl, &ev)) == 0) {
			lost = see_lost(last, ev.seq);
			ok = (!lost || put_lost(c, lost)) && put_event(c, &ev);
			last = ev.seq;
			seen++;
		}
		if (ok && seen < count && rc != -EAGAIN && rc != -ENOBUFS && rc != -EINTR)
			return ctl_fail(c, MCT_EXIT_FAILED, "netlink: %s", strerror(-rc));
	}
	if (*stopping || !ok || seen == count || count == UINT64_MAX)
		return MCT_EXIT_OK;	/* main() says when output did not arrive */
	return ctl_fail(c, MCT_EXIT_UNREACHABLE, "%llu of %llu events in %u ms", (unsigned long long)seen,
			(unsigned long long)count, c->timeout_ms);
}

static int event(struct ctl *c)
{
	uint64_t count = UINT64_MAX;
	struct mcnl *nl;
	int rc;

	if (c->val[0] && !mct_u64_parse(c->val[0], 1, UINT64_MAX - 1, &count))
		return ctl_fail(c, MCT_EXIT_USAGE, "--count '%s' is not a number from 1 on", c->val[0]);
	rc = ctl_nl_open(c, &nl);
	if (rc)
		return rc;
	rc = mcnl_events_join(nl);
	if (rc)
		return ctl_nl_done(c, nl, rc);
	rc = follow(c, nl, count);
	mcnl_close(nl);
	return rc;
}

/* ---- stat ---- */

static json_t *slices_json(const char *op, uint64_t slices, uint64_t bytes, const uint64_t *hist)
{
	struct mcnl_stat as = { .bytes = bytes };
	json_t *o, *h;

	memcpy(as.hist, hist, sizeof(as.hist));
	o = see_stat_json(&as);
	h = json_pack("{ss sI sI sO sO sO}", "op", op, "slices", (json_int_t)slices, "bytes", (json_int_t)bytes,
		      "p50_ns", json_object_get(o, "p50_ns"), "p99_ns", json_object_get(o, "p99_ns"), "histogram",
		      json_object_get(o, "histogram"));
	json_decref(o);
	return h;
}

static json_t *rail_latency(const struct see_sample *s, const struct mcnl_rail *r)
{
	const struct mcnl_rail_hist *h = see_hist_of(s, r->id);

	return json_pack("{sI ss s[oo]}", "rail", (json_int_t)r->id, "device", r->dev, "slices",
			 slices_json("read", r->c.read_ops, r->c.read_bytes, h->read),
			 slices_json("write", r->c.write_ops, r->c.write_bytes, h->write));
}

static void picture(const char *title, const uint64_t *hist)
{
	char p50[24], p99[24];

	if (!mc_hist_total(hist, MC_HIST_BUCKETS))
		return;
	printf("%s: %llu, p50 %s, p99 %s\n", title, (unsigned long long)mc_hist_total(hist, MC_HIST_BUCKETS),
	       see_ns_text(mc_hist_percentile(hist, MC_HIST_BUCKETS, 500), p50, sizeof(p50)),
	       see_ns_text(mc_hist_percentile(hist, MC_HIST_BUCKETS, 990), p99, sizeof(p99)));
	see_hist_print(stdout, hist);
}

static void stat_text(const struct see_sample *s)
{
	char title[128], size[24];

	for (size_t i = 0; i < s->n_stats; i++) {
		const struct mcnl_stat *t = &s->stats[i];
		const char *op = t->op == MC_OP_WRITE ? "write" : "read";

		if (!t->reqs && !t->errors)
			continue;
		printf("%s %s: %llu requests, %s, %llu errors\n", see_transport_name(t->transport), op,
		       (unsigned long long)t->reqs, mct_size_text(t->bytes, size, sizeof(size)),
		       (unsigned long long)t->errors);
		snprintf(title, sizeof(title), "%s %s, from submission to completion",
			 see_transport_name(t->transport), op);
		picture(title, t->hist);
	}
	for (size_t i = 0; i < s->n_rails; i++) {
		const struct mcnl_rail_hist *h = see_hist_of(s, s->rails[i].id);

		snprintf(title, sizeof(title), "rail %u (%s), slices read, from posting to completion", s->rails[i].id,
			 s->rails[i].dev);
		picture(title, h->read);
		snprintf(title, sizeof(title), "rail %u (%s), slices written, from posting to completion",
			 s->rails[i].id, s->rails[i].dev);
		picture(title, h->write);
	}
}

/* A connection for each sample: a module that was loaded again has another number in netlink. */
static int take_sample(struct ctl *c, struct see_sample *s)
{
	struct mcnl_info info;
	struct mcnl *nl;
	struct timespec ts;
	int rc;

	memset(s, 0, sizeof(*s));
	rc = ctl_nl_open(c, &nl);
	if (rc)
		return rc;
	rc = mcnl_info(nl, &info);
	if (!rc)
		rc = mcnl_stats(nl, &s->stats, &s->n_stats);
	if (!rc)
		rc = mcnl_rails(nl, &s->rails, &s->n_rails);
	if (!rc)
		rc = mcnl_rail_hists(nl, &s->hists, &s->n_hists);
	if (!rc)
		rc = mcnl_peers(nl, &s->peers, &s->n_peers);
	clock_gettime(CLOCK_MONOTONIC, &ts);
	s->time_ns = (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
	s->instance = info.instance;
	rc = ctl_nl_done(c, nl, rc);
	if (rc)
		see_sample_free(s);
	return rc;
}

static int stat_show(struct ctl *c)
{
	json_t *stats, *rails;
	struct see_sample s;
	int rc = take_sample(c, &s);

	if (rc)
		return rc;
	if (c->json) {
		stats = json_array();
		rails = json_array();
		for (size_t i = 0; i < s.n_stats; i++)
			json_array_append_new(stats, see_stat_json(&s.stats[i]));
		for (size_t i = 0; i < s.n_rails; i++)
			json_array_append_new(rails, rail_latency(&s, &s.rails[i]));
		rc = ctl_print(c, json_pack("{so so}", "transports", stats, "rails", rails));
	} else {
		stat_text(&s);
	}
	see_sample_free(&s);
	return rc;
}

/* ---- top ---- */

static const struct ctl_opt top_opts[] = {
	{ "interval", "TIME", "time between two looks (default 1s)" },
	{ "once", NULL, "look twice, print once and end" },
	{ NULL, NULL, NULL },
};

/* On a terminal each picture replaces the one before; elsewhere an empty line parts them. */
static bool put_top(const struct ctl *c, json_t *rates, bool terminal, bool first)
{
	if (c->json)
		return put_line(c, rates, "");
	if (terminal)
		fputs("\033[H\033[J", stdout);
	else if (!first)
		putchar('\n');
	see_top_print(stdout, rates);
	json_decref(rates);
	return fflush(stdout) == 0;
}

static int top(struct ctl *c)
{
	bool once = c->val[1], terminal = isatty(STDOUT_FILENO) && !once, first = true, ok = true;
	uint64_t until = c->timeout_given ? see_now_ms() + c->timeout_ms : UINT64_MAX, at;
	const volatile sig_atomic_t *stopping;
	struct see_sample before, now;
	uint32_t interval = 1000;
	int rc;

	if (c->val[0] && !mct_ms_parse(c->val[0], &interval))
		return ctl_fail(c, MCT_EXIT_USAGE, "--interval '%s' is not a time from 1ms to 1h", c->val[0]);
	stopping = see_signals();
	rc = take_sample(c, &before);
	while (!rc && ok) {
		at = see_now_ms() + interval;
		see_wait(-1, at < until ? at : until);
		if (*stopping || (!once && see_now_ms() >= until))
			break;
		rc = take_sample(c, &now);
		if (rc)
			break;
		ok = put_top(c, see_rates(&before, &now), terminal, first) && !once;
		first = false;
		see_sample_free(&before);
		before = now;
	}
	see_sample_free(&before);
	return rc;
}

const struct ctl_cmd ctl_see_cmds[] = {
	{ "event", NULL, "", 0, 0, "follow what happens to segments, buffers, peers and rails; --timeout ends it",
	  event_opts, event },
	{ "stat", NULL, "", 0, 0, "requests, bytes and latencies since the module was loaded, with histograms", NULL,
	  stat_show },
	{ "top", NULL, "", 0, 0, "what moves now, by transport, rail and peer; --timeout ends it", top_opts, top },
	{ NULL, NULL, NULL, 0, 0, NULL, NULL, NULL },
};
