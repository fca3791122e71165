/* SPDX-License-Identifier: MIT */
/*
 * Replaying a request trace: the main job, as an inference cluster would do it.
 *
 *   mcctl trace conduct            one process: hands out request numbers in order, adds up, prints the table
 *     ▲ lines of JSON over TCP ▲
 *   mcctl trace replay             one process a node: gets the known prefix of a request, verifies it, puts the rest
 *
 * A replay process has one or more lanes, each a thread with a connection to the conductor and a handle of the
 * store of its own. The conductor gives a request to an idle lane of the node it belongs to (request modulo
 * nodes). Lines:
 *
 *   lane       {"hello": {node, nodes, pid, host, uuid, requests, blocks, digest, block_bytes}}
 *   conductor  {"run": REQUEST}
 *   lane       {"done": REQUEST, "result": {...}}
 *   conductor  {"stop": true}                     answered by the first lane of a process:
 *   lane       {"counters": {...}}
 */
#ifndef CTL_TRACE_H
#define CTL_TRACE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mctext.h"

#define TR_MAX_IDS	65536	/* blocks of one request */
#define TR_MAX_NODES	64
#define TR_MAX_LANES	64	/* of one process */
#define TR_TEXT		512
#define TR_PORT		50070

/**
 * struct tr_request - a request: the blocks of its prompt, in order
 * @n: how many
 * @ids: a block's id stands for its contents and all that comes before it
 */
struct tr_request {
	uint32_t n;
	uint64_t *ids;
};

/**
 * struct tr_trace - the requests that are replayed
 * @n: how many
 * @req: them
 * @blocks: blocks of all of them
 * @longest: most blocks of one
 * @digest: number that differs when the ids do
 */
struct tr_trace {
	size_t n;
	struct tr_request *req;
	uint64_t blocks;
	uint32_t longest;
	uint64_t digest;
};

/* trace_file.c */

/**
 * tr_load() - read a trace (JSON lines)
 * @path: file
 * @limit: at most so many requests, 0 for all; having fewer is an error
 * @t: result; tr_free() it
 * @err: "file:line: ..." on failure
 * @errlen: its room
 */
bool tr_load(const char *path, size_t limit, struct tr_trace *t, char *err, size_t errlen);

/** tr_parse_line() - read one line into @r (free r->ids); false with a sentence that names the bad member and value */
bool tr_parse_line(const char *line, size_t len, struct tr_request *r, char *err, size_t errlen);

/** tr_free() - free a trace */
void tr_free(struct tr_trace *t);

/* trace_block.c: what a block holds */

/** tr_block_byte() - byte @off of block @id */
uint8_t tr_block_byte(uint64_t id, uint64_t off);

/** tr_block_fill() - write block @id of @len bytes */
void tr_block_fill(uint64_t id, void *to, size_t len);

/** tr_block_check() - compare; the offset of the first wrong byte, or -1 */
int64_t tr_block_check(uint64_t id, const void *have, size_t len);

/** tr_noise_fill() - fill with random bytes; @state is any number and moves on */
void tr_noise_fill(uint64_t *state, void *to, size_t len);

/* trace_dry.c */

/**
 * struct tr_count - what the replay of a trace must come to when nothing is ever evicted
 * @requests: requests
 * @blocks: blocks asked for
 * @hits: blocks before the first missing one of their request
 * @misses: the others, which are put
 * @unique: different blocks among those put
 */
struct tr_count {
	uint64_t requests, blocks, hits, misses, unique;
};

/** tr_count() - replay without a store; false without memory */
bool tr_count(const struct tr_trace *t, struct tr_count *out);

/** tr_reused_block() - the first block that a request of another node will get; false when there is none */
bool tr_reused_block(const struct tr_trace *t, uint32_t nodes, uint64_t *id);

/* trace_stats.c */

/**
 * struct tr_samples - durations
 * @n: how many
 * @cap: room
 * @ns: them
 */
struct tr_samples {
	size_t n, cap;
	uint64_t *ns;
};

/** tr_sample() - add one; false without memory */
bool tr_sample(struct tr_samples *s, uint64_t ns);

/** tr_percentile() - the smallest sample that @percent of all are not above; sorts; 0 when there are none */
uint64_t tr_percentile(struct tr_samples *s, double percent);

/**
 * struct tr_result - what one request came to
 * @requests: 1, or how many were added up
 * @blocks: blocks asked for
 * @hits_local: got by local copy
 * @hits_rdma: got from another node
 * @misses: blocks behind the known prefix
 * @existed: of these, put by someone else meanwhile
 * @get_bytes_local: bytes
 * @get_bytes_rdma: bytes
 * @put_bytes_local: bytes
 * @put_bytes_rdma: bytes
 * @verify_errors: blocks with a wrong byte
 * @errors: gets and puts that failed
 * @get_ns: time of the batch get, 0 when there was none
 * @put_ns: time of the batch put, 0 when there was none
 * @exist_ns: time of asking which blocks there are
 * @why: the first error, empty when there was none
 */
