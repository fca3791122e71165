// SPDX-License-Identifier: MIT
/* Put and get against a kernel made of memcpy and a master made of a table. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "store_env.h"

#define MS	1000000ull

static void round_trip(void **state)
{
	static const uint64_t lens[] = { 1, 2, 4095, 4096, 4097, 65537, 1000003 };
	struct env *e = setup();
	char key[] = "a";
	unsigned int i;

	(void)state;
	for (i = 0; i < sizeof(lens) / sizeof(lens[0]); i++, key[0]++) {
		e->fm->first_seg = i % 3;
		fill(e, key[0], 3 + i, lens[i]);
		assert_int_equal(put(e, key, 3 + i, lens[i], NULL), 0);
		assert_int_equal(e->res.bytes, lens[i]);
		assert_int_equal(e->res.local, e->fm->first_seg == 0);
		memset(e->mem, 0x33, MEM);
		assert_int_equal(get(e, key, 7777, lens[i] + 5, NULL), 0);
		assert_int_equal(e->res.bytes, lens[i]);
		assert_int_equal(e->res.local, e->fm->first_seg == 0);
		assert_memory_equal(e->res.node_uuid, e->fk->segs[e->fm->first_seg].node_uuid, 16);
		assert_int_equal(e->res.offset, fm_find(e->fm, key, 1)->replicas[0].offset);
		check(e, key[0], 7777, lens[i]);
		check_is(e, 0x33, 0, 7777);
		check_is(e, 0x33, 7777 + lens[i], 1000);
	}
	assert_string_equal(e->fm->tenant, "t1");
	assert_string_equal(e->fm->preferred, "near");
	/* Each segment was opened once. */
	assert_int_equal(e->fk->opens, 3);
	teardown(e);
}

static void pieces(void **state)
{
	struct env *e = setup();
	struct mc_piece p[] = {
		{ e->buf, 100, 7 },	{ e->buf, 5000, 0 },	{ e->buf, 50, 1 },
		{ e->buf, 9000, 4097 }, { e->buf, 40000, 100 },
	};
	struct mc_item item = { .key = "p", .key_len = 1, .pieces = p, .n_pieces = 5 };
	uint64_t k = 0, i, j;

	(void)state;
	for (i = 0; i < 5; i++)
		for (j = 0; j < p[i].len; j++)
			e->mem[p[i].off + j] = fm_byte('p', k++);
	assert_int_equal(mc_store_put_batch(e->s, &item, 1, NULL, &e->err), 0);
	assert_int_equal(item.res.bytes, 4205);
	assert_int_equal(e->fk->count, 4);
	assert_int_equal(get(e, "p", 200000, 4205, NULL), 0);
	check(e, 'p', 200000, 4205);
	/* Back into pieces, of which the last is not needed. */
	memset(e->mem, 0x33, MEM);
	p[3].len = 5000;
	assert_int_equal(mc_store_get_batch(e->s, &item, 1, NULL, &e->err), 0);
	for (k = 0, i = 0; i < 5; i++)
		for (j = 0; j < p[i].len && k < 4205; j++)
			assert_int_equal(e->mem[p[i].off + j], fm_byte('p', k++));
	check_is(e, 0x33, 9000 + 4197, 5000 - 4197);
	check_is(e, 0x33, 40000, 100);
	teardown(e);
}

static void c3_exists_is_not_success(void **state)
{
	static const char *const keys[] = { "k", "new" };
	struct env *e = setup();
	struct mc_item items[2];
	struct mc_piece p[2];

	(void)state;
	fill(e, 'A', 0, 1000);
	assert_int_equal(put(e, "k", 0, 1000, NULL), 0);
	fill(e, 'B', 0, 1000);
	assert_int_equal(put(e, "k", 0, 1000, NULL), -705);
	assert_int_equal(e->err.code, -705);
	assert_int_equal(e->res.bytes, 0);
	assert_non_null(strstr(e->err.text, "'k'"));
	items_init(items, p, e, keys, 2, 1000);
	assert_int_equal(mc_store_put_batch(e->s, items, 2, NULL, &e->err), -705);
	assert_int_equal(items[0].res.code, -705);
	assert_int_equal(items[1].res.code, 0);
	assert_int_equal(get(e, "k", 0, 1000, NULL), 0);
	check(e, 'A', 0, 1000);
	teardown(e);
}

