// SPDX-License-Identifier: MIT
/*
 * C-22: objects with two copies, of which the first falls silent.
 *
 *	prog_second MASTER FIRST SECOND COUNT TIMEOUT_MS COMMAND
 *
 * Puts COUNT objects into the segments FIRST and SECOND, runs COMMAND (which silences the node of FIRST), gets them
 * all, then puts COUNT others. Prints how long it took; exit status 0 when each get brought its object and each put
 * either left a whole object behind or none. How long a get may take is for the caller to judge.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "userspace/libmooncake/include/mooncake/store.h"

#define LEN	(256u << 10)

/**
 * struct job - the program's things
 * @store: handle
 * @mem: LEN bytes
 * @want: what they should be
 * @buf: handle of @mem
 * @timeout_ms: of a put
 * @bad: objects that were not as they should be
 */
struct job {
	struct mc_store *store;
	uint8_t *mem;
	uint8_t want[LEN];
	struct mc_buf *buf;
	uint32_t timeout_ms;
	unsigned int bad;
};

static void die(const char *what, const struct mc_error *err)
{
	fprintf(stderr, "prog_second: %s: %s\n", what, err ? err->text : strerror(errno));
	exit(1);
}

static uint64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static void fill(uint8_t *p, unsigned int seed)
{
	uint64_t x = seed * 0x9e3779b97f4a7c15ull + 1;
	unsigned int i;

	for (i = 0; i < LEN; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		p[i] = (uint8_t)x;
	}
}

static int put(struct job *j, const char *key, unsigned int seed, struct mc_error *err)
{
	struct mc_opts opts = { .timeout_ms = j->timeout_ms, .replica_num = 2 };

	fill(j->mem, seed);
	return mc_store_put(j->store, key, strlen(key), j->buf, 0, LEN, &opts, NULL, err);
}

/* Returns 0 when the object is there, whole. */
static int get(struct job *j, const char *key, unsigned int seed, struct mc_result *res, struct mc_error *err)
{
	int rc;

	fill(j->want, seed);
	memset(j->mem, 0xee, LEN);
	rc = mc_store_get(j->store, key, strlen(key), j->buf, 0, LEN, NULL, res, err);
	if (rc)
		return rc;
	if (res->bytes != LEN || memcmp(j->mem, j->want, LEN)) {
		printf("%s: wrong bytes\n", key);
		j->bad++;
	}
	return 0;
}

static void get_all(struct job *j, unsigned int count)
{
	uint64_t t0, first = 0, slowest = 0, ms;
	unsigned int i, failed = 0, again = 0;
	struct mc_result res;
	struct mc_error err;
	char key[32];

	for (i = 0; i < count; i++) {
		snprintf(key, sizeof(key), "second-%u", i);
		t0 = now_ms();
		if (get(j, key, i, &res, &err)) {
			printf("%s: %s\n", key, err.text);
			failed++;
		}
		ms = now_ms() - t0;
		again += res.retries != 0;
		if (!i)
			first = ms;
		else if (ms > slowest)
			slowest = ms;
	}
	j->bad += failed;
	printf("gets=%u failed=%u retried=%u first=%llu slowest=%llu\n", count, failed, again,
	       (unsigned long long)first, (unsigned long long)slowest);
}

/* A put that says yes left a whole object; one that says no left none. */
static void put_more(struct job *j, unsigned int count)
{
	unsigned int i, good = 0;
	struct mc_result res;
	struct mc_error err;
	bool exists;
	char key[32];

	for (i = 0; i < count; i++) {
		snprintf(key, sizeof(key), "more-%u", i);
		if (!put(j, key, 1000 + i, &err)) {
			good++;
			if (get(j, key, 1000 + i, &res, &err))
				j->bad++;
			continue;
		}
		if (mc_store_exist(j->store, key, strlen(key), &exists, NULL, &err))
			die("exist", &err);
		if (exists) {
			printf("%s: the put failed, the key is there\n", key);
			j->bad++;
		}
	}
	printf("puts=%u good=%u bad=%u\n", count, good, j->bad);
}

int main(int argc, char **argv)
{
	static struct job j;
	struct mc_store_config cfg;
	unsigned int count, i;
	struct mc_error err;
	char key[32];

	if (argc != 7)
		return 2;
	mc_store_config_init(&cfg);
	cfg.master = argv[1];
	cfg.preferred_segments = (const char *const *)argv + 2;
	cfg.preferred_count = 2;
	count = (unsigned int)atoi(argv[4]);
	j.timeout_ms = 30000;
	if (mc_store_open(&cfg, &j.store, &err))
		die("opening the store", &err);
	j.mem = mmap(NULL, LEN, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (j.mem == MAP_FAILED || mc_store_register(j.store, j.mem, LEN, &j.buf, &err))
		die("registering memory", j.mem == MAP_FAILED ? NULL : &err);
	for (i = 0; i < count; i++) {
		snprintf(key, sizeof(key), "second-%u", i);
		if (put(&j, key, i, &err))
			die("put", &err);
	}
	if (system(argv[6]))
		die(argv[6], NULL);
	get_all(&j, count);
	j.timeout_ms = (uint32_t)atoi(argv[5]);
	put_more(&j, count);
	mc_store_close(j.store);
	return j.bad != 0;
}
