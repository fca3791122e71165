// SPDX-License-Identifier: GPL-2.0-only
/* /dev/mooncake: one dispatcher, one table. Arguments are copied once; handlers work on the copy. */
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/uaccess.h>

#include "buf.h"
#include "ctx.h"
#include "dev.h"
#include "engine.h"
#include "grant.h"
#include "map.h"
#include "mem.h"
#include "req.h"
#include "ring.h"
#include "sysfs.h"
#include "useg.h"

union mc_arg {
	struct mc_info info;
	struct mc_buf_reg buf_reg;
	struct mc_buf_reg_batch buf_reg_batch;
	struct mc_handle handle;
	struct mc_seg_open seg_open;
	struct mc_ring_setup ring_setup;
	struct mc_enter enter;
	struct mc_eventfd eventfd;
	struct mc_seg_export seg_export;
	struct mc_cancel cancel;
	struct mc_batch_info batch;
	struct mc_seg_unexport seg_unexport;
	struct mc_grant_add grant_add;
	struct mc_grant_del grant_del;
	struct mc_client client;
};

static int op_info(struct mc_ctx *ctx, union mc_arg *arg)
{
	struct mc_info *i = &arg->info;

	/* All else is a result: what an earlier call left there does not matter. */
	if (i->resv)
		return -EINVAL;
	i->abi_major = MC_ABI_MAJOR;
	i->abi_minor = MC_ABI_MINOR;
	i->features = MC_FEAT_RDMA;
#ifdef MC_FAULT
	i->features |= MC_FEAT_FAULT;
#endif
	spin_lock(&mc_node.lock);
	memcpy(i->node_uuid, mc_node.uuid, MC_UUID_LEN);
	memcpy(i->cluster_uuid, mc_node.cluster, MC_UUID_LEN);
	i->auth = mc_node.auth;
	spin_unlock(&mc_node.lock);
	if (i->auth == MC_AUTH_KEY && !mc_key_gen())
		i->auth = MC_AUTH_UNSET;
	i->instance = mc_node.instance;
	i->max_ring_entries = MC_MAX_RING_ENTRIES;
	i->max_buffers = MC_MAX_BUFFERS;
	i->max_segments = MC_MAX_SEGMENTS;
	i->slice_bytes = READ_ONCE(mc_slice_bytes);
	i->max_buf_len = MC_MAX_BUF_LEN;
	i->max_req_len = MC_MAX_REQ_LEN;
	i->default_timeout_ns = 60ULL * NSEC_PER_SEC;
	i->mr_chunk_bytes = mc_net_chunk_bytes();
	i->max_buf_batch = MC_MAX_BUF_BATCH;
	i->max_exports = MC_MAX_EXPORTS;
	i->max_export_bufs = MC_MAX_EXPORT_BUFS;
	i->max_grants = MC_MAX_GRANTS;
	i->max_grant_batch = MC_MAX_GRANT_BATCH;
	i->max_batches_kept = MC_MAX_BATCHES_KEPT;
	i->max_timeout_ns = MC_MAX_TIMEOUT_NS;
	return 0;
}

static int op_buf_reg(struct mc_ctx *ctx, union mc_arg *arg)
{
	return mc_buf_register(ctx, &arg->buf_reg);
}

static int op_buf_reg_batch(struct mc_ctx *ctx, union mc_arg *arg)
{
	return mc_buf_register_batch(ctx, &arg->buf_reg_batch);
}

static int op_buf_unreg(struct mc_ctx *ctx, union mc_arg *arg)
{
	return mc_buf_unregister(ctx, arg->handle.id);
}

static int op_seg_open(struct mc_ctx *ctx, union mc_arg *arg)
{
	if (arg->seg_open.flags || arg->seg_open.timeout_ns > MC_MAX_TIMEOUT_NS)
		return -EINVAL;
	return mc_seg_handle_open(ctx, &arg->seg_open);
}

static int op_seg_close(struct mc_ctx *ctx, union mc_arg *arg)
{
	return mc_seg_handle_close(ctx, arg->handle.id);
}

static int op_seg_export(struct mc_ctx *ctx, union mc_arg *arg)
{
	return mc_useg_export(ctx, &arg->seg_export);
}

