// SPDX-License-Identifier: MIT
#include "store_env.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SEG	(16u << 20)

struct env *setup_ring(uint32_t ring, unsigned int segs)
{
	struct env *e = calloc(1, sizeof(*e));
	struct mc_store_config cfg;
	const char *preferred[] = { "near" };

	e->fk = fk_new(segs, SEG);
	e->fm = fm_new(e->fk);
	e->dev = fk_open(e->fk, ring);
	mc_store_config_init(&cfg);
	cfg.tenant = "t1";
	cfg.timeout_ms = 5000;
	cfg.preferred_segments = preferred;
	cfg.preferred_count = 1;
	assert_int_equal(mc_store_open_with(&cfg, e->dev, &fm_ops, e->fm, &e->s, &e->err), 0);
	e->mem = malloc(MEM);
	memset(e->mem, 0x77, MEM);
	assert_int_equal(mc_store_register(e->s, e->mem, MEM, &e->buf, &e->err), 0);
	return e;
}

struct env *setup(void)
{
	return setup_ring(64, 3);
}

void teardown(struct env *e)
{
	unsigned int i;

	mc_store_close(e->s);
	/* Whatever was opened is closed again, and grants are given back. */
	assert_int_equal(fk_grants(e->fk), 0);
	assert_int_equal(e->fk->maps, 0);
	for (i = 0; i < 256; i++)
		assert_int_equal(e->fk->handles[i], 0);
	mc_dev_close(e->dev);
	fm_free(e->fm);
	fk_free(e->fk);
	free(e->mem);
	free(e);
}

void fill(struct env *e, uint8_t salt, uint64_t off, uint64_t len)
{
	uint64_t i;

	for (i = 0; i < len; i++)
		e->mem[off + i] = fm_byte(salt, i);
}

void check(const struct env *e, uint8_t salt, uint64_t off, uint64_t len)
{
	uint64_t i;

	for (i = 0; i < len; i++)
		if (e->mem[off + i] != fm_byte(salt, i))
			fail_msg("byte %llu of '%c' is wrong", (unsigned long long)i, salt);
}

void check_is(const struct env *e, uint8_t value, uint64_t off, uint64_t len)
{
	uint64_t i;

	for (i = 0; i < len; i++)
		if (e->mem[off + i] != value)
			fail_msg("byte %llu was touched", (unsigned long long)(off + i));
}

int put(struct env *e, const char *key, uint64_t off, uint64_t len, const struct mc_opts *o)
{
	return mc_store_put(e->s, key, strlen(key), e->buf, off, len, o, &e->res, &e->err);
}

int get(struct env *e, const char *key, uint64_t off, uint64_t len, const struct mc_opts *o)
{
	return mc_store_get(e->s, key, strlen(key), e->buf, off, len, o, &e->res, &e->err);
}

void items_init(struct mc_item *items, struct mc_piece *pieces, struct env *e, const char *const *keys, size_t n,
		       uint64_t each)
{
	size_t i;

	memset(items, 0xee, n * sizeof(*items));
	for (i = 0; i < n; i++) {
		pieces[i] = (struct mc_piece){ .buf = e->buf, .off = i * each, .len = each };
		items[i].key = keys[i];
		items[i].key_len = strlen(keys[i]);
		items[i].pieces = &pieces[i];
		items[i].n_pieces = 1;
	}
}
