// SPDX-License-Identifier: MIT
/* Sums, durations, and how they travel. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace.h"

/* The numbers of struct tr_result, once for all that is done with each of them. */
static const struct field {
	const char *name;
	size_t at;
} fields[] = {
	{ "requests", offsetof(struct tr_result, requests) },
	{ "blocks", offsetof(struct tr_result, blocks) },
	{ "hits_local", offsetof(struct tr_result, hits_local) },
	{ "hits_rdma", offsetof(struct tr_result, hits_rdma) },
	{ "misses", offsetof(struct tr_result, misses) },
	{ "existed", offsetof(struct tr_result, existed) },
	{ "get_bytes_local", offsetof(struct tr_result, get_bytes_local) },
	{ "get_bytes_rdma", offsetof(struct tr_result, get_bytes_rdma) },
	{ "put_bytes_local", offsetof(struct tr_result, put_bytes_local) },
	{ "put_bytes_rdma", offsetof(struct tr_result, put_bytes_rdma) },
	{ "verify_errors", offsetof(struct tr_result, verify_errors) },
	{ "errors", offsetof(struct tr_result, errors) },
	{ "get_ns", offsetof(struct tr_result, get_ns) },
	{ "put_ns", offsetof(struct tr_result, put_ns) },
	{ "exist_ns", offsetof(struct tr_result, exist_ns) },
};

#define N_FIELDS (sizeof(fields) / sizeof(*fields))

static uint64_t *member(const struct tr_result *r, size_t i)
{
	return (uint64_t *)((char *)r + fields[i].at);
}

json_t *tr_result_json(const struct tr_result *r)
{
	json_t *o = json_object();

	for (size_t i = 0; i < N_FIELDS; i++)
		json_object_set_new(o, fields[i].name, json_integer((json_int_t)*member(r, i)));
	json_object_set_new(o, "why", json_string(r->why));
	return o;
}

bool tr_result_parse(const json_t *o, struct tr_result *r)
{
	const char *why = json_string_value(json_object_get(o, "why"));

	memset(r, 0, sizeof(*r));
	for (size_t i = 0; i < N_FIELDS; i++) {
		const json_t *v = json_object_get(o, fields[i].name);

		if (!json_is_integer(v) || json_integer_value(v) < 0)
			return false;
		*member(r, i) = (uint64_t)json_integer_value(v);
	}
	if (why)
		snprintf(r->why, sizeof(r->why), "%s", why);
	return why != NULL;
}

void tr_result_add(struct tr_result *to, const struct tr_result *r)
{
	for (size_t i = 0; i < N_FIELDS; i++)
		*member(to, i) += *member(r, i);
	if (!to->why[0])
		memcpy(to->why, r->why, sizeof(to->why));
}

bool tr_sample(struct tr_samples *s, uint64_t ns)
{
	size_t cap = s->cap ? 2 * s->cap : 256;
	uint64_t *mem;

	if (s->n == s->cap) {
		mem = reallocarray(s->ns, cap, sizeof(*mem));
		if (!mem)
			return false;
		s->ns = mem;
		s->cap = cap;
	}
	s->ns[s->n++] = ns;
	return true;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

uint64_t tr_percentile(struct tr_samples *s, double percent)
{
	size_t rank;

	if (!s->n)
		return 0;
	qsort(s->ns, s->n, sizeof(*s->ns), compare);
	rank = (size_t)(percent / 100 * (double)s->n + 0.999999);
	return s->ns[rank ? (rank > s->n ? s->n : rank) - 1 : 0];
}
