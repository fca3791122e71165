/* SPDX-License-Identifier: GPL-2.0-only */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM mooncake

#if !defined(MC_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define MC_TRACE_H

#include <linux/tracepoint.h>

#include "engine.h"

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

#endif /* MC_TRACE_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
