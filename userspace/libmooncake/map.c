// SPDX-License-Identifier: MIT
/* An object of this node, mapped where it is: GetReplicaList, the grant of the local replica, mmap. */
#include "store_int.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "mc_grant.h"

struct map_op {
	struct mc_store *s;
	struct mc_map *map;
	const char *key;	/* for messages */
	uint64_t deadline;
	uint8_t node_uuid[MC_UUID_LEN];
};

static bool here(const struct map_op *op, const Mooncake__V1__Replica *r, uint64_t size)
{
	return r->status == MOONCAKE__V1__REPLICA_STATUS__REPLICA_COMPLETE &&
	       r->type == MOONCAKE__V1__REPLICA_TYPE__REPLICA_MEMORY && r->node_uuid.len == MC_UUID_LEN &&
	       r->length == size && !memcmp(r->node_uuid.data, op->node_uuid, MC_UUID_LEN);
}

static int grant_refused(const struct map_op *op, int error, struct mc_error *err)
{
	if (error != -ETIME)
		return mc_error_set(err, MC_ETRANSFER_FAIL, -error, "map '%s': the kernel refuses the grant: %s%s",
				    op->key, strerror(-error),
				    error == -EACCES ? ": do master and node have the same key?" : "");
	if (mc_now_ns() >= op->map->until_ns)
		return mc_error_set(err, MC_ELEASE_EXPIRED, 0, "map '%s': its lease ended before it was mapped",
				    op->key);
	return mc_error_set(err, MC_EUNAVAILABLE_IN_CURRENT_STATUS, ETIME,
			    "map '%s': this node does not know the master's time: does mcnoded run?", op->key);
}

static int map_failed(const struct map_op *op, int error, struct mc_error *err)
{
	switch (error) {
	case ETIME:
	case EACCES:
		return grant_refused(op, -error, err);
	case EINVAL:
		return mc_error_set(err, MC_ENOT_SUPPORTED, error,
				    "map '%s': its bytes don't begin on a page or share their last one: get copies it",
				    op->key);
	case ENOENT:
	case ESTALE:
		return mc_error_set(err, MC_ETRANSFER_FAIL, error, "map '%s': its pool is gone", op->key);
	default:
		return mc_error_set(err, MC_EINTERNAL, error, "map '%s': %s", op->key, strerror(error));
	}
}

static int map_replica(const struct map_op *op, const Mooncake__V1__Replica *r, struct mc_error *err)
{
	struct mc_grant_use use = { .bytes = r->grant.data, .len = r->grant.len };
	uint64_t until = op->deadline < op->map->until_ns ? op->deadline : op->map->until_ns;
	struct mc_map *map = op->map;
	struct mc_dev *dev = op->s->dev;
	int rc;

	if (mc_now_ns() >= map->until_ns)
		return grant_refused(op, -ETIME, err);
	if (r->length > SIZE_MAX)
		return map_failed(op, ENOMEM, err);
	mc_grants_load_until(dev, &use, 1, until);
	if (use.error)
		return grant_refused(op, use.error, err);
	map->addr = dev->ops->map(dev->ctx, MC_OFF_GRANT(use.id), r->length, false);
	if (!map->addr) {
		rc = map_failed(op, errno, err);
		mc_grants_unload(dev, &use, 1);
		return rc;
	}
	map->len = r->length;
	map->grant_id = use.id;
	return 0;
}

/* The kernel knows the master's time to within so much: its end of the grant, which is SIGBUS, may come as early. */
static uint64_t safe_end(uint64_t lease_end)
{
	return lease_end > MC_CLOCK_SKEW_NS ? lease_end - MC_CLOCK_SKEW_NS : 0;
}

static int choose(struct map_op *op, const Mooncake__V1__GetReplicaListReply *reply, struct mc_error *err)
{
	size_t i;

	for (i = 0; i < reply->n_replicas; i++)
		if (here(op, reply->replicas[i], reply->size))
			return map_replica(op, reply->replicas[i], err);
	return mc_error_set(err, MC_ENOT_SUPPORTED, EREMOTE,
			    "map '%s': none of %zu replicas is on this node: get copies it",
			    op->key, reply->n_replicas);
}

int mc_store_map(struct mc_store *s, const void *key, size_t key_len, struct mc_map *map, const struct mc_opts *opts,
		 struct mc_error *err)
{
	struct map_op op = { .s = s, .map = map, .deadline = mc_deadline(s, opts) };
	Mooncake__V1__GetReplicaListReply *reply;
	char text[MC_KEY_TEXT];
	struct mc_error local;
	struct mc_info info;
	uint64_t asked_ns;
	int rc;

	err = err ? err : &local;
	memset(map, 0, sizeof(*map));
	if (!s->dev)
		return mc_error_set(err, MC_EUNAVAILABLE_IN_CURRENT_MODE, 0,
				    "map: the store was opened without a device");
	rc = mc_key_check(key, key_len, err);
	if (rc)
		return rc;
	if (mc_dev_info(s->dev, &info, err))
		return err->code = MC_EINTERNAL;
	memcpy(op.node_uuid, info.node_uuid, MC_UUID_LEN);
	op.key = mc_key_text(key, key_len, text);
	asked_ns = mc_now_ns();
	reply = mc_ask_replicas(s, key, key_len, op.deadline, err);
	if (!reply)
		return err->code;
	rc = mc_judge(reply->status, op.key, err);
	map->until_ns = safe_end(mc_lease_end(reply, asked_ns));
	if (!rc)
		rc = choose(&op, reply, err);
	if (rc)
		memset(map, 0, sizeof(*map));
	mc_drop_reply(reply);
	return rc;
}

void mc_store_unmap(struct mc_store *s, struct mc_map *map)
{
	struct mc_grant_use use = { .id = map->grant_id };

	if (!map->addr)
		return;
	s->dev->ops->unmap(s->dev->ctx, (void *)map->addr, map->len);
	mc_grants_unload(s->dev, &use, 1);
	memset(map, 0, sizeof(*map));
}
