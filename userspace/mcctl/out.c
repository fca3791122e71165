// SPDX-License-Identifier: MIT
/* Answers: one JSON value, printed as JSON or for people. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ctl.h"

#define MAX_COLUMNS	24

json_t *ctl_text(const void *bytes, size_t len)
{
	json_t *s = json_stringn(bytes, len);
	const uint8_t *in = bytes;
	char *text;
	size_t n = 0;

	if (s)
		return s;
	text = malloc(4 * len + 1);
	if (!text)
		return NULL;
	for (size_t i = 0; i < len; i++) {
		if (in[i] >= ' ' && in[i] < 127)
			text[n++] = (char)in[i];
		else
			n += (size_t)snprintf(text + n, 5, "\\x%02x", in[i]);
	}
	s = json_stringn(text, n);
	free(text);
	return s;
}

json_t *ctl_uuid(const uint8_t *uuid)
{
	char text[MCT_UUID_TEXT];

	return json_string(mct_uuid_text(uuid, text));
}

/* A scalar as one word for people; lists and objects as compact JSON. */
static char *cell(const json_t *v)
{
	char *text = NULL;

	switch (json_typeof(v)) {
	case JSON_STRING:
		return strdup(json_string_length(v) ? json_string_value(v) : "-");
	case JSON_NULL:
		return strdup("-");
	case JSON_TRUE:
		return strdup("yes");
	case JSON_FALSE:
		return strdup("no");
	case JSON_INTEGER:
		if (asprintf(&text, "%lld", (long long)json_integer_value(v)) < 0)
			return NULL;
		return text;
	case JSON_REAL:
		if (asprintf(&text, "%.3f", json_real_value(v)) < 0)
			return NULL;
		return text;
	default:
		return json_dumps(v, JSON_COMPACT);
	}
}

/* What a terminal would act upon is shown as '?'. */
static void put_cell(const json_t *v, int width)
{
	char *text = v ? cell(v) : NULL;

	for (char *p = text; p && *p; p++)
		if ((unsigned char)*p < ' ' || *p == 127)
			*p = '?';
	printf("%-*s", width, text ? text : "-");
	free(text);
}

static int width_of(const json_t *v)
{
	char *text = v ? cell(v) : NULL;
	int n = text ? (int)strlen(text) : 1;

	free(text);
	return n;
}

static void print_table(json_t *list)
{
	const char *names[MAX_COLUMNS];
	int width[MAX_COLUMNS], n = 0;
	json_t *row, *v;
	const char *key;
	size_t i;

	json_object_foreach(json_array_get(list, 0), key, v) {
		if (n == MAX_COLUMNS)
			break;
		width[n] = (int)strlen(key);
		names[n++] = key;
	}
	json_array_foreach(list, i, row)
		for (int c = 0; c < n; c++) {
			int w = width_of(json_object_get(row, names[c]));

			if (w > width[c])
				width[c] = w;
		}
	for (int c = 0; c < n; c++)
		printf("%-*s%s", c == n - 1 ? 0 : width[c], names[c], c == n - 1 ? "\n" : "  ");
	json_array_foreach(list, i, row)
		for (int c = 0; c < n; c++) {
			put_cell(json_object_get(row, names[c]), c == n - 1 ? 0 : width[c]);
			fputs(c == n - 1 ? "\n" : "  ", stdout);
		}
}

static void print_object(json_t *o)
{
	const char *key;
	json_t *v;
	int width = 0;

	json_object_foreach(o, key, v)
		if ((int)strlen(key) > width)
			width = (int)strlen(key);
	json_object_foreach(o, key, v) {
		if (json_is_array(v) && json_is_object(json_array_get(v, 0))) {
			printf("%s:\n", key);
			print_table(v);
			continue;
		}
		printf("%-*s  ", width, key);
		put_cell(v, 0);
		putchar('\n');
	}
}

int ctl_print(const struct ctl *c, json_t *answer)
{
	if (!answer)
		return ctl_fail(c, MCT_EXIT_FAILED, "out of memory");
	if (c->json) {
		json_dumpf(answer, stdout, JSON_INDENT(2));
		putchar('\n');
	} else if (json_is_array(answer)) {
		print_table(answer);
	} else {
		print_object(answer);
	}
	json_decref(answer);
	return MCT_EXIT_OK;
}