struct tr_result {
	uint64_t requests, blocks, hits_local, hits_rdma, misses, existed;
	uint64_t get_bytes_local, get_bytes_rdma, put_bytes_local, put_bytes_rdma;
	uint64_t verify_errors, errors;
	uint64_t get_ns, put_ns, exist_ns;
	char why[TR_TEXT];
};

/** tr_result_json() - as it goes over the wire */
json_t *tr_result_json(const struct tr_result *r);

/** tr_result_parse() - and back; false when a member is missing or of the wrong type */
bool tr_result_parse(const json_t *o, struct tr_result *r);

/** tr_result_add() - @to += @r; keeps the first sentence */
void tr_result_add(struct tr_result *to, const struct tr_result *r);

/* trace_line.c: lines of JSON over TCP, every wait with a limit */

/**
 * struct tr_conn - a connection
 * @fd: socket, -1 when closed
 * @have: bytes in @buf
 * @buf: what has come and was not taken yet
 */
struct tr_conn {
	int fd;
	size_t have;
	char buf[16384];
};

/** tr_send() - send one line, at most @timeout_ms; drops the reference; 0 or -errno */
int tr_send(struct tr_conn *c, json_t *msg, int timeout_ms);

/**
 * tr_recv() - take one line, at most @timeout_ms (0 only looks); NULL with *rc -ETIMEDOUT, -EPIPE
 *	(closed), -EBADMSG
 */
json_t *tr_recv(struct tr_conn *c, int timeout_ms, int *rc);

/** tr_connect() - connect, trying again until @timeout_ms is over; 0 or -errno with @err */
int tr_connect(struct tr_conn *c, const char *address, int timeout_ms, char *err, size_t errlen);

/** tr_listen() - socket that listens; or -errno with @err */
int tr_listen(const char *address, char *err, size_t errlen);

/** tr_close() - close a connection */
void tr_close(struct tr_conn *c);

/** tr_now_ns() - monotonic time */
uint64_t tr_now_ns(void);

/* trace_counters.c */

/**
 * struct tr_counters - a node's own counters
 * @valid: the module answered
 * @local_bytes: moved by the local copy engine
 * @read_bytes: read over RDMA
 * @write_bytes: written over RDMA
 * @ops: slices
 * @errors: slices that failed
 * @retries: slices posted again
 * @nic_sent: packets the RDMA devices sent, by their own count
 * @nic_rcvd: packets they received
 * @nic: they have such counters
 */
struct tr_counters {
	bool valid;
	uint64_t local_bytes, read_bytes, write_bytes, ops, errors, retries;
	bool nic;
	uint64_t nic_sent, nic_rcvd;
};

/** tr_counters_read() - ask module and devices; false with @err */
bool tr_counters_read(struct tr_counters *c, char *err, size_t errlen);

/** tr_counters_sub() - @to -= @before */
void tr_counters_sub(struct tr_counters *to, const struct tr_counters *before);

/** tr_counters_json() - as they go over the wire */
json_t *tr_counters_json(const struct tr_counters *c);

/** tr_counters_parse() - and back */
bool tr_counters_parse(const json_t *o, struct tr_counters *c);

/* trace_report.c */

/**
 * struct tr_report - everything the table shows
 * @n_nodes: nodes
 * @node: what each came to
 * @host: their names
 * @counters: their counters
 * @get: durations of batch gets
 * @put: durations of batch puts
 * @asked: requests that were to be done
 * @block_bytes: size of a block
 * @parallel: requests in flight
 * @wall_ns: from the first request to the end of the last
 */
struct tr_report {
	uint32_t n_nodes;
	struct tr_result node[TR_MAX_NODES];
	char host[TR_MAX_NODES][64];
	struct tr_counters counters[TR_MAX_NODES];
	struct tr_samples get, put;
	uint64_t asked;
	uint64_t block_bytes;
	uint32_t parallel;
	uint64_t wall_ns;
};

/** tr_report_json() - the report */
json_t *tr_report_json(struct tr_report *r);

/** tr_report_print() - the table for people */
void tr_report_print(struct tr_report *r);

/** tr_report_verdict() - exit status that the report means; *why is a sentence when it is not 0 */
int tr_report_verdict(const struct tr_report *r, char *why, size_t whylen);

/** tr_nic_agrees() - could the packets that the RDMA devices counted have carried what the module counted? */
bool tr_nic_agrees(const struct tr_report *r);

/** tr_other_bytes() - bytes on which a node's client and its module disagree: must be 0 */
uint64_t tr_other_bytes(const struct tr_report *r, uint32_t node);

#endif /* CTL_TRACE_H */
