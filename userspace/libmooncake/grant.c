// SPDX-License-Identifier: MIT
/* Grants: loaded many at a time, and tried again while the node does not know the master's time. */
#include "store_int.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PATIENCE_NS	(2000 * 1000000ull)	/* mcnoded tells the kernel the master's time each second */
#define PAUSE_NS	(20 * 1000000ull)

static uint64_t address(const void *p)
{
	return (uintptr_t)p;
}

/* One call's worth. Returns 0, or -errno when none was looked at. */
static int load_some(struct mc_dev *dev, struct mc_grant_use **use, uint32_t n, struct mc_grant_item *items)
{
	struct mc_grant_add add = { .size = sizeof(add), .count = n, .items = address(items) };
	uint32_t i;
	int rc;

	memset(items, 0, n * sizeof(*items));
	for (i = 0; i < n; i++)
		memcpy(items[i].grant, use[i]->bytes, MC_GRANT_LEN);
	rc = dev->ops->ioctl(dev->ctx, MC_IOC_GRANT_ADD, &add);
	for (i = 0; i < n; i++) {
		use[i]->id = rc ? 0 : items[i].out_id;
		use[i]->error = rc ? rc : items[i].out_error;
	}
	return rc;
}

/* Those for which @again says so, or all. */
static int load_pass(struct mc_dev *dev, struct mc_grant_use *grants, size_t n, bool again)
{
	uint32_t most = n < MC_MAX_GRANT_BATCH ? n : MC_MAX_GRANT_BATCH, k = 0;
	struct mc_grant_item *items = malloc(most * sizeof(*items));
	struct mc_grant_use **use = malloc(most * sizeof(*use));
	int rc = items && use ? 0 : -ENOMEM;
	size_t i;

	for (i = 0; i < n; i++) {
		if (again && grants[i].error != -ETIME)
			continue;
		if (rc || grants[i].len != MC_GRANT_LEN) {
			grants[i].error = rc ? rc : -EACCES;
			continue;
		}
		use[k++] = &grants[i];
		if (k == most) {
			rc = load_some(dev, use, k, items);
			k = 0;
		}
	}
	if (k)
		rc = load_some(dev, use, k, items);
	free(items);
	free(use);
	return rc;
}

int mc_grants_load(struct mc_dev *dev, struct mc_grant_use *grants, size_t n, struct mc_error *err)
{
	size_t i;
	int rc = 0;

	for (i = 0; i < n; i++) {
		grants[i].id = 0;
		grants[i].error = 0;
	}
	if (n)
		rc = load_pass(dev, grants, n, false);
	return rc ? mc_error_set(err, rc, -rc, "device %s: loading %zu grants: %s", dev->path, n, strerror(-rc)) : 0;
}

void mc_grants_unload(struct mc_dev *dev, const struct mc_grant_use *grants, size_t n)
{
	uint32_t ids[MC_MAX_GRANT_BATCH], k = 0;
	size_t i;

	for (i = 0; i < n; i++) {
		if (grants[i].id)
			ids[k++] = grants[i].id;
		if (k == MC_MAX_GRANT_BATCH || (k && i + 1 == n)) {
			struct mc_grant_del del = { .size = sizeof(del), .count = k, .ids = address(ids) };

			/* What can't be given back goes with the file. */
			(void)dev->ops->ioctl(dev->ctx, MC_IOC_GRANT_DEL, &del);
			k = 0;
		}
	}
}

static bool any_untimely(const struct mc_grant_use *grants, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (grants[i].error == -ETIME)
			return true;
	return false;
}

void mc_grants_load_until(struct mc_dev *dev, struct mc_grant_use *grants, size_t n, uint64_t until)
{
	const struct timespec pause = { .tv_nsec = PAUSE_NS };
	uint64_t now = mc_now_ns();

	if (!n || mc_grants_load(dev, grants, n, NULL))
		return;
	if (until > now + PATIENCE_NS)
		until = now + PATIENCE_NS;
	while (any_untimely(grants, n) && mc_now_ns() + PAUSE_NS < until) {
		nanosleep(&pause, NULL);
		(void)load_pass(dev, grants, n, true);
	}
}

void mc_renewal_init(struct mc_renewal *renew, uint64_t from, uint64_t life_ms, uint64_t (*ask)(void *arg), void *arg)
{
	renew->life_ns = life_ms > UINT64_MAX / 4000000 ? 0 : life_ms * 1000000;
	renew->at = renew->life_ns ? from + renew->life_ns / 2 : UINT64_MAX;
	renew->ask = ask;
	renew->arg = arg;
}

uint64_t mc_renewal_limit(const struct mc_renewal *renew, uint64_t asked_ns, uint64_t deadline)
{
	uint64_t limit = asked_ns + renew->life_ns / 16;

	return limit < deadline ? limit : deadline;
}

/*
 * An older one under which something was handed over is kept: entries that the kernel has not looked at yet may name
 * it. There are few of them, as what waits has its turn in order.
 */
bool mc_grant_replace(struct mc_batch *b, uint32_t first, uint32_t count, struct mc_grant_use *grant,
		      const void *bytes, size_t len, struct mc_old_grants *old)
{
	struct mc_grant_use newer = { .bytes = bytes, .len = len };
	struct mc_grant_use older = *grant, *more;

	more = old->n < MC_OLD_GRANTS ? reallocarray(old->use, old->n + 1, sizeof(*more)) : NULL;
	if (!more)
		return false;
	old->use = more;
	if (mc_grants_load(b->dev, &newer, 1, NULL) || newer.error)
		return false;
	*grant = newer;
	if (mc_batch_regrant(b, first, count, newer.id))
		old->use[old->n++] = older;
	else
		mc_grants_unload(b->dev, &older, 1);
	return true;
}

void mc_old_grants_drop(struct mc_dev *dev, struct mc_old_grants *old)
{
	mc_grants_unload(dev, old->use, old->n);
	free(old->use);
	old->use = NULL;
	old->n = 0;
}
