// SPDX-License-Identifier: MIT
/* Sockets, connections and time of the gRPC server; the calls are in stream.c. */
#include "server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <event2/buffer.h>

#include "server_int.h"

#define SEC			1000000000ull
#define OUTPUT_MAX		(1u << 20)	/* in a socket's buffer; the rest waits in its streams */
#define STREAM_WINDOW		(1u << 20)
#define CONN_WINDOW		(8u << 20)
#define RESUME_MSEC		100

uint64_t mc_rpc_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * SEC + ts.tv_nsec;
}

void mc_rpc_logf(struct mc_rpc_server *s, const char *fmt, ...)
{
	char line[512];
	va_list ap;

	if (!s->cfg.log)
		return;
	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	s->cfg.log(s->cfg.log_ctx, line);
}

static void conn_free(struct mc_rpc_conn *c)
{
	struct mc_rpc_server *s = c->server;
	struct mc_rpc_stream *st;

	/* Streams first: their replies must not be asked for any more when the session goes. */
	while ((st = TAILQ_FIRST(&c->streams))) {
		nghttp2_session_set_stream_user_data(c->h2, st->id, NULL);
		mc_rpc_stream_free(st);
	}
	nghttp2_session_del(c->h2);
	bufferevent_free(c->bev);
	TAILQ_REMOVE(&s->conns, c, link);
	s->nconns--;
	free(c);
}

/* Pulls from HTTP/2 only while the socket's buffer is small; the write callback comes back for the rest. */
static void pull_output(struct mc_rpc_conn *c)
{
	struct evbuffer *out = bufferevent_get_output(c->bev);
	const uint8_t *data;
	ssize_t n;

	while (!c->dead && evbuffer_get_length(out) < OUTPUT_MAX) {
		n = nghttp2_session_mem_send(c->h2, &data);
		if (n == 0)
			break;
		if (n < 0 || bufferevent_write(c->bev, data, n))
			c->dead = true;
	}
	/* A peer that does not read may not make us read either. */
	if (evbuffer_get_length(out) >= OUTPUT_MAX)
		bufferevent_disable(c->bev, EV_READ);
	else
		bufferevent_enable(c->bev, EV_READ);
}

void mc_rpc_conn_flush(struct mc_rpc_conn *c)
{
	c->busy = true;
	pull_output(c);
	c->busy = false;
	if (!nghttp2_session_want_read(c->h2) && !nghttp2_session_want_write(c->h2) &&
	    !evbuffer_get_length(bufferevent_get_output(c->bev)))
		c->dead = true;
	if (c->dead)
		conn_free(c);
}

static void on_read(struct bufferevent *bev, void *arg)
{
	struct mc_rpc_conn *c = arg;
	struct evbuffer *in = bufferevent_get_input(bev);
	size_t len;
	ssize_t n;

	c->rx_ns = mc_rpc_now_ns();
	c->ping_ns = 0;
	c->busy = true;
	while (!c->dead && (len = evbuffer_get_contiguous_space(in))) {
		n = nghttp2_session_mem_recv(c->h2, evbuffer_pullup(in, len), len);
		if (n < 0) {
			mc_rpc_logf(c->server, "%s port %s: not HTTP/2: %s; connection dropped", c->peer, c->peer_port,
				    nghttp2_strerror(n));
			c->dead = true;
			break;
		}
		evbuffer_drain(in, n);
	}
	c->busy = false;
	mc_rpc_conn_flush(c);
}

static void on_write(struct bufferevent *bev, void *arg)
{
	(void)bev;
	mc_rpc_conn_flush(arg);
}

static void on_event(struct bufferevent *bev, short what, void *arg)
{
	struct mc_rpc_conn *c = arg;

	(void)bev;
	if (what & BEV_EVENT_TIMEOUT)
		mc_rpc_logf(c->server, "%s port %s: took nothing for %u s; connection dropped", c->peer, c->peer_port,
			    MC_RPC_STALL_SEC);
	if (what & (BEV_EVENT_EOF | BEV_EVENT_ERROR | BEV_EVENT_TIMEOUT))
		conn_free(c);
}

static void set_socket_options(int fd)
{
	int on = 1, idle = 30, interval = 10, count = 3;
	unsigned int user_ms = MC_RPC_STALL_SEC * 1000;

	/* Best effort: a socket without one of these still works. */
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof(idle));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof(interval));
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof(count));
	setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &user_ms, sizeof(user_ms));
}