static void key_twice_in_a_batch(void **state)
{
	static const char *const keys[] = { "k", "k" };
	struct env *e = setup();
	struct mc_item items[2];
	struct mc_piece p[2];

	(void)state;
	fill(e, 'A', 0, 1000);
	fill(e, 'B', 1000, 1000);
	items_init(items, p, e, keys, 2, 1000);
	assert_int_equal(mc_store_put_batch(e->s, items, 2, NULL, &e->err), -705);
	assert_int_equal(items[0].res.code, 0);
	assert_int_equal(items[1].res.code, -705);
	memset(e->mem, 0, 4000);
	assert_int_equal(mc_store_get_batch(e->s, items, 2, NULL, &e->err), 0);
	check(e, 'A', 0, 1000);
	check(e, 'A', 1000, 1000);
	teardown(e);
}

/* 16 parts of one object; the n-th completion fails. */
static void c7_failed_part(void **state)
{
	struct env *e = setup();
	struct mc_piece p[16];
	struct mc_item item = { .key = "k", .key_len = 1, .pieces = p, .n_pieces = 16 };
	unsigned int n, how;

	(void)state;
	fill(e, 'k', 0, 16000);
	for (n = 0; n < 16; n++)
		p[n] = (struct mc_piece){ e->buf, n * 1000, 1000 };
	for (how = 0; how < 3; how++) {
		for (n = 1; n <= 16; n++) {
			unsigned int revokes = e->fm->revokes, quiesced = e->fm->quiesced, ends = e->fm->ends;
			bool exists = true;

			fk_arm(e->fk);
			e->fk->fail_nth = n;
			e->fk->fail_flags = how == 1 ? 0 : MC_CQE_F_QUIESCED;
			e->fk->lie_bytes = how == 2;
			assert_int_equal(mc_store_put_batch(e->s, &item, 1, NULL, &e->err), -800);
			assert_int_equal(item.res.code, -800);
			assert_int_equal(item.res.bytes, 0);
			assert_int_equal(item.res.sys_errno, EIO);
			assert_int_equal(e->fm->ends, ends);
			assert_int_equal(e->fm->revokes, revokes + 1);
			assert_int_equal(e->fm->quiesced, quiesced + (how != 1));
			assert_int_equal(mc_store_exist(e->s, "k", 1, &exists, NULL, &e->err), 0);
			assert_false(exists);
		}
	}
	fk_arm(e->fk);
	assert_int_equal(mc_store_put_batch(e->s, &item, 1, NULL, &e->err), 0);
	assert_int_equal(get(e, "k", 100000, 16000, NULL), 0);
	check(e, 'k', 100000, 16000);
	teardown(e);
}

/* A part that succeeded without being quiesced counts too: the attempt is quiesced only when all of it is. */
static void c7_quiesced_needs_all(void **state)
{
	struct env *e = setup();
	struct mc_piece p[2] = { { e->buf, 0, 10 }, { e->buf, 10, 10 } };
	struct mc_item item = { .key = "k", .key_len = 1, .pieces = p, .n_pieces = 2 };

	(void)state;
	e->fk->fail_nth = 2;
	e->fk->ok_flags = 0;
	assert_int_equal(mc_store_put_batch(e->s, &item, 1, NULL, &e->err), -800);
	assert_int_equal(e->fm->revokes, 1);
	assert_int_equal(e->fm->quiesced, 0);
	teardown(e);
}

