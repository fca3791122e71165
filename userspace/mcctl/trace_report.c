// SPDX-License-Identifier: MIT
/* The table at the end of a replay, and what it means. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "trace.h"

#define NIC_MTU		4096	/* largest payload of an RDMA packet */
#define NIC_CONTROL	2000	/* packets of connecting, opening segments and keeping alive */

static void total(const struct tr_report *r, struct tr_result *res, struct tr_counters *c)
{
	memset(res, 0, sizeof(*res));
	memset(c, 0, sizeof(*c));
	c->nic = true;
	for (uint32_t n = 0; n < r->n_nodes; n++) {
		const struct tr_counters *one = &r->counters[n];

		tr_result_add(res, &r->node[n]);
		c->local_bytes += one->local_bytes;
		c->read_bytes += one->read_bytes;
		c->write_bytes += one->write_bytes;
		c->ops += one->ops;
		c->errors += one->errors;
		c->retries += one->retries;
		c->nic_sent += one->nic_sent;
		c->nic_rcvd += one->nic_rcvd;
		c->nic &= one->valid && one->nic;
	}
}

static uint64_t distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

uint64_t tr_other_bytes(const struct tr_report *r, uint32_t node)
{
	const struct tr_result *c = &r->node[node];
	const struct tr_counters *k = &r->counters[node];

	return distance(c->get_bytes_local + c->put_bytes_local, k->local_bytes) +
	       distance(c->get_bytes_rdma, k->read_bytes) + distance(c->put_bytes_rdma, k->write_bytes);
}

/*
 * Payload leaves in packets of at most NIC_MTU bytes. Fewer than that were needed can't have carried it. Beyond it
 * a slice costs one packet that is not full and one request or acknowledgement; many more would be bytes that
 * nobody accounts for.
 */
static void nic_bounds(const struct tr_counters *c, uint64_t *least, uint64_t *most)
{
	*least = (c->read_bytes + c->write_bytes + NIC_MTU - 1) / NIC_MTU;
	*most = *least + 3 * (c->ops + c->retries) + NIC_CONTROL;
	/* retransmissions after loss: a device that retried in hardware does not tell the module */
	*most += *most / 4;
}

bool tr_nic_agrees(const struct tr_report *r)
{
	struct tr_result res;
	struct tr_counters c;
	uint64_t least, most;

	total(r, &res, &c);
	nic_bounds(&c, &least, &most);
	return !c.nic || (c.nic_sent >= least && c.nic_sent <= most);
}

static double per_second(uint64_t bytes, uint64_t ns)
{
	return ns ? (double)bytes / (double)ns : 0;	/* bytes a ns are GB a second */
}

/* ---- JSON ---- */

static json_t *node_json(const struct tr_report *r, uint32_t n)
{
	json_t *o = json_pack("{ss so so}", "host", r->host[n], "result", tr_result_json(&r->node[n]), "counters",
			      tr_counters_json(&r->counters[n]));

	json_object_set_new(o, "other_bytes", json_integer((json_int_t)tr_other_bytes(r, n)));
	return o;
}

json_t *tr_report_json(struct tr_report *r)
{
	json_t *nodes = json_array();
	struct tr_result t;
	struct tr_counters c;
	uint64_t least, most, other = 0;

	total(r, &t, &c);
	nic_bounds(&c, &least, &most);
	for (uint32_t n = 0; n < r->n_nodes; n++) {
		json_array_append_new(nodes, node_json(r, n));
		other += tr_other_bytes(r, n);
	}
	return json_pack("{sI sI sI sI sI sI sI sI sI sI sf sf sf sf sf sf sI si sf sb sI sI so so}",
		"requests", (json_int_t)t.requests, "blocks", (json_int_t)t.blocks, "hits",
		(json_int_t)(t.hits_local + t.hits_rdma), "hits_local", (json_int_t)t.hits_local, "hits_rdma",
		(json_int_t)t.hits_rdma, "misses", (json_int_t)t.misses, "existed", (json_int_t)t.existed,
		"verify_errors", (json_int_t)t.verify_errors, "errors", (json_int_t)t.errors, "other_bytes",
		(json_int_t)other, "get_gb_s", per_second(t.get_bytes_local + t.get_bytes_rdma, t.get_ns), "put_gb_s",
		per_second(t.put_bytes_local + t.put_bytes_rdma, t.put_ns), "get_p50_ms",
		(double)tr_percentile(&r->get, 50) / 1e6, "get_p99_ms", (double)tr_percentile(&r->get, 99) / 1e6,
		"put_p50_ms", (double)tr_percentile(&r->put, 50) / 1e6, "put_p99_ms",
		(double)tr_percentile(&r->put, 99) / 1e6, "block_bytes", (json_int_t)r->block_bytes, "parallel",
		(int)r->parallel, "seconds", (double)r->wall_ns / 1e9, "nic_agrees", tr_nic_agrees(r),
		"nic_packets_least", (json_int_t)least, "nic_packets_most", (json_int_t)most, "counters",
		tr_counters_json(&c), "nodes", nodes);
}

/* ---- for people ---- */

static void row(const struct tr_report *r, const char *what, const uint64_t *v)
{
	uint64_t sum = 0;

	printf("%-34s", what);
	for (uint32_t n = 0; n < r->n_nodes; n++) {
		printf(" %15llu", (unsigned long long)v[n]);
		sum += v[n];
	}
	printf(" %15llu\n", (unsigned long long)sum);
}