static int start_session(struct mc_rpc_conn *c)
{
	static const nghttp2_settings_entry iv[] = {
		{ NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, MC_RPC_STREAMS_MAX },
		{ NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, STREAM_WINDOW },
		{ NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, MC_RPC_HEADERS_MAX },
	};

	if (nghttp2_session_server_new(&c->h2, c->server->callbacks, c))
		return -ENOMEM;
	if (nghttp2_submit_settings(c->h2, NGHTTP2_FLAG_NONE, iv, 3) ||
	    nghttp2_session_set_local_window_size(c->h2, NGHTTP2_FLAG_NONE, 0, CONN_WINDOW)) {
		nghttp2_session_del(c->h2);
		return -ENOMEM;
	}
	return 0;
}

static struct mc_rpc_conn *conn_new(struct mc_rpc_server *s, int fd)
{
	struct timeval stall = { .tv_sec = MC_RPC_STALL_SEC };
	struct mc_rpc_conn *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->server = s;
	c->born_ns = c->rx_ns = mc_rpc_now_ns();
	TAILQ_INIT(&c->streams);
	if (start_session(c))
		goto free_conn;
	c->bev = bufferevent_socket_new(s->cfg.base, fd, BEV_OPT_CLOSE_ON_FREE);
	if (!c->bev)
		goto free_session;
	bufferevent_setcb(c->bev, on_read, on_write, on_event, c);
	bufferevent_setwatermark(c->bev, EV_READ, 0, 256u << 10);
	bufferevent_setwatermark(c->bev, EV_WRITE, OUTPUT_MAX / 2, 0);
	bufferevent_set_timeouts(c->bev, NULL, &stall);
	TAILQ_INSERT_TAIL(&s->conns, c, link);
	s->nconns++;
	return c;

free_session:
	nghttp2_session_del(c->h2);
free_conn:
	free(c);
	return NULL;
}

static void on_accept(struct evconnlistener *l, evutil_socket_t fd, struct sockaddr *sa, int salen, void *arg)
{
	struct mc_rpc_server *s = arg;
	struct mc_rpc_conn *c = NULL;

	(void)l;
	set_socket_options(fd);
	if (s->nconns < MC_RPC_CONNS_MAX)
		c = conn_new(s, fd);
	if (!c) {
		mc_rpc_logf(s, "connection refused: %s", s->nconns < MC_RPC_CONNS_MAX ? "out of memory" :
			    "too many connections");
		close(fd);
		return;
	}
	s->full = false;
	getnameinfo(sa, salen, c->peer, sizeof(c->peer), c->peer_port, sizeof(c->peer_port),
		    NI_NUMERICHOST | NI_NUMERICSERV);
	mc_rpc_conn_flush(c);
}

static void set_accepting(struct mc_rpc_server *s, bool on)
{
	uint32_t i;

	for (i = 0; i < s->nlisteners; i++) {
		if (on)
			evconnlistener_enable(s->listeners[i]);
		else
			evconnlistener_disable(s->listeners[i]);
	}
}

/* Out of descriptors, accept() would fail again at once, for ever: leave callers in the backlog for a moment. */
static void on_accept_error(struct evconnlistener *l, void *arg)
{
	struct timeval tv = { .tv_usec = RESUME_MSEC * 1000 };
	struct mc_rpc_server *s = arg;
	int err = EVUTIL_SOCKET_ERROR();

	(void)l;
	if (!s->full)
		mc_rpc_logf(s, "can't accept with %u connections open: %s; retrying every %d ms", s->nconns,
			    strerror(err), RESUME_MSEC);
	s->full = true;
	set_accepting(s, false);
	evtimer_add(s->resume, &tv);
}

static void on_resume(evutil_socket_t fd, short what, void *arg)
{
	struct mc_rpc_server *s = arg;

	(void)fd;
	(void)what;
	if (!s->stopping)
		set_accepting(s, true);
}

static void expire_streams(struct mc_rpc_conn *c, uint64_t now)
{
	struct mc_rpc_stream *st, *next;

	for (st = TAILQ_FIRST(&c->streams); st && !c->dead; st = next) {
		next = TAILQ_NEXT(st, link);
		if (now < st->deadline_ns)
			continue;
		if (st->answered)
			nghttp2_submit_rst_stream(c->h2, NGHTTP2_FLAG_NONE, st->id, NGHTTP2_CANCEL);
		else
			mc_rpc_stream_answer(st, MC_GRPC_DEADLINE_EXCEEDED, "the call was not complete in time");
	}
}

