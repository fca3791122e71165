// SPDX-License-Identifier: GPL-2.0-only
#include <linux/inetdevice.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <net/ipv6.h>

#include "cset.h"
#include "event.h"
#include "genl.h"
#include "ibdev.h"
#include "lease.h"
#include "net_sysfs.h"
#include "peer.h"
#include "rail.h"

#define BACKLOG		64
#define REVIVE_AGAIN	HZ	/* a device is there, the address is not yet */

static DEFINE_MUTEX(rails_lock);
static LIST_HEAD(rails);
static u32 last_id;
static atomic_t ending = ATOMIC_INIT(0);	/* rails that are off the list and not stopped yet */
static DECLARE_WAIT_QUEUE_HEAD(ending_wait);
static void revive(struct work_struct *work);
static DECLARE_DELAYED_WORK(revive_work, revive);

static void rail_free(struct kref *kref)
{
	struct mc_rail *rail = container_of(kref, struct mc_rail, kref);

	mc_counters_exit(&rail->counters);
	if (rail->dev)
		mc_ibdev_put(rail->dev);
	kfree(rail);
}

void mc_rail_put(struct mc_rail *rail)
{
	kref_put(&rail->kref, rail_free);
}

static bool port_active(struct mc_ibdev *dev, u32 port)
{
	struct ib_port_attr attr;

	return !ib_query_port(dev->ib, port, &attr) && attr.state == IB_PORT_ACTIVE;
}

static int listen_event(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct mc_rail *rail = id->context;

	/* A non-zero return makes rdma_cm destroy the request's end. */
	if (event->event == RDMA_CM_EVENT_CONNECT_REQUEST)
		return mc_pset_incoming(rail, id, event);
	return 0;
}

/* rdma_cm takes the entry that belongs to the address: which one that is can be seen, and insisted on. */
static int find_gid(struct mc_rail *rail, struct mc_ibdev *dev, u32 port, struct netlink_ext_ack *extack)
{
	int ret;

	if (!rdma_protocol_roce(dev->ib, port) && rail->gid_forced < 0) {
		rail->gid = -1;
		return 0;
	}
	ret = mc_gid_of_addr(dev, port, &rail->addr, rail->gid_forced, &rail->gid_why, extack);
	rail->gid = ret;
	if (ret == -ENOENT)
		pr_warn("mooncake: %s: no entry of the GID table belongs to %pISc\n", dev->name, &rail->addr);
	return ret >= 0 || ret == -ENOENT ? 0 : ret;
}

/* rails_lock is held; @dev is the rail's from then on if it succeeds. */
static int start(struct mc_rail *rail, struct mc_ibdev *dev, struct netlink_ext_ack *extack)
{
	struct rdma_cm_id *id;
	int ret;

	if (dev->gone) {
		mc_ext_err(extack, "the device is being removed");
		return -ENODEV;
	}
	id = rdma_create_id(&init_net, listen_event, rail, RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(id))
		return PTR_ERR(id);
	if (rail->addr.ss_family == AF_INET6)
		rdma_set_afonly(id, 1);
	ret = rdma_bind_addr(id, (struct sockaddr *)&rail->addr);
	if (ret) {
		mc_ext_err(extack, "can't bind %pISpc: error %d", &rail->addr, ret);
		ret = ret == -EADDRINUSE || ret == -ENOMEM ? ret : -EADDRNOTAVAIL;
	} else if (id->device != dev->ib) {
		mc_ext_err(extack, "%pISc is an address of %s, not of %s", &rail->addr,
			   id->device ? dev_name(&id->device->dev) : "no RDMA device", dev_name(&dev->ib->dev));
		ret = -EADDRNOTAVAIL;
	}
	if (!ret)
		ret = find_gid(rail, dev, id->port_num, extack);
	if (ret) {
		rdma_destroy_id(id);
		return ret;
	}
	mc_topo_rail_place(rail, dev->ib, id->route.addr.dev_addr.bound_dev_if);
	/* Before the first request can come. */
	rail->port = id->port_num;
	rail->dev = dev;
	ret = rdma_listen(id, BACKLOG);
	if (ret) {
		rail->dev = NULL;
		rdma_destroy_id(id);
		return ret;
	}
	rail->listener = id;
	rail->state = port_active(dev, rail->port) ? MC_RAIL_UP : MC_RAIL_PORT_DOWN;
	return 0;
}

