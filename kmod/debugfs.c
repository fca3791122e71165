// SPDX-License-Identifier: GPL-2.0-only
/* Internals for people who debug: /sys/kernel/debug/mooncake, root only. */
#include <linux/debugfs.h>
#include <linux/seq_file.h>

#include "buf.h"
#include "engine.h"
#include "fault.h"
#include "pool.h"
#include "req.h"
#include "sysfs.h"

struct dentry *mc_debugfs;

static int buffers_show(struct seq_file *m, void *unused)
{
	struct mc_buf_info b;
	unsigned long n;

	for (n = 0; mc_buf_nth(n, &b); n++)
		seq_printf(m, "%08x pid %u uid %u len %llu pinned %llu io %u %s\n", b.id, b.pid, b.uid, b.len,
			   b.pinned, b.io, b.gone ? "quarantine" : "live");
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(buffers);

/* Empty when nothing waits for a device or a peer to let go. */
static int quarantine_show(struct seq_file *m, void *unused)
{
	struct mc_buf_info b;
	unsigned long n;

	for (n = 0; mc_buf_nth(n, &b); n++)
		if (b.gone)
			seq_printf(m, "buffer %08x pid %u pinned %llu io %u\n", b.id, b.pid, b.pinned, b.io);
	if (mc_pool_quarantined())
		seq_printf(m, "pools %u\n", mc_pool_quarantined());
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(quarantine);

static int inflight_show(struct seq_file *m, void *unused)
{
	seq_printf(m, "%u\n", mc_req_count());
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(inflight);

static int fault_show(struct seq_file *m, void *unused)
{
	mc_fault_show(m);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(fault);

int mc_debugfs_init(void)
{
	mc_debugfs = debugfs_create_dir("mooncake", NULL);
	debugfs_create_file("buffers", 0400, mc_debugfs, NULL, &buffers_fops);
	debugfs_create_file("quarantine", 0400, mc_debugfs, NULL, &quarantine_fops);
	debugfs_create_file("inflight", 0400, mc_debugfs, NULL, &inflight_fops);
	debugfs_create_file("fault", 0400, mc_debugfs, NULL, &fault_fops);
	return 0;
}

void mc_debugfs_exit(void)
{
	debugfs_remove_recursive(mc_debugfs);
}
