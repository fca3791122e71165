// SPDX-License-Identifier: MIT
/* What is refused at once, what moves no bytes, and opening a store. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store_env.h"

static void bad_items(void **state)
{
	struct env *e = setup(), *other = setup();
	char longkey[4098];
	struct mc_piece p[] = { { e->buf, 0, 10 }, { other->buf, 0, 10 } };
	struct mc_item item = { .key = "k", .key_len = 1, .pieces = p, .n_pieces = 2 };

	(void)state;
	memset(longkey, 'x', sizeof(longkey));
	longkey[4097] = 0;
	assert_int_equal(put(e, "", 0, 10, NULL), -400);
	assert_int_equal(put(e, longkey, 0, 10, NULL), -400);
	assert_non_null(strstr(e->err.text, "4097"));
	assert_int_equal(put(e, "k", 0, 0, NULL), -600);
	assert_int_equal(put(e, "k", 0, MEM + 1, NULL), -600);
	assert_int_equal(put(e, "k", 1, MEM, NULL), -600);
	assert_int_equal(put(e, "k", UINT64_MAX, 2, NULL), -600);
	assert_int_equal(put(e, "k", 5, UINT64_MAX - 2, NULL), -600);
	assert_int_equal(get(e, "k", MEM, 1, NULL), -600);
	assert_int_equal(mc_store_put(e->s, "k", 1, NULL, 0, 1, NULL, NULL, &e->err), -600);
	assert_int_equal(mc_store_put_batch(e->s, &item, 1, NULL, &e->err), -600);
	assert_non_null(strstr(e->err.text, "piece 1"));
	item.n_pieces = 0;
	assert_int_equal(mc_store_put_batch(e->s, &item, 1, NULL, &e->err), -600);
	assert_int_equal(mc_store_put_batch(e->s, NULL, 0, NULL, &e->err), 0);
	assert_int_equal(e->fm->calls, 0);
	teardown(e);
	teardown(other);
}

static int collect(void *arg, const struct mc_object_info *o)
{
	char *out = arg;

	if (o->key_len == 1 && *(const char *)o->key == '!')
		return 42;
	snprintf(out + strlen(out), 64, "%.*s:%llu ", (int)o->key_len, (const char *)o->key,
		 (unsigned long long)o->size);
	return 0;
}

static int count(void *arg, const struct mc_object_info *o)
{
	(void)o;
	++*(unsigned int *)arg;
	return 0;
}

static void listing(void **state)
{
	struct env *e = setup();
	char out[256] = "", key[16];
	unsigned int i, n = 0;

	(void)state;
	fm_add(e->fm, "b1", 10, 1);
	fm_add(e->fm, "a", 20, 1);
	fm_add(e->fm, "b", 30, 1);
	assert_int_equal(mc_store_list(e->s, NULL, 0, 0, collect, out, NULL, &e->err), 0);
	assert_string_equal(out, "a:20 b:30 b1:10 ");
	out[0] = 0;
	assert_int_equal(mc_store_list(e->s, "b", 1, 0, collect, out, NULL, &e->err), 0);
	assert_string_equal(out, "b:30 b1:10 ");
	out[0] = 0;
	assert_int_equal(mc_store_list(e->s, NULL, 0, 2, collect, out, NULL, &e->err), 0);
	assert_string_equal(out, "a:20 b:30 ");
	fm_add(e->fm, "!", 1, 1);
	assert_int_equal(mc_store_list(e->s, NULL, 0, 0, collect, out, NULL, &e->err), 42);
	for (i = 0; i < 2100; i++) {
		snprintf(key, sizeof(key), "n%05u", i);
		fm_add(e->fm, key, 1, 1);
	}
	assert_int_equal(mc_store_list(e->s, "n", 1, 0, count, &n, NULL, &e->err), 0);
	assert_int_equal(n, 2100);
	e->fm->stuck_list = true;
	assert_int_equal(mc_store_list(e->s, "n", 1, 0, count, &n, NULL, &e->err), -900);
	teardown(e);
}

static void exist_remove_stat(void **state)
{
	struct env *e = setup();
	struct mc_key_item items[] = {
		{ .key = "a", .key_len = 1 },
		{ .key = "", .key_len = 0 },
		{ .key = "zz", .key_len = 2 },
		{ .key = "b", .key_len = 1 },
	};
	struct mc_object_stat st;
	char version[16];
	bool exists;

	(void)state;
	fm_add(e->fm, "a", 5000, 2);
	fm_add(e->fm, "b", 1, 1);
	assert_int_equal(mc_store_exist_batch(e->s, items, 4, NULL, &e->err), -400);
	assert_true(items[0].exists && !items[2].exists && items[3].exists);
	assert_int_equal(items[1].code, -400);
	assert_int_equal(items[2].code, 0);
	assert_int_equal(mc_store_exist(e->s, "a", 1, &exists, NULL, NULL), 0);
	assert_true(exists);
	assert_int_equal(mc_store_stat(e->s, "a", 1, &st, NULL, &e->err), 0);
	assert_int_equal(st.size, 5000);
	assert_int_equal(st.n_replicas, 2);
	assert_int_equal(st.lease_ttl_ms, 10000);
	assert_int_equal(st.replicas[1].state, MC_REPLICA_COMPLETE);
	assert_memory_equal(st.replicas[1].seg_uuid, e->fk->segs[1].uuid, 16);
	assert_int_equal(mc_store_stat(e->s, "zz", 2, &st, NULL, &e->err), -704);
	assert_int_equal(get(e, "zz", 0, 10, NULL), -704);
	assert_int_equal(mc_store_remove_batch(e->s, items, 4, false, NULL, &e->err), -400);
	assert_int_equal(items[0].code, 0);
	assert_int_equal(items[2].code, -704);
	assert_int_equal(items[3].code, 0);
	fm_add(e->fm, "a", 1, 1);
	e->fm->lease_ms = 777;
	assert_int_equal(mc_store_remove(e->s, "a", 1, false, NULL, &e->err), -706);
	assert_int_equal(mc_store_remove(e->s, "a", 1, true, NULL, &e->err), 0);
	assert_int_equal(mc_store_ready(e->s, version, sizeof(version), NULL, &e->err), 0);
	assert_string_equal(version, "1.2.3");
	e->fm->refuse = "BatchRemove";
	items[1].key_len = 1;
	assert_int_equal(mc_store_remove_batch(e->s, items, 4, false, NULL, &e->err), -900);
	assert_int_equal(items[3].code, -900);
	teardown(e);
}

static void opening(void **state)
{
	struct mc_store_config cfg;
	struct mc_store *s;
	struct mc_error err;
	struct mc_buf *buf;
	uint8_t mem[16];
	struct mc_item item = { .key = "k", .key_len = 1 };

	(void)state;
	mc_store_config_init(&cfg);
	cfg.device = "/dev/no-such-node";
	assert_int_equal(mc_store_open(&cfg, &s, &err), -1011);
	assert_int_equal(err.code, -1011);
	assert_int_equal(err.sys_errno, ENOENT);
	cfg.device = "";
	cfg.master = "h:65536";
	assert_int_equal(mc_store_open(&cfg, &s, &err), -600);
	assert_non_null(strstr(err.text, "65536"));
	cfg.master = NULL;
	cfg.replica_num = 17;
	assert_int_equal(mc_store_open(&cfg, &s, &err), -600);
	cfg.replica_num = 0;
	cfg.size = 4;
	assert_int_equal(mc_store_open(&cfg, &s, &err), -600);
	cfg.size = sizeof(cfg);
	cfg.master = "127.0.0.1:1";
	assert_int_equal(mc_store_open(&cfg, &s, &err), 0);
	assert_null(mc_store_device(s));
	assert_int_equal(mc_store_register(s, mem, 16, &buf, &err), -1011);
	assert_int_equal(mc_store_get_batch(s, &item, 1, NULL, &err), -1011);
	assert_int_equal(item.res.code, -1011);
	assert_int_equal(mc_store_ready(s, NULL, 0, NULL, &err), -900);
	assert_int_equal(err.sys_errno, ECONNREFUSED);
	assert_non_null(strstr(err.text, "127.0.0.1:1"));
	mc_store_close(s);
	mc_store_close(NULL);
}

/* A reader names itself only where the kernel tells of its end. */
static void c31_readers_have_a_name(void **state)
{
	struct env *e = setup();
	struct mc_store_config cfg;
	struct fake_master *fm = fm_new(e->fk);
	struct mc_store *s;

	(void)state;
	fm_add(e->fm, "k", 1000, 1);
	assert_int_equal(get(e, "k", 0, 1000, NULL), 0);
	assert_int_equal(e->fm->reader_len, MC_UUID_LEN);
	assert_memory_equal(e->fm->reader, e->fk->client, MC_UUID_LEN);
	assert_memory_equal(e->fm->reader, e->s->client_uuid, MC_UUID_LEN);
	e->fk->client_err = -EEXIST;
	mc_store_config_init(&cfg);
	fm_add(fm, "k", 1000, 1);
	assert_int_equal(mc_store_open_with(&cfg, e->dev, &fm_ops, fm, &s, &e->err), 0);
	assert_int_equal(mc_store_get(s, "k", 1, e->buf, 0, 1000, NULL, &e->res, &e->err), 0);
	assert_int_equal(fm->reader_len, 0);
	mc_store_close(s);
	fm_free(fm);
	teardown(e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		{ "C-31 a reader has a name where the kernel tells of its end", c31_readers_have_a_name, NULL, NULL,
		  NULL },
		cmocka_unit_test(bad_items),
		cmocka_unit_test(listing),
		cmocka_unit_test(exist_remove_stat),
		cmocka_unit_test(opening),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
