// SPDX-License-Identifier: MIT
/* What a trace comes to, by counting alone. */
#include <stdlib.h>
#include <string.h>

#include "trace.h"

/* A set of ids with the node that put each, open addressing; never more than half full. */
struct set {
	size_t mask;
	uint64_t *ids;
	uint8_t *used;		/* 0 empty, else 1 + node */
};

static bool set_init(struct set *s, uint64_t most)
{
	size_t size = 64;

	while (size < 2 * most)
		size *= 2;
	s->mask = size - 1;
	s->ids = calloc(size, sizeof(*s->ids));
	s->used = calloc(size, 1);
	return s->ids && s->used;
}

static void set_free(struct set *s)
{
	free(s->ids);
	free(s->used);
}

static size_t slot_of(const struct set *s, uint64_t id)
{
	size_t i = (size_t)(id * 0x9e3779b97f4a7c15ULL >> 20) & s->mask;

	while (s->used[i] && s->ids[i] != id)
		i = (i + 1) & s->mask;
	return i;
}

static uint32_t prefix(const struct set *s, const struct tr_request *r)
{
	uint32_t k = 0;

	while (k < r->n && s->used[slot_of(s, r->ids[k])])
		k++;
	return k;
}

static uint64_t put_rest(struct set *s, const struct tr_request *r, uint32_t from, uint32_t node)
{
	uint64_t fresh = 0;

	for (uint32_t i = from; i < r->n; i++) {
		size_t at = slot_of(s, r->ids[i]);

		fresh += !s->used[at];
		if (!s->used[at])
			s->used[at] = (uint8_t)(1 + node);
		s->ids[at] = r->ids[i];
	}
	return fresh;
}

bool tr_count(const struct tr_trace *t, struct tr_count *out)
{
	struct set s = { 0 };
	bool ok = set_init(&s, t->blocks);

	memset(out, 0, sizeof(*out));
	for (size_t i = 0; i < t->n && ok; i++) {
		const struct tr_request *r = &t->req[i];
		uint32_t k = prefix(&s, r);

		out->requests++;
		out->blocks += r->n;
		out->hits += k;
		out->misses += r->n - k;
		out->unique += put_rest(&s, r, k, 0);
	}
	set_free(&s);
	return ok;
}

bool tr_reused_block(const struct tr_trace *t, uint32_t nodes, uint64_t *id)
{
	struct set s = { 0 };
	bool found = false;

	if (!set_init(&s, t->blocks)) {
		set_free(&s);
		return false;
	}
	for (size_t i = 0; i < t->n && !found; i++) {
		const struct tr_request *r = &t->req[i];
		uint32_t node = (uint32_t)(i % nodes), k = prefix(&s, r);

		for (uint32_t b = 0; b < k && !found; b++) {
			*id = r->ids[b];
			found = s.used[slot_of(&s, *id)] != 1 + node;
		}
		put_rest(&s, r, k, node);
	}
	set_free(&s);
	return found;
}
