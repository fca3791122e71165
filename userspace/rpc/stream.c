// SPDX-License-Identifier: MIT
/* HTTP/2 streams and the gRPC calls in them. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scan.h"
#include "server_int.h"

#define NV(n, v, vlen) { (uint8_t *)(n), (uint8_t *)(v), sizeof(n) - 1, (vlen), NGHTTP2_NV_FLAG_NO_COPY_NAME }

static int hold(struct mc_rpc_stream *st, uint64_t bytes)
{
	struct mc_rpc_conn *c = st->conn;

	if (c->bytes + bytes > MC_RPC_CONN_BYTES_MAX || c->server->bytes + bytes > MC_RPC_BYTES_MAX)
		return -ENOBUFS;
	st->held += bytes;
	c->bytes += bytes;
	c->server->bytes += bytes;
	return 0;
}

static void release(struct mc_rpc_stream *st)
{
	st->conn->bytes -= st->held;
	st->conn->server->bytes -= st->held;
	st->held = 0;
}

void mc_rpc_stream_free(struct mc_rpc_stream *st)
{
	TAILQ_REMOVE(&st->conn->streams, st, link);
	if (st->call)
		st->call->stream = NULL;
	release(st);
	mc_frame_reader_free(&st->in);
	free(st->out);
	free(st);
}

/* The protocol's state is beyond repair (out of memory): only dropping the connection is safe. */
static void give_up(struct mc_rpc_conn *c, const char *what, int err)
{
	mc_rpc_logf(c->server, "%s port %s: %s: %s; connection dropped", c->peer, c->peer_port, what,
		    nghttp2_strerror(err));
	c->dead = true;
}

static void answered(struct mc_rpc_stream *st)
{
	st->answered = true;
	st->deadline_ns = mc_rpc_now_ns() + MC_RPC_STALL_SEC * 1000000000ull;
	mc_frame_reader_free(&st->in);
}

void mc_rpc_stream_answer(struct mc_rpc_stream *st, enum mc_grpc_status status, const char *text)
{
	char num[8], msg[MC_GRPC_TEXT_MAX];
	size_t len = mc_grpc_text_encode(text, msg, sizeof(msg));
	nghttp2_nv nv[] = {
		NV(":status", "200", 3),
		NV("content-type", "application/grpc", 16),
		NV("grpc-status", num, (size_t)snprintf(num, sizeof(num), "%d", status)),
		NV("grpc-message", msg, len),
	};
	int err;

	answered(st);
	release(st);
	err = nghttp2_submit_response(st->conn->h2, st->id, nv, 4, NULL);
	if (err)
		give_up(st->conn, "can't answer", err);
}

static void answer_http(struct mc_rpc_stream *st, const char *code)
{
	nghttp2_nv nv[] = { NV(":status", code, 3) };
	int err;

	answered(st);
	err = nghttp2_submit_response(st->conn->h2, st->id, nv, 1, NULL);
	if (err)
		give_up(st->conn, "can't answer", err);
}

static ssize_t read_reply(nghttp2_session *h2, int32_t id, uint8_t *buf, size_t len, uint32_t *flags,
			  nghttp2_data_source *src, void *user)
{
	static const nghttp2_nv trailer[] = { NV("grpc-status", "0", 1) };
	struct mc_rpc_stream *st = src->ptr;

	(void)user;
	if (len > st->out_len - st->out_off)
		len = st->out_len - st->out_off;
	memcpy(buf, st->out + st->out_off, len);
	st->out_off += len;
	/* Progress: a slow reader has its time again. */
	st->deadline_ns = mc_rpc_now_ns() + MC_RPC_STALL_SEC * 1000000000ull;
	if (st->out_off == st->out_len) {
		*flags |= NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
		if (nghttp2_submit_trailer(h2, id, trailer, 1))
			return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	}
	return len;
}

static void send_reply(struct mc_rpc_stream *st, uint8_t *out, size_t len)
{
	static const nghttp2_nv nv[] = {
		NV(":status", "200", 3),
		NV("content-type", "application/grpc", 16),
	};
	nghttp2_data_provider src = { .source.ptr = st, .read_callback = read_reply };
	int err;

	st->out = out;
	st->out_len = len;
	answered(st);
	err = nghttp2_submit_response(st->conn->h2, st->id, nv, 2, &src);
	if (err)
		give_up(st->conn, "can't answer", err);
}

