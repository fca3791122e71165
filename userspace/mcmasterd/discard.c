// SPDX-License-Identifier: MIT
#include "discard.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool sooner(const struct mc_discard *a, const struct mc_discard *b)
{
	return a->release != b->release ? a->release < b->release : a->seq < b->seq;
}

int mc_discard_reserve(struct mc_discard_list *d, size_t count)
{
	size_t cap = d->cap ? d->cap : 64;
	struct mc_discard *p;

	if (count <= d->cap)
		return 0;
	while (cap < count)
		cap *= 2;
	p = reallocarray(d->heap, cap, sizeof(*p));
	if (!p)
		return -ENOMEM;
	d->heap = p;
	d->cap = cap;
	return 0;
}

void mc_discard_add(struct mc_discard_list *d, struct mc_segment *seg, uint32_t handle, uint64_t release)
{
	struct mc_discard n = { .release = release, .seq = d->seq++, .segment = seg, .handle = handle };
	size_t i = d->count++;

	seg->waiting += mc_alloc_extent(seg->alloc, handle).pages;
	for (; i && sooner(&n, &d->heap[(i - 1) / 2]); i = (i - 1) / 2)
		d->heap[i] = d->heap[(i - 1) / 2];
	d->heap[i] = n;
}

uint64_t mc_discard_next(const struct mc_discard_list *d)
{
	return d->count ? d->heap[0].release : UINT64_MAX;
}

static void pop(struct mc_discard_list *d)
{
	struct mc_discard n = d->heap[--d->count];
	size_t i = 0, child;

	while ((child = 2 * i + 1) < d->count) {
		if (child + 1 < d->count && sooner(&d->heap[child + 1], &d->heap[child]))
			child++;
		if (!sooner(&d->heap[child], &n))
			break;
		d->heap[i] = d->heap[child];
		i = child;
	}
	d->heap[i] = n;
}

struct mc_segment *mc_discard_release(struct mc_discard_list *d, uint64_t now)
{
	struct mc_segment *seg;
	uint32_t handle;

	if (mc_discard_next(d) > now)
		return NULL;
	seg = d->heap[0].segment;
	handle = d->heap[0].handle;
	pop(d);
	seg->waiting -= mc_alloc_extent(seg->alloc, handle).pages;
	mc_alloc_release(seg->alloc, handle);
	return seg;
}

static int compare(const void *a, const void *b)
{
	return sooner(a, b) ? -1 : 1;
}

void mc_discard_dump(const struct mc_discard_list *d, FILE *f)
{
	struct mc_discard *sorted = malloc((d->count + 1) * sizeof(*sorted));
	char uuid[MC_UUID_TEXT];
	size_t i;

	if (!sorted) {
		fprintf(f, "out of memory\n");
		return;
	}
	if (d->count)
		memcpy(sorted, d->heap, d->count * sizeof(*sorted));
	qsort(sorted, d->count, sizeof(*sorted), compare);
	for (i = 0; i < d->count; i++) {
		struct mc_extent e = mc_alloc_extent(sorted[i].segment->alloc, sorted[i].handle);

		fprintf(f, "waiting %s page %u pages %u until %llu\n", mc_uuid_text(sorted[i].segment->uuid, uuid),
			e.page, e.pages, (unsigned long long)sorted[i].release);
	}
	free(sorted);
}