static int op_seg_unexport(struct mc_ctx *ctx, union mc_arg *arg)
{
	if (arg->seg_unexport.flags)
		return -EINVAL;
	return mc_useg_unexport(ctx, arg->seg_unexport.seg_uuid);
}

static int op_cancel(struct mc_ctx *ctx, union mc_arg *arg)
{
	return mc_req_cancel(ctx, &arg->cancel);
}

static int op_batch(struct mc_ctx *ctx, union mc_arg *arg)
{
	return mc_batch_query(&ctx->batches, &arg->batch);
}

static int op_client(struct mc_ctx *ctx, union mc_arg *arg)
{
	return arg->client.flags ? -EINVAL : mc_ctx_name_client(ctx, arg->client.uuid);
}

static int op_ring_setup(struct mc_ctx *ctx, union mc_arg *arg)
{
	struct mc_ring *ring;
	int ret = 0;

	mutex_lock(&ctx->setup_lock);
	if (ctx->ring) {
		ret = -EEXIST;
		goto out;
	}
	ring = mc_ring_create(&arg->ring_setup);
	if (IS_ERR(ring))
		ret = PTR_ERR(ring);
	else
		smp_store_release(&ctx->ring, ring);	/* pairs with the loads in enter, poll and mmap */
out:
	mutex_unlock(&ctx->setup_lock);
	return ret;
}

static int op_enter(struct mc_ctx *ctx, union mc_arg *arg)
{
	return mc_ring_enter(ctx, &arg->enter);
}

static int op_eventfd(struct mc_ctx *ctx, union mc_arg *arg)
{
	struct mc_eventfd *e = &arg->eventfd;
	struct mc_ring *ring = smp_load_acquire(&ctx->ring);

	if (e->flags || e->resv || e->fd < -1 || !ring)
		return -EINVAL;
	return mc_ring_set_eventfd(ring, e->fd);
}

static int op_grant_add(struct mc_ctx *ctx, union mc_arg *arg)
{
	return mc_grant_load(ctx, &arg->grant_add);
}

static int op_grant_del(struct mc_ctx *ctx, union mc_arg *arg)
{
	return mc_grant_unload(ctx, &arg->grant_del);
}

/**
 * struct mc_op - one ioctl
 * @cmd: number, which holds the size of the newest structure
 * @min_size: size of its first version
 * @out_on_error: results are copied out whatever the handler returns
 * @fn: handler; results go into the argument
 */
struct mc_op {
	unsigned int cmd;
	u32 min_size;
	bool out_on_error;
	int (*fn)(struct mc_ctx *ctx, union mc_arg *arg);
};

#define OP(_cmd, _type, _fn, _always) \
	[_IOC_NR(_cmd)] = { .cmd = (_cmd), .min_size = sizeof(_type), .fn = (_fn), .out_on_error = (_always) }

static const struct mc_op mc_ops[] = {
	[_IOC_NR(MC_IOC_INFO)] = {
		.cmd = MC_IOC_INFO, .min_size = offsetof(struct mc_info, max_buf_batch), .fn = op_info,
	},
	OP(MC_IOC_BUF_REG, struct mc_buf_reg, op_buf_reg, false),
	OP(MC_IOC_BUF_UNREG, struct mc_handle, op_buf_unreg, false),
	[_IOC_NR(MC_IOC_SEG_OPEN)] = {
		.cmd = MC_IOC_SEG_OPEN, .min_size = offsetof(struct mc_seg_open, name), .fn = op_seg_open,
	},
	OP(MC_IOC_SEG_CLOSE, struct mc_handle, op_seg_close, false),
	OP(MC_IOC_RING_SETUP, struct mc_ring_setup, op_ring_setup, false),
	OP(MC_IOC_ENTER, struct mc_enter, op_enter, true),
	OP(MC_IOC_EVENTFD, struct mc_eventfd, op_eventfd, false),
	OP(MC_IOC_GRANT_ADD, struct mc_grant_add, op_grant_add, false),
	OP(MC_IOC_GRANT_DEL, struct mc_grant_del, op_grant_del, false),
	OP(MC_IOC_BUF_REG_BATCH, struct mc_buf_reg_batch, op_buf_reg_batch, true),
	OP(MC_IOC_SEG_EXPORT, struct mc_seg_export, op_seg_export, false),
	OP(MC_IOC_SEG_UNEXPORT, struct mc_seg_unexport, op_seg_unexport, false),
	OP(MC_IOC_CANCEL, struct mc_cancel, op_cancel, false),
	OP(MC_IOC_BATCH, struct mc_batch_info, op_batch, false),
	OP(MC_IOC_CLIENT, struct mc_client, op_client, false),
};

