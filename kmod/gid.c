// SPDX-License-Identifier: GPL-2.0-only
#include <linux/inetdevice.h>
#include <linux/slab.h>
#include <net/ipv6.h>
#include <rdma/ib_cache.h>

#include "genl.h"
#include "gid.h"
#include "ibdev.h"

/**
 * struct table - a port's
 * @n: entries
 * @e: entries
 * @ifindex: interface of each, for link-local addresses
 */
struct table {
	u32 n;
	struct mc_gid_entry *e;
	int *ifindex;
};

static void table_free(struct table *t)
{
	kvfree(t->e);
	kvfree(t->ifindex);
}

/* IPv4: is the address one of that interface? IPv6 entries come from the interface's addresses anyway. */
static bool is_own(const union ib_gid *gid, struct net_device *ndev)
{
	struct net_device *owner;
	__be32 ip;

	if (!ndev || !ipv6_addr_v4mapped((const struct in6_addr *)gid))
		return ndev;
	memcpy(&ip, gid->raw + 12, sizeof(ip));
	owner = ip_dev_find(&init_net, ip);
	dev_put(owner);
	return owner == ndev;
}

static void fill(struct table *t, u32 i, const struct ib_gid_attr *attr)
{
	struct net_device *ndev;

	memcpy(t->e[i].gid, attr->gid.raw, MC_GID_LEN);
	t->e[i].type = attr->gid_type == IB_GID_TYPE_ROCE_UDP_ENCAP ? MC_GID_ROCE_V2 : MC_GID_IB;
	rcu_read_lock();
	ndev = rdma_read_gid_attr_ndev_rcu(attr);
	if (IS_ERR(ndev))
		ndev = NULL;
	dev_hold(ndev);
	rcu_read_unlock();
	t->e[i].own = is_own(&attr->gid, ndev);
	t->ifindex[i] = ndev ? ndev->ifindex : 0;
	dev_put(ndev);
}

static int table_read(struct mc_ibdev *dev, u32 port, struct table *t)
{
	const struct ib_gid_attr *attr;
	struct ib_port_attr pa;
	u32 i;

	memset(t, 0, sizeof(*t));
	if (ib_query_port(dev->ib, port, &pa) || pa.gid_tbl_len <= 0)
		return 0;
	t->n = pa.gid_tbl_len;
	t->e = kvcalloc(t->n, sizeof(*t->e), GFP_KERNEL);
	t->ifindex = kvcalloc(t->n, sizeof(*t->ifindex), GFP_KERNEL);
	if (!t->e || !t->ifindex) {
		table_free(t);
		return -ENOMEM;
	}
	for (i = 0; i < t->n; i++) {
		attr = rdma_get_gid_attr(dev->ib, port, i);
		if (IS_ERR(attr))
			continue;
		fill(t, i, attr);
		rdma_put_gid_attr(attr);
	}
	return 0;
}

static void as_gid(const struct sockaddr_storage *addr, u8 *gid)
{
	if (addr->ss_family == AF_INET)
		ipv6_addr_set_v4mapped(((struct sockaddr_in *)addr)->sin_addr.s_addr, (struct in6_addr *)gid);
	else
		memcpy(gid, &((struct sockaddr_in6 *)addr)->sin6_addr, MC_GID_LEN);
}

/* As much of it as a message holds: empty entries are left out. */
static void print_table(const struct table *t, const struct mc_gid_wish *wish, char *buf, size_t size)
{
	enum mc_gid_why why;
	size_t n = 0;
	u32 i;

	strscpy(buf, "nothing", size);
	for (i = 0; i < t->n; i++) {
		why = mc_gid_check(&t->e[i], wish);
		if (why == MC_GID_EMPTY)
			continue;
		if (ipv6_addr_v4mapped((struct in6_addr *)t->e[i].gid))
			n += scnprintf(buf + n, size - n, "%s%u %pI4: %s", n ? "; " : "", i, t->e[i].gid + 12,
				       mc_gid_reason(why));
		else
			n += scnprintf(buf + n, size - n, "%s%u %pI6c: %s", n ? "; " : "", i, t->e[i].gid,
				       mc_gid_reason(why));
	}
}

int mc_gid_of_addr(struct mc_ibdev *dev, u32 port, const struct sockaddr_storage *addr, int forced,
		   enum mc_gid_why *why, struct netlink_ext_ack *extack)
{
	u8 gid[MC_GID_LEN];
	struct mc_gid_wish wish = { .addr = gid, .forced = forced };
	struct table t;
	char text[200];
	int ret;

	as_gid(addr, gid);
	*why = MC_GID_EMPTY;
	ret = table_read(dev, port, &t);
	if (ret)
		return ret;
	ret = mc_gid_choose(t.e, t.n, &wish, why);
	if (ret < 0 && forced >= 0) {
		print_table(&t, &wish, text, sizeof(text));
		mc_ext_err(extack, "index %d can't be used (%s); there are: %s", forced, mc_gid_reason(*why), text);
	}
	table_free(&t);
	return ret >= 0 ? ret : forced >= 0 ? -EINVAL : -ENOENT;
}

static void as_addr(const u8 *gid, int ifindex, struct sockaddr_storage *addr)
{
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)addr;
	struct sockaddr_in *in = (struct sockaddr_in *)addr;

	if (ipv6_addr_v4mapped((const struct in6_addr *)gid)) {
		in->sin_family = AF_INET;
		memcpy(&in->sin_addr, gid + 12, sizeof(in->sin_addr));
		return;
	}
	in6->sin6_family = AF_INET6;
	memcpy(&in6->sin6_addr, gid, MC_GID_LEN);
	if (ipv6_addr_type(&in6->sin6_addr) & IPV6_ADDR_LINKLOCAL)
		in6->sin6_scope_id = ifindex;
}

static int addr_of_port(struct mc_ibdev *dev, u32 port, struct sockaddr_storage *addr)
{
	struct mc_gid_wish any = { .forced = -1 };
	enum mc_gid_why why;
	struct table t;
	int ret = table_read(dev, port, &t), i;

	if (ret)
		return ret;
	i = mc_gid_choose(t.e, t.n, &any, &why);
	if (i >= 0)
		as_addr(t.e[i].gid, t.ifindex[i], addr);
	if (i >= 0 && why == MC_GID_LINK_LOCAL)
		pr_warn("mooncake: %s: only a link-local address can be used\n", dev->name);
	table_free(&t);
	return i >= 0 ? 0 : -ENODEV;
}

int mc_gid_addr(struct mc_ibdev *dev, struct sockaddr_storage *addr, struct netlink_ext_ack *extack)
{
	int ret = -ENODEV;
	u32 port;

	rdma_for_each_port(dev->ib, port) {
		ret = addr_of_port(dev, port, addr);
		if (ret != -ENODEV)
			break;
	}
	if (ret == -ENODEV)
		mc_ext_err(extack, "%s: no usable address", dev->name);
	return ret;
}
