// SPDX-License-Identifier: GPL-2.0-only
/* Leases: who knows the keys of which segment, and how that ends. */
#include <linux/seq_file.h>
#include <linux/slab.h>

#include "fault.h"
#include "ibdev.h"
#include "mem.h"
#include "mrset.h"
#include "pset.h"
#include "quarantine.h"
#include "rail.h"
#include "seg.h"
#include "trace.h"

#define LEASES_MAX	4096		/* of one set */

static u32 last_lease;

static void lease_free(struct mc_pset *ps, struct mc_lease *lease)
{
	lockdep_assert_held(&mc_psets_lock);
	list_del(&lease->link);
	ps->nleases--;
	atomic_dec(&lease->seg->leases);
	mc_seg_put(lease->seg);
	kfree(lease);
}

static struct mc_lease *lease_find(struct mc_pset *ps, u32 id)
{
	struct mc_lease *lease;

	list_for_each_entry(lease, &ps->leases, link)
		if (lease->id == id)
			return lease;
	return NULL;
}

/*
 * A segment that ends sets mem->forgotten before it looks for leases under the same lock: none is
 * overlooked.
 */
static int lease_add(struct mc_pset *ps, struct mc_seg_desc *desc, u32 *id)
{
	struct mc_lease *lease = kzalloc(sizeof(*lease), GFP_KERNEL);
	int ret = 0;

	if (!lease)
		return -ENOMEM;
	lease->seg = desc->seg;
	lease->desc = desc;
	mutex_lock(&mc_psets_lock);
	if (READ_ONCE(desc->mem->forgotten))
		ret = -ENOENT;
	else if (ps->nleases >= LEASES_MAX)
		ret = -ENOSPC;
	if (ret) {
		mutex_unlock(&mc_psets_lock);
		kfree(lease);
		return ret;
	}
	mc_seg_get(lease->seg);
	atomic_inc(&lease->seg->leases);
	lease->id = *id = ++last_lease;
	list_add_tail(&lease->link, &ps->leases);
	ps->nleases++;
	mutex_unlock(&mc_psets_lock);
	return 0;
}

void mc_lease_drop(struct mc_pset *ps, u32 id)
{
	struct mc_lease *lease;

	mutex_lock(&mc_psets_lock);
	lease = lease_find(ps, id);
	if (lease && lease->told)
		trace_mc_revoke_ack(ps->set.node, lease->seg->target.seg_uuid, id);
	if (lease)
		lease_free(ps, lease);
	mutex_unlock(&mc_psets_lock);
	mc_psets_changed();
}

void mc_lease_drop_all(struct mc_pset *ps)
{
	struct mc_lease *lease, *next;

	list_for_each_entry_safe(lease, next, &ps->leases, link)
		lease_free(ps, lease);
}

/* The descriptor's io reference keeps the memory alive while it is registered. */
static int open_desc(struct mc_pset *ps, struct mc_seg_desc *desc, struct mc_wire_msg *msg)
{
	u32 id;
	int ret;

	ret = lease_add(ps, desc, &id);
	if (ret)
		return ret;
	/* Without rights nothing is reachable: no keys. */
	if (desc->mem->rights)
		ret = mc_mrset_ensure(desc->mem, &ps->set, 0, mc_mrset_nchunks(desc->mem, ps->set.dev));
	if (ret) {
		mc_lease_drop(ps, id);
		return ret;
	}
	msg->type = MC_WIRE_SEG_INFO;
	msg->status = 0;
	msg->lease = id;
	msg->len = desc->len;
	msg->chunk_shift = ps->set.dev->chunk_shift;
	msg->rights = desc->mem->rights | (desc->seg->target.needs_grant ? 0 : MC_WIRE_NO_GRANT);
	msg->gen = desc->gen;
	if (mc_fault_hit(gen_back) || mc_fault_value(gen_old))
		msg->gen--;
	return 0;
}

/* A generation that was replaced while it was being opened says ENOENT: its successor is there. */
int mc_lease_serve_open(struct mc_pset *ps, struct mc_wire_msg *msg)
{
	struct mc_seg *seg = mc_seg_find(msg->seg);
	struct mc_seg_desc *desc;
	u32 gen, last = 0;	/* generations begin with 1 */
	int ret = -ENOENT;

	if (!seg)
		return -ENOENT;
	while (ret == -ENOENT && (desc = mc_seg_desc_get(seg))) {
		gen = desc->gen;
		if (gen != last)
			ret = open_desc(ps, desc, msg);
		mc_seg_desc_put(desc);
		if (gen == last)
			break;
		last = gen;
	}
	mc_seg_put(seg);
	return ret;
}

int mc_lease_serve_lookup(struct mc_wire_msg *msg)
{
	struct mc_seg *seg = mc_seg_find_name(msg->name);

	if (!seg)
		return -ENOENT;
	msg->type = MC_WIRE_SEG_FOUND;
	msg->status = 0;
	memcpy(msg->seg, seg->target.seg_uuid, MC_UUID_LEN);
	mc_seg_put(seg);
	return 0;
}