static void probe(struct mc_rpc_conn *c, uint64_t now)
{
	if (!c->settings_seen && now > c->born_ns + MC_RPC_PREFACE_SEC * SEC) {
		mc_rpc_logf(c->server, "%s port %s: no HTTP/2 within %u s; connection dropped", c->peer, c->peer_port,
			    MC_RPC_PREFACE_SEC);
		c->dead = true;
	} else if (c->ping_ns && now > c->ping_ns + MC_RPC_PING_WAIT_SEC * SEC) {
		mc_rpc_logf(c->server, "%s port %s: no answer to a ping for %u s; connection dropped", c->peer,
			    c->peer_port, MC_RPC_PING_WAIT_SEC);
		c->dead = true;
	} else if (!c->ping_ns && now > c->rx_ns + MC_RPC_PING_IDLE_SEC * SEC) {
		c->ping_ns = now;
		nghttp2_submit_ping(c->h2, NGHTTP2_FLAG_NONE, NULL);
	}
}

static void on_tick(evutil_socket_t fd, short what, void *arg)
{
	struct mc_rpc_server *s = arg;
	struct mc_rpc_conn *c, *next;
	uint64_t now = mc_rpc_now_ns();

	(void)fd;
	(void)what;
	for (c = TAILQ_FIRST(&s->conns); c; c = next) {
		next = TAILQ_NEXT(c, link);
		probe(c, now);
		expire_streams(c, now);
		mc_rpc_conn_flush(c);
	}
}

struct mc_rpc_server *mc_rpc_server_new(const struct mc_rpc_server_config *cfg)
{
	struct timeval second = { .tv_sec = 1 };
	struct mc_rpc_server *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->cfg = *cfg;
	TAILQ_INIT(&s->conns);
	s->callbacks = mc_rpc_callbacks_new();
	s->tick = event_new(cfg->base, -1, EV_PERSIST, on_tick, s);
	s->resume = evtimer_new(cfg->base, on_resume, s);
	if (!s->callbacks || !s->tick || !s->resume || event_add(s->tick, &second)) {
		mc_rpc_server_free(s);
		return NULL;
	}
	return s;
}

static int bound_port(int fd)
{
	struct sockaddr_storage ss;
	socklen_t len = sizeof(ss);

	if (getsockname(fd, (struct sockaddr *)&ss, &len))
		return -errno;
	return ntohs(ss.ss_family == AF_INET6 ? ((struct sockaddr_in6 *)&ss)->sin6_port :
		     ((struct sockaddr_in *)&ss)->sin_port);
}

static int open_listener(const struct sockaddr *sa, socklen_t salen)
{
	int fd = socket(sa->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int on = 1, err;

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (sa->sa_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
	if (bind(fd, sa, salen) || listen(fd, SOMAXCONN)) {
		err = -errno;
		close(fd);
		return err;
	}
	return fd;
}

int mc_rpc_server_listen(struct mc_rpc_server *s, const struct sockaddr *sa, socklen_t salen, char *err,
			 size_t errlen)
{
	struct evconnlistener *l;
	int fd;

	if (s->nlisteners == sizeof(s->listeners) / sizeof(s->listeners[0])) {
		snprintf(err, errlen, "more than %u addresses to listen on", s->nlisteners);
		return -ENOSPC;
	}
	fd = open_listener(sa, salen);
	if (fd < 0) {
		snprintf(err, errlen, "can't listen: %s", strerror(-fd));
		return fd;
	}
	l = evconnlistener_new(s->cfg.base, on_accept, s, LEV_OPT_CLOSE_ON_FREE | LEV_OPT_CLOSE_ON_EXEC, 0, fd);
	if (!l) {
		close(fd);
		snprintf(err, errlen, "can't listen: out of memory");
		return -ENOMEM;
	}
	evconnlistener_set_error_cb(l, on_accept_error);
	s->listeners[s->nlisteners++] = l;
	return bound_port(fd);
}

void mc_rpc_server_stop(struct mc_rpc_server *s)
{
	struct mc_rpc_conn *c, *next;

	s->stopping = true;
	set_accepting(s, false);
	for (c = TAILQ_FIRST(&s->conns); c; c = next) {
		next = TAILQ_NEXT(c, link);
		nghttp2_session_terminate_session(c->h2, NGHTTP2_NO_ERROR);
		mc_rpc_conn_flush(c);
	}
}

bool mc_rpc_server_idle(const struct mc_rpc_server *s)
{
	return TAILQ_EMPTY(&s->conns);
}

void mc_rpc_server_free(struct mc_rpc_server *s)
{
	uint32_t i;

	if (!s)
		return;
	while (!TAILQ_EMPTY(&s->conns))
		conn_free(TAILQ_FIRST(&s->conns));
	for (i = 0; i < s->nlisteners; i++)
		evconnlistener_free(s->listeners[i]);
	if (s->tick)
		event_free(s->tick);
	if (s->resume)
		event_free(s->resume);
	nghttp2_session_callbacks_del(s->callbacks);
	free(s);
}
