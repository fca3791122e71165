// SPDX-License-Identifier: MIT
/* Trace files: one JSON object a line. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace.h"

static bool integer_member(const json_t *o, const char *name, char *err, size_t errlen)
{
	const json_t *v = json_object_get(o, name);

	if (v && json_is_integer(v) && json_integer_value(v) >= 0)
		return true;
	if (!v)
		snprintf(err, errlen, "'%s' is missing", name);
	else if (json_is_integer(v))
		snprintf(err, errlen, "'%s' is negative: %lld", name, (long long)json_integer_value(v));
	else
		snprintf(err, errlen, "'%s' is not an integer", name);
	return false;
}

static bool read_ids(const json_t *list, struct tr_request *r, char *err, size_t errlen)
{
	size_t i;
	json_t *v;

	r->n = (uint32_t)json_array_size(list);
	r->ids = calloc(r->n ? r->n : 1, sizeof(*r->ids));
	if (!r->ids) {
		snprintf(err, errlen, "out of memory");
		return false;
	}
	json_array_foreach(list, i, v) {
		if (!json_is_integer(v) || json_integer_value(v) < 0) {
			snprintf(err, errlen, "'hash_ids' member %zu is not a number from 0 on", i);
			free(r->ids);
			r->ids = NULL;
			return false;
		}
		r->ids[i] = (uint64_t)json_integer_value(v);
	}
	return true;
}

static bool read_request(const json_t *o, struct tr_request *r, char *err, size_t errlen)
{
	static const char *const numbers[] = { "timestamp", "input_length", "output_length" };
	const json_t *list = json_object_get(o, "hash_ids");

	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		if (!integer_member(o, numbers[i], err, errlen))
			return false;
	if (!json_is_array(list) || json_array_size(list) > TR_MAX_IDS) {
		if (json_is_array(list))
			snprintf(err, errlen, "'hash_ids' has %zu members, at most %d are taken",
				 json_array_size(list), TR_MAX_IDS);
		else
			snprintf(err, errlen, "'hash_ids' is %s", list ? "not a list" : "missing");
		return false;
	}
	return read_ids(list, r, err, errlen);
}

bool tr_parse_line(const char *line, size_t len, struct tr_request *r, char *err, size_t errlen)
{
	json_error_t why;
	json_t *o = json_loadb(line, len, JSON_REJECT_DUPLICATES, &why);
	bool ok = false;

	r->n = 0;
	r->ids = NULL;
	if (!o)
		snprintf(err, errlen, "not JSON: %s (column %d)", why.text, why.column);
	else if (!json_is_object(o))
		snprintf(err, errlen, "not a JSON object");
	else
		ok = read_request(o, r, err, errlen);
	json_decref(o);
	return ok;
}

static uint64_t mix(uint64_t h, uint64_t v)
{
	h ^= v + 0x9e3779b97f4a7c15ULL + (h << 6) + (h >> 2);
	return h * 0xff51afd7ed558ccdULL;
}

static bool append(struct tr_trace *t, const struct tr_request *r)
{
	struct tr_request *req = t->req;

	/* grows at powers of two */
	if ((t->n & (t->n - 1)) == 0) {
		req = reallocarray(req, t->n ? 2 * t->n : 1, sizeof(*req));
		if (!req)
			return false;
		t->req = req;
	}
	t->req[t->n++] = *r;
	t->blocks += r->n;
	if (r->n > t->longest)
		t->longest = r->n;
	t->digest = mix(t->digest, r->n);
	for (uint32_t i = 0; i < r->n; i++)
		t->digest = mix(t->digest, r->ids[i]);
	return true;
}

static bool load_lines(FILE *f, const char *path, size_t limit, struct tr_trace *t, char *err, size_t errlen)
{
	struct tr_request r;
	char *line = NULL, why[256];
	size_t room = 0, number = 0;
	bool ok = true;
	ssize_t len;

	while (ok && (!limit || t->n < limit) && (len = getline(&line, &room, f)) >= 0) {
		number++;
		ok = tr_parse_line(line, (size_t)len, &r, why, sizeof(why));
		if (!ok)
			snprintf(err, errlen, "%s:%zu: %s", path, number, why);
		else if (!append(t, &r)) {
			free(r.ids);
			snprintf(err, errlen, "%s:%zu: out of memory", path, number);
			ok = false;
		}
	}
	free(line);
	if (ok && ferror(f)) {
		snprintf(err, errlen, "%s: %s", path, strerror(errno));
		ok = false;
	}
	return ok;
}

bool tr_load(const char *path, size_t limit, struct tr_trace *t, char *err, size_t errlen)
{
	FILE *f = fopen(path, "re");
	bool ok;

	memset(t, 0, sizeof(*t));
	if (!f) {
		snprintf(err, errlen, "%s: %s", path, strerror(errno));
		return false;
	}
	ok = load_lines(f, path, limit, t, err, errlen);
	fclose(f);
	if (ok && (!t->n || t->n < limit)) {
		snprintf(err, errlen, "%s: has %zu requests, %zu were asked for", path, t->n, limit ? limit : 1);
		ok = false;
	}
	if (!ok)
		tr_free(t);
	return ok;
}

void tr_free(struct tr_trace *t)
{
	for (size_t i = 0; i < t->n; i++)
		free(t->req[i].ids);
	free(t->req);
	memset(t, 0, sizeof(*t));
}
