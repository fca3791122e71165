// SPDX-License-Identifier: GPL-2.0-only
/*
 * A request is one work item, a large one several: they cut slice after slice and copy. Stopping needs nothing from
 * here: the next cut returns NULL and the work ends; a copy in progress lasts as long as one slice.
 */
#include <linux/delay.h>
#include <linux/highmem.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/workqueue.h>

#include "fault.h"
#include "local.h"
#include "mem.h"
#include "seg.h"
#include "stats.h"
#include "trace.h"

/* A large request is copied by several processors: one of them does not fill the memory's bandwidth. */
#define HELPERS_MAX	7
#define HELPER_BYTES	(1u << 20)

static struct workqueue_struct *local_wq;

static void flip_one_byte(struct mc_mem *mem, u64 off)
{
	u8 *va = kmap_local_page(mc_mem_page(mem, off));

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

/* Without memory for a slice the request waits; its deadline stops it. */
static void copy_some(struct mc_req *req, struct mc_mem *seg_mem)
{
	struct mc_slice *s;

	while (!mc_req_all_cut(req)) {
		s = mc_req_cut(req, 0, 0, mc_slice_bytes, mc_slice_tail);
		if (IS_ERR(s)) {
			msleep(20);
			continue;
		}
		if (!s)
			break;
		trace_mc_slice_post(req, s);
		mc_slice_done(s, copy_slice(req, seg_mem, s));
		cond_resched();
	}
}

/* Before the request can complete: after its completion nothing of it touches the segment. */
static void local_end(struct mc_req *req, struct mc_seg_desc *desc)
{
	mc_seg_desc_put(desc);
	mc_req_cut_end(req);
}

/**
 * struct helper - one more processor that copies for a request
 * @work: on local_wq
 * @team: all of them
 */
struct helper {
	struct work_struct work;
	struct team *team;
};

/**
 * struct team - those who copy for one request
 * @busy: how many do; the last one ends it
 * @req: the request, with its cutter's hold
 * @desc: generation of the segment, with a reference
 * @helper: all but the request's own work
 */
struct team {
	refcount_t busy;
	struct mc_req *req;
	struct mc_seg_desc *desc;
	struct helper helper[];
};

static void team_work(struct team *team)
{
	copy_some(team->req, team->desc->mem);
	if (!refcount_dec_and_test(&team->busy))
		return;
	local_end(team->req, team->desc);
	kfree(team);
}

static void helper_work(struct work_struct *work)
{
	team_work(container_of(work, struct helper, work)->team);
}

static u32 helpers_for(struct mc_req *req)
{
	return min3((u64)(num_online_cpus() - 1), (u64)HELPERS_MAX, req->len / HELPER_BYTES);
}

static struct team *team_start(struct mc_req *req, struct mc_seg_desc *desc)
{
	u32 n = helpers_for(req), i;
	struct team *team = n ? kmalloc(struct_size(team, helper, n), GFP_KERNEL | __GFP_NORETRY | __GFP_NOWARN) : NULL;

	if (!team)
		return NULL;
	refcount_set(&team->busy, n + 1);
	team->req = req;
	team->desc = desc;
	for (i = 0; i < n; i++) {
		team->helper[i].team = team;
		INIT_WORK(&team->helper[i].work, helper_work);
	}
	/* From the first one on the team may only be touched because of the busy count of this work itself. */
	for (i = 0; i < n; i++)
		queue_work(local_wq, &team->helper[i].work);
	return team;
}

static void local_work(struct work_struct *work)
{
	struct mc_req *req = container_of(work, struct mc_req, work);
	struct mc_seg_desc *desc = mc_seg_desc_get(mc_target_seg(req->target));
	struct team *team;

	if (!desc) {
		mc_req_stop(req, -ESTALE);
		mc_req_cut_end(req);
		return;
	}
	team = team_start(req, desc);
	if (team) {
		team_work(team);
		return;
	}
	copy_some(req, desc->mem);
	local_end(req, desc);
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
