/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Segments of open files: buffers that a process exports under a name (see seg.h for references and the end).
 *
 * Each generation's memory is a view of the pages of all its buffers, and its descriptor holds an io reference of each
 * buffer: a buffer's pages stay pinned until the last generation that has them is gone. The file keeps a list of its
 * segments; a segment is on it until it is retired.
 *
 * Lock: ctx->export_lock (mutex) serialises the file's exports and protects its list; mc_buf_unregister() takes it
 * after the buffer has left the handle table, so that no segment keeps a buffer that is gone. Under it: segs_lock.
 */
#ifndef MC_USEG_H
#define MC_USEG_H

#include "seg.h"

struct mc_buf;
struct mc_ctx;

/**
 * struct mc_useg - a segment of an open file
 * @seg: the segment
 * @link: in the file's list; under its export_lock
 * @pid: process that opened the file, for people
 * @uid: its user, for people
 */
struct mc_useg {
	struct mc_seg seg;
	struct list_head link;
	pid_t pid;
	uid_t uid;
};

int mc_useg_export(struct mc_ctx *ctx, struct mc_seg_export *arg);
int mc_useg_unexport(struct mc_ctx *ctx, const u8 *uuid);
void mc_useg_drop_buf(struct mc_ctx *ctx, struct mc_buf *buf);	/* end the segments it is part of */
void mc_useg_unexport_all(struct mc_ctx *ctx);

/**
 * mc_seg_useg - the open file's segment that a segment is
 * @seg: segment
 *
 * Return: NULL: it is not one of an open file.
 */
struct mc_useg *mc_seg_useg(struct mc_seg *seg);

/**
 * mc_name_trim - check a name from userspace and drop its leading slashes
 * @name: MC_NAME_LEN bytes
 * @out: result, as many
 *
 * Return: 0 or -EINVAL: no NUL, nothing left, or something that can't be printed.
 */
int mc_name_trim(const u8 *name, char *out);

#endif /* MC_USEG_H */
