// SPDX-License-Identifier: MIT
/* The gRPC client's HTTP/2: streams, headers and what a finished stream means. */
#include "client_int.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define STREAM_WINDOW	(16 << 20)
#define CONN_WINDOW	(64 << 20)
#define H2_SETTINGS	4	/* frame type */

static void lost(struct mc_rpc_client *c, int sys, const char *what)
{
	struct mc_error err;

	mc_error_set(&err, MC_ERPC_FAIL, sys, "connection to %s lost: %s", c->addr.text, what);
	mc_conn_drop(c, &err);
}

static void wrong_protocol(struct mc_rpc_client *c, const char *how)
{
	struct mc_error err;

	mc_error_set(&err, MC_ERPC_FAIL, EPROTO, "%s does not speak HTTP/2 (%s): is this the right port?",
		     c->addr.text, how);
	mc_conn_fail(c, &err);
}

static ssize_t on_send(nghttp2_session *session, const uint8_t *data, size_t len, int flags, void *arg)
{
	struct mc_rpc_client *c = arg;
	ssize_t n;

	(void)session;
	(void)flags;
	n = send(c->conn.fd, data, len, MSG_NOSIGNAL);
	if (n >= 0)
		return n;
	return errno == EAGAIN || errno == EINTR ? NGHTTP2_ERR_WOULDBLOCK : NGHTTP2_ERR_CALLBACK_FAILURE;
}

static ssize_t on_body(nghttp2_session *session, int32_t stream_id, uint8_t *buf, size_t len, uint32_t *flags,
		       nghttp2_data_source *source, void *arg)
{
	struct mc_call *call = source->ptr;
	size_t n = call->body_len - call->body_sent;

	(void)session;
	(void)stream_id;
	(void)arg;
	if (n > len)
		n = len;
	memcpy(buf, call->body + call->body_sent, n);
	call->body_sent += n;
	if (call->body_sent == call->body_len)
		*flags |= NGHTTP2_DATA_FLAG_EOF;
	return n;
}

static bool is(const uint8_t *name, size_t len, const char *what)
{
	return len == strlen(what) && !memcmp(name, what, len);
}

static int small_number(const uint8_t *text, size_t len)
{
	int v = 0;

	if (!len || len > 5)
		return -1;
	for (; len; len--, text++) {
		if (*text < '0' || *text > '9')
			return -1;
		v = v * 10 + *text - '0';
	}
	return v;
}

static int on_header(nghttp2_session *session, const nghttp2_frame *frame, const uint8_t *name, size_t namelen,
		     const uint8_t *value, size_t valuelen, uint8_t flags, void *arg)
{
	struct mc_call *call = nghttp2_session_get_stream_user_data(session, frame->hd.stream_id);

	(void)flags;
	(void)arg;
	if (!call)
		return 0;
	if (is(name, namelen, ":status"))
		call->http_status = small_number(value, valuelen);
	else if (is(name, namelen, "content-type"))
		call->is_grpc = valuelen >= 16 && !memcmp(value, "application/grpc", 16);
	else if (is(name, namelen, "grpc-status"))
		call->grpc_status = small_number(value, valuelen);
	else if (is(name, namelen, "grpc-message"))
		mc_grpc_text_decode(value, valuelen, call->grpc_message, sizeof(call->grpc_message));
	return 0;
}

static int on_data(nghttp2_session *session, uint8_t flags, int32_t stream_id, const uint8_t *data, size_t len,
		   void *arg)
{
	struct mc_call *call = nghttp2_session_get_stream_user_data(session, stream_id);

	(void)flags;
	(void)arg;
	if (call && call->http_status == 200 && call->is_grpc && !call->read_err)
		call->read_err = mc_frame_feed(&call->reader, data, len);
	return 0;
}