static void end_call(struct mc_rpc_call *call)
{
	struct mc_rpc_stream *st = call->stream;

	if (st) {
		st->call = NULL;
		if (!st->conn->busy)
			mc_rpc_conn_flush(st->conn);
	}
	mc_arena_free(&call->arena);
	free(call);
}

static void reply_packed(struct mc_rpc_stream *st, const ProtobufCMessage *msg)
{
	size_t len = protobuf_c_message_get_packed_size(msg);
	uint8_t *out;

	release(st);
	if (len > MC_GRPC_MSG_MAX) {
		mc_rpc_stream_answer(st, MC_GRPC_RESOURCE_EXHAUSTED, "the reply is larger than 64 MiB");
		return;
	}
	if (hold(st, len)) {
		mc_rpc_stream_answer(st, MC_GRPC_RESOURCE_EXHAUSTED, "too many replies wait for their readers");
		return;
	}
	out = malloc(MC_GRPC_HDR_LEN + len);
	if (!out) {
		mc_rpc_stream_answer(st, MC_GRPC_RESOURCE_EXHAUSTED, "out of memory for the reply");
		return;
	}
	mc_frame_put_hdr(out, len);
	protobuf_c_message_pack(msg, out + MC_GRPC_HDR_LEN);
	send_reply(st, out, MC_GRPC_HDR_LEN + len);
}

/* The closure that the service's methods get. */
static void reply(const ProtobufCMessage *msg, void *data)
{
	struct mc_rpc_call *call = data;

	if (!msg) {
		mc_rpc_fail(call, MC_GRPC_RESOURCE_EXHAUSTED, "out of memory for the reply");
		return;
	}
	if (call->stream && !call->stream->answered)
		reply_packed(call->stream, msg);
	end_call(call);
}

void mc_rpc_fail(struct mc_rpc_call *call, enum mc_grpc_status status, const char *text)
{
	if (call->stream && !call->stream->answered)
		mc_rpc_stream_answer(call->stream, status, text);
	end_call(call);
}

struct mc_arena *mc_rpc_call_arena(struct mc_rpc_call *call)
{
	return &call->arena;
}

const char *mc_rpc_call_peer(const struct mc_rpc_call *call)
{
	return call->peer;
}

static struct mc_rpc_call *new_call(struct mc_rpc_stream *st)
{
	struct mc_rpc_call *call = calloc(1, sizeof(*call));

	if (!call)
		return NULL;
	mc_arena_init(&call->arena);
	call->server = st->conn->server;
	call->method = &call->server->cfg.service->descriptor->methods[st->method];
	call->stream = st;
	st->call = call;
	snprintf(call->peer, sizeof(call->peer), "%s", st->conn->peer);
	return call;
}

static void call_method(struct mc_rpc_stream *st)
{
	struct mc_rpc_call *call = new_call(st);
	const ProtobufCMessageDescriptor *in;
	ProtobufCService *service;
	ProtobufCMessage *req;
	char text[160];
	int err;

	if (!call) {
		mc_rpc_stream_answer(st, MC_GRPC_RESOURCE_EXHAUSTED, "out of memory for the call");
		return;
	}
	in = call->method->input;
	service = call->server->cfg.service;
	err = mc_rpc_scan(in, st->in.msg, st->in.len);
	if (err == -E2BIG) {
		snprintf(text, sizeof(text), "%s: more than %u fields in one request", call->method->name,
			 MC_RPC_FIELDS_MAX);
		mc_rpc_fail(call, MC_GRPC_RESOURCE_EXHAUSTED, text);
		return;
	}
	req = err ? NULL : protobuf_c_message_unpack(in, &call->arena.pb, st->in.len,
						     st->in.msg ? st->in.msg : (const uint8_t *)"");
	if (!req) {
		snprintf(text, sizeof(text), "%s: the %u bytes of the request are not a %s", call->method->name,
			 st->in.len, in->name);
		mc_rpc_fail(call, MC_GRPC_INVALID_ARGUMENT, text);
		return;
	}
	mc_frame_reader_free(&st->in);
	service->invoke(service, st->method, req, reply, call);
}