static void one_failing_item_leaves_the_others(void **state)
{
	static const char *const keys[] = { "a", "b", "c", "d", "e", "f", "g", "h",
					    "i", "j", "k", "l", "m", "n", "o", "p" };
	struct mc_item items[16];
	struct mc_piece p[16];
	unsigned int n, i;

	(void)state;
	for (n = 1; n <= 16; n++) {
		struct env *e = setup();

		e->fk->fail_nth = n;
		items_init(items, p, e, keys, 16, 1000);
		for (i = 0; i < 16; i++)
			fill(e, keys[i][0], i * 1000, 1000);
		assert_int_equal(mc_store_put_batch(e->s, items, 16, NULL, &e->err), -800);
		for (i = 0; i < 16; i++)
			assert_int_equal(items[i].res.code, i + 1 == n ? -800 : 0);
		assert_non_null(strstr(e->err.text, keys[n - 1]));
		assert_int_equal(e->fm->ends, 15);
		assert_int_equal(e->fm->revokes, 1);
		/* The same with get. */
		fk_arm(e->fk);
		assert_int_equal(mc_store_put_batch(e->s, &items[n - 1], 1, NULL, &e->err), 0);
		fk_arm(e->fk);
		e->fk->fail_nth = n;
		memset(e->mem, 0, MEM);
		assert_int_equal(mc_store_get_batch(e->s, items, 16, NULL, &e->err), -800);
		for (i = 0; i < 16; i++) {
			assert_int_equal(items[i].res.code, i + 1 == n ? -800 : 0);
			assert_int_equal(items[i].res.bytes, i + 1 == n ? 0 : 1000);
			if (i + 1 != n)
				check(e, keys[i][0], i * 1000, 1000);
		}
		teardown(e);
	}
}

struct later {
	struct fake_kernel *fk;
	unsigned int ms;
};

static void *release_later(void *arg)
{
	struct later *l = arg;

	usleep(l->ms * 1000);
	fk_release(l->fk);
	return NULL;
}

/* The lease ends while one item of three is on the wire: that one fails, with no bytes; the others were in time. */
static void c4_lease_ends_in_transfer(void **state)
{
	static const char *const keys[] = { "a", "b", "c" };
	struct env *e = setup();
	struct mc_item items[3];
	struct mc_piece p[3];
	struct later later = { e->fk, 1200 };
	pthread_t t;
	unsigned int i;

	(void)state;
	e->fm->lease_ms = 1000;
	for (i = 0; i < 3; i++)
		fm_add(e->fm, keys[i], 5000, 1);
	items_init(items, p, e, keys, 3, 5000);
	e->fk->hold_nth = 2;
	pthread_create(&t, NULL, release_later, &later);
	assert_int_equal(mc_store_get_batch(e->s, items, 3, NULL, &e->err), -707);
	pthread_join(t, NULL);
	assert_int_equal(items[0].res.code, 0);
	assert_int_equal(items[1].res.code, -707);
	assert_int_equal(items[1].res.bytes, 0);
	assert_int_equal(items[2].res.code, 0);
	check(e, 'a', 0, 5000);
	check(e, 'c', 10000, 5000);
	assert_int_equal(e->fm->queries, 3);
	teardown(e);
}

static void sleep_300(struct fake_master *fm)
{
	(void)fm;
	usleep(300000);
}

/* The lease counts from before the question: a slow answer shortens it. */
static void c4_lease_counts_from_the_question(void **state)
{
	struct env *e = setup();

	(void)state;
	e->fm->lease_ms = 200;
	e->fm->before_list = sleep_300;
	fm_add(e->fm, "a", 5000, 1);
	assert_int_equal(get(e, "a", 0, 5000, NULL), -707);
	assert_int_equal(e->res.bytes, 0);
	assert_int_equal(e->fk->count, 0);
	check_is(e, 0x77, 0, 5000);
	teardown(e);
}

static void destination_too_small(void **state)
{
	struct env *e = setup();

	(void)state;
	fm_add(e->fm, "a", 5000, 1);
	assert_int_equal(get(e, "a", 100, 4999, NULL), -600);
	assert_int_equal(e->res.bytes, 0);
	assert_non_null(strstr(e->err.text, "5000"));
	assert_non_null(strstr(e->err.text, "4999"));
	assert_int_equal(e->fk->count, 0);
	check_is(e, 0x77, 0, 6000);
	assert_int_equal(get(e, "a", 100, 5000, NULL), 0);
	check(e, 'a', 100, 5000);
	check_is(e, 0x77, 0, 100);
	check_is(e, 0x77, 5100, 1000);
	teardown(e);
}

