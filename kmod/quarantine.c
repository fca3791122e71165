// SPDX-License-Identifier: GPL-2.0-only
#include <linux/ktime.h>
#include <linux/mutex.h>
#include <linux/seq_file.h>

#include "lease.h"
#include "mem.h"
#include "mrset.h"
#include "quarantine.h"

static DEFINE_MUTEX(list_lock);
static LIST_HEAD(waiting);

void mc_quarantine_add(struct mc_quarantine *q)
{
	q->since = ktime_get_boottime_ns();
	mutex_lock(&list_lock);
	list_add_tail(&q->link, &waiting);
	mutex_unlock(&list_lock);
}

void mc_quarantine_del(struct mc_quarantine *q)
{
	if (!q->since)
		return;
	mutex_lock(&list_lock);
	list_del(&q->link);
	mutex_unlock(&list_lock);
}

static void show_one(struct seq_file *m, const struct mc_quarantine *q, struct mc_lines *lines)
{
	if (!mc_lines_next(lines))
		return;
	if (q->seg)
		seq_printf(m, "segment %pUb", q->seg);
	else
		seq_printf(m, "buffer %08x pid %u", q->id, q->pid);
	seq_printf(m, " bytes %llu requests %u since %llu ms\n", q->mem->len, refcount_read(q->io),
		   (ktime_get_boottime_ns() - q->since) / NSEC_PER_MSEC);
	mc_lease_show_mem(m, q->mem, lines);
	mc_mrset_show_mem(m, q->mem, lines);
}

void mc_quarantine_show(struct seq_file *m, u32 max)
{
	const struct mc_quarantine *q;
	struct mc_lines lines = { .left = max };

	mutex_lock(&list_lock);
	list_for_each_entry(q, &waiting, link) {
		if (lines.more)
			break;
		show_one(m, q, &lines);
	}
	mutex_unlock(&list_lock);
	if (lines.more)
		seq_puts(m, "...\n");
}