/* What a finished stream means for its call. */
static void judge(const struct mc_rpc_client *c, const struct mc_call *call, uint32_t h2_error, struct mc_error *err)
{
	const char *who = c->addr.text, *what = call->path;

	memset(err, 0, sizeof(*err));
	if (!call->http_status)
		mc_error_set(err, MC_ERPC_FAIL, EPROTO, "%s: %s ended the call without an answer (HTTP/2 error %s)",
			     what, who, nghttp2_http2_strerror(h2_error));
	else if (call->http_status != 200)
		mc_error_set(err, MC_ERPC_FAIL, EPROTO, "%s: %s is no gRPC server: it answered HTTP status %d", what,
			     who, call->http_status);
	else if (!call->is_grpc)
		mc_error_set(err, MC_ERPC_FAIL, EPROTO,
			     "%s: %s is no gRPC server: the answer's type is not application/grpc", what, who);
	else if (call->read_err)
		mc_error_set(err, MC_ERPC_FAIL, -call->read_err,
			     "%s: malformed answer of %s (%u bytes announced): %s", what, who, call->reader.len,
			     strerror(-call->read_err));
	else if (call->grpc_status < 0)
		mc_error_set(err, MC_ERPC_FAIL, EPROTO, "%s: %s ended the call without grpc-status (HTTP/2 error %s)",
			     what, who, nghttp2_http2_strerror(h2_error));
	else if (call->grpc_status == MC_GRPC_DEADLINE_EXCEEDED)
		mc_error_set(err, MC_ERPC_TIMEOUT, ETIMEDOUT, "%s: %s gave up at the deadline: %s", what, who,
			     call->grpc_message);
	else if (call->grpc_status != MC_GRPC_OK)
		mc_error_set(err, MC_ERPC_FAIL, 0, "%s: %s answered gRPC status %d %s: %s", what, who,
			     call->grpc_status, mc_grpc_status_name(call->grpc_status), call->grpc_message);
	else if (!mc_frame_complete(&call->reader))
		mc_error_set(err, MC_ERPC_FAIL, EPROTO, "%s: the answer of %s ended after %u of %u bytes", what, who,
			     call->reader.have, call->reader.len);
}

/* The server says that it did not look at the call: send it once more, maybe on a new connection. */
static bool retry(struct mc_rpc_client *c, struct mc_call *call, uint32_t h2_error)
{
	if (h2_error != NGHTTP2_REFUSED_STREAM || call->retried)
		return false;
	call->retried = true;
	call->body_sent = 0;
	call->stream_id = 0;
	pthread_mutex_lock(&c->lock);
	TAILQ_INSERT_HEAD(&c->queue, call, link);
	pthread_mutex_unlock(&c->lock);
	return true;
}

static int on_stream_close(nghttp2_session *session, int32_t stream_id, uint32_t h2_error, void *arg)
{
	struct mc_call *call = nghttp2_session_get_stream_user_data(session, stream_id);
	struct mc_rpc_client *c = arg;
	struct mc_error err;

	if (!call)
		return 0;
	TAILQ_REMOVE(&c->active, call, link);
	if (retry(c, call, h2_error))
		return 0;
	judge(c, call, h2_error, &err);
	mc_call_end(c, call, &err);
	return 0;
}

static int on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *arg)
{
	struct mc_rpc_client *c = arg;

	(void)session;
	if (frame->hd.type == NGHTTP2_GOAWAY)
		c->conn.draining = true;
	return 0;
}

static int new_session(struct mc_rpc_client *c)
{
	nghttp2_session_callbacks *cb;
	int rc;

	if (nghttp2_session_callbacks_new(&cb))
		return -ENOMEM;
	nghttp2_session_callbacks_set_send_callback(cb, on_send);
	nghttp2_session_callbacks_set_on_header_callback(cb, on_header);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(cb, on_data);
	nghttp2_session_callbacks_set_on_stream_close_callback(cb, on_stream_close);
	nghttp2_session_callbacks_set_on_frame_recv_callback(cb, on_frame);
	rc = nghttp2_session_client_new(&c->conn.session, cb, c);
	nghttp2_session_callbacks_del(cb);
	return rc ? -ENOMEM : 0;
}

int mc_h2_open(struct mc_rpc_client *c)
{
	nghttp2_settings_entry settings[] = {
		{ NGHTTP2_SETTINGS_ENABLE_PUSH, 0 },
		{ NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, STREAM_WINDOW },
	};

	c->conn.first_have = 0;
	c->conn.rx_ns = 0;
	if (new_session(c))
		return -ENOMEM;
	if (nghttp2_submit_settings(c->conn.session, NGHTTP2_FLAG_NONE, settings, 2) ||
	    nghttp2_session_set_local_window_size(c->conn.session, NGHTTP2_FLAG_NONE, 0, CONN_WINDOW))
		return -ENOMEM;
	return 0;
}

static nghttp2_nv nv(const char *name, const char *value)
{
	nghttp2_nv h = {
		.name = (uint8_t *)name, .namelen = strlen(name),
		.value = (uint8_t *)value, .valuelen = strlen(value),
	};

	return h;
}