static void own_node_first_then_the_others(void **state)
{
	struct env *e = setup();

	(void)state;
	e->fm->first_seg = 1;
	fm_add(e->fm, "a", 5000, 3);	/* on nodes 2, 3, 1 */
	assert_int_equal(get(e, "a", 0, 5000, NULL), 0);
	assert_true(e->res.local);
	assert_int_equal(e->res.retries, 0);
	check(e, 'a', 0, 5000);
	/* Its first attempt fails, then the second. */
	fk_arm(e->fk);
	e->fk->fail_nth = 1;
	memset(e->mem, 0, 6000);
	assert_int_equal(get(e, "a", 0, 5000, NULL), 0);
	assert_false(e->res.local);
	assert_int_equal(e->res.retries, 1);
	assert_int_equal(e->res.code, 0);
	assert_memory_equal(e->res.node_uuid, e->fk->segs[1].node_uuid, 16);
	check(e, 'a', 0, 5000);
	/* All three nodes can't be reached. */
	e->fk->segs[0].withdrawn = e->fk->segs[1].withdrawn = e->fk->segs[2].withdrawn = true;
	assert_int_equal(get(e, "a", 0, 5000, NULL), -800);
	assert_int_equal(e->res.bytes, 0);
	assert_true(e->res.located);
	teardown(e);
}

/*
 * The first place is silent: the first get finds out in about a second, those after it do not ask there; when it is
 * back and its time is over, it is asked again.
 */
static void c22_second_copy(void **state)
{
	struct env *e = setup();
	uint64_t t0;
	int i;

	(void)state;
	e->fm->first_seg = 1;
	fm_add(e->fm, "a", 5000, 2);	/* on nodes 2 and 3 */
	e->fk->segs[1].silent = true;
	t0 = mc_now_ns();
	assert_int_equal(get(e, "a", 0, 5000, NULL), 0);
	assert_true(mc_now_ns() - t0 >= 900 * MS);
	assert_true(mc_now_ns() - t0 < 20000 * MS);	/* not half of the call's minute */
	assert_int_equal(e->res.retries, 1);
	assert_memory_equal(e->res.node_uuid, e->fk->segs[2].node_uuid, 16);
	check(e, 'a', 0, 5000);
	for (i = 0; i < 100; i++) {
		memset(e->mem, 0, 5000);
		assert_int_equal(get(e, "a", 0, 5000, NULL), 0);
		assert_int_equal(e->res.retries, 0);
		check(e, 'a', 0, 5000);
	}
	/* Its time is over and it is silent still: to find that out costs a moment, not another second. */
	e->s->health.node[0].until_ns = 0;
	t0 = mc_now_ns();
	assert_int_equal(get(e, "a", 0, 5000, NULL), 0);
	assert_true(mc_now_ns() - t0 < 900 * MS);
	assert_int_equal(e->res.retries, 1);
	check(e, 'a', 0, 5000);
	e->fk->segs[1].silent = false;
	e->s->health.node[0].until_ns = 0;
	assert_int_equal(get(e, "a", 0, 5000, NULL), 0);
	assert_memory_equal(e->res.node_uuid, e->fk->segs[1].node_uuid, 16);
	assert_int_equal(e->s->health.node[0].for_ns, 0);
	teardown(e);
}

/* The kernel takes its time to take a silent request off the device: the second copy waits for that, and is read. */
static void c22_kernel_lets_go_late(void **state)
{
	struct env *e = setup();

	(void)state;
	e->fm->first_seg = 1;
	fm_add(e->fm, "a", 5000, 2);
	e->fk->segs[1].silent = true;
	e->fk->late_ns = 900 * MS;
	assert_int_equal(get(e, "a", 0, 5000, NULL), 0);
	assert_int_equal(e->res.retries, 1);
	assert_false(e->res.busy);
	check(e, 'a', 0, 5000);
	teardown(e);
}

/* A sick node is better than none, and then the call's deadline counts. */
static void c22_only_the_sick_one_is_left(void **state)
{
	struct mc_opts o = { .timeout_ms = 1500 };
	struct env *e = setup();
	uint64_t t0;

	(void)state;
	e->fm->first_seg = 1;
	fm_add(e->fm, "a", 5000, 1);
	mc_health_note(&e->s->health, e->fk->segs[1].node_uuid, ETIMEDOUT, mc_now_ns());
	assert_int_equal(get(e, "a", 0, 5000, NULL), 0);
	check(e, 'a', 0, 5000);
	e->fk->segs[1].silent = true;
	t0 = mc_now_ns();
	assert_int_equal(get(e, "a", 0, 5000, &o), -800);
	assert_true(mc_now_ns() - t0 >= 1400 * MS);
	assert_int_equal(e->res.sys_errno, ETIMEDOUT);
	teardown(e);
}

