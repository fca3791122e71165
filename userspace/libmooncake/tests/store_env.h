/* SPDX-License-Identifier: MIT */
/*
 * A store whose kernel and master are fakes, and bytes that tell where they belong.
 */
#ifndef STORE_ENV_H
#define STORE_ENV_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "fake_master.h"

#define MEM	(4u << 20)

struct env {
	struct fake_kernel *fk;
	struct fake_master *fm;
	struct mc_dev *dev;
	struct mc_store *s;
	struct mc_buf *buf;
	uint8_t *mem;
	struct mc_error err;
	struct mc_result res;
};

struct env *setup_ring(uint32_t ring, unsigned int segs);
struct env *setup(void);
void teardown(struct env *e);
void fill(struct env *e, uint8_t salt, uint64_t off, uint64_t len);
void check(const struct env *e, uint8_t salt, uint64_t off, uint64_t len);
void check_is(const struct env *e, uint8_t value, uint64_t off, uint64_t len);
int put(struct env *e, const char *key, uint64_t off, uint64_t len, const struct mc_opts *o);
int get(struct env *e, const char *key, uint64_t off, uint64_t len, const struct mc_opts *o);
void items_init(struct mc_item *items, struct mc_piece *pieces, struct env *e, const char *const *keys, size_t n,
		uint64_t each);

#endif
