/* SPDX-License-Identifier: MIT */
/*
 * Inside the gRPC client. Two sides share a struct mc_rpc_client: callers, which queue calls and wait, and one thread
 * that owns the connection.
 *
 *   under @lock:      queue, stop, phase, and of each call: refs, done, cancelled, err
 *   the thread alone: active, conn, and the rest of each call from the moment it takes it from the queue
 *
 * A call has one reference of its caller and one of whichever list it is in. Only callers watch deadlines: one that
 * gives up marks its call cancelled and wakes the thread, which resets the stream.
 */
#ifndef MC_RPC_CLIENT_INT_H
#define MC_RPC_CLIENT_INT_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include <nghttp2/nghttp2.h>

#include "addr.h"
#include "client.h"
#include "frame.h"

#define MC_RPC_MAX_ADDRS	8	/* socket addresses tried for one name */

/**
 * struct mc_call - one call
 * @link: place in the queue or among the active ones
 * @refs: references
 * @path: "/service/method"
 * @body: framed request
 * @body_len: its length
 * @body_sent: how much of it has gone out
 * @deadline_ns: CLOCK_MONOTONIC
 * @started_ns: when it was given to the connection
 * @stream_id: HTTP/2 stream, 0 before
 * @reader: collects the reply
 * @read_err: what was wrong with the reply's frame, 0 or -errno
 * @http_status: :status, 0 before
 * @is_grpc: content-type said so
 * @grpc_status: trailer, -1 before
 * @grpc_message: trailer, decoded
 * @reset: RST_STREAM is on its way
 * @retried: was refused unprocessed once and sent again
 * @done: ended; @err says how
 * @cancelled: the caller is gone
 * @err: result; code 0 is success
 * @cond: signalled when done
 */
struct mc_call {
	TAILQ_ENTRY(mc_call) link;
	int refs;
	char path[128];
	uint8_t *body;
	size_t body_len;
	size_t body_sent;
	uint64_t deadline_ns;
	uint64_t started_ns;
	int32_t stream_id;
	struct mc_frame_reader reader;
	int read_err;
	int http_status;
	bool is_grpc;
	int grpc_status;
	char grpc_message[256];
	bool reset;
	bool retried;
	bool done;
	bool cancelled;
	struct mc_error err;
	pthread_cond_t cond;
};

TAILQ_HEAD(mc_call_list, mc_call);

/* How far the connection is; for messages of calls that time out. */
enum mc_phase {
	MC_PHASE_DOWN,
	MC_PHASE_RESOLVING,
	MC_PHASE_CONNECTING,
	MC_PHASE_UP,
};

/**
 * struct mc_lookup - a name being resolved by a thread that nobody has to wait for
 * @lock: protects all below
 * @refs: the resolving thread and the client
 * @efd: readable when done
 * @addr: what to resolve
 * @out: result
 * @n: how many, or -errno
 * @err: why not
 */
struct mc_lookup {
	pthread_mutex_t lock;
	int refs;
	int efd;
	struct mc_addr addr;
	struct mc_sockaddr out[MC_RPC_MAX_ADDRS];
	int n;
	struct mc_error err;
};

/**
 * mc_lookup_start() - resolve a name in the background
 * @addr: what
 *
 * Return: the lookup, or NULL without memory, descriptors or threads.
 */
struct mc_lookup *mc_lookup_start(const struct mc_addr *addr);

/**
 * mc_lookup_put() - drop a reference
 * @l: lookup or NULL
 */
void mc_lookup_put(struct mc_lookup *l);

/**
 * struct mc_conn - the connection, owned by the thread
 * @fd: socket, -1 without
 * @session: HTTP/2 session, NULL before connected
 * @lookup: running lookup, NULL without
 * @addrs: socket addresses to try
 * @n_addrs: how many
 * @next_addr: which comes next
 * @connect_by_ns: when to give the current one up
 * @retry_at_ns: no attempt before
 * @backoff_ms: pause after the next failure
 * @last: how the last attempt failed
 * @peer: numeric address of the current attempt, for messages
 * @first: first bytes that arrived: must be an HTTP/2 SETTINGS frame
 * @first_have: how many of them
 * @rx_ns: when bytes last arrived
 * @draining: the server sent GOAWAY
 */
