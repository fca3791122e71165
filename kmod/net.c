// SPDX-License-Identifier: GPL-2.0-only
/* Start and end of the RDMA half, and what the entry half calls. */
#include <linux/debugfs.h>
#include <linux/module.h>
#include <linux/seq_file.h>

#include "auth.h"
#include "cmid.h"
#include "cset.h"
#include "engine.h"
#include "ibdev.h"
#include "lease.h"
#include "mem.h"
#include "mrset.h"
#include "net.h"
#include "net_sysfs.h"
#include "peer.h"
#include "rail.h"

struct workqueue_struct *mc_net_wq;

unsigned int mc_ping_ms = 1000;
module_param_named(ping_ms, mc_ping_ms, uint, 0444);
MODULE_PARM_DESC(ping_ms, "ms between pings of a peer (default 1000)");

unsigned int mc_ping_miss = 5;
module_param_named(ping_miss, mc_ping_miss, uint, 0444);
MODULE_PARM_DESC(ping_miss, "pings without answer after which a path is taken down (default 5)");

unsigned int mc_revoke_ms = 2000;
module_param_named(revoke_ms, mc_revoke_ms, uint, 0444);
MODULE_PARM_DESC(revoke_ms, "ms a peer may take to acknowledge a revocation before it is cut off (default 2000)");

unsigned int mc_path_ms = 20000;
module_param_named(path_ms, mc_path_ms, uint, 0444);
MODULE_PARM_DESC(path_ms, "ms without a path to a peer after which requests end with EHOSTUNREACH (default 20000)");

unsigned int mc_connect_ms = 3000;
module_param_named(connect_ms, mc_connect_ms, uint, 0444);
MODULE_PARM_DESC(connect_ms, "ms for each step of connecting to a peer (default 3000)");

unsigned int mc_idle_ms = 600000;
module_param_named(idle_ms, mc_idle_ms, uint, 0444);
MODULE_PARM_DESC(idle_ms, "ms without requests until a peer's connections are given back (default 600000, 0: never)");

unsigned long mc_window = 32UL << 20;
module_param_named(window, mc_window, ulong, 0444);
MODULE_PARM_DESC(window, "bytes that may be in flight to one peer (default 33554432)");

const char *mc_net_reason(int err)
{
	switch (err) {
	case -EPROTO:
		return "another protocol version, or not the node that was expected";
	case -ENOENT:
		return "it belongs to another cluster";
	case -EBUSY:
		return "it has too many connections";
	case -ENOMEM:
		return "it is out of memory";
	case -EACCES:
		return "not authorised: keys or modes differ";
	case -EEXIST:
		return "another node has the same UUID";
	case -ESTALE:
		return "a newer connection is there";
	case -ECONNREFUSED:
		return "nobody listens";
	case -ETIMEDOUT:
		return "no answer";
	case -ENETUNREACH:
		return "no way there";
	case -ENETDOWN:
		return "the port is down";
	}
	return "failed";
}

static int net_show(struct seq_file *m, void *v)
{
	mc_peer_show(m);
	mc_pset_show(m);
	return 0;
}
DEFINE_SHOW_ATTRIBUTE(net);

static int check_params(void)
{
	if (mc_ping_ms < 10 || mc_ping_ms > 60000 || !mc_ping_miss || mc_ping_miss > 1000 || mc_revoke_ms > 600000 ||
	    mc_path_ms > 3600000 || mc_connect_ms < 10 || mc_connect_ms > 60000) {
		pr_err("mooncake: out of range: ping_ms %u, ping_miss %u, revoke_ms %u, path_ms %u or connect_ms %u\n",
		       mc_ping_ms, mc_ping_miss, mc_revoke_ms, mc_path_ms, mc_connect_ms);
		return -EINVAL;
	}
	if (mc_ack_timeout < 8 || mc_ack_timeout > 22 || !mc_window || (mc_idle_ms && mc_idle_ms < 100)) {
		pr_err("mooncake: out of range: ack_timeout %u, window %lu or idle_ms %u\n", mc_ack_timeout, mc_window,
		       mc_idle_ms);
		return -EINVAL;
	}
	return 0;
}

int mc_net_init(void)
{
	int ret = check_params();

	if (ret)
		return ret;
	mc_net_wq = alloc_workqueue("mooncake_net", WQ_UNBOUND | WQ_MEM_RECLAIM, WQ_MAX_ACTIVE);
	if (!mc_net_wq)
		return -ENOMEM;
	ret = mc_cmid_init();
	if (ret)
		goto err_wq;
	ret = mc_net_sysfs_init();
	if (ret)
		goto err_cmid;
	ret = mc_pset_init();
	if (ret)
		goto err_sysfs;
	ret = mc_ibdev_init();
	if (ret)
		goto err_pset;
	debugfs_create_file("net", 0400, mc_debugfs, NULL, &net_fops);
	return 0;

err_pset:
	mc_pset_exit();
err_sysfs:
	mc_net_sysfs_exit();
err_cmid:
	mc_cmid_exit();
err_wq:
	destroy_workqueue(mc_net_wq);
	return ret;
}

/*
 * Ways in first (rails), then ways out (peers), then devices, with the registrations that are left, then the workers.
 * A device is not done with before rdma_cm's messages have been sent, which has no limit (cmid.h).
 */
void mc_net_exit(void)
{
	debugfs_lookup_and_remove("net", mc_debugfs);
	mc_rail_del_all();
	mc_peer_del_all();
	mc_ibdev_exit();
	mc_rail_exit();
	mc_pset_exit();
	destroy_workqueue(mc_net_wq);
	mc_cmid_exit();
	mc_net_sysfs_exit();
	mc_auth_forget();
}

void mc_net_drop_dev(struct mc_ibdev *dev)
{
	mc_rail_stop_dev(dev);
}

/*
 * Leases first: when they are gone, no peer has a queue pair on which it could use the keys. Then ib_dereg_mr() on
 * every device, which returns when the device has let go of the pages.
 */
void mc_net_forget_mem(struct mc_mem *mem)
{
	mc_mrset_close_mem(mem);
	if (mem->kind != MC_MEM_USER)
		mc_lease_end(mem);
	mc_mrset_drop_mem(mem);
}

void mc_net_tell_mem(struct mc_mem *mem)
{
	mc_mrset_close_mem(mem);
	mc_lease_tell(mem);
}

bool mc_net_busy(void)
{
	return mc_rail_any() || mc_peer_any();
}

u64 mc_net_chunk_bytes(void)
{
	return mc_ibdev_min_chunk();
}

u32 mc_key_gen(void)
{
	return mc_auth_newest();
}
