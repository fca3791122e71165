// SPDX-License-Identifier: MIT
/* The gRPC client's calls and its thread; the socket is in conn.c, HTTP/2 in h2.c. */
#include "client_int.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_MS	1000000ull
#define MAX_TIMEOUT_MS	3600000

uint64_t mc_client_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

const char *mc_rpc_address(const struct mc_rpc_client *client)
{
	return client->addr.text;
}

void mc_set_phase(struct mc_rpc_client *c, enum mc_phase phase)
{
	pthread_mutex_lock(&c->lock);
	c->phase = phase;
	pthread_mutex_unlock(&c->lock);
}

void mc_call_put(struct mc_call *call)
{
	if (--call->refs)
		return;
	mc_frame_reader_free(&call->reader);
	pthread_cond_destroy(&call->cond);
	free(call->body);
	free(call);
}

void mc_call_end(struct mc_rpc_client *c, struct mc_call *call, const struct mc_error *err)
{
	pthread_mutex_lock(&c->lock);
	call->err = *err;
	call->done = true;
	pthread_cond_signal(&call->cond);
	mc_call_put(call);
	pthread_mutex_unlock(&c->lock);
}

static void wake(struct mc_rpc_client *c)
{
	uint64_t one = 1;

	/* Can only fail when the counter is about to overflow, and then the thread is awake. */
	if (write(c->wake, &one, sizeof(one)) < 0)
		return;
}

static struct mc_call *call_new(struct mc_rpc_client *c, const char *method, const ProtobufCMessage *req,
				int timeout_ms)
{
	struct mc_call *call = calloc(1, sizeof(*call));
	size_t len = protobuf_c_message_get_packed_size(req);
	pthread_condattr_t attr;

	if (!call)
		return NULL;
	call->body = malloc(MC_GRPC_HDR_LEN + len);
	if (!call->body) {
		free(call);
		return NULL;
	}
	mc_frame_put_hdr(call->body, len);
	call->body_len = MC_GRPC_HDR_LEN + protobuf_c_message_pack(req, call->body + MC_GRPC_HDR_LEN);
	snprintf(call->path, sizeof(call->path), "/%s/%s", c->service, method);
	call->deadline_ns = mc_client_now_ns() + timeout_ms * NS_PER_MS;
	call->grpc_status = -1;
	call->refs = 2;
	mc_frame_reader_init(&call->reader, MC_GRPC_MSG_MAX);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&call->cond, &attr);
	pthread_condattr_destroy(&attr);
	return call;
}

static int timed_out(struct mc_rpc_client *c, const char *method, int timeout_ms, struct mc_error *err)
{
	static const char * const what[] = {
		[MC_PHASE_DOWN] = "no connection to",
		[MC_PHASE_RESOLVING] = "still resolving the host name of",
		[MC_PHASE_CONNECTING] = "still connecting to",
		[MC_PHASE_UP] = "no answer from",
	};

	return mc_error_set(err, MC_ERPC_TIMEOUT, ETIMEDOUT, "%s: %s %s within %d ms", method, what[c->phase],
			    c->addr.text, timeout_ms);
}

/* Waits for the end of a call, but not longer than its deadline: then the caller has no more interest in it. */
static int call_wait(struct mc_rpc_client *c, struct mc_call *call, const char *method, int timeout_ms,
		     struct mc_error *err)
{
	struct timespec until = {
		.tv_sec = call->deadline_ns / 1000000000ull,
		.tv_nsec = call->deadline_ns % 1000000000ull,
	};
	int rc = 0;

	while (!call->done && rc != ETIMEDOUT)
		rc = pthread_cond_timedwait(&call->cond, &c->lock, &until);
	if (call->done) {
		if (call->err.code && err)
			*err = call->err;
		return call->err.code;
	}
	call->cancelled = true;
	wake(c);
	return timed_out(c, method, timeout_ms, err);
}

static int unpack(struct mc_rpc_client *c, const struct mc_call *call, const char *method,
		  const ProtobufCMessageDescriptor *type, ProtobufCMessage **reply, struct mc_error *err)
{
	*reply = protobuf_c_message_unpack(type, NULL, call->reader.have, call->reader.msg);
	if (*reply)
		return 0;
	return mc_error_set(err, MC_ERPC_FAIL, EPROTO, "%s: the answer of %s (%u bytes) is not a %s", method,
			    c->addr.text, call->reader.have, type->name);
}

static int check_call(const struct mc_rpc_client *c, const char *method, const ProtobufCMessage *req, int timeout_ms,
		      struct mc_error *err)
{
	size_t len = protobuf_c_message_get_packed_size(req);

