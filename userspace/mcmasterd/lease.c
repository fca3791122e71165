// SPDX-License-Identifier: MIT
#include "lease.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "names.h"

/**
 * struct mc_reader - a client that has leases, or is gone
 * @uuid: its name; first member, which the tree compares
 * @objects: tree of its leases by object
 * @leases: the same as a list
 * @gone: in the list of those that are gone
 * @gone_until: when it is forgotten, 0: it lives
 */
struct mc_reader {
	uint8_t uuid[MC_UUID_LEN];
	void *objects;
	LIST_HEAD(, mc_lease) leases;
	TAILQ_ENTRY(mc_reader) gone;
	uint64_t gone_until;
};

/**
 * struct mc_lease - one reader protects one object
 * @object: which; first member, which the reader's tree compares
 * @reader: who
 * @until: how long
 * @by_end: in leases->by_end
 * @of_object: in the object's list
 * @of_reader: in the reader's list
 */
struct mc_lease {
	const struct mc_object *object;
	struct mc_reader *reader;
	uint64_t until;
	TAILQ_ENTRY(mc_lease) by_end;
	LIST_ENTRY(mc_lease) of_object;
	LIST_ENTRY(mc_lease) of_reader;
};

static int by_uuid(const void *a, const void *b)
{
	return memcmp(a, b, MC_UUID_LEN);
}

static int by_object(const void *a, const void *b)
{
	uintptr_t x = (uintptr_t)((const struct mc_lease *)a)->object;
	uintptr_t y = (uintptr_t)((const struct mc_lease *)b)->object;

	return (x > y) - (x < y);
}

void mc_leases_init(struct mc_leases *l)
{
	memset(l, 0, sizeof(*l));
	TAILQ_INIT(&l->by_end);
	TAILQ_INIT(&l->gone);
}

static struct mc_reader *reader_find(const struct mc_leases *l, const uint8_t *client)
{
	struct mc_reader **p = tfind(client, &l->readers, by_uuid);

	return p ? *p : NULL;
}

static struct mc_reader *reader_get(struct mc_leases *l, const uint8_t *client)
{
	struct mc_reader *r = reader_find(l, client);

	if (r)
		return r;
	r = calloc(1, sizeof(*r));
	if (!r)
		return NULL;
	memcpy(r->uuid, client, MC_UUID_LEN);
	LIST_INIT(&r->leases);
	if (tsearch(r, &l->readers, by_uuid))
		return r;
	free(r);
	return NULL;
}

static void reader_put(struct mc_leases *l, struct mc_reader *r)
{
	if (!LIST_EMPTY(&r->leases) || r->gone_until)
		return;
	tdelete(r, &l->readers, by_uuid);
	free(r);
}

static void drop(struct mc_leases *l, struct mc_lease *lease)
{
	struct mc_reader *r = lease->reader;

	tdelete(lease, &r->objects, by_object);
	TAILQ_REMOVE(&l->by_end, lease, by_end);
	LIST_REMOVE(lease, of_object);
	LIST_REMOVE(lease, of_reader);
	free(lease);
	l->count--;
	reader_put(l, r);
}

/* Almost always the last one. */
static void insert_by_end(struct mc_leases *l, struct mc_lease *lease)
{
	struct mc_lease *before = TAILQ_LAST(&l->by_end, mc_lease_tail);

	while (before && before->until > lease->until)
		before = TAILQ_PREV(before, mc_lease_tail, by_end);
	if (before)
		TAILQ_INSERT_AFTER(&l->by_end, before, lease, by_end);
	else
		TAILQ_INSERT_HEAD(&l->by_end, lease, by_end);
}

static struct mc_lease *lease_new(struct mc_leases *l, struct mc_lease_list *held, const struct mc_object *o,
				  struct mc_reader *r, uint64_t until)
{
	struct mc_lease *lease = l->count < MC_LEASES_MAX ? calloc(1, sizeof(*lease)) : NULL;

	if (!lease)
		return NULL;
	lease->object = o;
	lease->reader = r;
	lease->until = until;
	if (!tsearch(lease, &r->objects, by_object)) {
		free(lease);
		return NULL;
	}
	LIST_INSERT_HEAD(held, lease, of_object);
	LIST_INSERT_HEAD(&r->leases, lease, of_reader);
	insert_by_end(l, lease);
	l->count++;
	return lease;
}

bool mc_lease_take(struct mc_leases *l, struct mc_lease_list *held, const struct mc_object *o, const uint8_t *client,
		   uint64_t until)
{
	static const uint8_t nobody[MC_UUID_LEN];
	struct mc_lease probe = { .object = o }, *lease, **found;
	struct mc_reader *r;

	if (!memcmp(client, nobody, MC_UUID_LEN))
		return false;
	r = reader_get(l, client);
	if (!r || r->gone_until)
		return r;
	found = tfind(&probe, &r->objects, by_object);
	lease = found ? *found : lease_new(l, held, o, r, until);
	if (!lease) {
		reader_put(l, r);
		return false;
	}
	if (until > lease->until) {
		lease->until = until;
		TAILQ_REMOVE(&l->by_end, lease, by_end);
		insert_by_end(l, lease);
	}
	return true;
}

uint64_t mc_lease_end(const struct mc_lease_list *held)
{
	const struct mc_lease *lease;
	uint64_t end = 0;

	LIST_FOREACH(lease, held, of_object)
		if (lease->until > end)
			end = lease->until;
	return end;
}

void mc_leases_forget(struct mc_leases *l, struct mc_lease_list *held)
{
	struct mc_lease *lease;

	while ((lease = LIST_FIRST(held)))
		drop(l, lease);
}

static void forget_gone(struct mc_leases *l, struct mc_reader *r)
{
	TAILQ_REMOVE(&l->gone, r, gone);
	l->gone_count--;
	r->gone_until = 0;
	reader_put(l, r);
}

void mc_leases_reader_gone(struct mc_leases *l, const uint8_t *client, uint64_t until)
{
	struct mc_reader *r = reader_get(l, client);
	struct mc_lease *lease;

	/* Out of memory: then it has no leases either. */
	if (!r)
		return;
	if (r->gone_until)
		TAILQ_REMOVE(&l->gone, r, gone);
	else
		l->gone_count++;
	r->gone_until = until;
	TAILQ_INSERT_TAIL(&l->gone, r, gone);
	if (l->gone_count > MC_GONE_MAX)
		forget_gone(l, TAILQ_FIRST(&l->gone));
	while ((lease = LIST_FIRST(&r->leases)))
		drop(l, lease);
}

void mc_leases_expire(struct mc_leases *l, uint64_t now)
{
	struct mc_lease *lease;
	struct mc_reader *r;

	while ((lease = TAILQ_FIRST(&l->by_end)) && lease->until <= now)
		drop(l, lease);
	while ((r = TAILQ_FIRST(&l->gone)) && r->gone_until <= now)
		forget_gone(l, r);
}

uint64_t mc_leases_next(const struct mc_leases *l)
{
	uint64_t lease = TAILQ_EMPTY(&l->by_end) ? UINT64_MAX : TAILQ_FIRST(&l->by_end)->until;
	uint64_t reader = TAILQ_EMPTY(&l->gone) ? UINT64_MAX : TAILQ_FIRST(&l->gone)->gone_until;

	return lease < reader ? lease : reader;
}

void mc_leases_fini(struct mc_leases *l)
{
	mc_leases_expire(l, UINT64_MAX);
}