bool mc_same_addr(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
	if (a->ss_family != b->ss_family)
		return false;
	if (a->ss_family == AF_INET)
		return ((struct sockaddr_in *)a)->sin_addr.s_addr == ((struct sockaddr_in *)b)->sin_addr.s_addr;
	return ipv6_addr_equal(&((struct sockaddr_in6 *)a)->sin6_addr, &((struct sockaddr_in6 *)b)->sin6_addr);
}

static int insert(struct mc_rail *rail, struct mc_ibdev *dev, struct netlink_ext_ack *extack)
{
	struct mc_rail *other;
	u32 n = 0;
	int ret;

	list_for_each_entry(other, &rails, link) {
		if (mc_same_addr(&other->addr, &rail->addr)) {
			mc_ext_err(extack, "rail %u has address %pISc already", other->id, &rail->addr);
			return -EEXIST;
		}
		n++;
	}
	if (n >= MC_RAILS_MAX) {
		mc_ext_err(extack, "there are %u rails already, the most there can be", n);
		return -ENOSPC;
	}
	ret = mc_counters_init(&rail->counters, true);
	if (ret)
		return ret;
	/* Before it is on the list, from which the device's removal may take it at once. */
	rail->dir = mc_net_dir_rail(rail->id);
	if (IS_ERR(rail->dir))
		return PTR_ERR(rail->dir);
	ret = start(rail, dev, extack);
	if (!ret)
		list_add_tail(&rail->link, &rails);
	return ret;
}

int mc_rail_add(struct mc_ibdev *dev, const struct sockaddr_storage *addr, int gid, u32 *id,
		struct netlink_ext_ack *extack)
{
	struct mc_rail *rail = kzalloc(sizeof(*rail), GFP_KERNEL);
	int ret;

	if (!rail) {
		mc_ibdev_put(dev);
		return -ENOMEM;
	}
	kref_init(&rail->kref);
	strscpy(rail->dev_name, dev->name, sizeof(rail->dev_name));
	rail->addr = *addr;
	rail->gid_forced = gid;
	rail->slice_bytes = mc_slice_bytes;
	rail->tail_bytes = mc_slice_tail;
	rail->tos = -1;
	rail->sl = -1;
	mutex_lock(&rails_lock);
	rail->id = last_id + 1;
	ret = insert(rail, dev, extack);
	if (!ret)
		*id = ++last_id;
	mutex_unlock(&rails_lock);
	if (ret) {
		mc_net_dir_del(rail->dir);
		mc_rail_put(rail);
		mc_ibdev_put(dev);
		return ret;
	}
	mc_event_rail(MC_RAIL_EVENT_UP, *id, rail->dev_name, MC_REASON_ASKED, NULL);
	mc_peer_kick_all();
	return 0;
}

/*
 * The listener goes first, so that nothing new comes; then what came through it, and what went out. Whoever finds the
 * rail on the list from now on sees that it has no device.
 */
static bool rail_stop(struct mc_rail *rail, enum mc_rail_state state)
{
	struct rdma_cm_id *listener;
	struct mc_ibdev *dev;

	mutex_lock(&rails_lock);
	listener = rail->listener;
	dev = rail->dev;
	rail->listener = NULL;
	WRITE_ONCE(rail->dev, NULL);
	rail->state = state;
	mutex_unlock(&rails_lock);
	if (!listener)
		return false;
	rdma_destroy_id(listener);
	mc_pset_drop_rail(rail->id);
	mc_peer_drop_rail(rail);
	mc_ibdev_put(dev);
	return true;
}

