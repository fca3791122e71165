// SPDX-License-Identifier: MIT
/* Batches that take longer than the grants they begin with, against a kernel that moves one request after the other. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store_env.h"

#define ITEMS	48u
#define EACH	(256u << 10)
#define SLOW	160000u		/* ns for a KiB: 2 s for all */
#define LIFE	1000u		/* ms */

struct run {
	struct env *e;
	uint8_t *mem;
	struct mc_buf *buf;
	char keys[ITEMS][8];
	struct mc_piece pieces[ITEMS];
	struct mc_item items[ITEMS];
};

static void begin(struct run *r)
{
	unsigned int i;

	memset(r, 0, sizeof(*r));
	r->e = setup();
	r->mem = malloc(ITEMS * EACH);
	assert_int_equal(mc_store_register(r->e->s, r->mem, ITEMS * EACH, &r->buf, &r->e->err), 0);
	for (i = 0; i < ITEMS; i++) {
		snprintf(r->keys[i], sizeof(r->keys[i]), "%c%u", 'A' + i, i);
		r->pieces[i] = (struct mc_piece){ .buf = r->buf, .off = (uint64_t)i * EACH, .len = EACH };
		r->items[i] = (struct mc_item){ .key = r->keys[i], .key_len = strlen(r->keys[i]),
						.pieces = &r->pieces[i], .n_pieces = 1 };
	}
	r->e->fm->lease_ms = r->e->fm->attempt_ms = LIFE;
	r->e->fm->grants_end = true;
	r->e->fk->ns_per_kib = SLOW;
}

static void end(struct run *r)
{
	teardown(r->e);
	free(r->mem);
}

static void add_objects(struct run *r)
{
	unsigned int i;

	for (i = 0; i < ITEMS; i++)
		fm_add(r->e->fm, r->keys[i], EACH, 1);
}

static void check_item(const struct run *r, unsigned int i)
{
	unsigned int k;

	for (k = 0; k < EACH; k++)
		if (r->mem[i * EACH + k] != fm_byte(r->keys[i][0], k))
			fail_msg("byte %u of item %u is wrong", k, i);
}

static void c5_reads(void **state)
{
	struct run r;
	unsigned int i;

	(void)state;
	begin(&r);
	add_objects(&r);
	assert_int_equal(mc_store_get_batch(r.e->s, r.items, ITEMS, NULL, &r.e->err), 0);
	for (i = 0; i < ITEMS; i++)
		check_item(&r, i);
	/* Asked again at half of the time, for what still waited. */
	assert_true(r.e->fm->queries > ITEMS);
	/* A window of it is under way at a time, not the batch. */
	assert_true(r.e->fk->max_in_flight < ITEMS / 2);
	/* Grants that were never used go when newer ones come. */
	assert_true(r.e->fk->grants_most < ITEMS + 4);
	end(&r);
}

static void c5_writes(void **state)
{
	struct run r;
	unsigned int i, k;

	(void)state;
	begin(&r);
	for (i = 0; i < ITEMS; i++)
		for (k = 0; k < EACH; k++)
			r.mem[i * EACH + k] = fm_byte(r.keys[i][0], k);
	assert_int_equal(mc_store_put_batch(r.e->s, r.items, ITEMS, NULL, &r.e->err), 0);
	assert_true(r.e->fm->extensions > 0);
	assert_int_equal(r.e->fm->ends, ITEMS);
	/* Also those whose bytes arrived first. */
	assert_int_equal(r.e->fm->late_ends, 0);
	r.e->fk->ns_per_kib = 0;
	memset(r.mem, 0, ITEMS * EACH);
	assert_int_equal(mc_store_get_batch(r.e->s, r.items, ITEMS, NULL, &r.e->err), 0);
	for (i = 0; i < ITEMS; i++)
		check_item(&r, i);
	end(&r);
}

