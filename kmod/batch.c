// SPDX-License-Identifier: GPL-2.0-only
#include <linux/mooncake.h>
#include <linux/slab.h>

#include "batch.h"

/**
 * struct batch - one batch
 * @link: in mc_batches.ended while nothing is pending
 * @pending: requests
 * @done: requests that have completed
 * @error: of the first that failed
 * @error_cookie: its cookie
 * @id: its number
 */
struct batch {
	struct list_head link;
	u32 pending;
	u64 done;
	int error;
	u64 error_cookie;
	u32 id;
};

void mc_batches_init(struct mc_batches *b)
{
	xa_init(&b->xa);
	INIT_LIST_HEAD(&b->ended);
	b->nended = 0;
}

void mc_batches_destroy(struct mc_batches *b)
{
	unsigned long index;
	struct batch *one;

	xa_for_each(&b->xa, index, one)
		kfree(one);
	xa_destroy(&b->xa);
}

/* The lock is held, and dropped while memory is allocated. */
static struct batch *find_or_make(struct mc_batches *b, u32 id)
	__must_hold(&b->xa.xa_lock)
{
	struct batch *one = xa_load(&b->xa, id), *new;

	if (one)
		return one;
	xa_unlock(&b->xa);
	new = kzalloc(sizeof(*new), GFP_KERNEL_ACCOUNT);
	xa_lock(&b->xa);
	if (!new)
		return NULL;
	INIT_LIST_HEAD(&new->link);
	new->id = id;
	one = __xa_cmpxchg(&b->xa, id, NULL, new, GFP_KERNEL_ACCOUNT);
	if (!one)
		return new;
	kfree(new);
	return xa_is_err(one) ? NULL : one;
}

int mc_batch_begin(struct mc_batches *b, u32 id)
{
	struct batch *one;

	if (!id)
		return 0;
	xa_lock(&b->xa);
	one = find_or_make(b, id);
	if (one && !list_empty(&one->link)) {
		/* It had ended: the number begins anew. */
		list_del_init(&one->link);
		b->nended--;
		one->done = 0;
		one->error = 0;
		one->error_cookie = 0;
	}
	if (one)
		one->pending++;
	xa_unlock(&b->xa);
	return one ? 0 : -ENOMEM;
}

void mc_batch_end(struct mc_batches *b, u32 id, u64 cookie, int result)
{
	struct batch *one, *old = NULL;

	if (!id)
		return;
	xa_lock(&b->xa);
	one = xa_load(&b->xa, id);
	one->done++;
	if (result && !one->error) {
		one->error = result;
		one->error_cookie = cookie;
	}
	if (!--one->pending) {
		list_add_tail(&one->link, &b->ended);
		if (++b->nended > MC_MAX_BATCHES_KEPT) {
			old = list_first_entry(&b->ended, struct batch, link);
			list_del(&old->link);
			b->nended--;
			__xa_erase(&b->xa, old->id);
		}
	}
	xa_unlock(&b->xa);
	kfree(old);
}

int mc_batch_query(struct mc_batches *b, struct mc_batch_info *arg)
{
	struct batch *one;

	if (arg->flags || arg->resv || !arg->batch)
		return -EINVAL;
	xa_lock(&b->xa);
	one = xa_load(&b->xa, arg->batch);
	if (one) {
		arg->out_pending = one->pending;
		arg->out_done = one->done;
		arg->out_error = one->error;
		arg->out_error_cookie = one->error_cookie;
	}
	xa_unlock(&b->xa);
	return one ? 0 : -ENOENT;
}
