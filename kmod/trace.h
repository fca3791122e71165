/* SPDX-License-Identifier: GPL-2.0-only */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM mooncake

#if !defined(MC_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define MC_TRACE_H

#include <linux/tracepoint.h>

#include "engine.h"

/*
 * Every change of state of a slice, a request, a path, a lease, a registration and a pin is a tracepoint:
 *
 *   mc_submit mc_stop mc_complete                             requests
 *   mc_slice_cut mc_slice_post mc_slice_retry mc_slice_fence mc_slice_done
 *   mc_path                                                   a path to a peer changed its state
 *   mc_revoke_tell mc_revoke_ack mc_revoke_cut mc_revoke_done a segment's memory is taken back from peers
 *   mc_revoked                                                ... and the same as its user sees it
 *   mc_mr_reg mc_mr_dereg                                     one chunk on one device
 *   mc_pin mc_unpin                                           memory of a process
 *
 * Off they cost a jump that is patched out. Keys are in none of them.
 */
#define MC_TRACE_WORD	16	/* of a state or a device, with the closing NUL */

DECLARE_EVENT_CLASS(mc_req_class,
	TP_PROTO(struct mc_req *req, int result),
	TP_ARGS(req, result),
	TP_STRUCT__entry(
		__field(u64, cookie)
		__field(u64, tgt_off)
		__field(u64, len)
		__field(u64, bytes)
		__field(u32, batch)
		__field(int, result)
		__field(bool, write)
		__array(u8, seg, MC_UUID_LEN)
	),
	TP_fast_assign(
		__entry->cookie = req->cookie;
		__entry->tgt_off = req->tgt_off;
		__entry->len = req->len;
		__entry->bytes = req->bytes;
		__entry->batch = req->batch;
		__entry->result = result;
		__entry->write = req->write;
		memcpy(__entry->seg, req->target->seg_uuid, MC_UUID_LEN);
	),
	TP_printk("cookie %llu batch %u %s segment %pUb offset %llu len %llu bytes %llu result %d",
		  __entry->cookie, __entry->batch, __entry->write ? "WRITE" : "READ", __entry->seg,
		  __entry->tgt_off, __entry->len, __entry->bytes, __entry->result)
);

DEFINE_EVENT(mc_req_class, mc_submit, TP_PROTO(struct mc_req *req, int result), TP_ARGS(req, result));
DEFINE_EVENT(mc_req_class, mc_complete, TP_PROTO(struct mc_req *req, int result), TP_ARGS(req, result));
DEFINE_EVENT(mc_req_class, mc_stop, TP_PROTO(struct mc_req *req, int result), TP_ARGS(req, result));

DECLARE_EVENT_CLASS(mc_slice_class,
	TP_PROTO(struct mc_req *req, struct mc_slice *s),
	TP_ARGS(req, s),
	TP_STRUCT__entry(
		__field(u64, cookie)
		__field(u64, off)
		__field(u32, len)
		__field(u32, rail)
		__field(u8, tries)
	),
	TP_fast_assign(
		__entry->cookie = req->cookie;
		__entry->off = s->off;
		__entry->len = s->len;
		__entry->rail = req->rail;
		__entry->tries = s->tries;
	),
	TP_printk("cookie %llu offset %llu len %u rail %u tries %u",
		  __entry->cookie, __entry->off, __entry->len, __entry->rail, __entry->tries)
);

DEFINE_EVENT(mc_slice_class, mc_slice_cut, TP_PROTO(struct mc_req *req, struct mc_slice *s), TP_ARGS(req, s));
DEFINE_EVENT(mc_slice_class, mc_slice_post, TP_PROTO(struct mc_req *req, struct mc_slice *s), TP_ARGS(req, s));
DEFINE_EVENT(mc_slice_class, mc_slice_retry, TP_PROTO(struct mc_req *req, struct mc_slice *s), TP_ARGS(req, s));
/* Its old path can't execute it any more: it may be posted again, or its request may end. */
DEFINE_EVENT(mc_slice_class, mc_slice_fence, TP_PROTO(struct mc_req *req, struct mc_slice *s), TP_ARGS(req, s));

TRACE_EVENT(mc_slice_done,
	TP_PROTO(struct mc_req *req, struct mc_slice *s, int err),
	TP_ARGS(req, s, err),
	TP_STRUCT__entry(
		__field(u64, cookie)
		__field(u64, off)
		__field(u32, len)
		__field(int, err)
	),
	TP_fast_assign(
		__entry->cookie = req->cookie;
		__entry->off = s->off;
		__entry->len = s->len;
		__entry->err = err;
	),
	TP_printk("cookie %llu offset %llu len %u err %d", __entry->cookie, __entry->off, __entry->len, __entry->err)
);

