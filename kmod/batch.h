/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What has become of the requests of a file that name the same batch.
 *
 * A batch is known while one of its requests is pending, and after that until MC_MAX_BATCHES_KEPT others have ended:
 * pending ones are as many as the ring has slots at most. Lock: the table's own (xa_lock); nothing nests inside it.
 */
#ifndef MC_BATCH_H
#define MC_BATCH_H

#include <linux/list.h>
#include <linux/types.h>
#include <linux/xarray.h>

struct mc_batch_info;

/**
 * struct mc_batches - the batches of one file
 * @xa: number to batch
 * @ended: those without a pending request, oldest first
 * @nended: entries of @ended
 */
struct mc_batches {
	struct xarray xa;
	struct list_head ended;
	u32 nended;
};

void mc_batches_init(struct mc_batches *b);
void mc_batches_destroy(struct mc_batches *b);

/**
 * mc_batch_begin - one request more is pending
 * @b: batches
 * @id: its number; 0 is no batch
 *
 * Return: 0 or -ENOMEM.
 */
int mc_batch_begin(struct mc_batches *b, u32 id);

/**
 * mc_batch_end - a request is about to complete
 * @b: batches
 * @id: as given to mc_batch_begin()
 * @cookie: the request's
 * @result: the request's; the first error of a batch is kept
 */
void mc_batch_end(struct mc_batches *b, u32 id, u64 cookie, int result);

/**
 * mc_batch_query - MC_IOC_BATCH
 * @b: batches
 * @arg: see the uapi
 *
 * Return: 0, -EINVAL, -ENOENT.
 */
int mc_batch_query(struct mc_batches *b, struct mc_batch_info *arg);

#endif /* MC_BATCH_H */