/* The caller has taken the rail off the list. */
static void rail_end(struct mc_rail *rail)
{
	mc_net_dir_del(rail->dir);
	rail_stop(rail, MC_RAIL_NO_DEVICE);
	if (atomic_dec_and_test(&ending))
		wake_up_all(&ending_wait);
	mc_event_rail(MC_RAIL_EVENT_DOWN, rail->id, rail->dev_name, MC_REASON_ASKED, NULL);
	mc_rail_put(rail);
}

static struct mc_rail *take(u32 id)
{
	struct mc_rail *rail;

	mutex_lock(&rails_lock);
	list_for_each_entry(rail, &rails, link) {
		if (id && rail->id != id)
			continue;
		list_del_init(&rail->link);
		atomic_inc(&ending);
		mutex_unlock(&rails_lock);
		return rail;
	}
	mutex_unlock(&rails_lock);
	return NULL;
}

int mc_rail_set(struct mc_rail *rail, const struct mc_rail_set *set)
{
	bool class;
	u32 slice, tail;

	mutex_lock(&rails_lock);
	slice = set->slice_bytes ?: rail->slice_bytes;
	tail = set->tail_bytes >= 0 ? set->tail_bytes : min(rail->tail_bytes, slice);
	if (tail > slice || slice < MC_SLICE_MIN || slice > MC_SLICE_MAX) {
		mutex_unlock(&rails_lock);
		return -EINVAL;
	}
	WRITE_ONCE(rail->slice_bytes, slice);
	WRITE_ONCE(rail->tail_bytes, tail);
	class = (set->tos != -2 && set->tos != rail->tos) || (set->sl != -2 && set->sl != rail->sl);
	if (set->tos != -2)
		rail->tos = set->tos;
	if (set->sl != -2)
		rail->sl = set->sl;
	mutex_unlock(&rails_lock);
	if (class)
		mc_peer_break_rail(rail, "its network class was changed");
	return 0;
}

int mc_rail_del(u32 id)
{
	struct mc_rail *rail = id ? take(id) : NULL;

	if (!rail)
		return -ENOENT;
	rail_end(rail);
	return 0;
}

/* The next rail after number @after that has the device, or none if @dev is NULL; with a reference. */
static struct mc_rail *next_of_dev(struct mc_ibdev *dev, u32 after)
{
	struct mc_rail *rail, *found = NULL;

	mutex_lock(&rails_lock);
	list_for_each_entry(rail, &rails, link) {
		if (rail->id <= after || rail->dev != dev)
			continue;
		kref_get(&rail->kref);
		found = rail;
		break;
	}
	mutex_unlock(&rails_lock);
	return found;
}

/* One that is just being started either sees that the device is gone or is found here: both under rails_lock. */
void mc_rail_stop_dev(struct mc_ibdev *dev)
{
	struct mc_rail *rail;

	while ((rail = next_of_dev(dev, 0))) {
		if (rail_stop(rail, MC_RAIL_NO_DEVICE))
			mc_event_rail(MC_RAIL_EVENT_PAUSED, rail->id, rail->dev_name, MC_REASON_DEVICE,
				      "its device went away");
		mc_rail_put(rail);
	}
	wait_event(ending_wait, !atomic_read(&ending));
}

static bool has_addr(struct mc_rail *rail)
{
	struct net_device *dev;
	bool has;

	if (rail->addr.ss_family == AF_INET)
		dev = ip_dev_find(&init_net, ((struct sockaddr_in *)&rail->addr)->sin_addr.s_addr);
	else
		return true;	/* rdma_cm tells when it matters */
	has = dev;
	if (dev)
		dev_put(dev);
	return has;
}

