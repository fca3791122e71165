// SPDX-License-Identifier: MIT
/*
 * Conductor and replaying nodes, each a process, over real sockets; store and module are a table in shared memory. What
 * is defined here takes the place of libmooncake's and the netlink client's functions of the same name.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "trace_replay.h"

#define MAX_OBJECTS	2048
#define BLOCK		520	/* not a multiple of 8 * 8, to be unkind */

/* What goes wrong, and where. */
enum fault { F_NONE, F_FLIP, F_SWAP, F_SHORT, F_LAZY, F_GET_FAILS, F_PUT_FAILS, F_DIES, F_HANGS, F_UNCOUNTED };

struct object {
	char key[32];
	int node;
	uint8_t data[BLOCK];
};

struct shared {
	pthread_mutex_t lock;
	enum fault fault;
	int after;		/* the fault comes with this get or put */
	int ops;
	int busy, most_busy;	/* requests under way at a time */
	int n;
	struct object o[MAX_OBJECTS];
};

struct mc_store { int node; };
struct mc_buf { uint8_t *mem; };
struct mcnl { int unused; };

static struct shared *sh;
static int my_node;
static struct mcnl_counters my_rdma;
static uint64_t my_local;

static int random_node(const char *key)
{
	unsigned int h = 0;

	while (*key)
		h = h * 31 + (unsigned char)*key++;
	return (h >> 2) % 2;
}

static struct object *find(const void *key, size_t len)
{
	for (int i = 0; i < sh->n; i++)
		if (strlen(sh->o[i].key) == len && !memcmp(sh->o[i].key, key, len))
			return &sh->o[i];
	return NULL;
}

/* ---- libmooncake ---- */

void mc_store_config_init(struct mc_store_config *cfg)
{
	memset(cfg, 0, sizeof(*cfg));
}

int mc_store_open(const struct mc_store_config *cfg, struct mc_store **out, struct mc_error *err)
{
	(void)cfg;
	(void)err;
	*out = calloc(1, sizeof(**out));
	(*out)->node = my_node;
	return 0;
}

void mc_store_close(struct mc_store *store)
{
	free(store);
}

int mc_store_register(struct mc_store *store, void *addr, uint64_t len, struct mc_buf **out, struct mc_error *err)
{
	static struct mc_buf bufs[64];
	static int used;

	(void)store;
	(void)len;
	(void)err;
	*out = &bufs[__atomic_fetch_add(&used, 1, __ATOMIC_RELAXED)];
	(*out)->mem = addr;
	return 0;
}

int mc_store_exist_batch(struct mc_store *store, struct mc_key_item *items, size_t n, const struct mc_opts *opts,
			 struct mc_error *err)
{
	(void)store;
	(void)opts;
	(void)err;
	pthread_mutex_lock(&sh->lock);
	sh->busy++;
	if (sh->busy > sh->most_busy)
		sh->most_busy = sh->busy;
	for (size_t i = 0; i < n; i++)
		items[i].exists = find(items[i].key, items[i].key_len);
	pthread_mutex_unlock(&sh->lock);
	usleep(500);
	__atomic_fetch_sub(&sh->busy, 1, __ATOMIC_RELAXED);
	return 0;
}

static bool strikes(enum fault f)
{
	return sh->fault == f && sh->ops >= sh->after;
}

static void count(struct mc_store *store, const struct object *o, bool write, struct mc_result *res)
{
	res->local = o->node == store->node;
	res->bytes = BLOCK;
	memset(res->node_uuid, 0xA0 + o->node, 16);
	if (strikes(F_UNCOUNTED))
		return;
	if (res->local)
		my_local += BLOCK;
	else if (write)
		my_rdma.write_bytes += BLOCK;
	else
		my_rdma.read_bytes += BLOCK;
	my_rdma.read_ops++;
}