static void dispatch(struct mc_rpc_stream *st)
{
	char text[96];

	if (!mc_frame_complete(&st->in)) {
		snprintf(text, sizeof(text), "the request ended after %u of %u message bytes", st->in.have, st->in.len);
		mc_rpc_stream_answer(st, MC_GRPC_INVALID_ARGUMENT, text);
	} else if (st->conn->server->stopping) {
		mc_rpc_stream_answer(st, MC_GRPC_UNAVAILABLE, "the server is stopping");
	} else if (mc_rpc_now_ns() > st->deadline_ns) {
		mc_rpc_stream_answer(st, MC_GRPC_DEADLINE_EXCEEDED, "the request came after its deadline");
	} else {
		call_method(st);
	}
}

/* Headers are complete: refuse at once what can't become a call. */
static void check_headers(struct mc_rpc_stream *st)
{
	if (!st->post)
		answer_http(st, "405");
	else if (!st->grpc)
		answer_http(st, "415");
	else if (st->headers > MC_RPC_HEADERS_MAX)
		mc_rpc_stream_answer(st, MC_GRPC_RESOURCE_EXHAUSTED, "more than 16 KiB of headers");
	else if (st->method < 0)
		mc_rpc_stream_answer(st, MC_GRPC_UNIMPLEMENTED, "no such method in this service");
	else if (st->compressed)
		mc_rpc_stream_answer(st, MC_GRPC_UNIMPLEMENTED, "compressed requests are not taken; use identity");
}

static struct mc_rpc_stream *stream_of(nghttp2_session *h2, int32_t id)
{
	return nghttp2_session_get_stream_user_data(h2, id);
}

static int on_begin_headers(nghttp2_session *h2, const nghttp2_frame *frame, void *user)
{
	struct mc_rpc_conn *c = user;
	struct mc_rpc_stream *st;

	if (frame->hd.type != NGHTTP2_HEADERS || frame->headers.cat != NGHTTP2_HCAT_REQUEST)
		return 0;
	st = calloc(1, sizeof(*st));
	if (!st)
		return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	st->conn = c;
	st->id = frame->hd.stream_id;
	st->method = -1;
	st->deadline_ns = mc_rpc_now_ns() + MC_RPC_STALL_SEC * 1000000000ull;
	mc_frame_reader_init(&st->in, MC_GRPC_MSG_MAX);
	TAILQ_INSERT_TAIL(&c->streams, st, link);
	nghttp2_session_set_stream_user_data(h2, st->id, st);
	return 0;
}

static bool is(const uint8_t *v, size_t len, const char *text)
{
	return len == strlen(text) && !memcmp(v, text, len);
}

static int find_method(const ProtobufCServiceDescriptor *d, const uint8_t *path, size_t len)
{
	size_t n = strlen(d->name);
	unsigned int i;

	if (len < n + 2 || path[0] != '/' || memcmp(path + 1, d->name, n) || path[n + 1] != '/')
		return -1;
	for (i = 0; i < d->n_methods; i++)
		if (is(path + n + 2, len - n - 2, d->methods[i].name))
			return i;
	return -1;
}

static void set_timeout(struct mc_rpc_stream *st, const uint8_t *v, size_t len)
{
	uint64_t ns, now = mc_rpc_now_ns();

	/* The caller's limit may shorten our patience with it, not lengthen it. */
	if (!mc_grpc_timeout_parse(v, len, &ns) && ns < st->deadline_ns - now)
		st->deadline_ns = now + ns;
}

static int on_header(nghttp2_session *h2, const nghttp2_frame *frame, const uint8_t *name, size_t namelen,
		     const uint8_t *v, size_t len, uint8_t flags, void *user)
{
	struct mc_rpc_conn *c = user;
	struct mc_rpc_stream *st = stream_of(h2, frame->hd.stream_id);

	(void)flags;
	if (!st)
		return 0;
	st->headers += namelen + len + 32;
	if (is(name, namelen, ":path"))
		st->method = find_method(c->server->cfg.service->descriptor, v, len);
	else if (is(name, namelen, ":method"))
		st->post = is(v, len, "POST");
	else if (is(name, namelen, "content-type"))
		st->grpc = len >= 16 && !memcmp(v, "application/grpc", 16) &&
			   (len == 16 || v[16] == '+' || v[16] == ';');
	else if (is(name, namelen, "grpc-encoding"))
		st->compressed = !is(v, len, "identity");
	else if (is(name, namelen, "grpc-timeout"))
		set_timeout(st, v, len);
	return 0;
}