int mc_lease_serve_keys(struct mc_pset *ps, struct mc_wire_msg *msg)
{
	struct mc_seg_desc *desc = NULL;
	struct mc_lease *lease;
	int ret;

	/* The lock is not held while the keys are looked up: that may wait for somebody's registration. */
	mutex_lock(&mc_psets_lock);
	lease = lease_find(ps, msg->lease);
	if (lease && mc_seg_desc_tryget(lease->desc))
		desc = lease->desc;
	mutex_unlock(&mc_psets_lock);
	if (!desc)
		return -ENOENT;
	msg->type = MC_WIRE_SEG_KEYS;
	ret = mc_mrset_rkeys(desc->mem, ps->set.dev, msg->first, msg->count, msg->keys);
	mc_seg_desc_put(desc);
	return ret;
}

static struct mc_pset *with_lease(struct mc_mem *mem, bool untold, struct mc_wire_msg *msg)
{
	struct mc_lease *lease;
	struct mc_pset *ps;

	mutex_lock(&mc_psets_lock);
	list_for_each_entry(ps, &mc_psets, link) {
		list_for_each_entry(lease, &ps->leases, link) {
			if (lease->desc->mem != mem || (untold && lease->told))
				continue;
			mc_cset_get(&ps->set);
			lease->told = true;
			memcpy(msg->seg, lease->seg->target.seg_uuid, MC_UUID_LEN);
			msg->lease = lease->id;
			/* Replaced by a larger one, or gone? */
			msg->type = mc_seg_dead(lease->seg) ? MC_WIRE_REVOKE : MC_WIRE_SEG_CHANGED;
			mutex_unlock(&mc_psets_lock);
			return ps;
		}
	}
	mutex_unlock(&mc_psets_lock);
	return NULL;
}

static bool any_lease(struct mc_mem *mem)
{
	struct mc_lease *lease;
	struct mc_pset *ps;
	bool any = false;

	mutex_lock(&mc_psets_lock);
	list_for_each_entry(ps, &mc_psets, link)
		list_for_each_entry(lease, &ps->leases, link)
			any |= lease->desc->mem == mem;
	mutex_unlock(&mc_psets_lock);
	return any;
}

/* A peer that takes its messages slowly must not keep this up: whoever is not told in time is cut off later. */
void mc_lease_tell(struct mc_mem *mem)
{
	unsigned long end = jiffies + msecs_to_jiffies(mc_revoke_ms);
	struct mc_wire_msg msg = { };
	struct mc_pset *ps;

	while (time_before_eq(jiffies, end) && (ps = with_lease(mem, true, &msg))) {
		trace_mc_revoke_tell(ps->set.node, msg.seg, msg.lease);
		mc_ctrl_send(&ps->set, &msg);
		mc_cset_put(&ps->set);
	}
}

/* Nothing is allocated here; each wait ends by time or by a flush that needs no network (cset.h). */
void mc_lease_end(struct mc_mem *mem)
{
	long left = msecs_to_jiffies(mc_revoke_ms);
	struct mc_wire_msg msg = { };
	struct mc_pset *ps;
	u32 cut = 0;
	int seen;

	mc_lease_tell(mem);
	while (seen = atomic_read(&mc_psets_changes), left > 0 && any_lease(mem))
		left = wait_event_timeout(mc_psets_wait, atomic_read(&mc_psets_changes) != seen, left);
	while ((ps = with_lease(mem, false, &msg))) {
		trace_mc_revoke_cut(ps->set.node, msg.seg, msg.lease);
		cut++;
		mc_cset_break(&ps->set, -ETIMEDOUT, "did not acknowledge a revocation in %u ms", mc_revoke_ms);
		mc_pset_wait_gone(ps);
	}
	trace_mc_revoke_done(mem->len, cut);
}

void mc_lease_show(struct seq_file *m, u32 max)
{
	struct mc_lease *lease;
	struct mc_pset *ps;

	mutex_lock(&mc_psets_lock);
	list_for_each_entry(ps, &mc_psets, link) {
		list_for_each_entry(lease, &ps->leases, link) {
			if (!max--) {
				seq_puts(m, "...\n");
				goto out;
			}
			seq_printf(m, "lease %u node %pUb rail %u segment %pUb %s\n", lease->id, ps->set.node,
				   ps->rail->id,
				   lease->seg->target.seg_uuid, lease->told ? "revoked" : "held");
		}
	}
out:
	mutex_unlock(&mc_psets_lock);
}

void mc_lease_show_mem(struct seq_file *m, struct mc_mem *mem, struct mc_lines *lines)
{
	struct mc_lease *lease;
	struct mc_pset *ps;

	mutex_lock(&mc_psets_lock);
	list_for_each_entry(ps, &mc_psets, link) {
		list_for_each_entry(lease, &ps->leases, link) {
			if (lease->desc->mem != mem)
				continue;
			if (!mc_lines_next(lines))
				goto out;
			seq_printf(m, "  node %pUb has lease %u through rail %u\n", ps->set.node, lease->id,
				   ps->rail->id);
		}
	}
out:
	mutex_unlock(&mc_psets_lock);
}
