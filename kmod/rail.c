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

#define BACKLOG	64

static DEFINE_MUTEX(rails_lock);
static LIST_HEAD(rails);
static u32 last_id;

static void rail_free(struct kref *kref)
{
	struct mc_rail *rail = container_of(kref, struct mc_rail, kref);

	mc_counters_exit(&rail->counters);
	mc_ibdev_put(rail->dev);
	kfree(rail);
}

void mc_rail_put(struct mc_rail *rail)
{
	kref_put(&rail->kref, rail_free);
}

static int listen_event(struct rdma_cm_id *id, struct rdma_cm_event *event)
{
	struct mc_rail *rail = id->context;

	/* A non-zero return makes rdma_cm reject the request and destroy its end. */
	if (event->event == RDMA_CM_EVENT_CONNECT_REQUEST)
		return mc_pset_incoming(rail, id, event);
	return 0;
}

static int start(struct mc_rail *rail, struct netlink_ext_ack *extack)
{
	struct rdma_cm_id *id;
	int ret;

	id = rdma_create_id(&init_net, listen_event, rail, RDMA_PS_TCP, IB_QPT_RC);
	if (IS_ERR(id))
		return PTR_ERR(id);
	if (rail->addr.ss_family == AF_INET6)
		rdma_set_afonly(id, 1);
	ret = rdma_bind_addr(id, (struct sockaddr *)&rail->addr);
	if (ret) {
		mc_ext_err(extack, "can't bind %pISpc: error %d", &rail->addr, ret);
		ret = ret == -EADDRINUSE ? ret : -EADDRNOTAVAIL;
	} else if (id->device != rail->dev->ib) {
		mc_ext_err(extack, "%pISc is an address of %s, not of %s", &rail->addr,
			   id->device ? dev_name(&id->device->dev) : "no RDMA device", dev_name(&rail->dev->ib->dev));
		ret = -EADDRNOTAVAIL;
	}
	if (!ret)
		ret = rdma_listen(id, BACKLOG);
	if (ret)
		rdma_destroy_id(id);
	else
		rail->listener = id;
	return ret;
}

bool mc_same_addr(const struct sockaddr_storage *a, const struct sockaddr_storage *b)
{
	if (a->ss_family != b->ss_family)
		return false;
	if (a->ss_family == AF_INET)
		return ((struct sockaddr_in *)a)->sin_addr.s_addr == ((struct sockaddr_in *)b)->sin_addr.s_addr;
	return ipv6_addr_equal(&((struct sockaddr_in6 *)a)->sin6_addr, &((struct sockaddr_in6 *)b)->sin6_addr);
}

static int insert(struct mc_rail *rail, struct netlink_ext_ack *extack)
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
	ret = start(rail, extack);
	if (!ret)
		list_add_tail(&rail->link, &rails);
	return ret;
}

int mc_rail_add(struct mc_ibdev *dev, const struct sockaddr_storage *addr, u32 *id, struct netlink_ext_ack *extack)
{
	struct mc_rail *rail = kzalloc(sizeof(*rail), GFP_KERNEL);
	int ret;

	if (!rail) {
		mc_ibdev_put(dev);
		return -ENOMEM;
	}
	kref_init(&rail->kref);
	rail->dev = dev;
	rail->addr = *addr;
	mutex_lock(&rails_lock);
	if (dev->gone) {
		mc_ext_err(extack, "the device is being removed");
		ret = -ENODEV;
	} else {
		rail->id = last_id + 1;
		ret = insert(rail, extack);
	}
	if (!ret)
		*id = ++last_id;
	mutex_unlock(&rails_lock);
	if (ret) {
		mc_net_dir_del(rail->dir);
		mc_rail_put(rail);
		return ret;
	}
	mc_event_rail(MC_RAIL_EVENT_UP, *id, dev->name, NULL, MC_REASON_ASKED, NULL);
	mc_peer_kick_all();
	return 0;
}

/*
 * The listener goes first, so that nothing new comes; then what came through it. The caller has taken the rail off
 * the list.
 */
static void rail_end(struct mc_rail *rail)
{
	mc_net_dir_del(rail->dir);
	rdma_destroy_id(rail->listener);
	mc_pset_drop_rail(rail->id);
	mc_peer_drop_rail(rail);
	mc_event_rail(MC_RAIL_EVENT_DOWN, rail->id, rail->dev->name, NULL,
		      rail->dev->gone ? MC_REASON_DEVICE : MC_REASON_ASKED, NULL);
	mc_rail_put(rail);
}

static struct mc_rail *take(u32 id, struct mc_ibdev *dev)
{
	struct mc_rail *rail;

	mutex_lock(&rails_lock);
	list_for_each_entry(rail, &rails, link) {
		if ((id && rail->id != id) || (dev && rail->dev != dev))
			continue;
		list_del_init(&rail->link);
		mutex_unlock(&rails_lock);
		return rail;
	}
	mutex_unlock(&rails_lock);
	return NULL;
}

int mc_rail_del(u32 id)
{
	struct mc_rail *rail = id ? take(id, NULL) : NULL;

	if (!rail)
		return -ENOENT;
	rail_end(rail);
	return 0;
}

void mc_rail_del_dev(struct mc_ibdev *dev)
{
	struct mc_rail *rail;

	/* Netlink took a reference to the module when it added the rail and drops it when it deletes one. */
	while ((rail = take(0, dev))) {
		rail_end(rail);
		module_put(THIS_MODULE);
	}
}

void mc_rail_del_all(void)
{
	struct mc_rail *rail;

	while ((rail = take(0, NULL)))
		rail_end(rail);
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

u32 mc_rail_count(int family)
{
	struct mc_rail *rail;
	u32 n = 0;

	mutex_lock(&rails_lock);
	list_for_each_entry(rail, &rails, link)
		n += family == AF_UNSPEC || rail->addr.ss_family == family;
	mutex_unlock(&rails_lock);
	return n;
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
	/* In 100 Mbit/s a lane, by the bit number of enum ib_port_speed: SDR, DDR, QDR, FDR10, FDR, EDR, HDR, NDR, XDR */
	static const u16 lane[] = { 25, 50, 100, 100, 140, 250, 500, 1000, 2500 };
	struct ib_port_attr attr;
	u32 bit;

	if (ib_query_port(rail->dev->ib, rail->listener->port_num, &attr) || !attr.active_speed)
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