static void set_port(struct mc_rail *rail, bool active)
{
	enum mc_rail_state state = active ? MC_RAIL_UP : MC_RAIL_PORT_DOWN;
	bool changed;

	mutex_lock(&rails_lock);
	changed = rail->listener && rail->state != state;
	if (changed)
		rail->state = state;
	mutex_unlock(&rails_lock);
	if (!changed)
		return;
	mc_event_rail(active ? MC_RAIL_EVENT_UP : MC_RAIL_EVENT_PAUSED, rail->id, rail->dev_name, MC_REASON_DEVICE,
		      active ? NULL : "its port is down");
	if (active)
		mc_peer_kick_all();
	else
		mc_peer_break_rail(rail, "the port is down");
}

void mc_rail_check_dev(struct mc_ibdev *dev)
{
	struct mc_rail *rail;
	u32 id = 0;

	while ((rail = next_of_dev(dev, id))) {
		id = rail->id;
		if (has_addr(rail)) {
			set_port(rail, port_active(dev, rail->port));
		} else if (rail_stop(rail, MC_RAIL_NO_ADDRESS)) {
			mc_event_rail(MC_RAIL_EVENT_PAUSED, id, rail->dev_name, MC_REASON_DEVICE,
				      "its address went away");
			mc_rail_revive();
		}
		mc_rail_put(rail);
	}
}

void mc_rail_revive(void)
{
	mod_delayed_work(mc_net_wq, &revive_work, 0);
}

/* Returns true when the device is there and the rail could not be started yet. */
static bool revive_one(struct mc_rail *rail)
{
	struct mc_ibdev *dev = mc_ibdev_find(rail->dev_name, NULL);
	bool started = false;
	int ret = 0;

	mutex_lock(&rails_lock);
	if (IS_ERR(dev)) {
		if (!rail->dev)
			rail->state = MC_RAIL_NO_DEVICE;
		mutex_unlock(&rails_lock);
		return false;
	}
	/* It may have been deleted or started meanwhile. */
	if (!list_empty(&rail->link) && !rail->dev) {
		ret = start(rail, dev, NULL);
		if (ret)
			rail->state = MC_RAIL_NO_ADDRESS;
		else
			kref_get(&dev->kref);
		started = !ret;
	}
	mutex_unlock(&rails_lock);
	mc_ibdev_put(dev);
	if (started)
		mc_event_rail(MC_RAIL_EVENT_UP, rail->id, rail->dev_name, MC_REASON_DEVICE, NULL);
	return ret;
}

static void revive(struct work_struct *work)
{
	struct mc_rail *rail;
	bool again = false;
	u32 id = 0;

	while ((rail = next_of_dev(NULL, id))) {
		id = rail->id;
		again |= revive_one(rail);
		mc_rail_put(rail);
	}
	if (id)
		mc_peer_kick_all();
	if (again)
		queue_delayed_work(mc_net_wq, &revive_work, REVIVE_AGAIN);
}

void mc_rail_del_all(void)
{
	struct mc_rail *rail;

	while ((rail = take(0)))
		rail_end(rail);
}

void mc_rail_exit(void)
{
	cancel_delayed_work_sync(&revive_work);
}

struct mc_ibdev *mc_rail_dev(struct mc_rail *rail)
{
	struct mc_ibdev *dev;

	mutex_lock(&rails_lock);
	dev = rail->dev;
	if (dev)
		kref_get(&dev->kref);
	mutex_unlock(&rails_lock);
	return dev;
}

bool mc_rail_listens(struct mc_rail *rail)
{
	bool listens;

	mutex_lock(&rails_lock);
	listens = rail->listener;
	mutex_unlock(&rails_lock);
	return listens;
}

bool mc_rail_ready(struct mc_rail *rail)
{
	bool ready;

	mutex_lock(&rails_lock);
	ready = rail->listener && port_active(rail->dev, rail->port);
	mutex_unlock(&rails_lock);
	return ready;
}