static int on_frame_recv(nghttp2_session *h2, const nghttp2_frame *frame, void *user)
{
	struct mc_rpc_conn *c = user;
	struct mc_rpc_stream *st;

	if (frame->hd.type == NGHTTP2_SETTINGS)
		c->settings_seen = true;
	if (frame->hd.type != NGHTTP2_HEADERS && frame->hd.type != NGHTTP2_DATA)
		return 0;
	st = stream_of(h2, frame->hd.stream_id);
	if (!st)
		return 0;
	if (frame->hd.type == NGHTTP2_HEADERS && frame->headers.cat == NGHTTP2_HCAT_REQUEST)
		check_headers(st);
	if (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) {
		if (!st->answered)
			dispatch(st);
	}
	return 0;
}

static void bad_message(struct mc_rpc_stream *st, int err)
{
	char text[128];

	switch (err) {
	case -EMSGSIZE:
		snprintf(text, sizeof(text), "a message of %u bytes; at most %u are taken", st->in.len, st->in.max);
		mc_rpc_stream_answer(st, MC_GRPC_RESOURCE_EXHAUSTED, text);
		break;
	case -ENOBUFS:
		mc_rpc_stream_answer(st, MC_GRPC_RESOURCE_EXHAUSTED, "too many request bytes are being held");
		break;
	case -ENOMEM:
		mc_rpc_stream_answer(st, MC_GRPC_RESOURCE_EXHAUSTED, "out of memory for the request");
		break;
	case -EPROTONOSUPPORT:
		mc_rpc_stream_answer(st, MC_GRPC_UNIMPLEMENTED, "compressed requests are not taken; use identity");
		break;
	default:
		mc_rpc_stream_answer(st, MC_GRPC_INVALID_ARGUMENT, "bytes behind the one message of a unary call");
	}
}

static int on_data(nghttp2_session *h2, uint8_t flags, int32_t id, const uint8_t *data, size_t len, void *user)
{
	struct mc_rpc_stream *st = stream_of(h2, id);
	int err;

	(void)flags;
	(void)user;
	if (!st || st->answered)
		return 0;
	err = hold(st, len);
	if (!err)
		err = mc_frame_feed(&st->in, data, len);
	if (err)
		bad_message(st, err);
	return 0;
}

/* A response that ends the stream while the request still comes in: tell the peer to stop. */
static int on_frame_send(nghttp2_session *h2, const nghttp2_frame *frame, void *user)
{
	int32_t id = frame->hd.stream_id;

	(void)user;
	if (frame->hd.type != NGHTTP2_HEADERS || !(frame->hd.flags & NGHTTP2_FLAG_END_STREAM))
		return 0;
	if (!nghttp2_session_get_stream_remote_close(h2, id))
		nghttp2_submit_rst_stream(h2, NGHTTP2_FLAG_NONE, id, NGHTTP2_NO_ERROR);
	return 0;
}

static int on_stream_close(nghttp2_session *h2, int32_t id, uint32_t code, void *user)
{
	struct mc_rpc_stream *st = stream_of(h2, id);

	(void)code;
	(void)user;
	if (st)
		mc_rpc_stream_free(st);
	return 0;
}

nghttp2_session_callbacks *mc_rpc_callbacks_new(void)
{
	nghttp2_session_callbacks *cb;

	if (nghttp2_session_callbacks_new(&cb))
		return NULL;
	nghttp2_session_callbacks_set_on_begin_headers_callback(cb, on_begin_headers);
	nghttp2_session_callbacks_set_on_header_callback(cb, on_header);
	nghttp2_session_callbacks_set_on_frame_recv_callback(cb, on_frame_recv);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(cb, on_data);
	nghttp2_session_callbacks_set_on_frame_send_callback(cb, on_frame_send);
	nghttp2_session_callbacks_set_on_stream_close_callback(cb, on_stream_close);
	return cb;
}