#define ROW(r, what, expr) do {							\
	uint64_t v_[TR_MAX_NODES];						\
	for (uint32_t n = 0; n < (r)->n_nodes; n++) {				\
		const struct tr_result *t = &(r)->node[n];			\
		const struct tr_counters *c = &(r)->counters[n];		\
		(void)t;							\
		(void)c;							\
		v_[n] = (expr);							\
	}									\
	row(r, what, v_);							\
} while (0)

static void print_rows(const struct tr_report *r)
{
	ROW(r, "requests", t->requests);
	ROW(r, "blocks", t->blocks);
	ROW(r, "hits", t->hits_local + t->hits_rdma);
	ROW(r, "  served by local copy", t->hits_local);
	ROW(r, "  served over RDMA", t->hits_rdma);
	ROW(r, "misses (put)", t->misses);
	ROW(r, "  of these put by others meanwhile", t->existed);
	ROW(r, "bytes got by local copy", t->get_bytes_local);
	ROW(r, "bytes got over RDMA", t->get_bytes_rdma);
	ROW(r, "bytes put by local copy", t->put_bytes_local);
	ROW(r, "bytes put over RDMA", t->put_bytes_rdma);
	ROW(r, "module: local copy bytes", c->local_bytes);
	ROW(r, "module: RDMA READ bytes", c->read_bytes);
	ROW(r, "module: RDMA WRITE bytes", c->write_bytes);
	ROW(r, "module: slices retried", c->retries);
	ROW(r, "RDMA device: packets sent", c->nic_sent);
	ROW(r, "RDMA device: packets received", c->nic_rcvd);
	ROW(r, "bytes over any other path", tr_other_bytes(r, n));
	ROW(r, "failed gets and puts", t->errors);
	ROW(r, "verify errors", t->verify_errors);
}

static void print_nic(const struct tr_report *r, const struct tr_counters *c)
{
	uint64_t least, most;

	nic_bounds(c, &least, &most);
	if (!c->nic)
		printf("RDMA device counters: not offered by these devices\n");
	else
		printf("RDMA device counters: %llu packets of at most %d bytes sent; the module's %llu RDMA bytes need "
		       "%llu to %llu: %s\n", (unsigned long long)c->nic_sent, NIC_MTU,
		       (unsigned long long)(c->read_bytes + c->write_bytes), (unsigned long long)least,
		       (unsigned long long)most, tr_nic_agrees(r) ? "they agree" : "THEY DISAGREE");
}

void tr_report_print(struct tr_report *r)
{
	struct tr_result t;
	struct tr_counters c;

	total(r, &t, &c);
	printf("%-34s", "");
	for (uint32_t n = 0; n < r->n_nodes; n++)
		printf(" %15.15s", r->host[n]);
	printf(" %15s\n", "total");
	print_rows(r);
	print_nic(r, &c);
	printf("\nbatch get  %8.3f ms p50  %8.3f ms p99  %.4f GB/s\n", (double)tr_percentile(&r->get, 50) / 1e6,
	       (double)tr_percentile(&r->get, 99) / 1e6,
	       per_second(t.get_bytes_local + t.get_bytes_rdma, t.get_ns));
	printf("batch put  %8.3f ms p50  %8.3f ms p99  %.4f GB/s\n", (double)tr_percentile(&r->put, 50) / 1e6,
	       (double)tr_percentile(&r->put, 99) / 1e6,
	       per_second(t.put_bytes_local + t.put_bytes_rdma, t.put_ns));
	printf("blocks of %llu bytes, %u request%s at a time, %.1f s in all\n", (unsigned long long)r->block_bytes,
	       r->parallel, r->parallel == 1 ? "" : "s", (double)r->wall_ns / 1e9);
	printf("Figures of software RDMA (rdma_rxe) or of emulated machines are not figures of RDMA hardware.\n");
	printf("\nblocks %llu, hits %llu, misses %llu, verify errors %llu\n", (unsigned long long)t.blocks,
	       (unsigned long long)(t.hits_local + t.hits_rdma), (unsigned long long)t.misses,
	       (unsigned long long)t.verify_errors);
}

int tr_report_verdict(const struct tr_report *r, char *why, size_t whylen)
{
	struct tr_result t;
	struct tr_counters c;
	uint32_t n;

	total(r, &t, &c);
	snprintf(why, whylen, "%s", t.why);
	if (t.verify_errors)
		return MCT_EXIT_CORRUPT;
	if (t.errors)
		return MCT_EXIT_FAILED;
	for (n = 0; n < r->n_nodes; n++) {
		if (!r->counters[n].valid)
			snprintf(why, whylen, "node %s did not report its counters", r->host[n]);
		else if (tr_other_bytes(r, n))
			snprintf(why, whylen, "node %s: client and module disagree about %llu bytes", r->host[n],
				 (unsigned long long)tr_other_bytes(r, n));
		else
			continue;
		return MCT_EXIT_FAILED;
	}
	if (!tr_nic_agrees(r)) {
		snprintf(why, whylen, "module and RDMA devices disagree: %llu bytes in %llu packets",
			 (unsigned long long)(c.read_bytes + c.write_bytes), (unsigned long long)c.nic_sent);
		return MCT_EXIT_FAILED;
	}
	if (t.requests < r->asked) {
		snprintf(why, whylen, "only %llu of %llu requests were done", (unsigned long long)t.requests,
			 (unsigned long long)r->asked);
		return MCT_EXIT_FAILED;
	}
	return MCT_EXIT_OK;
}