const char *mc_rail_state_name(struct mc_rail *rail)
{
	static const char *const names[] = {
		[MC_RAIL_UP] = MC_STATE_UP, [MC_RAIL_PORT_DOWN] = MC_STATE_DOWN,
		[MC_RAIL_NO_DEVICE] = MC_STATE_NO_DEVICE, [MC_RAIL_NO_ADDRESS] = MC_STATE_NO_ADDRESS,
	};

	return names[READ_ONCE(rail->state)];
}

bool mc_rail_any(void)
{
	return !list_empty(&rails);
}

struct mc_rail *mc_rail_nth(int family, u32 n)
{
	struct mc_rail *rail, *found = NULL;

	mutex_lock(&rails_lock);
	list_for_each_entry(rail, &rails, link) {
		if ((family != AF_UNSPEC && rail->addr.ss_family != family) || n--)
			continue;
		kref_get(&rail->kref);
		found = rail;
		break;
	}
	mutex_unlock(&rails_lock);
	return found;
}

struct mc_rail *mc_rail_find(u32 id)
{
	struct mc_rail *rail, *found = NULL;

	mutex_lock(&rails_lock);
	list_for_each_entry(rail, &rails, link) {
		if (rail->id != id)
			continue;
		kref_get(&rail->kref);
		found = rail;
		break;
	}
	mutex_unlock(&rails_lock);
	return found;
}

u64 mc_rail_speed(struct mc_rail *rail)
{
	/* 100 Mbit/s a lane by bit of enum ib_port_speed: SDR, DDR, QDR, FDR10, FDR, EDR, HDR, NDR, XDR */
	static const u16 lane[] = { 25, 50, 100, 100, 140, 250, 500, 1000, 2500 };
	struct ib_port_attr attr = { };
	u32 bit;

	mutex_lock(&rails_lock);
	if (rail->dev && ib_query_port(rail->dev->ib, rail->port, &attr))
		attr.active_speed = 0;
	mutex_unlock(&rails_lock);
	if (!attr.active_speed)
		return 1;
	bit = min_t(u32, __ffs(attr.active_speed), ARRAY_SIZE(lane) - 1);
	/* 100 Mbit/s are 12500 bytes in a ms */
	return (u64)max(ib_width_enum_to_int(attr.active_width), 1) * lane[bit] * 12500;
}

static bool onlink4(const struct sockaddr_in *mine, const struct sockaddr_in *other)
{
	struct net_device *dev = ip_dev_find(&init_net, mine->sin_addr.s_addr);
	const struct in_ifaddr *ifa;
	struct in_device *in_dev;
	bool ret = false;

	if (!dev)
		return false;
	rcu_read_lock();
	in_dev = __in_dev_get_rcu(dev);
	if (in_dev)
		in_dev_for_each_ifa_rcu(ifa, in_dev)
			ret |= ifa->ifa_local == mine->sin_addr.s_addr && inet_ifa_match(other->sin_addr.s_addr, ifa);
	rcu_read_unlock();
	dev_put(dev);
	return ret;
}

/* Of IPv6 the usual 64 bits of a prefix are compared. */
bool mc_rail_onlink(struct mc_rail *rail, const struct sockaddr_storage *addr)
{
	if (rail->addr.ss_family == AF_INET)
		return onlink4((struct sockaddr_in *)&rail->addr, (const struct sockaddr_in *)addr);
	return ipv6_prefix_equal(&((struct sockaddr_in6 *)&rail->addr)->sin6_addr,
				 &((const struct sockaddr_in6 *)addr)->sin6_addr, 64);
}

/* The port is at the same place in both families. */
u16 mc_rail_port(const struct mc_rail *rail)
{
	return ntohs(((const struct sockaddr_in *)&rail->addr)->sin_port);
}

void mc_rail_place(struct mc_rail *rail, struct mc_topo_pci *place)
{
	mutex_lock(&rails_lock);
	*place = rail->pci;
	mutex_unlock(&rails_lock);
}