static void sick_nodes(void **state)
{
	uint8_t a[MC_UUID_LEN] = "a", b[MC_UUID_LEN] = "b", other[MC_UUID_LEN] = "";
	struct mc_health h;
	uint64_t now = 1000 * MS;
	unsigned int i;

	(void)state;
	mc_health_init(&h);
	mc_health_note(&h, a, ESTALE, now);
	assert_false(mc_health_sick(&h, a, now));
	mc_health_note(&h, a, ETIMEDOUT, now);
	mc_health_note(&h, a, ETIMEDOUT, now + 1);	/* the same outage */
	assert_true(mc_health_sick(&h, a, now + MC_SICK_MIN_NS - 1));
	assert_false(mc_health_sick(&h, a, now + MC_SICK_MIN_NS));
	assert_false(mc_health_sick(&h, b, now));
	for (i = 0; i < 10; i++) {
		now += MC_SICK_MAX_NS;
		mc_health_note(&h, a, EIO, now);
	}
	assert_true(mc_health_sick(&h, a, now + MC_SICK_MAX_NS - 1));
	assert_false(mc_health_sick(&h, a, now + MC_SICK_MAX_NS));
	mc_health_note(&h, a, 0, now);
	assert_false(mc_health_sick(&h, a, now));
	/* More nodes than places: the latest are known. */
	for (i = 0; i < 3 * MC_HEALTH_SLOTS; i++) {
		other[0] = i;
		other[1] = 1;
		mc_health_note(&h, other, EIO, now + i);
		assert_true(mc_health_sick(&h, other, now + i));
	}
	pthread_mutex_destroy(&h.lock);
}

static void only_complete_replicas(void **state)
{
	struct env *e = setup();
	struct fm_object *o;
	int st;

	(void)state;
	o = fm_add(e->fm, "a", 5000, 2);
	for (st = 1; st <= 5; st++) {
		if (st == 3)
			continue;
		o->replicas[0].status = st;
		o->replicas[1].status = 0;
		assert_int_equal(get(e, "a", 0, 5000, NULL), 0);
		assert_memory_equal(e->res.node_uuid, e->fk->segs[1].node_uuid, 16);
		o->replicas[1].status = st;
		assert_int_equal(get(e, "a", 0, 5000, NULL), -702);
		assert_non_null(strstr(e->err.text, "2 replicas"));
	}
	teardown(e);
}

static void move_to_seg_2(struct fake_master *fm)
{
	struct fm_object *o = fm_find(fm, "a", 1);

	if (fm->queries == 2) {
		o->replicas[0].seg = 2;
		memcpy(fm->fk->segs[2].data + o->replicas[0].offset, fm->fk->segs[1].data + o->replicas[0].offset,
		       o->size);
	}
}

/* The segment was withdrawn after the object had moved: one fresh look finds the new place. */
static void stale_segment_is_looked_up_again(void **state)
{
	struct env *e = setup();

	(void)state;
	e->fm->first_seg = 1;
	fm_add(e->fm, "a", 5000, 1);
	assert_int_equal(get(e, "a", 0, 5000, NULL), 0);
	e->fk->segs[1].withdrawn = true;
	e->fm->before_list = move_to_seg_2;
	memset(e->mem, 0, 5000);
	assert_int_equal(get(e, "a", 0, 5000, NULL), 0);
	assert_int_equal(e->fm->queries, 3);
	assert_memory_equal(e->res.node_uuid, e->fk->segs[2].node_uuid, 16);
	check(e, 'a', 0, 5000);
	/* When nothing new is known it ends after the second look. */
	e->fm->before_list = NULL;
	e->fk->segs[2].withdrawn = true;
	assert_int_equal(get(e, "a", 0, 5000, NULL), -800);
	assert_int_equal(e->fm->queries, 5);
	teardown(e);
}