/* EFAULT after a success: the object exists and the caller has not learned its handle; it goes with the file. */
static int copy_out(void __user *uarg, const struct mc_op *op, const union mc_arg *arg, u32 usize)
{
	if (!(_IOC_DIR(op->cmd) & _IOC_READ))
		return 0;
	return copy_to_user(uarg, arg, min_t(u32, usize, _IOC_SIZE(op->cmd))) ? -EFAULT : 0;
}

static long mc_ioctl(struct file *file, unsigned int cmd, unsigned long uptr)
{
	void __user *uarg = (void __user *)uptr;
	unsigned int nr = _IOC_NR(cmd);
	const struct mc_op *op;
	union mc_arg arg = {};
	u32 usize;
	int ret, err;

	if (_IOC_TYPE(cmd) != MC_IOC_MAGIC || nr >= ARRAY_SIZE(mc_ops) || !mc_ops[nr].fn)
		return -ENOTTY;
	op = &mc_ops[nr];
	/* A larger structure of a newer header is the same command. */
	if (_IOC_DIR(cmd) != _IOC_DIR(op->cmd))
		return -ENOTTY;
	if (get_user(usize, (u32 __user *)uarg))
		return -EFAULT;
	if (usize < op->min_size)
		return -EINVAL;
	if (usize > PAGE_SIZE)
		return -E2BIG;
	ret = copy_struct_from_user(&arg, _IOC_SIZE(op->cmd), uarg, usize);
	if (ret)
		return ret;
	*(u32 *)&arg = usize;	/* the copy might differ from what was checked: use the checked one */
	ret = op->fn(file->private_data, &arg);
	if (ret && !op->out_on_error)
		return ret;
	err = copy_out(uarg, op, &arg, usize);
	return err ?: ret;
}

bool mc_dev_ready;

static int mc_open(struct inode *inode, struct file *file)
{
	struct mc_ctx *ctx;

	/* The device appears before the rest of the module, whose sysfs directories hang below it. */
	if (!smp_load_acquire(&mc_dev_ready))
		return -ENODEV;
	ctx = mc_ctx_create();
	if (!ctx)
		return -ENOMEM;
	file->private_data = ctx;
	return stream_open(inode, file);
}

static int mc_release(struct inode *inode, struct file *file)
{
	mc_ctx_close(file->private_data);
	return 0;
}

static __poll_t mc_poll(struct file *file, struct poll_table_struct *pt)
{
	struct mc_ctx *ctx = file->private_data;
	struct mc_ring *ring = smp_load_acquire(&ctx->ring);

	if (!ring)
		return EPOLLERR;
	poll_wait(file, &ring->wait, pt);
	return mc_ring_ready(ring) ? EPOLLIN | EPOLLRDNORM : 0;
}

static int mc_mmap(struct file *file, struct vm_area_struct *vma)
{
	struct mc_ctx *ctx = file->private_data;
	struct mc_ring *ring = smp_load_acquire(&ctx->ring);

	if (vma->vm_pgoff >= MC_OFF_GRANT(1) >> PAGE_SHIFT)
		return mc_map_mmap(ctx, vma);
	return ring ? mc_ring_mmap(ring, vma) : -EINVAL;
}

static const struct file_operations mc_fops = {
	.owner = THIS_MODULE,
	.open = mc_open,
	.release = mc_release,
	.unlocked_ioctl = mc_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.poll = mc_poll,
	.mmap = mc_mmap,
	.llseek = noop_llseek,
};

struct miscdevice mc_misc = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "mooncake",
	.mode = 0660,
	.fops = &mc_fops,
	.groups = mc_sysfs_groups,
};

int mc_dev_init(void)
{
	return misc_register(&mc_misc);
}

void mc_dev_exit(void)
{
	misc_deregister(&mc_misc);
}
