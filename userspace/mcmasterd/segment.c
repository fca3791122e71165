// SPDX-License-Identifier: MIT
#include "segment.h"

#include <stdlib.h>
#include <string.h>

/* First segment whose UUID is not below @uuid. */
static uint32_t position(const struct mc_state *s, const uint8_t *uuid)
{
	uint32_t lo = 0, hi = s->nsegments;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (memcmp(s->segments[mid]->uuid, uuid, MC_UUID_LEN) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

struct mc_segment *mc_state_segment(const struct mc_state *s, const uint8_t *uuid)
{
	uint32_t i = position(s, uuid);

	if (i == s->nsegments || memcmp(s->segments[i]->uuid, uuid, MC_UUID_LEN))
		return NULL;
	return s->segments[i];
}

static struct mc_segment *segment_new(const struct mc_op *op)
{
	struct mc_segment *seg = calloc(1, sizeof(*seg));

	if (!seg)
		return NULL;
	seg->alloc = mc_alloc_new(op->size >> MC_PAGE_SHIFT);
	if (!seg->alloc) {
		free(seg);
		return NULL;
	}
	memcpy(seg->uuid, op->segment, MC_UUID_LEN);
	memcpy(seg->node, op->node, MC_UUID_LEN);
	memcpy(seg->client, op->client, MC_UUID_LEN);
	snprintf(seg->name, sizeof(seg->name), "%s", op->label);
	seg->size = op->size;
	TAILQ_INIT(&seg->replicas);
	return seg;
}

struct mc_segment *mc_segment_add(struct mc_state *s, const struct mc_op *op)
{
	uint32_t at = position(s, op->segment);
	struct mc_segment **p, *seg;

	p = reallocarray(s->segments, s->nsegments + 1, sizeof(*p));
	if (!p)
		return NULL;
	s->segments = p;
	seg = segment_new(op);
	if (!seg)
		return NULL;
	memmove(p + at + 1, p + at, (s->nsegments - at) * sizeof(*p));
	p[at] = seg;
	s->nsegments++;
	return seg;
}

void mc_segment_drop(struct mc_state *s, struct mc_segment *seg)
{
	uint32_t at = position(s, seg->uuid);

	s->nsegments--;
	memmove(s->segments + at, s->segments + at + 1, (s->nsegments - at) * sizeof(*s->segments));
	mc_alloc_free(seg->alloc);
	free(seg);
}

uint64_t mc_segment_used(const struct mc_segment *seg)
{
	return (uint64_t)mc_alloc_used(seg->alloc) << MC_PAGE_SHIFT;
}

const char *mc_segment_state_name(const struct mc_segment *seg, uint64_t now)
{
	if (seg->state == MC_SEGMENT_GONE)
		return "gone";
	return now < seg->rest_until ? "resting" : "ok";
}

void mc_segment_dump(const struct mc_segment *seg, FILE *f)
{
	char uuid[MC_UUID_TEXT], node[MC_UUID_TEXT], client[MC_UUID_TEXT];

	fprintf(f, "segment %s node %s client %s name %s size %llu %s rest %llu ", mc_uuid_text(seg->uuid, uuid),
		mc_uuid_text(seg->node, node), mc_uuid_text(seg->client, client), seg->name,
		(unsigned long long)seg->size, mc_segment_state_name(seg, UINT64_MAX),
		(unsigned long long)seg->rest_until);
	fprintf(f, "used %u waiting %u holes %u replicas %llu\n",
		mc_alloc_used(seg->alloc), seg->waiting, mc_alloc_holes(seg->alloc),
		(unsigned long long)seg->nreplicas);
}
