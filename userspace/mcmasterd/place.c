// SPDX-License-Identifier: MIT
#include "place.h"

#include <string.h>

#include "segment.h"

uint64_t mc_rng_next(struct mc_rng *rng)
{
	rng->s ^= rng->s << 13;
	rng->s ^= rng->s >> 7;
	rng->s ^= rng->s << 17;
	return rng->s * 0x2545f4914f6cdd1dull;
}

/* Replicas found so far. */
struct choice {
	const struct mc_state *s;
	struct mc_op *op;
	uint32_t pages, wanted, found;
	const struct mc_segment *taken[MC_REPLICAS_MAX];
};

static void try_segment(struct choice *c, const struct mc_segment *seg)
{
	struct mc_place *p = &c->op->places[c->found];
	uint32_t i;

	if (seg->state != MC_SEGMENT_OK || c->op->now < seg->rest_until)
		return;
	for (i = 0; i < c->found; i++)
		if (!memcmp(c->taken[i]->node, seg->node, MC_UUID_LEN) || !strcmp(c->taken[i]->name, seg->name))
			return;
	if (!mc_alloc_find(seg->alloc, c->pages, &p->extent))
		return;
	memcpy(p->segment, seg->uuid, MC_UUID_LEN);
	c->taken[c->found++] = seg;
}

/* All segments, or those of one name, from a random one on. */
static void try_all(struct choice *c, struct mc_rng *rng, const char *name)
{
	uint32_t n = c->s->nsegments, i, start = n ? mc_rng_next(rng) % n : 0, before = c->found;

	for (i = 0; i < n && c->found < c->wanted; i++) {
		const struct mc_segment *seg = c->s->segments[(start + i) % n];

		if (name && (c->found > before || strcmp(seg->name, name)))
			continue;
		try_segment(c, seg);
	}
}

uint32_t mc_place_random(const struct mc_state *s, struct mc_rng *rng, struct mc_op *op)
{
	struct choice c = { .s = s, .op = op, .wanted = op->nplaces };
	size_t i;

	c.pages = (op->length + MC_PAGE_SIZE - 1) >> MC_PAGE_SHIFT;
	for (i = 0; i < op->npreferred && c.found < c.wanted; i++)
		try_all(&c, rng, op->preferred[i]);
	try_all(&c, rng, NULL);
	op->nplaces = c.found;
	return c.found;
}

void mc_room_of(const struct mc_state *s, uint64_t now, struct mc_room *room)
{
	uint32_t i;

	memset(room, 0, sizeof(*room));
	for (i = 0; i < s->nsegments; i++) {
		const struct mc_segment *seg = s->segments[i];
		uint64_t largest = (uint64_t)mc_alloc_largest(seg->alloc) << MC_PAGE_SHIFT;

		if (seg->state != MC_SEGMENT_OK)
			continue;
		room->segments++;
		room->capacity += seg->size;
		room->used += mc_segment_used(seg);
		room->waiting += (uint64_t)seg->waiting << MC_PAGE_SHIFT;
		if (largest > room->largest)
			room->largest = largest;
		if (now >= seg->rest_until)
			continue;
		room->resting++;
		if (seg->rest_until - now > room->rest_ns)
			room->rest_ns = seg->rest_until - now;
	}
}
