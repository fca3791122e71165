/* SPDX-License-Identifier: MIT */
/*
 * Shared by server.c (sockets, connections, time) and stream.c (HTTP/2 streams and the calls in them).
 *
 * Ownership: server > connections > streams. A call outlives its stream when the peer goes away before the reply;
 * then call->stream is NULL and the reply is dropped.
 */
#ifndef MC_RPC_SERVER_INT_H
#define MC_RPC_SERVER_INT_H

#include <event2/bufferevent.h>
#include <event2/listener.h>
#include <nghttp2/nghttp2.h>
#include <sys/queue.h>

#include "server.h"

/**
 * struct mc_rpc_conn - one TCP connection
 * @link: in server->conns
 * @server: owner
 * @bev: socket and its buffers
 * @h2: protocol state
 * @streams: open streams
 * @bytes: request and reply bytes held for this connection
 * @born_ns: when it was accepted
 * @rx_ns: when the peer last said anything
 * @ping_ns: when an unanswered probe was sent, 0: none
 * @settings_seen: the peer has spoken HTTP/2
 * @busy: inside nghttp2 or a flush: don't start another
 * @dead: to be freed when no longer busy
 * @peer: numeric address
 * @peer_port: and port
 */
struct mc_rpc_conn {
	TAILQ_ENTRY(mc_rpc_conn) link;
	struct mc_rpc_server *server;
	struct bufferevent *bev;
	nghttp2_session *h2;
	TAILQ_HEAD(, mc_rpc_stream) streams;
	uint64_t bytes;
	uint64_t born_ns, rx_ns, ping_ns;
	bool settings_seen, busy, dead;
	char peer[64];
	char peer_port[8];
};

/**
 * struct mc_rpc_stream - one request and its response
 * @link: in conn->streams
 * @conn: owner
 * @id: HTTP/2 stream number
 * @method: index into the service, -1: unknown
 * @post: the request's method is POST
 * @grpc: the content type is gRPC's
 * @compressed: the request names an encoding other than identity
 * @answered: a response was submitted
 * @headers: bytes of headers so far
 * @deadline_ns: when waiting ends
 * @in: the message being received
 * @held: bytes accounted in conn->bytes
 * @out: the reply with its frame
 * @out_len: its length
 * @out_off: bytes handed to HTTP/2
 * @call: the call in progress
 */
struct mc_rpc_stream {
	TAILQ_ENTRY(mc_rpc_stream) link;
	struct mc_rpc_conn *conn;
	int32_t id;
	int method;
	bool post, grpc, compressed, answered;
	uint32_t headers;
	uint64_t deadline_ns;
	struct mc_frame_reader in;
	uint64_t held;
	uint8_t *out;
	size_t out_len, out_off;
	struct mc_rpc_call *call;
};

/**
 * struct mc_rpc_call - a request that was handed to the service
 * @stream: where the reply goes; NULL once the peer has gone
 * @server: owner
 * @method: what was called
 * @arena: request and reply
 * @peer: caller's address
 */
struct mc_rpc_call {
	struct mc_rpc_stream *stream;
	struct mc_rpc_server *server;
	const ProtobufCMethodDescriptor *method;
	struct mc_arena arena;
	char peer[64];
};

/**
 * struct mc_rpc_server - see server.h
 * @cfg: as given
 * @callbacks: nghttp2's
 * @conns: all connections
 * @nconns: their number
 * @listeners: bound sockets
 * @nlisteners: their number
 * @tick: once a second: deadlines and probes
 * @resume: starts accepting again after descriptors ran out
 * @bytes: held by all connections
 * @stopping: no new connections or calls
 * @full: descriptors ran out, and this was said
 */
struct mc_rpc_server {
	struct mc_rpc_server_config cfg;
	nghttp2_session_callbacks *callbacks;
	TAILQ_HEAD(, mc_rpc_conn) conns;
	uint32_t nconns;
	struct evconnlistener *listeners[16];
	uint32_t nlisteners;
	struct event *tick, *resume;
	uint64_t bytes;
	bool stopping, full;
};

/**
 * mc_rpc_now_ns() - monotonic time
 *
 * Return: nanoseconds.
 */
uint64_t mc_rpc_now_ns(void);

/**
 * mc_rpc_callbacks_new() - nghttp2's callbacks for a server session
 *
 * Return: the table or NULL.
 */
nghttp2_session_callbacks *mc_rpc_callbacks_new(void);

/**
 * mc_rpc_conn_flush() - move what HTTP/2 wants to say into the socket's buffer, as far as that is bounded
 * @c: connection; may be freed on return unless busy
 */
void mc_rpc_conn_flush(struct mc_rpc_conn *c);

/**
 * mc_rpc_stream_answer() - end a stream with a status and no message
 * @st: stream, not answered yet
 * @status: gRPC status
 * @text: for people
 */
void mc_rpc_stream_answer(struct mc_rpc_stream *st, enum mc_grpc_status status, const char *text);

/**
 * mc_rpc_stream_free() - forget a stream
 * @st: stream
 */
void mc_rpc_stream_free(struct mc_rpc_stream *st);

/**
 * mc_rpc_logf() - one line to the owner's log
 * @s: server
 * @fmt: as for printf
 */
void mc_rpc_logf(struct mc_rpc_server *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
