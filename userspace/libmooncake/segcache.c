// SPDX-License-Identifier: MIT
/* Opened segments, by node and segment UUID. */
#include "store_int.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static unsigned int bucket(const uint8_t *seg_uuid)
{
	return seg_uuid[0] % MC_SEG_BUCKETS;
}

static struct mc_segref *find_locked(struct mc_store *s, const uint8_t *node_uuid, const uint8_t *seg_uuid)
{
	struct mc_segref *ref;

	LIST_FOREACH(ref, &s->segs[bucket(seg_uuid)], link)
		if (!memcmp(ref->seg_uuid, seg_uuid, MC_UUID_LEN) && !memcmp(ref->node_uuid, node_uuid, MC_UUID_LEN))
			return ref;
	return NULL;
}

static struct mc_segref *find(struct mc_store *s, const uint8_t *node_uuid, const uint8_t *seg_uuid)
{
	struct mc_segref *ref;

	pthread_mutex_lock(&s->lock);
	ref = find_locked(s, node_uuid, seg_uuid);
	if (ref)
		ref->refs++;
	pthread_mutex_unlock(&s->lock);
	return ref;
}

void mc_segref_put(struct mc_store *s, struct mc_segref *ref)
{
	int left;

	if (!ref)
		return;
	pthread_mutex_lock(&s->lock);
	left = --ref->refs;
	pthread_mutex_unlock(&s->lock);
	if (left)
		return;
	mc_seg_close(ref->seg);
	free(ref);
}

void mc_segref_forget(struct mc_store *s, struct mc_segref *ref)
{
	pthread_mutex_lock(&s->lock);
	if (ref->cached) {
		LIST_REMOVE(ref, link);
		ref->cached = false;
		ref->refs--;
	}
	pthread_mutex_unlock(&s->lock);
}

void mc_segcache_flush(struct mc_store *s)
{
	LIST_HEAD(, mc_segref) idle = LIST_HEAD_INITIALIZER(idle);
	struct mc_segref *ref, *next;
	unsigned int i;

	pthread_mutex_lock(&s->lock);
	for (i = 0; i < MC_SEG_BUCKETS; i++) {
		for (ref = LIST_FIRST(&s->segs[i]); ref; ref = next) {
			next = LIST_NEXT(ref, link);
			if (ref->refs > 1)
				continue;
			LIST_REMOVE(ref, link);
			ref->cached = false;
			LIST_INSERT_HEAD(&idle, ref, link);
		}
	}
	pthread_mutex_unlock(&s->lock);
	while ((ref = LIST_FIRST(&idle))) {
		LIST_REMOVE(ref, link);
		mc_segref_put(s, ref);
	}
}

/* Opening may wait for another node, so it happens without the lock; of two threads that did it one keeps its own. */
static struct mc_segref *publish(struct mc_store *s, struct mc_segref *mine)
{
	struct mc_segref *there;

	pthread_mutex_lock(&s->lock);
	there = find_locked(s, mine->node_uuid, mine->seg_uuid);
	if (there) {
		there->refs++;
	} else {
		LIST_INSERT_HEAD(&s->segs[bucket(mine->seg_uuid)], mine, link);
		mine->cached = true;
		mine->refs++;
	}
	pthread_mutex_unlock(&s->lock);
	if (!there)
		return mine;
	mc_segref_put(s, mine);
	return there;
}

static int open_segment(struct mc_store *s, struct mc_segref *ref, uint64_t until, struct mc_error *err)
{
	uint64_t ms = (mc_left_ns(until) + 999999) / 1000000;
	int rc;

	if (!ms)
		return mc_error_set(err, -ETIMEDOUT, ETIMEDOUT, "no time left to open a segment");
	if (ms > MC_SEG_OPEN_MS)
		ms = MC_SEG_OPEN_MS;
	rc = mc_seg_open(s->dev, ref->node_uuid, ref->seg_uuid, ms, &ref->seg, err);
	if (rc != -ENOSPC)
		return rc;
	mc_segcache_flush(s);
	return mc_seg_open(s->dev, ref->node_uuid, ref->seg_uuid, ms, &ref->seg, err);
}

int mc_segref_get(struct mc_store *s, const uint8_t *node_uuid, const uint8_t *seg_uuid, uint64_t until,
		  struct mc_segref **out, struct mc_error *err)
{
	struct mc_segref *ref = find(s, node_uuid, seg_uuid);
	int rc;

	*out = ref;
	if (ref)
		return 0;
	ref = calloc(1, sizeof(*ref));
	if (!ref)
		return mc_error_set(err, -ENOMEM, ENOMEM, "no memory for a segment");
	memcpy(ref->node_uuid, node_uuid, MC_UUID_LEN);
	memcpy(ref->seg_uuid, seg_uuid, MC_UUID_LEN);
	ref->refs = 1;
	rc = open_segment(s, ref, until, err);
	if (rc) {
		free(ref);
		return rc;
	}
	*out = publish(s, ref);
	return 0;
}

int mc_segref_get_once(struct mc_store *s, struct mc_noseg *no, const Mooncake__V1__Replica *r, uint64_t until,
		       struct mc_segref **out, struct mc_error *err)
{
	unsigned int i;
	int rc;

	*out = NULL;
	for (i = 0; i < no->n; i++) {
		if (memcmp(no->seg[i].seg_uuid, r->segment_uuid.data, MC_UUID_LEN) ||
		    memcmp(no->seg[i].node_uuid, r->node_uuid.data, MC_UUID_LEN))
			continue;
		*err = no->seg[i].err;
		return err->code;
	}
	rc = mc_segref_get(s, r->node_uuid.data, r->segment_uuid.data, until, out, err);
	if (rc && no->n < sizeof(no->seg) / sizeof(no->seg[0])) {
		memcpy(no->seg[no->n].node_uuid, r->node_uuid.data, MC_UUID_LEN);
		memcpy(no->seg[no->n].seg_uuid, r->segment_uuid.data, MC_UUID_LEN);
		no->seg[no->n++].err = *err;
	}
	return rc;
}
