// SPDX-License-Identifier: MIT
/*
 * One batch of equal objects through libmooncake, all of it in one call.
 *
 *	prog_batch put MASTER SEGMENT COUNT LEN SEED
 *	prog_batch get MASTER COUNT LEN SEED
 *
 * Prints "items=N good=N wrong=N expired=N other=N ms=N", wrong being objects whose bytes are others than those of put;
 * the first error goes to stderr. Exit status 0 when every item is good.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "userspace/libmooncake/include/mooncake/store.h"

#define TIMEOUT_MS	600000

struct job {
	struct mc_store *store;
	struct mc_buf *buf;
	uint8_t *mem;
	struct mc_item *items;
	struct mc_piece *pieces;
	char (*keys)[40];
	uint32_t count;
	uint32_t len;
	uint64_t seed;
};

static void die(const char *what, const struct mc_error *err)
{
	fprintf(stderr, "prog_batch: %s: %s\n", what, err ? err->text : strerror(errno));
	exit(1);
}

/* Each eight bytes tell the object and where in it they are. */
static uint64_t word(const struct job *j, uint32_t item, uint32_t at)
{
	return (j->seed << 48 | (uint64_t)item << 24 | at) * 0x9e3779b97f4a7c15ull;
}

static void fill(struct job *j)
{
	uint64_t *p = (uint64_t *)j->mem;
	uint32_t i, at;

	for (i = 0; i < j->count; i++)
		for (at = 0; at < j->len / 8; at++)
			*p++ = word(j, i, at);
}

static uint32_t first_wrong(const struct job *j, uint32_t item)
{
	const uint64_t *p = (const uint64_t *)(j->mem + (uint64_t)item * j->len);
	uint32_t at;

	for (at = 0; at < j->len / 8 && p[at] == word(j, item, at); at++)
		;
	return at * 8;
}

static void open_job(struct job *j, const char *master, const char *segment)
{
	uint64_t size = (uint64_t)j->count * j->len;
	struct mc_store_config cfg;
	struct mc_error err;
	uint32_t i;

	mc_store_config_init(&cfg);
	cfg.master = master;
	cfg.preferred_segments = &segment;
	cfg.preferred_count = segment ? 1 : 0;
	if (mc_store_open(&cfg, &j->store, &err))
		die("opening the store", &err);
	j->mem = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	j->items = calloc(j->count, sizeof(*j->items));
	j->pieces = calloc(j->count, sizeof(*j->pieces));
	j->keys = calloc(j->count, sizeof(*j->keys));
	if (j->mem == MAP_FAILED || !j->items || !j->pieces || !j->keys)
		die("memory", NULL);
	if (mc_store_register(j->store, j->mem, size, &j->buf, &err))
		die("registering memory", &err);
	for (i = 0; i < j->count; i++) {
		snprintf(j->keys[i], sizeof(j->keys[i]), "batch-%" PRIu64 "-%u", j->seed, i);
		j->pieces[i] = (struct mc_piece){ .buf = j->buf, .off = (uint64_t)i * j->len, .len = j->len };
		j->items[i] = (struct mc_item){ .key = j->keys[i], .key_len = strlen(j->keys[i]),
						.pieces = &j->pieces[i], .n_pieces = 1 };
	}
}

static int report(const struct job *j, uint64_t ns)
{
	uint32_t i, good = 0, wrong = 0, expired = 0, other = 0;

	for (i = 0; i < j->count; i++) {
		const struct mc_result *res = &j->items[i].res;

		if (res->code) {
			*(res->code == MC_ELEASE_EXPIRED ? &expired : &other) += 1;
			if (expired + other == 1)
				fprintf(stderr, "prog_batch: item %u: %d %s\n", i, res->code, res->why);
		} else if (res->bytes != j->len || first_wrong(j, i) < j->len) {
			if (!wrong++)
				fprintf(stderr, "prog_batch: item %u: %" PRIu64 " bytes, wrong at %u\n", i, res->bytes,
					first_wrong(j, i));
		} else {
			good++;
		}
	}
	printf("items=%u good=%u wrong=%u expired=%u other=%u ms=%" PRIu64 "\n", j->count, good, wrong, expired, other,
	       ns / 1000000);
	return good != j->count;
}

int main(int argc, char **argv)
{
	const struct mc_opts opts = { .timeout_ms = TIMEOUT_MS };
	bool put = argc == 7 && !strcmp(argv[1], "put");
	struct job j = { .seed = 0 };
	uint64_t t0;
	int at;

	if (!put && (argc != 6 || strcmp(argv[1], "get"))) {
		fprintf(stderr, "prog_batch put MASTER SEGMENT COUNT LEN SEED\n"
				"prog_batch get MASTER COUNT LEN SEED\n");
		return 2;
	}
	at = put ? 4 : 3;
	j.count = strtoul(argv[at], NULL, 10);
	j.len = strtoul(argv[at + 1], NULL, 10);
	j.seed = strtoull(argv[at + 2], NULL, 10);
	if (!j.count || !j.len || j.len % 8)
		die("COUNT, or LEN, which is a multiple of 8", NULL);
	open_job(&j, argv[2], put ? argv[3] : NULL);
	if (put)
		fill(&j);
	t0 = mc_now_ns();
	if (put)
		mc_store_put_batch(j.store, j.items, j.count, &opts, NULL);
	else
		mc_store_get_batch(j.store, j.items, j.count, &opts, NULL);
	at = report(&j, mc_now_ns() - t0);
	mc_store_close(j.store);
	return at;
}