static void get_one(struct mc_store *store, struct mc_item *it)
{
	struct object *o = find(it->key, it->key_len);
	uint8_t *to = it->pieces->buf->mem + it->pieces->off;

	sh->ops++;
	if (!o || strikes(F_GET_FAILS)) {
		it->res.code = o ? MC_ETRANSFER_FAIL : MC_EOBJECT_NOT_FOUND;
		snprintf(it->res.why, sizeof(it->res.why), "the path is gone");
		return;
	}
	assert_int_equal(it->pieces->len, BLOCK);
	if (!strikes(F_LAZY))
		memcpy(to, o->data, BLOCK);
	if (strikes(F_FLIP))
		to[77] ^= 0x10;
	if (strikes(F_SWAP)) {
		memcpy(to, o->data + 256, 256);
		memcpy(to + 256, o->data, 256);
	}
	count(store, o, false, &it->res);
	if (strikes(F_SHORT))
		it->res.bytes--;
}

static void put_one(struct mc_store *store, struct mc_item *it)
{
	struct object *o;

	sh->ops++;
	if (find(it->key, it->key_len)) {
		it->res.code = MC_EOBJECT_ALREADY_EXISTS;
		return;
	}
	if (strikes(F_PUT_FAILS)) {
		it->res.code = MC_ENO_AVAILABLE_HANDLE;
		snprintf(it->res.why, sizeof(it->res.why), "no room");
		return;
	}
	if (strikes(F_DIES))
		_exit(42);
	assert_true(sh->n < MAX_OBJECTS);
	o = &sh->o[sh->n++];
	snprintf(o->key, sizeof(o->key), "%.*s", (int)it->key_len, (const char *)it->key);
	memcpy(o->data, it->pieces->buf->mem + it->pieces->off, BLOCK);
	o->node = random_node(o->key);
	count(store, o, true, &it->res);
}

static int batch(struct mc_store *store, struct mc_item *items, size_t n,
		 void (*one)(struct mc_store *store, struct mc_item *it))
{
	int rc = 0;

	pthread_mutex_lock(&sh->lock);
	for (size_t i = 0; i < n; i++) {
		one(store, &items[i]);
		rc = rc ? rc : items[i].res.code;
	}
	pthread_mutex_unlock(&sh->lock);
	if (strikes(F_HANGS))
		sleep(30);
	return rc;
}

int mc_store_get_batch(struct mc_store *store, struct mc_item *items, size_t n, const struct mc_opts *opts,
		       struct mc_error *err)
{
	(void)opts;
	(void)err;
	return batch(store, items, n, get_one);
}

int mc_store_put_batch(struct mc_store *store, struct mc_item *items, size_t n, const struct mc_opts *opts,
		       struct mc_error *err)
{
	(void)opts;
	(void)err;
	return batch(store, items, n, put_one);
}

/* ---- the netlink client ---- */

int mcnl_open(struct mcnl **out)
{
	static struct mcnl one;

	*out = &one;
	return 0;
}

void mcnl_close(struct mcnl *nl)
{
	(void)nl;
}

const char *mcnl_errmsg(const struct mcnl *nl)
{
	(void)nl;
	return "";
}

int mcnl_info(struct mcnl *nl, struct mcnl_info *info)
{
	(void)nl;
	memset(info, 0, sizeof(*info));
	info->local_bytes = 1000 + my_local;
	return 0;
}

int mcnl_rails(struct mcnl *nl, struct mcnl_rail **out, size_t *n)
{
	(void)nl;
	*out = calloc(1, sizeof(**out));
	strcpy((*out)->dev, "no-such-device");
	(*out)->c = my_rdma;
	*n = 1;
	return 0;
}

/* ---- running ---- */

static char dir[32], trace[64], port[24], table[64];
static uint32_t n_requests;

static int start(int node, int (*fn)(struct ctl *c), const char *const *val, size_t n_val, bool json)
{
	struct ctl c = { .json = json, .master = "m", .timeout_ms = 1000 };
	char path[64];
	int pid;

	fflush(NULL);
	pid = fork();
	if (pid)
		return pid;
	alarm(60);
	snprintf(path, sizeof(path), "%s/err%d", dir, node);
	if (!freopen(node < 0 ? table : "/dev/null", "w", stdout) || !freopen(path, "w", stderr))
		_exit(99);
	my_node = node;
	for (size_t i = 0; i < n_val; i++)
		c.val[i] = val[i];
	n_val = (size_t)fn(&c);
	fflush(NULL);
	_exit((int)n_val);
}

static int status_of(int pid)
{
	int st;

	assert_int_equal(waitpid(pid, &st, 0), pid);
	return WIFEXITED(st) ? WEXITSTATUS(st) : 1000 + WTERMSIG(st);
}