struct mc_conn {
	int fd;
	nghttp2_session *session;
	struct mc_lookup *lookup;
	struct mc_sockaddr addrs[MC_RPC_MAX_ADDRS];
	int n_addrs;
	int next_addr;
	uint64_t connect_by_ns;
	uint64_t retry_at_ns;
	unsigned int backoff_ms;
	struct mc_error last;
	char peer[80];
	uint8_t first[9];
	unsigned int first_have;
	uint64_t rx_ns;
	bool draining;
};

/**
 * struct mc_rpc_client - see above
 * @lock: what the callers and the thread share
 * @thread: does input and output
 * @wake: eventfd that wakes the thread
 * @stop: the thread is to end
 * @phase: how far the connection is
 * @queue: calls not yet given to the connection
 * @active: calls with a stream
 * @conn: the connection
 * @addr: the server
 * @service: full service name
 */
struct mc_rpc_client {
	pthread_mutex_t lock;
	pthread_t thread;
	int wake;
	bool stop;
	enum mc_phase phase;
	struct mc_call_list queue;
	struct mc_call_list active;
	struct mc_conn conn;
	struct mc_addr addr;
	char service[64];
};

/**
 * mc_client_now_ns() - CLOCK_MONOTONIC
 *
 * Return: nanoseconds.
 */
uint64_t mc_client_now_ns(void);

/**
 * mc_call_put() - drop a reference; the lock is held
 * @call: call
 */
void mc_call_put(struct mc_call *call);

/**
 * mc_call_end() - a call has ended: tell its caller and drop the list's reference
 * @c: client
 * @call: call, in no list any more
 * @err: how; code 0 for success
 */
void mc_call_end(struct mc_rpc_client *c, struct mc_call *call, const struct mc_error *err);

/**
 * mc_conn_start() - begin to connect
 * @c: client whose connection is down
 */
void mc_conn_start(struct mc_rpc_client *c);

/**
 * mc_conn_drop() - close the connection; calls that have a stream end with an error
 * @c: client
 * @err: the error
 */
void mc_conn_drop(struct mc_rpc_client *c, const struct mc_error *err);

/**
 * mc_conn_fail() - an attempt to connect has failed: all waiting calls end with an error, and a pause begins
 * @c: client
 * @err: the error
 */
void mc_conn_fail(struct mc_rpc_client *c, const struct mc_error *err);

/**
 * mc_conn_looked_up() - the lookup may be done
 * @c: client
 */
void mc_conn_looked_up(struct mc_rpc_client *c);

/**
 * mc_conn_connected() - the socket became writable, or its time is over
 * @c: client, connecting
 * @late: time is over
 */
void mc_conn_connected(struct mc_rpc_client *c, bool late);

/**
 * mc_h2_open() - begin HTTP/2 on the connected socket
 * @c: client
 *
 * Return: 0 or -ENOMEM.
 */
int mc_h2_open(struct mc_rpc_client *c);

/**
 * mc_h2_submit() - give a call to the connection
 * @c: client whose connection is up
 * @call: call, in no list; it goes to the active ones, or ends
 */
void mc_h2_submit(struct mc_rpc_client *c, struct mc_call *call);

/**
 * mc_h2_input() - the socket is readable
 * @c: client
 */
void mc_h2_input(struct mc_rpc_client *c);

/**
 * mc_h2_output() - send what can be sent
 * @c: client
 */
void mc_h2_output(struct mc_rpc_client *c);

/**
 * mc_set_phase() - note how far the connection is
 * @c: client
 * @phase: phase
 */
void mc_set_phase(struct mc_rpc_client *c, enum mc_phase phase);

#endif
