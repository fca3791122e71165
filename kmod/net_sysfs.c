// SPDX-License-Identifier: GPL-2.0-only
/*
 * rails/ and peers/ below /sys/class/misc/mooncake, documented in
 * Documentation/ABI/testing/sysfs-class-misc-mooncake.
 */
#include <linux/kobject.h>
#include <linux/slab.h>
#include <linux/sysfs.h>

#include "ibdev.h"
#include "net_sysfs.h"
#include "peer.h"
#include "rail.h"

static struct kobject *rails_kobj, *peers_kobj;

/**
 * struct mc_net_dir - directory of a rail or a peer
 * @kobj: in sysfs
 * @id: rail
 * @node: peer
 */
struct mc_net_dir {
	struct kobject kobj;
	u32 id;
	u8 node[MC_UUID_LEN];
};

static struct mc_net_dir *to_dir(struct kobject *kobj)
{
	return container_of(kobj, struct mc_net_dir, kobj);
}

static void dir_release(struct kobject *kobj)
{
	kfree(to_dir(kobj));
}

#define RAIL_ATTR(_name, _fmt, _expr) \
static ssize_t rail_##_name##_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf) \
{ \
	struct mc_rail *rail = mc_rail_find(to_dir(kobj)->id); \
	ssize_t ret = -ENODEV; \
	\
	if (rail) { \
		ret = sysfs_emit(buf, _fmt "\n", _expr); \
		mc_rail_put(rail); \
	} \
	return ret; \
} \
static struct kobj_attribute rail_##_name = __ATTR(_name, 0444, rail_##_name##_show, NULL)

#define PEER_ATTR(_name, _fmt, _expr) \
static ssize_t peer_##_name##_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf) \
{ \
	struct mc_peer *peer = mc_peer_find(to_dir(kobj)->node); \
	ssize_t ret = -ENODEV; \
	\
	if (peer) { \
		mutex_lock(&peer->lock); \
		ret = sysfs_emit(buf, _fmt "\n", _expr); \
		mutex_unlock(&peer->lock); \
		mc_peer_put(peer); \
	} \
	return ret; \
} \
static struct kobj_attribute peer_##_name = __ATTR(_name, 0444, peer_##_name##_show, NULL)

#define BOTH_COUNT(_name, _which) \
	RAIL_ATTR(_name, "%llu", mc_count_read(&rail->counters, _which)); \
	PEER_ATTR(_name, "%llu", mc_count_read(&peer->counters, _which))

RAIL_ATTR(device, "%s", rail->dev_name);
RAIL_ATTR(address, "%pISc", &rail->addr);
RAIL_ATTR(gid_index, "%d", max(rail->gid, -1));
RAIL_ATTR(gid_reason, "%s", mc_gid_reason(rail->gid_why));
RAIL_ATTR(numa_node, "%d", rail->numa);
RAIL_ATTR(slice_size, "%u", rail->slice_bytes);
RAIL_ATTR(slice_tail, "%u", rail->tail_bytes);
RAIL_ATTR(tos, "%d", rail->tos);
RAIL_ATTR(service_level, "%d", rail->sl);

static ssize_t rail_weights_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	struct mc_rail *rail = mc_rail_find(to_dir(kobj)->id);
	ssize_t ret = rail ? mc_topo_show(rail, buf) : -ENODEV;

	if (rail)
		mc_rail_put(rail);
	return ret;
}
static struct kobj_attribute rail_weights = __ATTR(weights, 0444, rail_weights_show, NULL);

static ssize_t rail_pci_weights_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	struct mc_rail *rail = mc_rail_find(to_dir(kobj)->id);
	ssize_t ret = rail ? mc_topo_show_pci(rail, buf) : -ENODEV;

	if (rail)
		mc_rail_put(rail);
	return ret;
}
static struct kobj_attribute rail_pci_weights = __ATTR(pci_weights, 0444, rail_pci_weights_show, NULL);

static ssize_t rail_pci_device_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	struct mc_rail *rail = mc_rail_find(to_dir(kobj)->id);
	char name[MC_TOPO_NAME];
	bool has;

	if (!rail)
		return -ENODEV;
	has = mc_topo_name(rail, name);
	mc_rail_put(rail);
	return sysfs_emit(buf, "%s\n", has ? name : "none");
}
static struct kobj_attribute rail_pci_device = __ATTR(pci_device, 0444, rail_pci_device_show, NULL);