	if (timeout_ms < 1 || timeout_ms > MAX_TIMEOUT_MS)
		return mc_error_set(err, MC_ERPC_TIMEOUT, ETIMEDOUT, "%s: no time left to ask %s (%d ms)", method,
				    c->addr.text, timeout_ms);
	if (len > MC_GRPC_MSG_MAX)
		return mc_error_set(err, MC_ERPC_FAIL, EMSGSIZE, "%s: request to %s of %zu bytes is above %u", method,
				    c->addr.text, len, MC_GRPC_MSG_MAX);
	return 0;
}

int mc_rpc_call(struct mc_rpc_client *client, const char *method, const ProtobufCMessage *req,
		const ProtobufCMessageDescriptor *reply_type, ProtobufCMessage **reply, int timeout_ms,
		struct mc_error *err)
{
	struct mc_call *call;
	int rc;

	*reply = NULL;
	rc = check_call(client, method, req, timeout_ms, err);
	if (rc)
		return rc;
	call = call_new(client, method, req, timeout_ms);
	if (!call)
		return mc_error_set(err, MC_ERPC_FAIL, ENOMEM, "%s: no memory for the request to %s", method,
				    client->addr.text);
	pthread_mutex_lock(&client->lock);
	TAILQ_INSERT_TAIL(&client->queue, call, link);
	wake(client);
	rc = call_wait(client, call, method, timeout_ms, err);
	pthread_mutex_unlock(&client->lock);
	if (!rc)
		rc = unpack(client, call, method, reply_type, reply, err);
	pthread_mutex_lock(&client->lock);
	mc_call_put(call);
	pthread_mutex_unlock(&client->lock);
	return rc;
}

/* Takes the next call whose caller is still waiting from the queue. */
static struct mc_call *next_call(struct mc_rpc_client *c)
{
	struct mc_call *call;

	pthread_mutex_lock(&c->lock);
	while ((call = TAILQ_FIRST(&c->queue))) {
		TAILQ_REMOVE(&c->queue, call, link);
		if (!call->cancelled)
			break;
		mc_call_put(call);
	}
	pthread_mutex_unlock(&c->lock);
	return call;
}

/* Drops the queued calls whose callers are gone, and says whether others wait. */
static bool queue_waits(struct mc_rpc_client *c)
{
	struct mc_call *call, *next;
	bool waits;

	pthread_mutex_lock(&c->lock);
	for (call = TAILQ_FIRST(&c->queue); call; call = next) {
		next = TAILQ_NEXT(call, link);
		if (!call->cancelled)
			continue;
		TAILQ_REMOVE(&c->queue, call, link);
		mc_call_put(call);
	}
	waits = !TAILQ_EMPTY(&c->queue);
	pthread_mutex_unlock(&c->lock);
	return waits;
}

static void fail_queue(struct mc_rpc_client *c, const struct mc_error *err)
{
	struct mc_call *call;

	while ((call = next_call(c)))
		mc_call_end(c, call, err);
}

/*
 * Streams whose callers are gone are reset. When that leaves nobody, and the server has said nothing since the first
 * of them was sent, the connection is as good as dead: the next call gets a new one.
 */
static void drop_cancelled(struct mc_rpc_client *c)
{
	struct mc_error gone = { .code = MC_ERPC_FAIL };
	struct mc_call *call;
	bool waited_for = false, heard = false, any = false;

	TAILQ_FOREACH(call, &c->active, link) {
		bool cancelled;

		pthread_mutex_lock(&c->lock);
		cancelled = call->cancelled;
		pthread_mutex_unlock(&c->lock);
		any = true;
		waited_for |= !cancelled;
		heard |= c->conn.rx_ns >= call->started_ns;
		if (!cancelled || call->reset)
			continue;
		call->reset = true;
		nghttp2_submit_rst_stream(c->conn.session, NGHTTP2_FLAG_NONE, call->stream_id, NGHTTP2_CANCEL);
	}
	if (any && !waited_for && !heard)
		mc_conn_drop(c, &gone);
}

static void feed_connection(struct mc_rpc_client *c)
{
	struct mc_error drained = { .code = MC_ERPC_FAIL };
	struct mc_call *call;

	if (c->conn.session && c->conn.draining && TAILQ_EMPTY(&c->active))
		mc_conn_drop(c, &drained);
	if (queue_waits(c) && c->phase == MC_PHASE_DOWN) {
		if (mc_client_now_ns() < c->conn.retry_at_ns)
			fail_queue(c, &c->conn.last);
		else
			mc_conn_start(c);
	}
	while (c->conn.session && !c->conn.draining && (call = next_call(c)))
		mc_h2_submit(c, call);
	if (c->conn.session)
		mc_h2_output(c);
}