void mc_h2_submit(struct mc_rpc_client *c, struct mc_call *call)
{
	nghttp2_data_provider body = { .source.ptr = call, .read_callback = on_body };
	uint64_t now = mc_client_now_ns();
	struct mc_error err;
	char timeout[12];
	nghttp2_nv headers[] = {
		nv(":method", "POST"), nv(":scheme", "http"), nv(":path", call->path), nv(":authority", c->addr.text),
		nv("content-type", "application/grpc"), nv("te", "trailers"), nv("user-agent", "libmooncake"),
		nv("grpc-timeout", ""),
	};

	mc_grpc_timeout_format(call->deadline_ns > now ? call->deadline_ns - now : 1, timeout);
	headers[7] = nv("grpc-timeout", timeout);
	call->started_ns = now;
	call->stream_id = nghttp2_submit_request(c->conn.session, NULL, headers, 8, &body, call);
	if (call->stream_id >= 0) {
		TAILQ_INSERT_TAIL(&c->active, call, link);
		return;
	}
	/* Stream numbers are used up: finish what is running, then go on with a new connection. */
	if (call->stream_id == NGHTTP2_ERR_STREAM_ID_NOT_AVAILABLE) {
		c->conn.draining = true;
		pthread_mutex_lock(&c->lock);
		TAILQ_INSERT_HEAD(&c->queue, call, link);
		pthread_mutex_unlock(&c->lock);
		return;
	}
	mc_error_set(&err, MC_ERPC_FAIL, EIO, "%s: can't send to %s: %s", call->path, c->addr.text,
		     nghttp2_strerror(call->stream_id));
	mc_call_end(c, call, &err);
}

/* The first frame of a server is SETTINGS, on stream 0; anything else is another protocol. */
static bool speaks_h2(struct mc_conn *conn, const uint8_t *data, size_t len)
{
	while (len-- && conn->first_have < sizeof(conn->first))
		conn->first[conn->first_have++] = *data++;
	return conn->first_have < 4 || conn->first[3] == H2_SETTINGS;
}

static void describe_first(const struct mc_conn *conn, char out[64])
{
	unsigned int i, n;

	n = snprintf(out, 64, "it began with '");
	for (i = 0; i < conn->first_have; i++)
		n += snprintf(out + n, 64 - n, conn->first[i] >= 0x20 && conn->first[i] < 0x7f ? "%c" : "\\x%02x",
			      conn->first[i]);
	snprintf(out + n, 64 - n, "'");
}

/* Returns false when the connection is gone. */
static bool take(struct mc_rpc_client *c, const uint8_t *data, size_t len)
{
	char how[64];
	ssize_t n;

	c->conn.rx_ns = mc_client_now_ns();
	if (!speaks_h2(&c->conn, data, len)) {
		describe_first(&c->conn, how);
		wrong_protocol(c, how);
		return false;
	}
	c->conn.backoff_ms = 0;
	n = nghttp2_session_mem_recv(c->conn.session, data, len);
	if (n < 0) {
		lost(c, EPROTO, nghttp2_strerror(n));
		return false;
	}
	return true;
}

void mc_h2_input(struct mc_rpc_client *c)
{
	uint8_t buf[65536];
	int rounds;
	ssize_t n;

	for (rounds = 0; rounds < 16; rounds++) {
		n = recv(c->conn.fd, buf, sizeof(buf), 0);
		if (n > 0) {
			if (!take(c, buf, n))
				return;
			continue;
		}
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			break;
		if (!c->conn.first_have && (!n || errno == ECONNRESET || errno == EPIPE))
			wrong_protocol(c, "it closed the connection without a word");
		else
			lost(c, n ? errno : ECONNRESET, n ? strerror(errno) : "closed by the server");
		return;
	}
}

void mc_h2_output(struct mc_rpc_client *c)
{
	int rc = nghttp2_session_send(c->conn.session);
	int sys = errno;

	/* What the server said before it closed its end tells more than the failed send. */
	if (rc == NGHTTP2_ERR_CALLBACK_FAILURE)
		mc_h2_input(c);
	if (rc && c->conn.session)
		lost(c, sys, rc == NGHTTP2_ERR_CALLBACK_FAILURE ? strerror(sys) : nghttp2_strerror(rc));
	/* After a protocol error of the server's the session says GOAWAY and wants nothing more. */
	if (c->conn.session && !nghttp2_session_want_read(c->conn.session) &&
	    !nghttp2_session_want_write(c->conn.session))
		lost(c, EPROTO, "the server broke the rules of HTTP/2");
}
