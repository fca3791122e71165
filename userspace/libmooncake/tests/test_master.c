// SPDX-License-Identifier: MIT
/* The library with the real mcmasterd over TCP, and a kernel made of memcpy. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fake_kernel.h"
#include "rpc/client.h"
#include "store_int.h"

#define SEG	(16u << 20)
#define MEM	(1u << 20)

static char mcmasterd[PATH_MAX];

struct env {
	struct fake_kernel *fk;
	struct mc_dev *dev;
	struct mc_store *s;
	struct mc_buf *buf;
	struct mc_rpc_client *admin;
	uint8_t *mem;
	pid_t pid;
	struct mc_error err;
	struct mc_result res;
};

static int free_port(void)
{
	struct sockaddr_in sin = { .sin_family = AF_INET };
	socklen_t len = sizeof(sin);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	sin.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_equal(bind(fd, (struct sockaddr *)&sin, sizeof(sin)), 0);
	getsockname(fd, (struct sockaddr *)&sin, &len);
	close(fd);
	return ntohs(sin.sin_port);
}

static pid_t start_master(const char *addr, const char *lease_ms)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	/* It must not outlive a test that fails. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	execl(mcmasterd, "mcmasterd", "--listen", addr, "--lease-ttl-ms", lease_ms, "--client-ttl-ms", "3600000",
	      "--retry-bound-ms", "0", "--log-level", "error", (char *)NULL);
	perror(mcmasterd);
	_exit(127);
}

static void wait_ready(struct env *e)
{
	struct timespec t = { .tv_nsec = 20000000 };
	int i, rc = -1;

	for (i = 0; i < 500 && rc; i++) {
		rc = mc_store_ready(e->s, NULL, 0, NULL, &e->err);
		if (rc)
			nanosleep(&t, NULL);
	}
	if (rc)
		fail_msg("%s", e->err.text);
}

static void ask(struct env *e, const char *method, ProtobufCMessage *q, const ProtobufCMessageDescriptor *type)
{
	Mooncake__V1__StatusReply *r;

	if (mc_rpc_call(e->admin, method, q, type, (ProtobufCMessage **)&r, 10000, &e->err))
		fail_msg("%s", e->err.text);
	/* Every reply begins with a status. */
	if (!r->status || r->status->code)
		fail_msg("%s: %s", method, r->status ? r->status->message : "no status");
	protobuf_c_message_free_unpacked(&r->base, NULL);
}

static void mount(struct env *e, struct fk_seg *seg, const char *name)
{
	Mooncake__V1__PingRequest p = MOONCAKE__V1__PING_REQUEST__INIT;
	Mooncake__V1__Node node = MOONCAKE__V1__NODE__INIT;
	Mooncake__V1__MountSegmentRequest m = MOONCAKE__V1__MOUNT_SEGMENT_REQUEST__INIT;
	uint8_t client[16];

	memset(client, seg->uuid[0], sizeof(client));
	node.node_uuid = (ProtobufCBinaryData){ 16, seg->node_uuid };
	node.name = (char *)name;
	p.client_uuid = (ProtobufCBinaryData){ 16, client };
	p.node = &node;
	ask(e, "Ping", &p.base, &mooncake__v1__ping_reply__descriptor);
	m.client_uuid = (ProtobufCBinaryData){ 16, client };
	m.node_uuid = node.node_uuid;
	m.segment_uuid = (ProtobufCBinaryData){ 16, seg->uuid };
	m.name = (char *)name;
	m.size = seg->len;
	ask(e, "MountSegment", &m.base, &mooncake__v1__status_reply__descriptor);
}

static uint64_t used(struct env *e)
{
	Mooncake__V1__MasterStatusRequest q = MOONCAKE__V1__MASTER_STATUS_REQUEST__INIT;
	Mooncake__V1__MasterStatusReply *r;
	uint64_t v;

	if (mc_rpc_call(e->admin, "MasterStatus", &q.base, &mooncake__v1__master_status_reply__descriptor,
			(ProtobufCMessage **)&r, 10000, &e->err))
		fail_msg("%s", e->err.text);
	v = r->used;
	protobuf_c_message_free_unpacked(&r->base, NULL);
	return v;
}

static struct env *setup(const char *lease_ms)
{
	struct env *e = calloc(1, sizeof(*e));
	struct mc_store_config cfg;
	char addr[32];

