// SPDX-License-Identifier: MIT
#include "loop.h"

#include <errno.h>
#include <poll.h>
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

/* Changes of rails are news for the master; the rest is for people. */
static bool take_one(const struct mcnl_event *ev, struct nd_node *nd)
{
	const char *why = ev->text[0] ? ev->text : "no reason given";
	char uuid[MCT_UUID_TEXT];

	switch (ev->cmd) {
	case MC_CMD_EVENT_SEG_GONE:
		nd_log(ND_INFO, "segment %s is gone", mct_uuid_text(ev->seg_uuid, uuid));
		return false;
	case MC_CMD_EVENT_PEER_UP:
		nd_log(ND_INFO, "peer %s is connected", mct_uuid_text(ev->node_uuid, uuid));
		return false;
	case MC_CMD_EVENT_PEER_DOWN:
		nd_log(ND_WARN, "peer %s is disconnected: %s", mct_uuid_text(ev->node_uuid, uuid), why);
		return false;
	case MC_CMD_EVENT_RAIL_UP:
		nd_log(ND_INFO, "rail %u is up", ev->rail_id);
		return nd_refresh_rails(nd) == 0;
	case MC_CMD_EVENT_RAIL_DOWN:
		nd_log(ND_WARN, "rail %u is down: %s", ev->rail_id, why);
		return nd_refresh_rails(nd) == 0;
	default:
		return false;
	}
}

static bool events_take(struct mcnl **events, struct nd_node *nd)
{
	struct mcnl_event ev;
	bool urgent = false;
	int rc;

	while ((rc = mcnl_event_next(*events, &ev)) == 0)
		urgent |= take_one(&ev, nd);
	if (rc != -EAGAIN && rc != -EINTR) {
		mcnl_close(*events);
		*events = NULL;
	}
	return urgent;
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
	while (!*stopping) {
		uint64_t end, wait = nd_tick(nd);

		events_keep(&events);
		for (end = nd_boottime() + wait; !*stopping && nd_boottime() < end;) {
			uint64_t left = end - nd_boottime();
			struct timespec ts = { .tv_sec = 0, .tv_nsec = 999999999 };
			struct pollfd pfd = { .fd = events ? mcnl_fd(events) : -1, .events = POLLIN };

			if (left < 1000000000)
				ts.tv_nsec = (long)left;
			if (ppoll(&pfd, 1, &ts, &waiting) > 0 && events_take(&events, nd))
				break;
		}
	}
	mcnl_close(events);
}
