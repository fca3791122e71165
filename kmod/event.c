// SPDX-License-Identifier: GPL-2.0-only
/* Events on the netlink multicast group: see event.h. */
#include <linux/ktime.h>
#include <linux/mutex.h>
#include <net/genetlink.h>

#include "engine.h"
#include "event.h"
#include "genl.h"

/*
 * Events leave one after the other: listeners see the sequence numbers grow. Also protects @running, so that nothing
 * is sent to a group whose number may already belong to another family.
 */
static DEFINE_MUTEX(event_lock);
static bool running;
static u64 event_seq;

/* Teardown must not wait for memory that teardown gives back: an event that finds none is a gap in the sequence. */
#define EVENT_GFP (GFP_KERNEL | __GFP_NORETRY | __GFP_NOWARN)

/**
 * struct event - one under construction
 * @skb: message, NULL: nobody listens or no memory
 * @hdr: its header
 */
struct event {
	struct sk_buff *skb;
	void *hdr;
};

/* Returns true with event_lock held and the message begun; event_send() follows. */
static bool event_begin(struct event *e, u8 cmd, enum mc_reason reason)
{
	if (!READ_ONCE(running) || !genl_has_listeners(&mc_genl_family, &init_net, 0))
		return false;
	mutex_lock(&event_lock);
	event_seq++;
	e->skb = running ? genlmsg_new(NLMSG_DEFAULT_SIZE, EVENT_GFP) : NULL;
	e->hdr = e->skb ? genlmsg_put(e->skb, 0, 0, &mc_genl_family, 0, cmd) : NULL;
	if (e->hdr && !mc_put_u64(e->skb, MC_ATTR_SEQ, event_seq) &&
	    !mc_put_u64(e->skb, MC_ATTR_TIME, ktime_get_boottime_ns()) &&
	    !(reason && nla_put_u32(e->skb, MC_ATTR_REASON, reason)))
		return true;
	nlmsg_free(e->skb);
	mutex_unlock(&event_lock);
	return false;
}

static void event_send(struct event *e, int fill_err)
{
	if (fill_err) {
		nlmsg_free(e->skb);
	} else {
		genlmsg_end(e->skb, e->hdr);
		genlmsg_multicast(&mc_genl_family, e->skb, 0, 0, EVENT_GFP);
	}
	mutex_unlock(&event_lock);
}

static int put_why(struct sk_buff *skb, const char *why)
{
	return why && *why ? nla_put_string(skb, MC_ATTR_LAST_ERROR, why) : 0;
}

enum mc_reason mc_reason_of(int err)
{
	switch (err) {
	case 0:
		return MC_REASON_NONE;
	case -ETIMEDOUT:
		return MC_REASON_SILENT;
	case -ENODEV:
		return MC_REASON_DEVICE;
	case -ESHUTDOWN:
		return MC_REASON_ASKED;
	default:
		return MC_REASON_BROKEN;
	}
}

void mc_event_peer(bool up, const u8 *node, enum mc_reason reason, const char *why)
{
	struct event e;

	if (event_begin(&e, up ? MC_CMD_EVENT_PEER_UP : MC_CMD_EVENT_PEER_DOWN, reason))
		event_send(&e, nla_put(e.skb, MC_ATTR_NODE_UUID, MC_UUID_LEN, node) || put_why(e.skb, why));
}

static const u8 rail_cmds[] = {
	[MC_RAIL_EVENT_UP] = MC_CMD_EVENT_RAIL_UP, [MC_RAIL_EVENT_PAUSED] = MC_CMD_EVENT_RAIL_PAUSED,
	[MC_RAIL_EVENT_DOWN] = MC_CMD_EVENT_RAIL_DOWN,
};

static int put_rail(struct sk_buff *skb, u32 rail, const char *dev)
{
	return nla_put_u32(skb, MC_ATTR_RAIL_ID, rail) ?: nla_put_string(skb, MC_ATTR_DEV_NAME, dev);
}

void mc_event_rail(enum mc_rail_event what, u32 rail, const char *dev, enum mc_reason reason, const char *why)
{
	struct event e;

	if (event_begin(&e, rail_cmds[what], reason))
		event_send(&e, put_rail(e.skb, rail, dev) || put_why(e.skb, why));
}

void mc_event_path(enum mc_rail_event what, const struct mc_event_ends *ends, enum mc_reason reason, const char *why)
{
	struct event e;

	if (event_begin(&e, rail_cmds[what], reason))
		event_send(&e, put_rail(e.skb, ends->rail, ends->dev) ||
			   nla_put(e.skb, MC_ATTR_NODE_UUID, MC_UUID_LEN, ends->node) ||
			   nla_put_u32(e.skb, MC_ATTR_REMOTE_RAIL_ID, ends->remote) ||
			   mc_put_addr(e.skb, ends->addr) || put_why(e.skb, why));
}

void mc_event_seg_gone(const u8 *node, const u8 *seg, const char *name, u32 pid, enum mc_reason reason)
{
	u8 self[MC_UUID_LEN];
	struct event e;

	spin_lock(&mc_node.lock);
	memcpy(self, mc_node.uuid, MC_UUID_LEN);
	spin_unlock(&mc_node.lock);
	if (event_begin(&e, MC_CMD_EVENT_SEG_GONE, reason))
		event_send(&e, nla_put(e.skb, MC_ATTR_SEG_UUID, MC_UUID_LEN, seg) ||
			   nla_put(e.skb, MC_ATTR_NODE_UUID, MC_UUID_LEN, node ?: self) ||
			   (name && nla_put_string(e.skb, MC_ATTR_NAME, name)) ||
			   (pid && nla_put_u32(e.skb, MC_ATTR_PID, pid)));
}

void mc_event_buf_gone(u32 id, u32 pid, u32 uid, u64 len, enum mc_reason reason)
{
	struct event e;

	if (event_begin(&e, MC_CMD_EVENT_BUF_GONE, reason))
		event_send(&e, nla_put_u32(e.skb, MC_ATTR_BUF_ID, id) || nla_put_u32(e.skb, MC_ATTR_PID, pid) ||
			   nla_put_u32(e.skb, MC_ATTR_UID, uid) || mc_put_u64(e.skb, MC_ATTR_LEN, len));
}

void mc_event_client_gone(const u8 *client, u32 pid)
{
	struct event e;

	if (event_begin(&e, MC_CMD_EVENT_CLIENT_GONE, MC_REASON_EXIT))
		event_send(&e, nla_put(e.skb, MC_ATTR_CLIENT_UUID, MC_UUID_LEN, client) ||
			   nla_put_u32(e.skb, MC_ATTR_PID, pid));
}

void mc_events_start(void)
{
	mutex_lock(&event_lock);
	running = true;
	mutex_unlock(&event_lock);
}

void mc_events_stop(void)
{
	mutex_lock(&event_lock);
	running = false;
	mutex_unlock(&event_lock);
}
