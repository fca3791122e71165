/* SPDX-License-Identifier: MIT */
/* One lane of a replay: a thread that does requests one after the other. */
#ifndef CTL_TRACE_LANE_H
#define CTL_TRACE_LANE_H

#include <pthread.h>

#include "ctl.h"
#include "trace.h"

/**
 * struct tr_job - what all lanes of a process share
 * @c: the run of mcctl
 * @trace: requests
 * @block_bytes: size of a block
 * @node: number of this node, from 0
 * @nodes: how many there are
 * @conductor: address
 * @wait_ms: longest wait for the conductor to be there
 * @idle_ms: longest wait for the next request
 * @host: name of this node
 * @before: counters at the start
 * @flip: fault builds: the block that is stored with one wrong byte
 * @flip_at: offset of that byte
 * @has_flip: @flip is set
 */
struct tr_job {
	struct ctl *c;
	struct tr_trace trace;
	uint64_t block_bytes;
	uint32_t node;
	uint32_t nodes;
	const char *conductor;
	uint32_t wait_ms;
	uint32_t idle_ms;
	char host[64];
	struct tr_counters before;
	uint64_t flip;
	uint64_t flip_at;
	bool has_flip;
};

/**
 * struct tr_lane - one thread
 * @job: shared
 * @index: number of the lane, from 0
 * @thread: its thread
 * @conn: to the conductor
 * @store: handle of its own
 * @buf: registered memory for the longest request
 * @mem: that memory
 * @mem_len: its size
 * @noise: state of the random bytes
 * @keys: text of the keys of a request
 * @exist: scratch
 * @items: scratch
 * @pieces: scratch
 * @status: exit status of the lane
 * @why: sentence when it is not 0
 */
struct tr_lane {
	const struct tr_job *job;
	uint32_t index;
	pthread_t thread;
	struct tr_conn conn;
	struct mc_store *store;
	struct mc_buf *buf;
	uint8_t *mem;
	size_t mem_len;
	uint64_t noise;
	char (*keys)[32];
	struct mc_key_item *exist;
	struct mc_item *items;
	struct mc_piece *pieces;
	int status;
	char why[TR_TEXT];
};

/** tr_lane_main() - the thread; its argument is the lane */
void *tr_lane_main(void *lane);

/** tr_lane_request() - do one request: get and verify what is known, put the rest (trace_request.c) */
void tr_lane_request(struct tr_lane *l, const struct tr_request *r, struct tr_result *res);

#endif /* CTL_TRACE_LANE_H */