RAIL_ATTR(state, "%s", mc_rail_state_name(rail));
RAIL_ATTR(port, "%u", mc_rail_port(rail));
PEER_ATTR(state, "%s", mc_peer_state(peer));
PEER_ATTR(instance, "%016llx", peer->instance);
PEER_ATTR(epoch, "%u", mc_peer_epoch(peer));
PEER_ATTR(last_error, "%s", peer->why);
BOTH_COUNT(read_bytes, MC_COUNT_READ_BYTES);
BOTH_COUNT(write_bytes, MC_COUNT_WRITE_BYTES);
BOTH_COUNT(read_ops, MC_COUNT_READ_OPS);
BOTH_COUNT(write_ops, MC_COUNT_WRITE_OPS);
BOTH_COUNT(errors, MC_COUNT_ERRORS);
BOTH_COUNT(retries, MC_COUNT_RETRIES);
BOTH_COUNT(inflight, MC_COUNT_INFLIGHT);
BOTH_COUNT(reconnects, MC_COUNT_RECONNECTS);

#define COUNTS(_kind) \
	&_kind##_read_bytes.attr, &_kind##_write_bytes.attr, &_kind##_read_ops.attr, &_kind##_write_ops.attr, \
	&_kind##_errors.attr, &_kind##_retries.attr, &_kind##_inflight.attr, &_kind##_reconnects.attr

static struct attribute *rail_attrs[] = {
	&rail_device.attr, &rail_address.attr, &rail_port.attr, &rail_state.attr,
	&rail_gid_index.attr, &rail_gid_reason.attr,
	&rail_numa_node.attr, &rail_slice_size.attr, &rail_slice_tail.attr, &rail_tos.attr, &rail_service_level.attr,
	&rail_weights.attr, &rail_pci_device.attr, &rail_pci_weights.attr, COUNTS(rail), NULL
};
ATTRIBUTE_GROUPS(rail);

static struct attribute *peer_attrs[] = {
	&peer_state.attr, &peer_instance.attr, &peer_epoch.attr, &peer_last_error.attr, COUNTS(peer), NULL
};
ATTRIBUTE_GROUPS(peer);

static const struct kobj_type rail_ktype = {
	.release = dir_release,
	.sysfs_ops = &kobj_sysfs_ops,
	.default_groups = rail_groups,
};

static const struct kobj_type peer_ktype = {
	.release = dir_release,
	.sysfs_ops = &kobj_sysfs_ops,
	.default_groups = peer_groups,
};

struct mc_net_dir *mc_net_dir_rail(u32 id)
{
	struct mc_net_dir *dir = kzalloc(sizeof(*dir), GFP_KERNEL);
	int ret;

	if (!dir)
		return ERR_PTR(-ENOMEM);
	dir->id = id;
	ret = kobject_init_and_add(&dir->kobj, &rail_ktype, rails_kobj, "%u", id);
	if (!ret)
		return dir;
	kobject_put(&dir->kobj);
	return ERR_PTR(ret);
}

struct mc_net_dir *mc_net_dir_peer(const u8 *node)
{
	struct mc_net_dir *dir = kzalloc(sizeof(*dir), GFP_KERNEL);
	int ret;

	if (!dir)
		return ERR_PTR(-ENOMEM);
	memcpy(dir->node, node, MC_UUID_LEN);
	ret = kobject_init_and_add(&dir->kobj, &peer_ktype, peers_kobj, "%pUb", node);
	if (!ret)
		return dir;
	kobject_put(&dir->kobj);
	return ERR_PTR(ret);
}

void mc_net_dir_del(struct mc_net_dir *dir)
{
	if (IS_ERR_OR_NULL(dir))
		return;
	kobject_del(&dir->kobj);
	kobject_put(&dir->kobj);
}

int mc_net_sysfs_init(void)
{
	rails_kobj = kobject_create_and_add("rails", mc_kobj);
	peers_kobj = kobject_create_and_add("peers", mc_kobj);
	if (rails_kobj && peers_kobj)
		return 0;
	mc_net_sysfs_exit();
	return -ENOMEM;
}

void mc_net_sysfs_exit(void)
{
	kobject_put(rails_kobj);
	kobject_put(peers_kobj);
}