/* The handle went stale, the segment did not: it is opened again. */
static void reopen_after_stale(void **state)
{
	struct env *e = setup();

	(void)state;
	e->fm->first_seg = 1;
	fm_add(e->fm, "a", 5000, 1);
	assert_int_equal(get(e, "a", 0, 5000, NULL), 0);
	fk_arm(e->fk);
	e->fk->fail_nth = 1;
	e->fk->fail_result = -ESTALE;
	assert_int_equal(get(e, "a", 0, 5000, NULL), 0);
	assert_int_equal(e->fk->opens, 1);
	assert_int_equal(e->fk->closes, 1);
	/* A put drops the handle as well, so that the next one does not meet it again. */
	fk_arm(e->fk);
	e->fk->fail_nth = 1;
	e->fk->fail_result = -ESTALE;
	assert_int_equal(put(e, "b", 0, 5000, NULL), -800);
	assert_int_equal(put(e, "b", 0, 5000, NULL), 0);
	assert_int_equal(e->fk->opens, 1);
	teardown(e);
}

static void unreachable_node(void **state)
{
	static const char *const keys[] = { "a", "b", "c", "d" };
	struct env *e = setup();
	struct mc_item items[4];
	struct mc_piece p[4];
	unsigned int i;

	(void)state;
	e->fk->segs[2].open_err = -EHOSTUNREACH;
	for (i = 0; i < 4; i++) {
		e->fm->first_seg = i < 2 ? 1 : 2;
		fm_add(e->fm, keys[i], 100, 1);
	}
	items_init(items, p, e, keys, 4, 100);
	assert_int_equal(mc_store_get_batch(e->s, items, 4, NULL, &e->err), -800);
	for (i = 0; i < 4; i++)
		assert_int_equal(items[i].res.code, i < 2 ? 0 : -800);
	assert_int_equal(items[3].res.sys_errno, EHOSTUNREACH);
	assert_non_null(strstr(e->err.text, "03030303"));
	/* The wait for an unreachable node is not repeated for each item. */
	assert_int_equal(e->fk->segs[2].opens, 1);
	e->fm->first_seg = 2;
	assert_int_equal(put(e, "x", 0, 100, NULL), -800);
	assert_int_equal(e->fm->revokes, 1);
	assert_int_equal(e->fm->quiesced, 1);
	assert_null(fm_find(e->fm, "x", 1));
	teardown(e);
}

static void handles_run_out(void **state)
{
	struct env *e = setup();
	unsigned int i;

	(void)state;
	e->fk->handle_limit = 2;	/* one handle */
	for (i = 0; i < 6; i++) {
		char key[2] = { 'a' + i, 0 };

		e->fm->first_seg = i % 3;
		fill(e, key[0], 0, 100);
		assert_int_equal(put(e, key, 0, 100, NULL), 0);
	}
	assert_int_equal(e->fk->closes, 5);
	teardown(e);
}

static void replicated_put(void **state)
{
	struct mc_opts o = { .replica_num = 3 };
	struct env *e = setup();
	struct fm_object *obj;
	unsigned int r, i;

	(void)state;
	fill(e, 'r', 0, 3000);
	assert_int_equal(put(e, "r", 0, 3000, &o), 0);
	obj = fm_find(e->fm, "r", 1);
	for (r = 0; r < 3; r++)
		for (i = 0; i < 3000; i++)
			assert_int_equal(e->fk->segs[r].data[obj->replicas[r].offset + i], fm_byte('r', i));
	/* One replica of three fails: nothing is stored, and the message names its node. */
	fk_arm(e->fk);
	e->fk->fail_nth = 2;
	assert_int_equal(put(e, "s", 0, 3000, &o), -800);
	assert_memory_equal(e->res.node_uuid, e->fk->segs[1].node_uuid, 16);
	assert_non_null(strstr(e->err.text, "byte 1500 of 3000"));
	teardown(e);
}

/* Did a call with a deadline of 200 ms end in time? MC_TIME_SCALE stretches the half second a slow machine may need. */
static bool in_time(uint64_t t0)
{
	const char *scale = getenv("MC_TIME_SCALE");
	double s = (mc_now_ns() - t0) / 1e9;

	return s >= 0.19 && s < 0.2 + 0.5 * (scale ? atof(scale) : 1);
}

