// SPDX-License-Identifier: MIT
#include "health.h"

#include <errno.h>
#include <string.h>

void mc_health_init(struct mc_health *h)
{
	memset(h, 0, sizeof(*h));
	pthread_mutex_init(&h->lock, NULL);
}

/* The node's place, or -1. */
static int find(const struct mc_health *h, const uint8_t *uuid)
{
	unsigned int i;

	for (i = 0; i < MC_HEALTH_SLOTS; i++)
		if (h->node[i].for_ns && !memcmp(h->node[i].uuid, uuid, MC_UUID_LEN))
			return i;
	return -1;
}

static unsigned int take_place(struct mc_health *h, const uint8_t *uuid)
{
	unsigned int i, best = 0;

	for (i = 0; i < MC_HEALTH_SLOTS && h->node[best].for_ns; i++)
		if (!h->node[i].for_ns || h->node[i].until_ns < h->node[best].until_ns)
			best = i;
	memset(&h->node[best], 0, sizeof(h->node[best]));
	memcpy(h->node[best].uuid, uuid, MC_UUID_LEN);
	return best;
}

static bool about_the_path(int sys_errno)
{
	return sys_errno == ETIMEDOUT || sys_errno == EHOSTUNREACH || sys_errno == EIO || sys_errno == ENOTCONN ||
	       sys_errno == ENETDOWN || sys_errno == ENODEV || sys_errno == ECONNRESET;
}

bool mc_health_sick(struct mc_health *h, const uint8_t *uuid, uint64_t now_ns)
{
	bool sick;
	int i;

	pthread_mutex_lock(&h->lock);
	i = find(h, uuid);
	sick = i >= 0 && now_ns < h->node[i].until_ns;
	pthread_mutex_unlock(&h->lock);
	return sick;
}

bool mc_health_doubtful(struct mc_health *h, const uint8_t *uuid)
{
	bool doubtful;

	pthread_mutex_lock(&h->lock);
	doubtful = find(h, uuid) >= 0;
	pthread_mutex_unlock(&h->lock);
	return doubtful;
}

static void failed(struct mc_health *h, const uint8_t *uuid, uint64_t now_ns)
{
	int i = find(h, uuid);

	if (i < 0)
		i = take_place(h, uuid);
	if (now_ns < h->node[i].until_ns)
		return;		/* several requests of one outage */
	if (!h->node[i].for_ns)
		h->node[i].for_ns = MC_SICK_MIN_NS;
	else if (h->node[i].for_ns < MC_SICK_MAX_NS / 2)
		h->node[i].for_ns *= 2;
	else
		h->node[i].for_ns = MC_SICK_MAX_NS;
	h->node[i].until_ns = now_ns + h->node[i].for_ns;
}

void mc_health_note(struct mc_health *h, const uint8_t *uuid, int sys_errno, uint64_t now_ns)
{
	int i;

	pthread_mutex_lock(&h->lock);
	if (about_the_path(sys_errno)) {
		failed(h, uuid, now_ns);
	} else if (!sys_errno) {
		i = find(h, uuid);
		if (i >= 0)
			h->node[i].for_ns = 0;
	}
	pthread_mutex_unlock(&h->lock);
}