	snprintf(addr, sizeof(addr), "127.0.0.1:%d", free_port());
	e->pid = start_master(addr, lease_ms);
	e->fk = fk_new(2, SEG);
	e->fk->need_grants = true;
	e->dev = fk_open(e->fk, 64);
	mc_store_config_init(&cfg);
	cfg.master = addr;
	cfg.timeout_ms = 20000;
	assert_int_equal(mc_store_open_dev(&cfg, e->dev, &e->s, &e->err), 0);
	assert_int_equal(mc_rpc_client_new(addr, "mooncake.v1.Master", 1, &e->admin, &e->err), 0);
	wait_ready(e);
	mount(e, &e->fk->segs[0], "one");
	mount(e, &e->fk->segs[1], "two");
	e->mem = calloc(1, MEM);
	assert_int_equal(mc_store_register(e->s, e->mem, MEM, &e->buf, &e->err), 0);
	return e;
}

static void teardown(struct env *e)
{
	int status = 0;

	mc_store_close(e->s);
	mc_rpc_client_free(e->admin);
	mc_dev_close(e->dev);
	fk_free(e->fk);
	if (e->pid) {
		kill(e->pid, SIGTERM);
		waitpid(e->pid, &status, 0);
		assert_int_equal(status, 0);
	}
	free(e->mem);
	free(e);
}

static int put(struct env *e, const char *key, uint64_t off, uint64_t len, const struct mc_opts *o)
{
	return mc_store_put(e->s, key, strlen(key), e->buf, off, len, o, &e->res, &e->err);
}

static int get(struct env *e, const char *key, uint64_t off, uint64_t len, const struct mc_opts *o)
{
	return mc_store_get(e->s, key, strlen(key), e->buf, off, len, o, &e->res, &e->err);
}

static void c3_put_get(void **state)
{
	struct env *e = setup("10000");
	struct mc_object_stat st;
	struct mc_opts two = { .replica_num = 2 };
	bool exists;

	(void)state;
	memset(e->mem, 'A', 5001);
	if (put(e, "k", 0, 5001, NULL))
		fail_msg("%s", e->err.text);
	assert_int_equal(put(e, "k", 0, 5001, NULL), -705);
	assert_int_equal(get(e, "k", 100000, 5001, NULL), 0);
	assert_int_equal(e->res.bytes, 5001);
	assert_memory_equal(e->mem, e->mem + 100000, 5001);
	assert_int_equal(e->mem[105001], 0);
	assert_int_equal(get(e, "nothing", 0, 10, NULL), -704);
	assert_non_null(strstr(e->err.text, "nothing"));
	assert_int_equal(put(e, "two", 0, 100, &two), 0);
	assert_int_equal(mc_store_stat(e->s, "two", 3, &st, NULL, &e->err), 0);
	assert_int_equal(st.n_replicas, 2);
	assert_int_not_equal(st.replicas[0].node_uuid[0], st.replicas[1].node_uuid[0]);
	assert_int_equal(mc_store_remove(e->s, "two", 3, false, NULL, &e->err), -706);
	assert_int_equal(mc_store_remove(e->s, "two", 3, true, NULL, &e->err), 0);
	assert_int_equal(mc_store_exist(e->s, "two", 3, &exists, NULL, &e->err), 0);
	assert_false(exists);
	/* Larger than any segment. */
	assert_int_equal(mc_store_put(e->s, "k2", 2, e->buf, 0, MEM + 1, NULL, NULL, &e->err), -600);
	teardown(e);
}

static void c7_failed_put_gives_its_space_back(void **state)
{
	struct env *e = setup("10000");
	struct mc_piece p[16];
	struct mc_item item = { .key = "k", .key_len = 1, .pieces = p, .n_pieces = 16 };
	unsigned int n;
	bool exists;

	(void)state;
	for (n = 0; n < 16; n++)
		p[n] = (struct mc_piece){ e->buf, n * 4096, 4096 };
	for (n = 1; n <= 16; n++) {
		fk_arm(e->fk);
		e->fk->fail_nth = n;
		assert_int_equal(mc_store_put_batch(e->s, &item, 1, NULL, &e->err), -800);
		assert_int_equal(mc_store_exist(e->s, "k", 1, &exists, NULL, &e->err), 0);
		assert_false(exists);
		assert_int_equal(used(e), 0);
	}
	/* Without quiesced the space waits, and the key is free all the same. */
	fk_arm(e->fk);
	e->fk->fail_nth = 3;
	e->fk->fail_flags = 0;
	assert_int_equal(mc_store_put_batch(e->s, &item, 1, NULL, &e->err), -800);
	assert_int_equal(used(e), 65536);
	fk_arm(e->fk);
	if (mc_store_put_batch(e->s, &item, 1, NULL, &e->err))
		fail_msg("%s", e->err.text);
	teardown(e);
}