/* The other replicas' grants are as old as the first answer, however long the lease of the one that fails. */
static void c5_replica_lost_late(void **state)
{
	unsigned int i, n = 36;
	struct run r;

	(void)state;
	begin(&r);
	for (i = 0; i < n; i++)
		fm_add(r.e->fm, r.keys[i], EACH, 2);
	r.e->fk->fail_nth = n;
	assert_int_equal(mc_store_get_batch(r.e->s, r.items, n, NULL, &r.e->err), 0);
	for (i = 0; i < n; i++) {
		assert_int_equal(r.items[i].res.retries, i == n - 1);
		check_item(&r, i);
	}
	end(&r);
}

/* From the second look on the keys are other objects, at the same places. */
static void replaced(struct fake_master *fm)
{
	unsigned int i;

	for (i = 0; i < FM_OBJECTS && fm->queries; i++)
		fm->objects[i].token += 1000;
}

static void restarted(struct fake_master *fm)
{
	if (fm->queries)
		fm->epoch++;
}

/* What can't be renewed ends with its lease: an error of that item, never another object's bytes. */
static void c5_another_object(void **state)
{
	void (*const changes[])(struct fake_master *fm) = { replaced, restarted };
	unsigned int i, k, good;
	struct run r;

	(void)state;
	for (k = 0; k < 2; k++) {
		begin(&r);
		add_objects(&r);
		r.e->fm->before_list = changes[k];
		assert_int_equal(mc_store_get_batch(r.e->s, r.items, ITEMS, NULL, &r.e->err), MC_ELEASE_EXPIRED);
		for (i = 0, good = 0; i < ITEMS; i++) {
			assert_true(!r.items[i].res.code || r.items[i].res.code == MC_ELEASE_EXPIRED);
			if (!r.items[i].res.code)
				check_item(&r, i);
			good += !r.items[i].res.code;
		}
		assert_true(good && good < ITEMS);
		end(&r);
	}
}

/* A master that does not answer delays nothing for long, least of all beyond the deadline. */
static void c5_no_answer(void **state)
{
	const struct mc_opts opts = { .timeout_ms = 2800 };
	struct run r;

	(void)state;
	begin(&r);
	r.e->fm->hang = "BatchPutExtend";
	r.e->fm->attempt_ms = 4 * LIFE;
	/* Done soon after the attempts are first to be extended. */
	r.e->fk->ns_per_kib = SLOW * 11 / 10;
	assert_int_equal(mc_store_put_batch(r.e->s, r.items, ITEMS, &opts, &r.e->err), 0);
	assert_int_equal(r.e->fm->ends, ITEMS);
	end(&r);
}

static void c5_attempt_lost(void **state)
{
	unsigned int i, good = 0;
	struct run r;

	(void)state;
	begin(&r);
	r.e->fm->no_extension = true;
	assert_int_equal(mc_store_put_batch(r.e->s, r.items, ITEMS, NULL, &r.e->err), MC_ETRANSFER_FAIL);
	for (i = 0; i < ITEMS; i++) {
		assert_true(!r.items[i].res.code || r.items[i].res.sys_errno == ETIME);
		good += !r.items[i].res.code;
	}
	assert_true(good && good < ITEMS);
	assert_int_equal(r.e->fm->ends, good);
	assert_int_equal(r.e->fm->revokes, ITEMS - good);
	end(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		{ "C-5 a long batch of reads keeps its protection", c5_reads, NULL, NULL, NULL },
		{ "C-5 a long batch of writes keeps its protection", c5_writes, NULL, NULL, NULL },
		{ "C-5 a replica that fails late leaves the others", c5_replica_lost_late, NULL, NULL, NULL },
		{ "C-5 a lease of another object renews nothing", c5_another_object, NULL, NULL, NULL },
		{ "C-5 a master that does not answer delays nothing", c5_no_answer, NULL, NULL, NULL },
		{ "C-5 an attempt that is lost ends with its grant", c5_attempt_lost, NULL, NULL, NULL },
	};

	return cmocka_run_group_tests_name("long", tests, NULL, NULL);
}
