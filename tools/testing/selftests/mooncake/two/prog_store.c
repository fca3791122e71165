// SPDX-License-Identifier: MIT
/*
 * Writers on one node, a reader on another, through libmooncake: what PutEnd has acknowledged is there for everybody.
 * The writer tells the reader of each object over a socket of its own the moment its put has returned.
 *
 *	prog_store read ADDR PORT MASTER                       serves until it is killed
 *	prog_store write ADDR PORT MASTER SEGMENT WRITERS ROUNDS SEED
 *	prog_store kill MASTER READERS SEED
 *
 * write: prints "rounds=N bad=N"; exit status 0 when every object was read whole the first time.
 * kill: processes read an object and are killed; prints "got=N removed_ms=N", how often it was read and how long after
 * the last kill it could be removed.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "userspace/libmooncake/include/mooncake/store.h"

#define BIG		(1u << 20)
#define SMALL		4096u
#define BIG_EVERY	32	/* rounds of which one puts a big object */
#define KEPT		4096	/* keys of a writer that may still be leased */

/* What the writer tells the reader, and the reader's answer: 0 or a line for people. */
struct note {
	char key[40];
	uint64_t seed;
	uint32_t len;
};

struct writer {
	pthread_t thread;
	unsigned int number;
};

static const char *master, *segment, *addr;
static int port;
static unsigned int rounds;
static uint64_t first_seed;
static atomic_uint done, bad;

static void die(const char *what, const struct mc_error *err)
{
	fprintf(stderr, "prog_store: %s: %s\n", what, err ? err->text : strerror(errno));
	exit(1);
}

/* xorshift64*: each object has bytes of its own. */
static void fill(uint8_t *mem, uint32_t len, uint64_t seed)
{
	uint64_t x = seed * 0x9e3779b97f4a7c15ull + 1, v;
	uint32_t i;

	for (i = 0; i < len; i += 8) {
		x ^= x >> 12;
		x ^= x << 25;
		x ^= x >> 27;
		v = x * 0x2545f4914f6cdd1dull;
		memcpy(mem + i, &v, 8);
	}
}

static struct mc_store *open_store(uint8_t **mem, struct mc_buf **buf)
{
	struct mc_store_config cfg;
	struct mc_store *store;
	struct mc_error err;

	mc_store_config_init(&cfg);
	cfg.master = master;
	cfg.preferred_segments = &segment;
	cfg.preferred_count = segment ? 1 : 0;
	if (mc_store_open(&cfg, &store, &err))
		die("opening the store", &err);
	*mem = mmap(NULL, BIG, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (*mem == MAP_FAILED || mc_store_register(store, *mem, BIG, buf, &err))
		die("registering memory", *mem == MAP_FAILED ? NULL : &err);
	return store;
}

static int full_read(int fd, void *p, size_t len)
{
	return recv(fd, p, len, MSG_WAITALL) == (ssize_t)len ? 0 : -1;
}

/* ---- reader ---- */

static void look(struct mc_store *store, uint8_t *mem, struct mc_buf *buf, const struct note *n, char answer[128])
{
	uint8_t *want = malloc(n->len);
	struct mc_result res;
	struct mc_error err;
	uint32_t i;

	memset(answer, 0, 128);
	memset(mem, 0xee, n->len);
	fill(want, n->len, n->seed);
	if (mc_store_get(store, n->key, strlen(n->key), buf, 0, BIG, NULL, &res, &err)) {
		snprintf(answer, 128, "get: %.100s", err.text);
	} else if (res.bytes != n->len) {
		snprintf(answer, 128, "%" PRIu64 " bytes of %u", res.bytes, n->len);
	} else if (memcmp(mem, want, n->len)) {
		for (i = 0; mem[i] == want[i]; i++)
			;
		snprintf(answer, 128, "byte %u is %02x, not %02x", i, mem[i], want[i]);
	}
	free(want);
}

static void *serve(void *arg)
{
	int fd = (int)(intptr_t)arg;
	struct mc_store *store;
	struct mc_buf *buf;
	char answer[128];
	struct note n;
	uint8_t *mem;

	store = open_store(&mem, &buf);
	while (!full_read(fd, &n, sizeof(n)) && n.len && n.len <= BIG && !n.key[sizeof(n.key) - 1]) {
		look(store, mem, buf, &n, answer);
		if (send(fd, answer, sizeof(answer), MSG_NOSIGNAL) != sizeof(answer))
			break;
	}
	mc_store_close(store);
	munmap(mem, BIG);
	close(fd);
	return NULL;
}

static int reader(void)
{
	struct sockaddr_in sin = { .sin_family = AF_INET, .sin_port = htons(port) };
	int one = 1, fd = socket(AF_INET, SOCK_STREAM, 0), conn;
	pthread_t thread;

	inet_pton(AF_INET, addr, &sin.sin_addr);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, (struct sockaddr *)&sin, sizeof(sin)) || listen(fd, 64))
		die("listening", NULL);
	while ((conn = accept(fd, NULL, NULL)) >= 0) {
		setsockopt(conn, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
		if (!pthread_create(&thread, NULL, serve, (void *)(intptr_t)conn))
			pthread_detach(thread);
	}
	return 1;
}

