// SPDX-License-Identifier: MIT
/* The picture of rates: three tables. */
#include <string.h>

#include "see.h"

static uint64_t num(const json_t *o, const char *key)
{
	return (uint64_t)json_integer_value(json_object_get(o, key));
}

static const char *str(const json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));

	return s ? s : "-";
}

/* "1.2 MiB/s" would repeat the unit of the column: bytes only. */
static const char *bytes(const json_t *o, const char *key, char *to, size_t size)
{
	return mct_size_text(num(o, key), to, size);
}

static const char *latency(const json_t *o, const char *key, char *to, size_t size)
{
	if (!num(o, key))
		return "-";
	return see_ns_text(num(o, key), to, size);
}

static void transports(FILE *out, const json_t *list)
{
	char b[24], p50[24], p99[24];
	const json_t *o;
	size_t i;

	fprintf(out, "%-10s %-6s %10s %12s %8s %10s %10s\n", "TRANSPORT", "OP", "REQUESTS/S", "BYTES/S", "ERRORS/S",
		"P50", "P99");
	json_array_foreach(list, i, o) {
		/* what this node has no hardware for is shown only when it moves something */
		if (strcmp(str(o, "transport"), "local") && strcmp(str(o, "transport"), "rdma") &&
		    !num(o, "requests_s") && !num(o, "errors_s"))
			continue;
		fprintf(out, "%-10s %-6s %10llu %12s %8llu %10s %10s\n", str(o, "transport"), str(o, "op"),
			(unsigned long long)num(o, "requests_s"), bytes(o, "bytes_s", b, sizeof(b)),
			(unsigned long long)num(o, "errors_s"), latency(o, "p50_ns", p50, sizeof(p50)),
			latency(o, "p99_ns", p99, sizeof(p99)));
	}
}

static void counters(FILE *out, const json_t *o)
{
	char r[24], w[24];

	fprintf(out, " %-10s %12s %12s %9llu %8llu %8llu %9llu", str(o, "state"),
		bytes(o, "read_bytes_s", r, sizeof(r)), bytes(o, "write_bytes_s", w, sizeof(w)),
		(unsigned long long)num(o, "slices_s"),
		(unsigned long long)num(o, "inflight"), (unsigned long long)num(o, "errors_s"),
		(unsigned long long)num(o, "retries_s"));
}

#define COUNTERS_HEAD " %-10s %12s %12s %9s %8s %8s %9s", "STATE", "READ/S", "WRITE/S", "SLICES/S", "INFLIGHT", \
		"ERRORS/S", "RETRIES/S"

static void rails(FILE *out, const json_t *list)
{
	char r[24], w[24];
	const json_t *o;
	size_t i;

	fprintf(out, "\n%-5s %-12s", "RAIL", "DEVICE");
	fprintf(out, COUNTERS_HEAD);
	fprintf(out, " %10s %10s\n", "READ P99", "WRITE P99");
	json_array_foreach(list, i, o) {
		fprintf(out, "%-5llu %-12s", (unsigned long long)num(o, "rail"), str(o, "device"));
		counters(out, o);
		fprintf(out, " %10s %10s\n", latency(o, "read_p99_ns", r, sizeof(r)),
			latency(o, "write_p99_ns", w, sizeof(w)));
	}
}

static void peers(FILE *out, const json_t *list)
{
	const json_t *o;
	size_t i;

	fprintf(out, "\n%-36s", "PEER");
	fprintf(out, COUNTERS_HEAD);
	fputc('\n', out);
	json_array_foreach(list, i, o) {
		fprintf(out, "%-36s", str(o, "node_uuid"));
		counters(out, o);
		fputc('\n', out);
	}
}

void see_top_print(FILE *out, const json_t *rates)
{
	fprintf(out, "per second, over the last %.2f s\n\n", json_real_value(json_object_get(rates, "seconds")));
	transports(out, json_object_get(rates, "transports"));
	rails(out, json_object_get(rates, "rails"));
	peers(out, json_object_get(rates, "peers"));
}
