// SPDX-License-Identifier: GPL-2.0-only
/* Internals for people who debug: /sys/kernel/debug/mooncake, root only. */
#include <linux/debugfs.h>
#include <linux/ktime.h>
#include <linux/seq_file.h>

#include "buf.h"
#include "ctx.h"
#include "engine.h"
#include "fault.h"
#include "ibdev.h"
#include "lease.h"
#include "mrset.h"
#include "peer.h"
#include "quarantine.h"
#include "req.h"
#include "stats.h"
#include "sysfs.h"
#include "verb.h"

#define LINES_MAX	512	/* of one file: enough to see what is going on, little enough to hold a lock for */

struct dentry *mc_debugfs;

static int buffers_show(struct seq_file *m, void *unused)
{
	struct mc_buf_info b;
	unsigned long n;

	for (n = 0; mc_buf_nth(n, &b); n++)
		seq_printf(m, "%08x pid %u uid %u len %llu pinned %llu extents %lu io %u %s\n", b.id, b.pid, b.uid,
			   b.len, b.pinned, b.extents, b.io, b.gone ? "quarantine" : "live");
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(buffers);

/* Empty when nothing waits for a device or a peer to let go. */
static int quarantine_show(struct seq_file *m, void *unused)
{
	mc_quarantine_show(m, LINES_MAX);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(quarantine);

/* @left lines at most, over all calls. */
static void show_slices(struct seq_file *m, struct mc_peer *peer, struct list_head *list, const char *state, u32 *left)
{
	u64 now = ktime_get_ns();
	struct mc_slice *slice;

	lockdep_assert_held(&peer->lock);
	list_for_each_entry(slice, list, link) {
		struct mc_req *req = slice->req;	/* a slice on a list has not ended, so its request is there */

		if (!*left)
			return;
		--*left;
		seq_printf(m, "node %pUb %s %s pid %u cookie %llu offset %llu len %u tries %u since %llu us\n",
			   peer->node, state, req->write ? "write" : "read", req->ctx->pid, req->cookie, slice->off,
			   slice->len,
			   slice->tries, slice->posted_at ? (now - slice->posted_at) / 1000 : 0);
	}
}

/* How many requests there are, then slices between nodes: on the wire ("posted") and waiting to be posted again. */
static int inflight_show(struct seq_file *m, void *unused)
{
	struct mc_peer *peer;
	u32 left = LINES_MAX, n;

	seq_printf(m, "%u\n", mc_req_count());
	for (n = 0; left && (peer = mc_peer_nth(n)); n++) {
		mutex_lock(&peer->lock);
		show_slices(m, peer, &peer->posted, "posted", &left);
		show_slices(m, peer, &peer->retry, "waits", &left);
		mutex_unlock(&peer->lock);
		mc_peer_put(peer);
	}
	if (!left)
		seq_puts(m, "...\n");
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(inflight);

/* Which chunks are registered where. Keys are secrets: they are in no file. */
static int keys_show(struct seq_file *m, void *unused)
{
	struct mc_ibdev *dev;
	u32 n;

	for (n = 0; (dev = mc_ibdev_nth(n)); n++) {
		mc_mrset_show(m, dev, LINES_MAX);
		mc_ibdev_put(dev);
	}
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(keys);

static int leases_show(struct seq_file *m, void *unused)
{
	mc_lease_show(m, LINES_MAX);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(leases);

static int latency_show(struct seq_file *m, void *unused)
{
	mc_stat_show(m);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(latency);

static int fault_show(struct seq_file *m, void *unused)
{
	mc_fault_show(m);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(fault);

static int verbs_show(struct seq_file *m, void *unused)
{
	mc_verb_show(m);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(verbs);

int mc_debugfs_init(void)
{
	mc_debugfs = debugfs_create_dir("mooncake", NULL);
	debugfs_create_file("buffers", 0400, mc_debugfs, NULL, &buffers_fops);
	debugfs_create_file("quarantine", 0400, mc_debugfs, NULL, &quarantine_fops);
	debugfs_create_file("inflight", 0400, mc_debugfs, NULL, &inflight_fops);
	debugfs_create_file("keys", 0400, mc_debugfs, NULL, &keys_fops);
	debugfs_create_file("leases", 0400, mc_debugfs, NULL, &leases_fops);
	debugfs_create_file("latency", 0400, mc_debugfs, NULL, &latency_fops);
	debugfs_create_file("verbs", 0400, mc_debugfs, NULL, &verbs_fops);
	debugfs_create_file("fault", 0400, mc_debugfs, NULL, &fault_fops);
	return 0;
}

void mc_debugfs_exit(void)
{
	debugfs_remove_recursive(mc_debugfs);
}