/* ---- writers ---- */

/* Keys that were read are leased for a while; the oldest go when they can. */
struct backlog {
	char key[KEPT][40];
	unsigned int head, tail;
};

static void make_room(struct mc_store *store, struct backlog *b, bool must)
{
	struct mc_error err;
	int tries = 0, rc;

	while (b->head != b->tail) {
		const char *key = b->key[b->head % KEPT];

		rc = mc_store_remove(store, key, strlen(key), false, NULL, &err);
		if (!rc)
			b->head++;
		if (!rc && !must)
			continue;
		if (!rc || !must || ++tries > 300)
			return;
		usleep(100000);
	}
}

static int connect_reader(void)
{
	struct sockaddr_in sin = { .sin_family = AF_INET, .sin_port = htons(port) };
	int one = 1, fd = socket(AF_INET, SOCK_STREAM, 0);

	inet_pton(AF_INET, addr, &sin.sin_addr);
	if (connect(fd, (struct sockaddr *)&sin, sizeof(sin)))
		die("connecting to the reader", NULL);
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	return fd;
}

static void one_round(struct mc_store *store, uint8_t *mem, struct mc_buf *buf, struct backlog *b, int fd,
		      const struct note *n)
{
	struct mc_error err;
	char answer[128];
	int rc;

	fill(mem, n->len, n->seed);
	rc = mc_store_put(store, n->key, strlen(n->key), buf, 0, n->len, NULL, NULL, &err);
	if (rc == MC_ENO_AVAILABLE_HANDLE) {
		make_room(store, b, true);
		rc = mc_store_put(store, n->key, strlen(n->key), buf, 0, n->len, NULL, NULL, &err);
	}
	if (rc)
		die("put", &err);
	if (send(fd, n, sizeof(*n), MSG_NOSIGNAL) != sizeof(*n) || full_read(fd, answer, sizeof(answer)))
		die("asking the reader", NULL);
	atomic_fetch_add(&done, 1);
	if (answer[0]) {
		fprintf(stderr, "prog_store: %s: %.127s\n", n->key, answer);
		atomic_fetch_add(&bad, 1);
	}
	if (b->tail - b->head == KEPT)
		make_room(store, b, true);
	memcpy(b->key[b->tail++ % KEPT], n->key, sizeof(n->key));
}

static void *write_all(void *arg)
{
	struct writer *w = arg;
	struct backlog *b = calloc(1, sizeof(*b));
	struct note n = { .len = 0 };
	struct mc_store *store;
	struct mc_buf *buf;
	int fd = connect_reader();
	unsigned int i;
	uint8_t *mem;

	store = open_store(&mem, &buf);
	for (i = 0; i < rounds; i++) {
		n.seed = first_seed + ((uint64_t)w->number << 32) + i;
		n.len = (i + w->number) % BIG_EVERY ? SMALL : BIG;
		snprintf(n.key, sizeof(n.key), "v%" PRIu64 "-%u-%u", first_seed, w->number, i);
		one_round(store, mem, buf, b, fd, &n);
		if (i % 64 == 63)
			make_room(store, b, false);
	}
	mc_store_close(store);
	munmap(mem, BIG);
	close(fd);
	free(b);
	return NULL;
}

