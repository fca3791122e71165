// SPDX-License-Identifier: MIT
/* The gRPC client against the project's server, and against everything that is no such server. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "client.h"
#include "mooncake.pb-c.h"
#include "server.h"

#define SERVICE	"mooncake.v1.Master"

/* ---- a real server: ServiceReady answers; Ping is held; ListNodes fails; List answers with many bytes ---- */

struct server {
	struct event_base *base;
	struct mc_rpc_server *rpc;
	ProtobufCService service;
	pthread_t thread;
	int port;
	atomic_bool stop;
	atomic_uint served;
	struct mc_rpc_call *held[512];
	atomic_uint n_held;
};

static struct server *current;

static void log_line(void *ctx, const char *line)
{
	(void)ctx;
	(void)line;
}

static void answer_list(ProtobufCClosure closure, void *data)
{
	Mooncake__V1__ListReply r = MOONCAKE__V1__LIST_REPLY__INIT;
	Mooncake__V1__ObjectInfo o = MOONCAKE__V1__OBJECT_INFO__INIT, *all[2000];
	uint8_t key[4000];
	unsigned int i;

	memset(key, 'k', sizeof(key));
	o.key.data = key;
	o.key.len = sizeof(key);
	for (i = 0; i < 2000; i++)
		all[i] = &o;
	r.objects = all;
	r.n_objects = 2000;
	closure(&r.base, data);
}

static void invoke(ProtobufCService *service, unsigned int method, const ProtobufCMessage *in, ProtobufCClosure closure,
		   void *data)
{
	const char *name = service->descriptor->methods[method].name;
	Mooncake__V1__ServiceReadyReply ready = MOONCAKE__V1__SERVICE_READY_REPLY__INIT;

	(void)in;
	atomic_fetch_add(&current->served, 1);
	if (!strcmp(name, "ServiceReady")) {
		ready.version = (char *)"v";
		closure(&ready.base, data);
	} else if (!strcmp(name, "Ping")) {
		current->held[atomic_fetch_add(&current->n_held, 1)] = data;
	} else if (!strcmp(name, "List")) {
		answer_list(closure, data);
	} else {
		mc_rpc_fail(data, MC_GRPC_PERMISSION_DENIED, "not for you, 100%\n");
	}
}

static void tick(evutil_socket_t fd, short what, void *arg)
{
	struct server *s = arg;

	(void)fd;
	(void)what;
	if (atomic_load(&s->stop))
		event_base_loopbreak(s->base);
}

static void *serve(void *arg)
{
	struct server *s = arg;
	struct timeval tv = { .tv_usec = 10000 };
	struct event *ev = event_new(s->base, -1, EV_PERSIST, tick, s);

	event_add(ev, &tv);
	event_base_dispatch(s->base);
	event_free(ev);
	return NULL;
}

static struct server *start_server(int port)
{
	struct sockaddr_in sin = { .sin_family = AF_INET, .sin_port = htons(port) };
	struct server *s = calloc(1, sizeof(*s));
	struct mc_rpc_server_config cfg = { .log = log_line };
	char err[128];

	sin.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	s->base = event_base_new();
	s->service.descriptor = &mooncake__v1__master__descriptor;
	s->service.invoke = invoke;
	cfg.base = s->base;
	cfg.service = &s->service;
	s->rpc = mc_rpc_server_new(&cfg);
	s->port = mc_rpc_server_listen(s->rpc, (struct sockaddr *)&sin, sizeof(sin), err, sizeof(err));
	if (s->port < 0)
		fail_msg("%s", err);
	current = s;
	pthread_create(&s->thread, NULL, serve, s);
	return s;
}

static void stop_server(struct server *s)
{
	unsigned int i;

	atomic_store(&s->stop, true);
	pthread_join(s->thread, NULL);
	for (i = 0; i < s->n_held; i++)
		mc_rpc_fail(s->held[i], MC_GRPC_CANCELLED, "test ends");
	mc_rpc_server_free(s->rpc);
	event_base_free(s->base);
	free(s);
}

