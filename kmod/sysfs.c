// SPDX-License-Identifier: GPL-2.0-only
/* State of the node, one value a file, documented in Documentation/ABI/testing/sysfs-class-misc-mooncake. */
#include <linux/device.h>
#include <linux/sysfs.h>

#include "buf.h"
#include "engine.h"
#include "grant.h"
#include "map.h"
#include "mem.h"
#include "pool.h"
#include "req.h"
#include "stats.h"
#include "sysfs.h"

#define ATTR(_name, _fmt, _expr) \
static ssize_t _name##_show(struct device *dev, struct device_attribute *attr, char *buf) \
{ \
	return sysfs_emit(buf, _fmt "\n", _expr); \
} \
static DEVICE_ATTR_RO(_name)

static const char *auth_name(void)
{
	switch (READ_ONCE(mc_node.auth)) {
	case MC_AUTH_NONE:
		return "none";
	case MC_AUTH_KEY:
		return mc_key_gen() ? "key" : "unset";
	default:
		return "unset";
	}
}

ATTR(abi, "%s", __stringify(MC_ABI_MAJOR) "." __stringify(MC_ABI_MINOR));
ATTR(node_uuid, "%pUb", mc_node.uuid);
ATTR(cluster_uuid, "%pUb", mc_node.cluster);
ATTR(instance, "%016llx", mc_node.instance);
ATTR(auth, "%s", auth_name());
ATTR(buffers, "%u", mc_buf_count());
ATTR(pinned_bytes, "%llu", mc_mem_pinned_pages() << PAGE_SHIFT);
ATTR(requests, "%u", mc_req_count());
ATTR(grants, "%u", mc_grant_count());
ATTR(mappings, "%u", mc_map_count());
ATTR(pools_quarantined, "%u", mc_pool_quarantined());

static struct attribute *state_attrs[] = {
	&dev_attr_abi.attr, &dev_attr_node_uuid.attr, &dev_attr_cluster_uuid.attr, &dev_attr_instance.attr,
	&dev_attr_auth.attr, &dev_attr_buffers.attr, &dev_attr_pinned_bytes.attr, &dev_attr_requests.attr,
	&dev_attr_grants.attr, &dev_attr_mappings.attr, &dev_attr_pools_quarantined.attr, NULL
};
static const struct attribute_group state_group = { .attrs = state_attrs };

ATTR(max_ring_entries, "%u", MC_MAX_RING_ENTRIES);
ATTR(max_buffers, "%u", MC_MAX_BUFFERS);
ATTR(max_segments, "%u", MC_MAX_SEGMENTS);
ATTR(max_grants, "%u", MC_MAX_GRANTS);
ATTR(max_buf_batch, "%u", MC_MAX_BUF_BATCH);
ATTR(max_exports, "%u", MC_MAX_EXPORTS);
ATTR(max_export_bufs, "%u", MC_MAX_EXPORT_BUFS);
ATTR(max_grant_batch, "%u", MC_MAX_GRANT_BATCH);
ATTR(max_batches_kept, "%u", MC_MAX_BATCHES_KEPT);
ATTR(max_timeout_ns, "%llu", MC_MAX_TIMEOUT_NS);
ATTR(max_buf_len, "%llu", MC_MAX_BUF_LEN);
ATTR(max_req_len, "%llu", MC_MAX_REQ_LEN);
ATTR(slice_bytes, "%u", READ_ONCE(mc_slice_bytes));

static struct attribute *limit_attrs[] = {
	&dev_attr_max_ring_entries.attr, &dev_attr_max_buffers.attr, &dev_attr_max_segments.attr,
	&dev_attr_max_grants.attr, &dev_attr_max_buf_batch.attr, &dev_attr_max_exports.attr,
	&dev_attr_max_export_bufs.attr, &dev_attr_max_grant_batch.attr, &dev_attr_max_batches_kept.attr,
	&dev_attr_max_timeout_ns.attr,
	&dev_attr_max_buf_len.attr, &dev_attr_max_req_len.attr, &dev_attr_slice_bytes.attr, NULL
};
static const struct attribute_group limit_group = { .name = "limits", .attrs = limit_attrs };

ATTR(reqs, "%llu", mc_stat_read(MC_STAT_REQS));
ATTR(req_errors, "%llu", mc_stat_read(MC_STAT_REQ_ERRORS));
ATTR(slices, "%llu", mc_stat_read(MC_STAT_SLICES));
ATTR(slice_errors, "%llu", mc_stat_read(MC_STAT_SLICE_ERRORS));
ATTR(timeouts, "%llu", mc_stat_read(MC_STAT_TIMEOUTS));
ATTR(local_read_bytes, "%llu", mc_stat_read(MC_STAT_LOCAL_READ_BYTES));
ATTR(local_write_bytes, "%llu", mc_stat_read(MC_STAT_LOCAL_WRITE_BYTES));

static struct attribute *counter_attrs[] = {
	&dev_attr_reqs.attr, &dev_attr_req_errors.attr, &dev_attr_slices.attr, &dev_attr_slice_errors.attr,
	&dev_attr_timeouts.attr, &dev_attr_local_read_bytes.attr, &dev_attr_local_write_bytes.attr, NULL
};
static const struct attribute_group counter_group = { .name = "counters", .attrs = counter_attrs };

const struct attribute_group *mc_sysfs_groups[] = { &state_group, &limit_group, &counter_group, NULL };
