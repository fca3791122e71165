/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What was given back and can't be let go yet: a request, a device or a peer may still use its pages. For people, in
 * debugfs: what waits, since when, and for whom.
 *
 * Lock: the list's mutex is taken before mc_psets_lock; mem->mr_lock is only tried under it, since devices may be
 * waited for with that one held.
 */
#ifndef MC_QUARANTINE_H
#define MC_QUARANTINE_H

#include <linux/list.h>
#include <linux/refcount.h>
#include <linux/types.h>

struct mc_mem;
struct seq_file;

/**
 * struct mc_quarantine - one thing that waits, embedded in it
 * @link: in the list
 * @mem: its pages
 * @io: requests that use it, while it waits
 * @seg: segment's UUID, or NULL: it is a buffer
 * @id: buffer's handle
 * @pid: process that had registered the buffer
 * @since: CLOCK_BOOTTIME when it was given back, ns
 */
struct mc_quarantine {
	struct list_head link;
	struct mc_mem *mem;
	const refcount_t *io;
	const u8 *seg;
	u32 id;
	u32 pid;
	u64 since;
};

/**
 * struct mc_lines - how much of a list may still be shown
 * @left: so many lines
 * @more: there was one too many
 */
struct mc_lines {
	u32 left;
	bool more;
};

/**
 * mc_lines_next - may one more be shown?
 * @lines: counts it
 */
static inline bool mc_lines_next(struct mc_lines *lines)
{
	lines->more = !lines->left;
	lines->left -= !lines->more;
	return !lines->more;
}

/**
 * mc_quarantine_add - it was given back
 * @q: @mem, @io, @seg, @id and @pid are filled in
 *
 * Context: process; the caller's reference keeps it alive.
 */
void mc_quarantine_add(struct mc_quarantine *q);

/**
 * mc_quarantine_del - nobody can reach its pages any more
 * @q: what was added, or zeroed: then it never waited
 */
void mc_quarantine_del(struct mc_quarantine *q);

/**
 * mc_quarantine_show - debugfs
 * @m: file
 * @max: so many lines at most; then "..." if there is more
 */
void mc_quarantine_show(struct seq_file *m, u32 max);

#endif /* MC_QUARANTINE_H */