static struct mc_rpc_client *client_of(int port)
{
	struct mc_rpc_client *c;
	struct mc_error err;
	char addr[32];

	snprintf(addr, sizeof(addr), "127.0.0.1:%d", port);
	if (mc_rpc_client_new(addr, SERVICE, 50051, &c, &err))
		fail_msg("%s", err.text);
	return c;
}

static int ready(struct mc_rpc_client *c, int ms, struct mc_error *err)
{
	Mooncake__V1__ServiceReadyRequest q = MOONCAKE__V1__SERVICE_READY_REQUEST__INIT;
	ProtobufCMessage *r;
	int rc = mc_rpc_call(c, "ServiceReady", &q.base, &mooncake__v1__service_ready_reply__descriptor, &r, ms, err);

	if (!rc) {
		assert_string_equal(((Mooncake__V1__ServiceReadyReply *)r)->version, "v");
		protobuf_c_message_free_unpacked(r, NULL);
	} else {
		assert_null(r);
	}
	return rc;
}

static int ping(struct mc_rpc_client *c, int ms, struct mc_error *err)
{
	Mooncake__V1__PingRequest q = MOONCAKE__V1__PING_REQUEST__INIT;
	ProtobufCMessage *r;

	return mc_rpc_call(c, "Ping", &q.base, &mooncake__v1__ping_reply__descriptor, &r, ms, err);
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

/* A deadline holds when the call ends half a second later at most; MC_TIME_SCALE stretches that for slow machines. */
static bool in_time(double t0, double deadline)
{
	const char *scale = getenv("MC_TIME_SCALE");
	double s = now() - t0;

	return s >= deadline * 0.95 && s < deadline + 0.5 * (scale ? atof(scale) : 1);
}

static void calls(void **state)
{
	struct server *s = start_server(0);
	struct mc_rpc_client *c = client_of(s->port);
	struct mc_error err;
	int i;

	(void)state;
	for (i = 0; i < 100; i++)
		if (ready(c, 10000, &err))
			fail_msg("%s", err.text);
	assert_int_equal(s->served, 100);
	mc_rpc_client_free(c);
	stop_server(s);
}

static void large_messages(void **state)
{
	struct server *s = start_server(0);
	struct mc_rpc_client *c = client_of(s->port);
	Mooncake__V1__ListRequest q = MOONCAKE__V1__LIST_REQUEST__INIT;
	Mooncake__V1__ListReply *r;
	struct mc_error err;
	uint8_t *prefix = calloc(1, 70 << 20);

	(void)state;
	q.prefix.data = prefix;
	q.prefix.len = 20 << 20;
	if (mc_rpc_call(c, "List", &q.base, &mooncake__v1__list_reply__descriptor, (ProtobufCMessage **)&r, 20000,
			&err))
		fail_msg("%s", err.text);
	assert_int_equal(r->n_objects, 2000);
	assert_int_equal(r->objects[1999]->key.len, 4000);
	mc_rpc_client_free(c);
	protobuf_c_message_free_unpacked(&r->base, NULL);
	c = client_of(s->port);
	q.prefix.len = 70 << 20;
	assert_int_equal(mc_rpc_call(c, "List", &q.base, &mooncake__v1__list_reply__descriptor,
				     (ProtobufCMessage **)&r, 20000, &err),
			 -900);
	assert_int_equal(err.sys_errno, EMSGSIZE);
	free(prefix);
	mc_rpc_client_free(c);
	stop_server(s);
}

static void wrong_reply_type(void **state)
{
	struct server *s = start_server(0);
	struct mc_rpc_client *c = client_of(s->port);
	Mooncake__V1__ListRequest q = MOONCAKE__V1__LIST_REQUEST__INIT;
	ProtobufCMessage *r;
	struct mc_error err;

	(void)state;
	assert_int_equal(mc_rpc_call(c, "List", &q.base, &mooncake__v1__ping_reply__descriptor, &r, 10000, &err), -900);
	assert_non_null(strstr(err.text, "PingReply"));
	assert_int_equal(mc_rpc_call(c, "NoSuchMethod", &q.base, &mooncake__v1__status_reply__descriptor, &r, 10000,
				     &err),
			 -900);
	assert_non_null(strstr(err.text, "UNIMPLEMENTED"));
	mc_rpc_client_free(c);
	stop_server(s);
}

struct caller {
	struct mc_rpc_client *c;
	unsigned int bad;
	int hold;
};

static void *call_often(void *arg)
{
	struct caller *k = arg;
	struct mc_error err;
	int i;

	if (k->hold) {
		k->bad = ping(k->c, 1500, &err) != -901;
		return NULL;
	}
	for (i = 0; i < 100; i++)
		k->bad += ready(k->c, 30000, &err) != 0;
	return NULL;
}

/* Calls of many threads share the connection; the ones that hang keep nobody. */
static void many_threads(void **state)
{
	struct server *s = start_server(0);
	struct mc_rpc_client *c = client_of(s->port);
	struct caller k[32];
	pthread_t t[32];
	int i;

	(void)state;
	for (i = 0; i < 32; i++) {
		k[i] = (struct caller){ .c = c, .hold = i % 2 };
		pthread_create(&t[i], NULL, call_often, &k[i]);
	}
	for (i = 0; i < 32; i++) {
		pthread_join(t[i], NULL);
		assert_int_equal(k[i].bad, 0);
	}
	mc_rpc_client_free(c);
	stop_server(s);
}

static void c59_deadlines(void **state)
{
	struct server *s = start_server(0);
	struct mc_rpc_client *c = client_of(s->port);
	static const int ms[] = { 200, 1, 700 };
	struct mc_error err;
	double t0;
	int i;

	(void)state;
	for (i = 0; i < 3; i++) {
		t0 = now();
		assert_int_equal(ping(c, ms[i], &err), -901);
		assert_true(in_time(t0, ms[i] / 1000.0));
		assert_int_equal(err.sys_errno, ETIMEDOUT);
		assert_non_null(strstr(err.text, mc_rpc_address(c)));
	}
	assert_int_equal(ping(c, 0, &err), -901);
	assert_int_equal(ping(c, -5, &err), -901);
	if (ready(c, 10000, &err))
		fail_msg("%s", err.text);
	mc_rpc_client_free(c);
	stop_server(s);
}

static void c93_refused(void **state)
{
	struct server *s = start_server(0);
	int port = s->port, i;
	struct mc_rpc_client *c;
	struct mc_error err;
	double t0 = now();

	(void)state;
	stop_server(s);
	c = client_of(port);
	for (i = 0; i < 50; i++) {
		assert_int_equal(ready(c, 10000, &err), -900);
		assert_int_equal(err.sys_errno, ECONNREFUSED);
		assert_non_null(strstr(err.text, mc_rpc_address(c)));
		assert_non_null(strstr(err.text, "refused"));
	}
	assert_true(now() - t0 < 5);
	mc_rpc_client_free(c);
}

/* A server that went away and came back is found again, after a pause of a second at most. */
static void reconnects(void **state)
{
	struct server *s = start_server(0);
	struct mc_rpc_client *c = client_of(s->port);
	struct timespec pause = { .tv_nsec = 50000000 };
	int port = s->port, i, rc = -1;
	struct mc_error err;

	(void)state;
	assert_int_equal(ready(c, 10000, &err), 0);
	stop_server(s);
	for (i = 0; i < 5; i++)
		assert_int_equal(ready(c, 10000, &err), -900);
	s = start_server(port);
	for (i = 0; i < 100 && rc; i++) {
		rc = ready(c, 10000, &err);
		if (rc)
			nanosleep(&pause, NULL);
	}
	assert_int_equal(rc, 0);
	mc_rpc_client_free(c);
	stop_server(s);
}

static void c93_unknown_host(void **state)
{
	struct mc_rpc_client *c;
	struct mc_error err;

	(void)state;
	assert_int_equal(mc_rpc_client_new("no-such-host.invalid", SERVICE, 50051, &c, &err), 0);
	assert_int_equal(ready(c, 20000, &err), -900);
	assert_int_equal(err.sys_errno, EHOSTUNREACH);
	assert_non_null(strstr(err.text, "no-such-host.invalid"));
	assert_non_null(strstr(err.text, "resolved"));
	mc_rpc_client_free(c);
	assert_int_equal(mc_rpc_client_new("h:0", SERVICE, 50051, &c, &err), -600);
	assert_int_equal(err.code, -600);
}

static void c93_grpc_status(void **state)
{
	struct server *s = start_server(0);
	struct mc_rpc_client *c = client_of(s->port);
	Mooncake__V1__ListNodesRequest q = MOONCAKE__V1__LIST_NODES_REQUEST__INIT;
	ProtobufCMessage *r;
	struct mc_error err;

	(void)state;
	assert_int_equal(mc_rpc_call(c, "ListNodes", &q.base, &mooncake__v1__list_nodes_reply__descriptor, &r, 10000,
				     &err),
			 -900);
	assert_non_null(strstr(err.text, "PERMISSION_DENIED"));
	assert_non_null(strstr(err.text, "not for you, 100%"));
	assert_null(strchr(err.text, '\n'));
	mc_rpc_client_free(c);
	stop_server(s);
}

/* ---- what is no gRPC server ---- */

struct other {
	int fd;
	int port;
	const char *says;
	size_t len;
	bool closes;
	pthread_t thread;
	atomic_bool stop;
};

static void *be_other(void *arg)
{
	struct other *o = arg;
	char buf[4096];

	for (;;) {
		int fd = accept(o->fd, NULL, NULL);

		if (fd < 0 || atomic_load(&o->stop)) {
			if (fd >= 0)
				close(fd);
			return NULL;
		}
		if (recv(fd, buf, sizeof(buf), 0) > 0 && o->len)
			(void)!send(fd, o->says, o->len, MSG_NOSIGNAL);
		if (!o->closes)
			while (recv(fd, buf, sizeof(buf), 0) > 0)
				;
		close(fd);
	}
}

static void start_other(struct other *o, const char *says, size_t len, bool closes)
{
	struct sockaddr_in sin = { .sin_family = AF_INET };
	socklen_t salen = sizeof(sin);

	memset(o, 0, sizeof(*o));
	sin.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	o->fd = socket(AF_INET, SOCK_STREAM, 0);
	assert_int_equal(bind(o->fd, (struct sockaddr *)&sin, sizeof(sin)), 0);
	assert_int_equal(listen(o->fd, 5), 0);
	getsockname(o->fd, (struct sockaddr *)&sin, &salen);
	o->port = ntohs(sin.sin_port);
	o->says = says;
	o->len = len;
	o->closes = closes;
	pthread_create(&o->thread, NULL, be_other, o);
}

static void stop_other(struct other *o)
{
	atomic_store(&o->stop, true);
	shutdown(o->fd, SHUT_RDWR);
	pthread_join(o->thread, NULL);
	close(o->fd);
}

static void c93_other_protocols(void **state)
{
	static const struct {
		const char *says;
		size_t len;
		bool closes;
		const char *names;
	} others[] = {
		{ "HTTP/1.1 400 Bad Request\r\n\r\n", 28, true, "'HTTP/1.1" },
		{ "SSH-2.0-OpenSSH_9.2\r\n", 21, false, "'SSH-2.0" },
		{ "\x15\x03\x01\x00\x02\x02\x46", 7, true, "\\x15" },
		{ "", 0, true, "without a word" },
		/* HTTP/2, but what follows SETTINGS is no frame. */
		{ "\0\0\0\4\0\0\0\0\0" "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 21, false, "lost" },
		/* HTTP/2 that ends. */
		{ "\0\0\0\4\0\0\0\0\0", 9, true, "lost" },
		/* HTTP/2 that answers 404 (HPACK index 13) with nothing else. */
		{ "\0\0\0\4\0\0\0\0\0" "\0\0\1\1\5\0\0\0\1\x8d", 19, false, "404" },
		/* 200 without content-type. */
		{ "\0\0\0\4\0\0\0\0\0" "\0\0\1\1\5\0\0\0\1\x88", 19, false, "application/grpc" },
	};
	struct mc_rpc_client *c;
	struct mc_error err;
	struct other o;
	unsigned int i;

	(void)state;
	for (i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		start_other(&o, others[i].says, others[i].len, others[i].closes);
		c = client_of(o.port);
		assert_int_equal(ready(c, 10000, &err), -900);
		if (!strstr(err.text, others[i].names) || !strstr(err.text, mc_rpc_address(c)))
			fail_msg("%u: %s", i, err.text);
		mc_rpc_client_free(c);
		stop_other(&o);
	}
}

static void c59_silent_server(void **state)
{
	struct mc_rpc_client *c;
	struct mc_error err;
	struct other o;
	double t0;
	int i;

	(void)state;
	start_other(&o, "", 0, false);
	c = client_of(o.port);
	for (i = 0; i < 3; i++) {
		t0 = now();
		assert_int_equal(ready(c, 200, &err), -901);
		assert_true(in_time(t0, 0.2));
		assert_non_null(strstr(err.text, mc_rpc_address(c)));
	}
	mc_rpc_client_free(c);
	stop_other(&o);
}

/* Nobody accepts, and the backlog is full: still connecting at the deadline. */
static void c59_nobody_accepts(void **state)
{
	struct sockaddr_in sin = { .sin_family = AF_INET };
	socklen_t salen = sizeof(sin);
	int fd = socket(AF_INET, SOCK_STREAM, 0), more[8], i;
	struct mc_rpc_client *c;
	struct mc_error err;
	double t0;

	(void)state;
	sin.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_equal(bind(fd, (struct sockaddr *)&sin, sizeof(sin)), 0);
	assert_int_equal(listen(fd, 0), 0);
	getsockname(fd, (struct sockaddr *)&sin, &salen);
	for (i = 0; i < 8; i++) {
		more[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
		(void)!connect(more[i], (struct sockaddr *)&sin, sizeof(sin));
	}
	c = client_of(ntohs(sin.sin_port));
	t0 = now();
	assert_int_equal(ready(c, 300, &err), -901);
	assert_true(in_time(t0, 0.3));
	assert_non_null(strstr(err.text, "still connecting"));
	/* The client ends at once, though its connection still waits. */
	t0 = now();
	mc_rpc_client_free(c);
	assert_true(in_time(t0, 0));
	for (i = 0; i < 8; i++)
		close(more[i]);
	close(fd);
}

/* More calls than the server lets run, all given up: every one of them is forgotten, and the next is served. */
static void more_than_streams(void **state)
{
	struct server *s = start_server(0);
	struct mc_rpc_client *c = client_of(s->port);
	struct caller k[300];
	pthread_t t[300];
	struct mc_error err;
	int i;

	(void)state;
	for (i = 0; i < 300; i++) {
		k[i] = (struct caller){ .c = c, .hold = 1 };
		pthread_create(&t[i], NULL, call_often, &k[i]);
	}
	for (i = 0; i < 300; i++) {
		pthread_join(t[i], NULL);
		assert_int_equal(k[i].bad, 0);
	}
	if (ready(c, 10000, &err))
		fail_msg("%s", err.text);
	mc_rpc_client_free(c);
	stop_server(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls),
		cmocka_unit_test(large_messages),
		cmocka_unit_test(wrong_reply_type),
		cmocka_unit_test(many_threads),
		{ "C-59 deadlines of calls hold", c59_deadlines, NULL, NULL, NULL },
		{ "C-59 a silent server", c59_silent_server, NULL, NULL, NULL },
		{ "C-59 nobody accepts", c59_nobody_accepts, NULL, NULL, NULL },
		{ "C-93 connection refused", c93_refused, NULL, NULL, NULL },
		{ "C-93 unknown host", c93_unknown_host, NULL, NULL, NULL },
		{ "C-93 gRPC status", c93_grpc_status, NULL, NULL, NULL },
		{ "C-93 other protocols", c93_other_protocols, NULL, NULL, NULL },
		cmocka_unit_test(reconnects),
		cmocka_unit_test(more_than_streams),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
