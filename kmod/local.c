// SPDX-License-Identifier: GPL-2.0-only
/*
 * A request is one work item: it cuts slice after slice and copies. Stopping needs nothing from here: the next cut
 * returns NULL and the work ends; a copy in progress lasts as long as one slice.
 */
#include <linux/delay.h>
#include <linux/highmem.h>
#include <linux/sched.h>
#include <linux/workqueue.h>

#include "fault.h"
#include "local.h"
#include "mem.h"
#include "seg.h"
#include "stats.h"
#include "trace.h"

static struct workqueue_struct *local_wq;

static void flip_one_byte(struct mc_mem *mem, u64 off)
{
	u8 *va = kmap_local_page(mem->pages[(mem->page_off + off) >> PAGE_SHIFT]);

	va[offset_in_page(mem->page_off + off)] ^= 0x40;
	kunmap_local(va);
}

static int copy_slice(struct mc_req *req, struct mc_mem *seg_mem, struct mc_slice *s)
{
	u64 buf = req->buf_off + s->off, seg = req->tgt_off + s->off;
	u64 delay = mc_fault_value(local_delay_ms);

	if (delay)
		msleep(min_t(u64, delay, 10000));
	if (mc_fault_hit(local_err))
		return -EIO;
	if (req->write)
		mc_mem_copy(seg_mem, seg, req->mem, buf, s->len);
	else
		mc_mem_copy(req->mem, buf, seg_mem, seg, s->len);
	if (mc_fault_hit(flip_byte))
		flip_one_byte(req->write ? seg_mem : req->mem, req->write ? seg : buf);
	mc_stat_add(req->write ? MC_STAT_LOCAL_WRITE_BYTES : MC_STAT_LOCAL_READ_BYTES, s->len);
	return 0;
}

static void local_work(struct work_struct *work)
{
	struct mc_req *req = container_of(work, struct mc_req, work);
	struct mc_seg_desc *desc = mc_seg_desc_get(mc_target_seg(req->target));
	struct mc_slice *s;
	int err;

	if (!desc) {
		mc_req_stop(req, -ESTALE);
		mc_req_cut_end(req);
		return;
	}
	while (!mc_req_all_cut(req)) {
		s = mc_req_cut(req, 0, 0, mc_slice_bytes, mc_slice_tail);
		if (IS_ERR(s)) {
			mc_req_stop(req, PTR_ERR(s));
			break;
		}
		if (!s)
			break;
		trace_mc_slice_post(req, s);
		err = copy_slice(req, desc->mem, s);
		mc_slice_done(s, err);
		cond_resched();
	}
	/* Before the request can complete: after its completion nothing of it touches the segment. */
	mc_seg_desc_put(desc);
	mc_req_cut_end(req);
}

static void local_submit(struct mc_req *req)
{
	INIT_WORK(&req->work, local_work);
	queue_work(local_wq, &req->work);
}

static void local_abort(struct mc_req *req, bool fence)
{
	/* The work is queued or running and sees that the request was stopped. */
}

static void local_release(struct mc_target *target)
{
	mc_seg_put(mc_target_seg(target));
}

const struct mc_transport_ops mc_local_ops = {
	.name = "local",
	.id = MC_TRANSPORT_LOCAL,
	.submit = local_submit,
	.abort = local_abort,
	.release = local_release,
};

int mc_local_init(void)
{
	local_wq = alloc_workqueue("mooncake-local", WQ_UNBOUND | WQ_SYSFS, 0);
	return local_wq ? 0 : -ENOMEM;
}

void mc_local_exit(void)
{
	destroy_workqueue(local_wq);
}
