// SPDX-License-Identifier: GPL-2.0-only
/* Order of init and exit, nothing else. */
#define pr_fmt(fmt) "mooncake: " fmt

#include <linux/log2.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/workqueue.h>

#include "buf.h"
#include "ctx.h"
#include "dev.h"
#include "engine.h"
#include "genl.h"
#include "local.h"
#include "node.h"
#include "pool.h"
#include "req.h"
#include "seg.h"
#include "seg_sysfs.h"
#include "stats.h"
#include "sysfs.h"

struct workqueue_struct *mc_wq;
struct kobject *mc_kobj;

unsigned int mc_slice_bytes = 65536;
module_param_named(slice_size, mc_slice_bytes, uint, 0444);
MODULE_PARM_DESC(slice_size, "bytes of a slice, 4096 to 16777216 (default 65536)");

unsigned long mc_mr_max = 256UL << 20;
module_param_named(mr_max, mc_mr_max, ulong, 0444);
MODULE_PARM_DESC(mr_max, "most bytes of one registration, from 4096 (default 268435456; the device may allow less)");

unsigned int mc_slice_tail = ~0U;
module_param_named(slice_tail, mc_slice_tail, uint, 0444);
MODULE_PARM_DESC(slice_tail, "bytes of a rest that joins the last slice, at most slice_size (default a quarter of it)");

static int check_params(void)
{
	if (mc_slice_bytes < MC_SLICE_MIN || mc_slice_bytes > MC_SLICE_MAX) {
		pr_err("slice_size %u is not in 4096..16777216\n", mc_slice_bytes);
		return -EINVAL;
	}
	if (mc_slice_tail == ~0U)
		mc_slice_tail = mc_slice_bytes / 4;
	if (mc_slice_tail > mc_slice_bytes) {
		pr_err("slice_tail %u is more than slice_size %u\n", mc_slice_tail, mc_slice_bytes);
		return -EINVAL;
	}
	if (mc_mr_max < PAGE_SIZE) {
		pr_err("mr_max %lu is below 4096\n", mc_mr_max);
		return -EINVAL;
	}
	mc_mr_max = rounddown_pow_of_two(mc_mr_max);
	return 0;
}

static int __init mc_init(void)
{
	int ret = check_params();

	if (ret)
		return ret;
	mc_node_init();
	mc_wq = alloc_workqueue("mooncake", WQ_UNBOUND, 0);
	if (!mc_wq)
		return -ENOMEM;
	ret = mc_stats_init();
	if (ret)
		goto err_destroy_wq;
	ret = mc_buf_init();
	if (ret)
		goto err_stats_exit;
	ret = mc_req_init();
	if (ret)
		goto err_buf_exit;
	ret = mc_local_init();
	if (ret)
		goto err_req_exit;
	ret = mc_dev_init();
	if (ret)
		goto err_local_exit;
	mc_kobj = &mc_misc.this_device->kobj;
	mc_debugfs_init();
	ret = mc_stats_sysfs_init();
	if (ret)
		goto err_dev_exit;
	ret = mc_seg_sysfs_init();
	if (ret)
		goto err_stats_sysfs_exit;
	ret = mc_pool_init();
	if (ret)
		goto err_seg_sysfs_exit;
	ret = mc_net_init();
	if (ret)
		goto err_pool_exit;
	ret = mc_genl_init();
	if (ret)
		goto err_net_exit;
	smp_store_release(&mc_dev_ready, true);	/* pairs with mc_open() */
	return 0;

err_net_exit:
	mc_net_exit();
err_pool_exit:
	mc_pool_exit();
err_seg_sysfs_exit:
	mc_seg_sysfs_exit();
err_stats_sysfs_exit:
	mc_stats_sysfs_exit();
err_dev_exit:
	mc_debugfs_exit();
	mc_dev_exit();
err_local_exit:
	mc_ctx_drain_all();
	mc_local_exit();
err_req_exit:
	mc_req_exit();
err_buf_exit:
	mc_buf_exit();
err_stats_exit:
	mc_stats_exit();
err_destroy_wq:
	destroy_workqueue(mc_wq);
	return ret;
}

/*
 * No file is open (each holds the module), no rail and no live pool exists (so do they). Left may be contexts of
 * closed files whose requests still drain, pools in quarantine, and peers. First the ways in go, then contexts (which
 * need the transports to end their requests), then the RDMA half, which withdraws the last registrations, then pools.
 */
static void __exit mc_exit(void)
{
	mc_genl_exit();
	mc_ctx_drain_all();
	mc_net_exit();
	mc_pool_exit();
	mc_seg_sysfs_exit();
	mc_stats_sysfs_exit();
	mc_debugfs_exit();
	mc_dev_exit();
	mc_local_exit();
	mc_buf_exit();
	flush_workqueue(mc_wq);
	mc_req_exit();
	mc_stats_exit();
	destroy_workqueue(mc_wq);
}

module_init(mc_init);
module_exit(mc_exit);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Mooncake transfer engine: pooled memory of a cluster's nodes over one-sided RDMA");
MODULE_VERSION("0.1.0");