/* Removes the object while its bytes are held, lets another take its place, then lets the transfer go. */
static void *replace(void *arg)
{
	struct env *e = arg;
	struct timespec t = { .tv_sec = 1, .tv_nsec = 500000000 };

	nanosleep(&t, NULL);
	if (mc_store_remove(e->s, "k", 1, true, NULL, NULL))
		return "remove failed";
	memset(e->fk->segs[0].data, 0x22, SEG);
	memset(e->fk->segs[1].data, 0x22, SEG);
	fk_release(e->fk);
	return NULL;
}

static void c4_object_replaced_in_transfer(void **state)
{
	struct env *e = setup("500");
	pthread_t t;
	void *why;

	(void)state;
	memset(e->mem, 0x11, 5000);
	assert_int_equal(put(e, "k", 0, 5000, NULL), 0);
	fk_arm(e->fk);
	e->fk->hold_nth = 1;
	pthread_create(&t, NULL, replace, e);
	assert_int_equal(get(e, "k", 0, 5000, NULL), -707);
	assert_int_equal(e->res.bytes, 0);
	pthread_join(t, &why);
	assert_null(why);
	teardown(e);
}

static bool in_time(uint64_t t0, double deadline)
{
	const char *scale = getenv("MC_TIME_SCALE");
	double s = (mc_now_ns() - t0) / 1e9;

	return s >= deadline * 0.95 && s < deadline + 0.5 * (scale ? atof(scale) : 1);
}

static void c59_master_stopped(void **state)
{
	static const unsigned int ms[] = { 200, 2000 };
	struct env *e = setup("10000");
	struct mc_opts o;
	unsigned int i;
	uint64_t t0;

	(void)state;
	assert_int_equal(put(e, "k", 0, 5000, NULL), 0);
	kill(e->pid, SIGSTOP);
	for (i = 0; i < 2; i++) {
		o = (struct mc_opts){ .timeout_ms = ms[i] };
		t0 = mc_now_ns();
		assert_int_equal(get(e, "k", 0, 5000, &o), -901);
		assert_true(in_time(t0, ms[i] / 1000.0));
		t0 = mc_now_ns();
		assert_int_equal(put(e, "k2", 0, 5000, &o), -901);
		assert_true(in_time(t0, ms[i] / 1000.0));
		assert_non_null(strstr(e->err.text, "127.0.0.1:"));
	}
	kill(e->pid, SIGCONT);
	if (get(e, "k", 0, 5000, NULL))
		fail_msg("%s", e->err.text);
	kill(e->pid, SIGKILL);
	waitpid(e->pid, NULL, 0);
	e->pid = 0;
	assert_int_equal(get(e, "k", 0, 5000, NULL), -900);
	teardown(e);
}

static void *many_puts(void *arg)
{
	struct env *e = arg;
	static atomic_uint next;
	unsigned int me = atomic_fetch_add(&next, 1), i, k;
	uint8_t mem[2000];
	struct mc_buf *buf;
	uintptr_t bad = 0;
	char key[32];

	if (mc_store_register(e->s, mem, sizeof(mem), &buf, NULL))
		return (void *)1;
	for (i = 0; i < 50; i++) {
		snprintf(key, sizeof(key), "t%u-%u", me, i);
		memset(mem, me * 50 + i, 1000);
		bad += mc_store_put(e->s, key, strlen(key), buf, 0, 1000, NULL, NULL, NULL) != 0;
		bad += mc_store_get(e->s, key, strlen(key), buf, 1000, 1000, NULL, NULL, NULL) != 0;
		for (k = 0; k < 2000; k++)
			bad += mem[k] != (uint8_t)(me * 50 + i);
	}
	bad += mc_store_unregister(e->s, buf, NULL) != 0;
	return (void *)bad;
}

static void threads_share_a_store(void **state)
{
	struct env *e = setup("10000");
	pthread_t t[6];
	void *bad;
	int i;

	(void)state;
	for (i = 0; i < 6; i++)
		pthread_create(&t[i], NULL, many_puts, e);
	for (i = 0; i < 6; i++) {
		pthread_join(t[i], &bad);
		assert_null(bad);
	}
	teardown(e);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		{ "C-3 put, put again, get, remove through mcmasterd", c3_put_get, NULL, NULL, NULL },
		{ "C-7 a failed put gives its space back", c7_failed_put_gives_its_space_back, NULL, NULL, NULL },
		{ "C-4 an object replaced while it is read", c4_object_replaced_in_transfer, NULL, NULL, NULL },
		{ "C-59 the master is stopped, then killed", c59_master_stopped, NULL, NULL, NULL },
		cmocka_unit_test(threads_share_a_store),
	};
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	(void)argc;
	(void)argv;
	/* .../test/libmooncake-master stands beside .../bin/mcmasterd. */
	self[n > 0 ? n : 0] = 0;
	*strrchr(self, '/') = 0;
	snprintf(mcmasterd, sizeof(mcmasterd), "%.4000s/../bin/mcmasterd", self);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