TRACE_EVENT(mc_path,
	TP_PROTO(const u8 *node, u32 rail, const char *from, const char *to, int err),
	TP_ARGS(node, rail, from, to, err),
	TP_STRUCT__entry(
		__array(u8, node, MC_UUID_LEN)
		__array(char, from, MC_TRACE_WORD)
		__array(char, to, MC_TRACE_WORD)
		__field(u32, rail)
		__field(int, err)
	),
	TP_fast_assign(
		memcpy(__entry->node, node, MC_UUID_LEN);
		strscpy(__entry->from, from, MC_TRACE_WORD);
		strscpy(__entry->to, to, MC_TRACE_WORD);
		__entry->rail = rail;
		__entry->err = err;
	),
	TP_printk("node %pUb rail %u from %s to %s err %d", __entry->node, __entry->rail, __entry->from, __entry->to,
		  __entry->err)
);

DECLARE_EVENT_CLASS(mc_revoke_class,
	TP_PROTO(const u8 *node, const u8 *seg, u32 lease),
	TP_ARGS(node, seg, lease),
	TP_STRUCT__entry(
		__array(u8, node, MC_UUID_LEN)
		__array(u8, seg, MC_UUID_LEN)
		__field(u32, lease)
	),
	TP_fast_assign(
		memcpy(__entry->node, node, MC_UUID_LEN);
		memcpy(__entry->seg, seg, MC_UUID_LEN);
		__entry->lease = lease;
	),
	TP_printk("node %pUb segment %pUb lease %u", __entry->node, __entry->seg, __entry->lease)
);

/* The owner: the peer was told; it answered; it did not, and its connections are being destroyed. */
DEFINE_EVENT(mc_revoke_class, mc_revoke_tell, TP_PROTO(const u8 *node, const u8 *seg, u32 lease),
	     TP_ARGS(node, seg, lease));
DEFINE_EVENT(mc_revoke_class, mc_revoke_ack, TP_PROTO(const u8 *node, const u8 *seg, u32 lease),
	     TP_ARGS(node, seg, lease));
DEFINE_EVENT(mc_revoke_class, mc_revoke_cut, TP_PROTO(const u8 *node, const u8 *seg, u32 lease),
	     TP_ARGS(node, seg, lease));
/* The user: the owner took a segment back. */
DEFINE_EVENT(mc_revoke_class, mc_revoked, TP_PROTO(const u8 *node, const u8 *seg, u32 lease),
	     TP_ARGS(node, seg, lease));

/* No peer can reach the memory any more. */
TRACE_EVENT(mc_revoke_done,
	TP_PROTO(u64 len, u32 cut),
	TP_ARGS(len, cut),
	TP_STRUCT__entry(
		__field(u64, len)
		__field(u32, cut)
	),
	TP_fast_assign(
		__entry->len = len;
		__entry->cut = cut;
	),
	TP_printk("len %llu peers cut off %u", __entry->len, __entry->cut)
);

DECLARE_EVENT_CLASS(mc_mr_class,
	TP_PROTO(const char *dev, bool remote, u64 chunk, u64 pages, int result),
	TP_ARGS(dev, remote, chunk, pages, result),
	TP_STRUCT__entry(
		__array(char, dev, MC_TRACE_WORD)
		__field(bool, remote)
		__field(u64, chunk)
		__field(u64, pages)
		__field(int, result)
	),
	TP_fast_assign(
		strscpy(__entry->dev, dev, MC_TRACE_WORD);
		__entry->remote = remote;
		__entry->chunk = chunk;
		__entry->pages = pages;
		__entry->result = result;
	),
	TP_printk("device %s %s chunk %llu pages %llu result %d", __entry->dev, __entry->remote ? "segment" : "buffer",
		  __entry->chunk, __entry->pages, __entry->result)
);

DEFINE_EVENT(mc_mr_class, mc_mr_reg, TP_PROTO(const char *dev, bool remote, u64 chunk, u64 pages, int result),
	     TP_ARGS(dev, remote, chunk, pages, result));
DEFINE_EVENT(mc_mr_class, mc_mr_dereg, TP_PROTO(const char *dev, bool remote, u64 chunk, u64 pages, int result),
	     TP_ARGS(dev, remote, chunk, pages, result));

TRACE_EVENT(mc_pin,
	TP_PROTO(u64 addr, u64 pages, int result),
	TP_ARGS(addr, pages, result),
	TP_STRUCT__entry(
		__field(u64, addr)
		__field(u64, pages)
		__field(int, result)
	),
	TP_fast_assign(
		__entry->addr = addr;
		__entry->pages = pages;
		__entry->result = result;
	),
	TP_printk("addr %#llx pages %llu result %d", __entry->addr, __entry->pages, __entry->result)
);

TRACE_EVENT(mc_unpin,
	TP_PROTO(u64 pages),
	TP_ARGS(pages),
	TP_STRUCT__entry(
		__field(u64, pages)
	),
	TP_fast_assign(
		__entry->pages = pages;
	),
	TP_printk("pages %llu", __entry->pages)
);

#endif /* MC_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