static void c59_deadline_master(void **state)
{
	static const char *const methods[] = { "BatchPutStart", "BatchPutEnd", "BatchGetReplicaList" };
	struct mc_opts o = { .timeout_ms = 200 };
	struct env *e = setup();
	unsigned int i;
	uint64_t t0;

	(void)state;
	fm_add(e->fm, "a", 100, 1);
	for (i = 0; i < 3; i++) {
		e->fm->hang = methods[i];
		t0 = mc_now_ns();
		assert_int_equal(i < 2 ? put(e, methods[i], 0, 100, &o) : get(e, "a", 0, 100, &o), -901);
		assert_true(in_time(t0));
		assert_int_equal(e->err.sys_errno, ETIMEDOUT);
		assert_non_null(strstr(e->err.text, "fake:1"));
	}
	assert_non_null(strstr(e->err.text, "'a'"));
	teardown(e);
}

static void c59_deadline_transfer(void **state)
{
	struct mc_opts o = { .timeout_ms = 200 };
	struct env *e = setup();
	uint64_t t0;

	(void)state;
	fm_add(e->fm, "a", 100, 1);
	/* The kernel ends what it holds at the deadline it was given. */
	e->fk->hold_nth = UINT_MAX;
	t0 = mc_now_ns();
	assert_int_equal(get(e, "a", 0, 100, &o), -800);
	assert_true(in_time(t0));
	assert_int_equal(e->res.sys_errno, ETIMEDOUT);
	assert_false(e->res.busy);
	assert_true(e->fk->last_timeout_ns <= 200 * MS && e->fk->last_timeout_ns > 100 * MS);
	t0 = mc_now_ns();
	assert_int_equal(put(e, "b", 0, 100, &o), -800);
	assert_true(in_time(t0));
	assert_int_equal(e->fm->revokes, 1);
	assert_int_equal(e->fm->quiesced, 1);
	assert_null(fm_find(e->fm, "b", 1));
	teardown(e);
}

/* A kernel that does not keep its promise does not keep the caller either, and the memory is said to be busy. */
static void c59_deadline_kernel_late(void **state)
{
	struct mc_opts o = { .timeout_ms = 200 };
	struct env *e = setup();
	uint64_t t0;

	(void)state;
	e->fk->hold_nth = UINT_MAX;
	e->fk->never_late = true;
	t0 = mc_now_ns();
	assert_int_equal(put(e, "b", 0, 100, &o), -800);
	assert_true(in_time(t0));
	assert_true(e->res.busy);
	assert_int_equal(e->res.sys_errno, ETIMEDOUT);
	assert_int_equal(e->fm->revokes, 1);
	assert_int_equal(e->fm->quiesced, 0);
	assert_true(mc_buf_busy(e->buf));
	assert_int_equal(put(e, "c", 0, 100, &o), -1010);
	fk_release(e->fk);
	fk_arm(e->fk);
	mc_dev_reap(e->dev);
	assert_false(mc_buf_busy(e->buf));
	assert_int_equal(put(e, "c", 0, 100, &o), 0);
	teardown(e);
}

static void master_talks_nonsense(void **state)
{
	struct env *e = setup();

	(void)state;
	fm_add(e->fm, "a", 100, 1);
	e->fm->short_reply = true;
	assert_int_equal(get(e, "a", 0, 100, NULL), -900);
	assert_int_equal(put(e, "p1", 0, 100, NULL), -900);
	e->fm->short_reply = false;
	e->fm->no_status = true;
	assert_int_equal(get(e, "a", 0, 100, NULL), -900);
	assert_int_equal(put(e, "p2", 0, 100, NULL), -900);
	e->fm->no_status = false;
	e->fm->bad_uuid = true;
	assert_int_equal(get(e, "a", 0, 100, NULL), -702);
	assert_int_equal(put(e, "p3", 0, 100, NULL), -1);
	assert_int_equal(e->fm->revokes, 1);
	e->fm->bad_uuid = false;
	e->fm->bad_length = true;
	assert_int_equal(get(e, "a", 0, 100, NULL), -702);
	assert_int_equal(put(e, "p4", 0, 100, NULL), -1);
	e->fm->bad_length = false;
	e->fm->no_replicas = true;
	assert_int_equal(get(e, "a", 0, 100, NULL), -702);
	assert_int_equal(put(e, "p5", 0, 100, NULL), -1);
	assert_int_equal(e->fm->ends, 0);
	assert_int_equal(e->fk->count, 0);
	teardown(e);
}