/* The whole job; -> exit status of the conductor, of node 0 and of node 1. */
static void job(const char *parallel, const char *lanes, const char *limit, int status[3])
{
	const char *conduct[] = { trace, NULL, "520", "2", parallel, port, "20s", limit, NULL };
	const char *node0[] = { trace, NULL, "520", "0", "2", port, lanes, "20s", "20s", "1" };
	const char *node1[] = { trace, NULL, "520", "1", "2", port, lanes, "20s", "20s", "2" };
	int a = start(0, tr_replay, node0, 10, false), b = start(1, tr_replay, node1, 10, false);

	status[0] = status_of(start(-1, tr_conduct, conduct, 9, true));
	status[1] = status_of(a);
	status[2] = status_of(b);
}

static json_t *answer(void)
{
	json_t *o = json_load_file(table, 0, NULL);

	assert_non_null(o);
	return o;
}

static long long number(const json_t *o, const char *name)
{
	assert_true(json_is_integer(json_object_get(o, name)));
	return json_integer_value(json_object_get(o, name));
}

static bool said(int node, const char *words)
{
	static char text[8192];
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "%s/err%d", dir, node);
	f = fopen(path, "r");
	assert_non_null(f);
	text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
	fclose(f);
	if (!strstr(text, words))
		print_error("err%d lacks '%s':\n%s", node, words, text);
	return strstr(text, words);
}

