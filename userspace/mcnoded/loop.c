// SPDX-License-Identifier: MIT
#include "loop.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "log.h"
#include "mctext.h"

/* Subscribes when not subscribed; a failure is tried again a second later. */
static void events_keep(struct mcnl **events)
{
	if (*events)
		return;
	if (mcnl_open(events) == 0 && mcnl_events_join(*events) == 0)
		return;
	mcnl_close(*events);
	*events = NULL;
}

static bool take_rail(const struct mcnl_event *ev, struct nd_node *nd)
{
	const char *why = ev->text[0] ? ev->text : "no reason given";
	char rail[MCT_RAIL_TEXT];

	mct_rail_text(ev, rail);
	if (ev->cmd == MC_CMD_EVENT_RAIL_UP)
		nd_log(ND_INFO, "%s is up", rail);
	else
		nd_log(ND_WARN, "%s is %s: %s", rail, ev->cmd == MC_CMD_EVENT_RAIL_PAUSED ? "paused" : "down", why);
	/* Only rails that come and go change what the master announces. */
	return mct_uuid_is_zero(ev->node_uuid) && ev->cmd != MC_CMD_EVENT_RAIL_PAUSED && nd_refresh_rails(nd) == 0;
}

static bool take_segment(const struct mcnl_event *ev, struct nd_node *nd)
{
	char uuid[MCT_UUID_TEXT], node[MCT_UUID_TEXT];

	mct_uuid_text(ev->seg_uuid, uuid);
	if (memcmp(ev->node_uuid, nd->self.uuid, MC_UUID_LEN)) {
		nd_log(ND_INFO, "segment %s of node %s is gone", uuid, mct_uuid_text(ev->node_uuid, node));
		return false;
	}
	if (ev->pid)
		nd_log(ND_INFO, "segment %s '%s' of process %u is gone", uuid, ev->name, ev->pid);
	else
		nd_log(ND_INFO, "segment %s '%s' is gone", uuid, ev->name);
	return nd_segment_gone(nd, ev->seg_uuid);
}

/* Changes of rails and of the pool are news for the master; the rest is for people. Buffers come and go unlogged. */
static bool take_one(const struct mcnl_event *ev, struct nd_node *nd)
{
	const char *why = ev->text[0] ? ev->text : "no reason given";
	char uuid[MCT_UUID_TEXT];

	switch (ev->cmd) {
	case MC_CMD_EVENT_SEG_GONE:
		return take_segment(ev, nd);
	case MC_CMD_EVENT_CLIENT_GONE:
		nd_client_gone(nd, ev->client);
		return false;
	case MC_CMD_EVENT_PEER_UP:
		nd_log(ND_INFO, "peer %s is connected", mct_uuid_text(ev->node_uuid, uuid));
		return false;
	case MC_CMD_EVENT_PEER_DOWN:
		nd_log(ND_WARN, "peer %s is disconnected: %s", mct_uuid_text(ev->node_uuid, uuid), why);
		return false;
	case MC_CMD_EVENT_RAIL_UP:
	case MC_CMD_EVENT_RAIL_PAUSED:
	case MC_CMD_EVENT_RAIL_DOWN:
		return take_rail(ev, nd);
	default:
		return false;
	}
}

static bool events_take(struct mcnl **events, struct nd_node *nd)
{
	struct mcnl_event ev;
	bool urgent = false;
	int rc;

	do {
		rc = mcnl_event_next(*events, &ev);
		if (!rc)
			urgent |= take_one(&ev, nd);
		else if (rc == -ENOBUFS)	/* what was lost may have been about rails */
			urgent |= nd_refresh_rails(nd) == 0;
	} while (!rc || rc == -ENOBUFS);
	nd_clients_tell(nd);
	if (rc != -EAGAIN && rc != -EINTR) {
		mcnl_close(*events);
		*events = NULL;
	}
	return urgent;
}

volatile sig_atomic_t nd_reload_key;

static void reload_key(struct nd_node *nd)
{
	nd_reload_key = 0;
	if (nd->cfg->auth_none)
		nd_log(ND_WARN, "SIGHUP: there is no key to read: auth is none");
	else if (nd_key_reload(nd))
		nd_log(ND_ERROR, "SIGHUP: %s; the keys stay as they are", nd->errmsg);
	else
		nd_log(ND_INFO, "SIGHUP: the kernel has generation %u of the cluster key", nd->key_gen);
}

uint64_t nd_boottime(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_BOOTTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000000000ULL + (uint64_t)ts.tv_nsec;
}

/* Signals are taken only while waiting, so that none is lost between the test and the wait. */
void nd_loop(struct nd_node *nd, const volatile sig_atomic_t *stopping)
{
	struct mcnl *events = NULL;
	sigset_t waiting;

	sigprocmask(SIG_BLOCK, NULL, &waiting);
	sigdelset(&waiting, SIGTERM);
	sigdelset(&waiting, SIGINT);
	sigdelset(&waiting, SIGHUP);
	while (!*stopping) {
		uint64_t end, wait = nd_tick(nd);

		events_keep(&events);
		for (end = nd_boottime() + wait; !*stopping && nd_boottime() < end;) {
			uint64_t left = end - nd_boottime();
			struct timespec ts = { .tv_sec = 0, .tv_nsec = 999999999 };
			struct pollfd pfd = { .fd = events ? mcnl_fd(events) : -1, .events = POLLIN };

			if (left < 1000000000)
				ts.tv_nsec = (long)left;
			if (nd_reload_key)
				reload_key(nd);
			if (ppoll(&pfd, 1, &ts, &waiting) > 0 && events_take(&events, nd))
				break;
		}
	}
	mcnl_close(events);
}