static void put_end_fails(void **state)
{
	struct env *e = setup();

	(void)state;
	e->fm->end_code = MC_EILLEGAL_CLIENT;
	assert_int_equal(put(e, "a", 0, 100, NULL), -601);
	assert_int_equal(e->res.bytes, 0);
	e->fm->end_code = 0;
	e->fm->refuse = "BatchPutEnd";
	assert_int_equal(put(e, "b", 0, 100, NULL), -900);
	assert_non_null(strstr(e->err.text, "outcome unknown"));
	assert_int_equal(e->err.sys_errno, ECONNREFUSED);
	e->fm->refuse = "BatchPutStart";
	assert_int_equal(put(e, "c", 0, 100, NULL), -900);
	assert_null(strstr(e->err.text, "outcome unknown"));
	teardown(e);
}

static void large_batch(void **state)
{
	struct env *e = setup_ring(8, 3);
	struct mc_item *items = calloc(2500, sizeof(*items));
	struct mc_piece *p = calloc(2500, sizeof(*p));
	char (*keys)[8] = calloc(2500, sizeof(*keys));
	unsigned int i, k;

	(void)state;
	for (i = 0; i < 2500; i++) {
		snprintf(keys[i], 8, "k%u", i);
		p[i] = (struct mc_piece){ e->buf, i * 64, 64 };
		items[i] = (struct mc_item){
			.key = keys[i], .key_len = strlen(keys[i]), .pieces = &p[i], .n_pieces = 1
		};
		for (k = 0; k < 64; k++)
			e->mem[i * 64 + k] = fm_byte(i, k);
	}
	e->fm->first_seg = 1;
	assert_int_equal(mc_store_put_batch(e->s, items, 2500, NULL, &e->err), 0);
	memset(e->mem, 0, MEM);
	assert_int_equal(mc_store_get_batch(e->s, items, 2500, NULL, &e->err), 0);
	for (i = 0; i < 2500; i++)
		for (k = 0; k < 64; k++)
			assert_int_equal(e->mem[i * 64 + k], fm_byte(i, k));
	assert_int_equal(e->fm->largest_call, MC_WAVE_ITEMS);
	assert_int_equal(e->fm->calls, 9);
	free(items);
	free(p);
	free(keys);
	teardown(e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(round_trip),
		cmocka_unit_test(pieces),
		{ "C-3 a put of an existing key is -705", c3_exists_is_not_success, NULL, NULL, NULL },
		cmocka_unit_test(key_twice_in_a_batch),
		{ "C-7 a put with a failed part is revoked", c7_failed_part, NULL, NULL, NULL },
		{ "C-7 quiesced means every part", c7_quiesced_needs_all, NULL, NULL, NULL },
		cmocka_unit_test(one_failing_item_leaves_the_others),
		{ "C-4 a lease that ends in the transfer", c4_lease_ends_in_transfer, NULL, NULL, NULL },
		{ "C-4 a lease counts from the question", c4_lease_counts_from_the_question, NULL, NULL, NULL },
		cmocka_unit_test(destination_too_small),
		cmocka_unit_test(own_node_first_then_the_others),
		{ "C-22 a second copy is used", c22_second_copy, NULL, NULL, NULL },
		{ "C-22 the kernel lets go late", c22_kernel_lets_go_late, NULL, NULL, NULL },
		{ "C-22 only the sick node is left", c22_only_the_sick_one_is_left, NULL, NULL, NULL },
		cmocka_unit_test(sick_nodes),
		cmocka_unit_test(only_complete_replicas),
		cmocka_unit_test(stale_segment_is_looked_up_again),
		cmocka_unit_test(reopen_after_stale),
		cmocka_unit_test(unreachable_node),
		cmocka_unit_test(handles_run_out),
		cmocka_unit_test(replicated_put),
		{ "C-59 deadline: the master does not answer", c59_deadline_master, NULL, NULL, NULL },
		{ "C-59 deadline: bytes do not move", c59_deadline_transfer, NULL, NULL, NULL },
		{ "C-59 deadline: the kernel is late", c59_deadline_kernel_late, NULL, NULL, NULL },
		cmocka_unit_test(master_talks_nonsense),
		cmocka_unit_test(put_end_fails),
		cmocka_unit_test(large_batch),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
