// SPDX-License-Identifier: GPL-2.0-only
/* Identity of this node and its clock against the master's. */
#include <linux/ktime.h>
#include <linux/random.h>
#include <linux/seqlock.h>
#include <linux/string.h>

#include "engine.h"
#include "node.h"

struct mc_node mc_node = {
	.lock = __SPIN_LOCK_UNLOCKED(mc_node.lock),
	.auth = MC_AUTH_UNSET,
};

static DEFINE_SEQLOCK(clock_lock);
static struct mc_clock node_clock;

void mc_node_init(void)
{
	mc_node.instance = get_random_u64();
}

int mc_node_set(const u8 *uuid, const u8 *cluster, u32 auth, bool busy)
{
	int ret = 0;

	if (!memchr_inv(uuid, 0, MC_UUID_LEN))
		return -EINVAL;
	spin_lock(&mc_node.lock);
	if (mc_node.set && busy &&
	    (memcmp(mc_node.uuid, uuid, MC_UUID_LEN) || memcmp(mc_node.cluster, cluster, MC_UUID_LEN) ||
	     mc_node.auth != auth)) {
		ret = -EBUSY;
	} else {
		memcpy(mc_node.uuid, uuid, MC_UUID_LEN);
		memcpy(mc_node.cluster, cluster, MC_UUID_LEN);
		mc_node.auth = auth;
		mc_node.set = true;
	}
	spin_unlock(&mc_node.lock);
	return ret;
}

void mc_clock_set(u64 epoch, s64 offset, u64 error, u64 at)
{
	write_seqlock(&clock_lock);
	node_clock.epoch = epoch;
	node_clock.offset = offset;
	node_clock.error = error;
	node_clock.set_at = at;
	node_clock.set = true;
	write_sequnlock(&clock_lock);
}

/* Every request looks at it: readers don't disturb one another. */
void mc_clock_get(struct mc_clock *out)
{
	unsigned int seq;

	do {
		seq = read_seqbegin(&clock_lock);
		*out = node_clock;
	} while (read_seqretry(&clock_lock, seq));
}