static int setup(void **state)
{
	pthread_mutexattr_t a;
	struct tr_trace t;
	char err[256];
	FILE *f;

	(void)state;
	strcpy(dir, "/tmp/mcreplay.XXXXXX");
	assert_non_null(mkdtemp(dir));
	snprintf(trace, sizeof(trace), "%s/t", dir);
	snprintf(table, sizeof(table), "%s/table", dir);
	snprintf(port, sizeof(port), "127.0.0.1:%d", 20000 + getpid() % 20000);
	f = fopen(trace, "w");
	for (int i = 0; i < 60; i++)
		fprintf(f, "{\"timestamp\": 0, \"input_length\": 1, \"output_length\": 1, "
			"\"hash_ids\": [%d, %d, %d, %d, %d]}\n", i % 2, 10 + i % 7, 100 + i % 14, 1000 + i, 2000 + i);
	fprintf(f, "{\"timestamp\": 0, \"input_length\": 1, \"output_length\": 1, \"hash_ids\": []}\n");
	fclose(f);
	assert_true(tr_load(trace, 0, &t, err, sizeof(err)));
	n_requests = (uint32_t)t.n;
	tr_free(&t);
	sh = mmap(NULL, sizeof(*sh), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_true(sh != MAP_FAILED);
	pthread_mutexattr_init(&a);
	pthread_mutexattr_setpshared(&a, PTHREAD_PROCESS_SHARED);
	pthread_mutex_init(&sh->lock, &a);
	return 0;
}

static int teardown(void **state)
{
	char cmd[64];

	(void)state;
	munmap(sh, sizeof(*sh));
	snprintf(cmd, sizeof(cmd), "rm -rf %s", dir);
	return system(cmd);
}

/* ---- tests ---- */

static void test_exact(void **state)
{
	struct tr_count want;
	struct tr_trace t;
	int status[3];
	char err[256];
	json_t *o;

	(void)state;
	assert_true(tr_load(trace, 0, &t, err, sizeof(err)));
	assert_true(tr_count(&t, &want));
	job("1", "1", "20s", status);
	assert_int_equal(status[0], 0);
	assert_int_equal(status[1], 0);
	assert_int_equal(status[2], 0);
	o = answer();
	assert_int_equal(number(o, "requests"), 61);
	assert_int_equal(number(o, "blocks"), want.blocks);
	assert_int_equal(number(o, "hits"), want.hits);
	assert_int_equal(number(o, "misses"), want.misses);
	assert_int_equal(number(o, "verify_errors"), 0);
	assert_int_equal(number(o, "existed"), 0);
	assert_int_equal(number(o, "other_bytes"), 0);
	assert_true(number(o, "hits_local") > 0 && number(o, "hits_rdma") > 0);
	assert_int_equal(sh->n, want.unique);
	assert_int_equal(sh->most_busy, 1);	/* one request at a time, on all nodes together */
	json_decref(o);
	tr_free(&t);
}

static void test_parallel(void **state)
{
	int status[3];
	json_t *o;

	(void)state;
	job("6", "3", "20s", status);
	assert_int_equal(status[0], 0);
	o = answer();
	assert_int_equal(number(o, "requests"), 61);
	assert_int_equal(number(o, "blocks"), number(o, "hits") + number(o, "misses"));
	assert_int_equal(number(o, "verify_errors"), 0);
	assert_in_range(sh->most_busy, 2, 6);
	json_decref(o);
}

static void wrong_bytes(enum fault f, const char *words)
{
	int status[3];
	json_t *o;

	sh->fault = f;
	sh->after = 60;
	job("1", "1", "20s", status);
	assert_int_equal(status[0], MCT_EXIT_CORRUPT);
	assert_true(status[1] == MCT_EXIT_CORRUPT || status[2] == MCT_EXIT_CORRUPT);
	assert_true(said(-1, "wrong byte: key kv-"));
	assert_true(said(-1, words));
	assert_true(said(-1, ", node "));
	o = answer();
	assert_true(number(o, "verify_errors") > 0);
	assert_true(number(o, "requests") < n_requests);
	json_decref(o);
}

static void test_flipped_byte(void **state)
{
	(void)state;
	wrong_bytes(F_FLIP, "offset 77: ");
}

static void test_swapped_pages(void **state)
{
	(void)state;
	wrong_bytes(F_SWAP, "offset 0: ");
}

static void test_untouched_buffer(void **state)
{
	(void)state;
	wrong_bytes(F_LAZY, "offset 0: ");
}

static void fails(enum fault f, const char *limit, int want, const char *words)
{
	int status[3];

	sh->fault = f;
	sh->after = 60;
	job("1", "1", limit, status);
	assert_int_equal(status[0], want);
	assert_true(said(-1, words));
}

static void test_failed_get(void **state)
{
	(void)state;
	fails(F_GET_FAILS, "20s", MCT_EXIT_FAILED, "TRANSFER_FAIL (-800): the path is gone");
}

static void test_failed_put(void **state)
{
	(void)state;
	fails(F_PUT_FAILS, "20s", MCT_EXIT_FAILED, "NO_AVAILABLE_HANDLE (-200): no room");
}

static void test_short_get(void **state)
{
	(void)state;
	fails(F_SHORT, "20s", MCT_EXIT_FAILED, "519 bytes came, a block has 520");
}

static void test_node_dies(void **state)
{
	(void)state;
	fails(F_DIES, "20s", MCT_EXIT_FAILED, "it closed the connection");
}

static void test_node_hangs(void **state)
{
	time_t began = time(NULL);
	const char *conduct[] = { trace, NULL, "520", "2", "1", port, "20s", "1s", NULL };
	const char *node0[] = { trace, NULL, "520", "0", "2", port, "1", "20s", "20s", "1" };
	const char *node1[] = { trace, NULL, "520", "1", "2", port, "1", "20s", "20s", "2" };
	int a, b;

	(void)state;
	sh->fault = F_HANGS;
	sh->after = 60;
	a = start(0, tr_replay, node0, 10, false);
	b = start(1, tr_replay, node1, 10, false);
	assert_int_equal(status_of(start(-1, tr_conduct, conduct, 9, true)), MCT_EXIT_UNREACHABLE);
	assert_true(time(NULL) - began < 20);
	assert_true(said(-1, "has not ended after 1000 ms"));
	kill(a, SIGKILL);
	kill(b, SIGKILL);
	status_of(a);
	status_of(b);
}

static void test_uncounted_bytes(void **state)
{
	(void)state;
	fails(F_UNCOUNTED, "20s", MCT_EXIT_FAILED, "client and module disagree about");
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_exact), T(test_parallel), T(test_flipped_byte), T(test_swapped_pages), T(test_untouched_buffer),
		T(test_failed_get), T(test_failed_put), T(test_short_get), T(test_node_dies), T(test_node_hangs),
		T(test_uncounted_bytes),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("mcctl replay", tests, NULL, NULL);
}