static int wait_ms(struct mc_rpc_client *c)
{
	uint64_t now = mc_client_now_ns();

	/* Sending may have ended the connection while calls were waiting for it, or for the next one. */
	if (c->phase == MC_PHASE_DOWN || (c->conn.draining && TAILQ_EMPTY(&c->active)))
		return queue_waits(c) ? 0 : -1;
	if (c->phase != MC_PHASE_CONNECTING)
		return -1;
	return c->conn.connect_by_ns <= now ? 0 : (c->conn.connect_by_ns - now) / NS_PER_MS + 1;
}

static void wait_and_handle(struct mc_rpc_client *c)
{
	struct pollfd fds[2] = { { .fd = c->wake, .events = POLLIN }, { .fd = -1 } };
	uint64_t drained;

	if (c->phase == MC_PHASE_RESOLVING) {
		fds[1].fd = c->conn.lookup->efd;
		fds[1].events = POLLIN;
	} else if (c->phase == MC_PHASE_CONNECTING) {
		fds[1].fd = c->conn.fd;
		fds[1].events = POLLOUT;
	} else if (c->phase == MC_PHASE_UP) {
		fds[1].fd = c->conn.fd;
		fds[1].events = POLLIN | (nghttp2_session_want_write(c->conn.session) ? POLLOUT : 0);
	}
	if (poll(fds, 2, wait_ms(c)) < 0)
		return;
	if ((fds[0].revents & POLLIN) && read(c->wake, &drained, sizeof(drained)) < 0)
		return;
	if (c->phase == MC_PHASE_RESOLVING && fds[1].revents)
		mc_conn_looked_up(c);
	else if (c->phase == MC_PHASE_CONNECTING)
		mc_conn_connected(c, !fds[1].revents);
	else if (c->phase == MC_PHASE_UP && (fds[1].revents & ~POLLOUT))
		mc_h2_input(c);
}

static void *io_thread(void *arg)
{
	struct mc_rpc_client *c = arg;
	struct mc_error closed;
	bool stop = false;

	while (!stop) {
		if (c->conn.session)
			drop_cancelled(c);
		feed_connection(c);
		wait_and_handle(c);
		pthread_mutex_lock(&c->lock);
		stop = c->stop;
		pthread_mutex_unlock(&c->lock);
	}
	mc_error_set(&closed, MC_ERPC_FAIL, ECANCELED, "connection to %s closed by this program", c->addr.text);
	mc_conn_drop(c, &closed);
	fail_queue(c, &closed);
	return NULL;
}

/* Signals are for the program's own threads. */
static int start_thread(struct mc_rpc_client *c)
{
	sigset_t all, old;
	int rc;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &old);
	rc = pthread_create(&c->thread, NULL, io_thread, c);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return rc;
}

int mc_rpc_client_new(const char *address, const char *service, uint16_t default_port, struct mc_rpc_client **out,
		      struct mc_error *err)
{
	struct mc_rpc_client *c = calloc(1, sizeof(*c));
	int rc;

	if (!c)
		return mc_error_set(err, MC_EINTERNAL, ENOMEM, "no memory for a client of %.100s", address);
	if (mc_addr_parse(address, default_port, 0, &c->addr, err)) {
		free(c);
		if (err)
			err->code = MC_EINVALID_PARAMS;
		return MC_EINVALID_PARAMS;
	}
	snprintf(c->service, sizeof(c->service), "%s", service);
	TAILQ_INIT(&c->queue);
	TAILQ_INIT(&c->active);
	c->conn.fd = -1;
	c->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	rc = c->wake < 0 ? errno : 0;
	pthread_mutex_init(&c->lock, NULL);
	if (!rc)
		rc = start_thread(c);
	if (rc) {
		if (c->wake >= 0)
			close(c->wake);
		pthread_mutex_destroy(&c->lock);
		free(c);
		return mc_error_set(err, MC_EINTERNAL, rc, "can't start the client of %.100s: %s", address,
				    strerror(rc));
	}
	*out = c;
	return 0;
}

void mc_rpc_client_free(struct mc_rpc_client *client)
{
	if (!client)
		return;
	pthread_mutex_lock(&client->lock);
	client->stop = true;
	pthread_mutex_unlock(&client->lock);
	wake(client);
	pthread_join(client->thread, NULL);
	close(client->wake);
	pthread_mutex_destroy(&client->lock);
	free(client);
}