static int writers(unsigned int n)
{
	struct writer *w = calloc(n, sizeof(*w));
	unsigned int i;

	for (i = 0; i < n; i++) {
		w[i].number = i;
		if (pthread_create(&w[i].thread, NULL, write_all, &w[i]))
			die("starting a writer", NULL);
	}
	for (i = 0; i < n; i++)
		pthread_join(w[i].thread, NULL);
	free(w);
	printf("rounds=%u bad=%u\n", done, bad);
	return done != n * rounds || bad;
}

/* ---- readers that are killed ---- */

#define KILL_KEY	"killed-readers"

static void read_until_killed(atomic_uint *got)
{
	struct mc_store *store;
	struct mc_buf *buf;
	uint8_t *mem;

	store = open_store(&mem, &buf);
	for (;;)
		if (!mc_store_get(store, KILL_KEY, strlen(KILL_KEY), buf, 0, BIG, NULL, NULL, NULL))
			atomic_fetch_add(got, 1);
}

/* Each at a moment of its own, from before it has opened the device to long after its first read. */
static void kill_readers(unsigned int n, atomic_uint *got)
{
	pid_t *pids = calloc(n, sizeof(*pids));
	unsigned int i;

	for (i = 0; i < n; i++) {
		pids[i] = fork();
		if (!pids[i])
			read_until_killed(got);
	}
	for (i = 0; i < n; i++) {
		if (pids[i] < 0)
			die("starting a reader", NULL);
		usleep(random() % 200000);
		if (i == n / 2)
			while (!atomic_load(got))
				usleep(10000);
		kill(pids[i], SIGKILL);
	}
	for (i = 0; i < n; i++)
		waitpid(pids[i], NULL, 0);
	free(pids);
}

static int killer(unsigned int n)
{
	atomic_uint *got = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct mc_store *store;
	struct mc_error err;
	struct mc_buf *buf;
	uint8_t *mem;
	uint64_t t0;
	int rc;

	store = open_store(&mem, &buf);
	fill(mem, BIG, first_seed);
	if (mc_store_put(store, KILL_KEY, strlen(KILL_KEY), buf, 0, BIG, NULL, NULL, &err))
		die("put", &err);
	kill_readers(n, got);
	t0 = mc_now_ns();
	do {
		rc = mc_store_remove(store, KILL_KEY, strlen(KILL_KEY), false, NULL, &err);
		if (rc == MC_EOBJECT_HAS_LEASE)
			usleep(5000);
	} while (rc == MC_EOBJECT_HAS_LEASE);
	if (rc)
		die("remove", &err);
	printf("got=%u removed_ms=%" PRIu64 "\n", atomic_load(got), (mc_now_ns() - t0) / 1000000);
	mc_store_close(store);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 5 && !strcmp(argv[1], "kill")) {
		master = argv[2];
		first_seed = strtoull(argv[4], NULL, 10);
		srandom(first_seed);
		return killer(atoi(argv[3]));
	}
	if (argc < 5 || (strcmp(argv[1], "read") && argc != 9)) {
		fprintf(stderr, "prog_store read ADDR PORT MASTER\n"
				"prog_store write ADDR PORT MASTER SEGMENT WRITERS ROUNDS SEED\n"
				"prog_store kill MASTER READERS SEED\n");
		return 2;
	}
	addr = argv[2];
	port = atoi(argv[3]);
	master = argv[4];
	if (!strcmp(argv[1], "read"))
		return reader();
	segment = argv[5];
	rounds = atoi(argv[7]);
	first_seed = strtoull(argv[8], NULL, 10);
	return writers(atoi(argv[6]));
}
