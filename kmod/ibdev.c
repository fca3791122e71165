// SPDX-License-Identifier: GPL-2.0-only
#include <linux/log2.h>
#include <linux/mutex.h>
#include <linux/slab.h>

#include "cmid.h"
#include "compat.h"
#include "engine.h"
#include "genl.h"
#include "ibdev.h"
#include "mrset.h"
#include "net.h"
#include "rail.h"

#define CHUNK_SHIFT_MAX	28

static DEFINE_MUTEX(devs_lock);
static LIST_HEAD(devs);
static struct ib_client client;

static void dev_free(struct kref *kref)
{
	kfree(container_of(kref, struct mc_ibdev, kref));
}

void mc_ibdev_put(struct mc_ibdev *dev)
{
	kref_put(&dev->kref, dev_free);
}

/*
 * iWARP needs REMOTE_WRITE on the sink of a READ, which would open buffers to peers: refused. Devices whose DMA needs
 * bouncing can't give others direct access to memory.
 */
static bool usable(struct ib_device *ib)
{
	u32 port;

	if (!(ib->attrs.device_cap_flags & IB_DEVICE_MEM_MGT_EXTENSIONS) || ib->attrs.max_fast_reg_page_list_len < 2)
		return false;
	rdma_for_each_port(ib, port)
		if (rdma_protocol_roce(ib, port) || rdma_protocol_ib(ib, port))
			return true;
	return false;
}

/* Once in a load: the fix is the driver's, not the device's. */
static void name_lacking_fix(struct ib_device *ib)
{
	const char *fix = mc_rxe_lacks();

	if (fix && ib->ops.driver_id == RDMA_DRIVER_RXE)
		pr_notice_once("mooncake: %s: soft-RoCE of this kernel lacks %s\n", dev_name(&ib->dev), fix);
}

static u8 chunk_shift(struct ib_device *ib)
{
	u64 bytes = (u64)ib->attrs.max_fast_reg_page_list_len << PAGE_SHIFT;

	bytes = clamp_t(u64, min_t(u64, bytes, mc_mr_max), PAGE_SIZE, 1ULL << CHUNK_SHIFT_MAX);
	return ilog2(bytes);
}

/* The rails look at the ports and addresses themselves; which port it was makes no difference to them. */
static void event_work(struct work_struct *work)
{
	mc_rail_check_dev(container_of(work, struct mc_ibdev, event_work));
	mc_rail_revive();
}

static void dev_event(struct ib_event_handler *handler, struct ib_event *event)
{
	struct mc_ibdev *dev = container_of(handler, struct mc_ibdev, handler);

	switch (event->event) {
	case IB_EVENT_PORT_ERR:
	case IB_EVENT_PORT_ACTIVE:
	case IB_EVENT_DEVICE_FATAL:
	case IB_EVENT_GID_CHANGE:
		/* Not on mc_net_wq: a rail that is stopped waits for work there. */
		queue_work(system_unbound_wq, &dev->event_work);
		break;
	default:
		break;
	}
}

static int dev_add(struct ib_device *ib)
{
	struct mc_ibdev *dev;

	if (!usable(ib))
		return -EOPNOTSUPP;
	dev = kzalloc(sizeof(*dev), GFP_KERNEL);
	if (!dev)
		return -ENOMEM;
	kref_init(&dev->kref);
	spin_lock_init(&dev->lock);
	INIT_LIST_HEAD(&dev->mrsets);
	INIT_WORK(&dev->event_work, event_work);
	mc_cmid_dev_init(dev);
	dev->ib = ib;
	strscpy(dev->name, dev_name(&ib->dev), sizeof(dev->name));
	dev->chunk_shift = chunk_shift(ib);
	dev->doubtful = ib->ops.driver_id == RDMA_DRIVER_RXE;
	dev->pd = ib_alloc_pd(ib, 0);
	if (IS_ERR(dev->pd))
		goto err_free;
	dev->ctrl_pd = ib_alloc_pd(ib, 0);
	if (IS_ERR(dev->ctrl_pd))
		goto err_pd;
	name_lacking_fix(ib);
	ib_set_client_data(ib, &client, dev);
	mutex_lock(&devs_lock);
	list_add_tail(&dev->link, &devs);
	mutex_unlock(&devs_lock);
	INIT_IB_EVENT_HANDLER(&dev->handler, ib, dev_event);
	ib_register_event_handler(&dev->handler);
	mc_rail_revive();
	return 0;

err_pd:
	ib_dealloc_pd(dev->pd);
err_free:
	kfree(dev);
	pr_warn("mooncake: no protection domain on %s: it can't be used\n", dev_name(&ib->dev));
	return -ENOMEM;
}

/*
 * Runs before rdma_cm hears of the removal (clients are removed in the reverse order of registration). When it
 * returns, nothing that the module made on the device exists. Every step but the last is bounded: queue pairs in the
 * error state flush without the network. The last waits until the device has sent what rdma_cm wants to send for ids
 * that have ended; the module can't bound that (cmid.h), and rdma_cm would wait for them itself. Nothing here
 * allocates.
 */
static void dev_remove(struct ib_device *ib, void *data)
{
	struct mc_ibdev *dev = data;

	if (!dev)
		return;
	ib_unregister_event_handler(&dev->handler);	/* waits for one that runs */
	cancel_work_sync(&dev->event_work);
	mutex_lock(&devs_lock);
	spin_lock(&dev->lock);
	dev->gone = true;
	spin_unlock(&dev->lock);
	list_del(&dev->link);
	mutex_unlock(&devs_lock);
	mc_net_drop_dev(dev);
	mc_mrset_drop_dev(dev);
	ib_dealloc_pd(dev->ctrl_pd);
	ib_dealloc_pd(dev->pd);
	mc_cmid_dev_wait(dev);
	mc_ibdev_put(dev);
}

static void dev_rename(struct ib_device *ib, void *data)
{
	struct mc_ibdev *dev = data;

	if (!dev)
		return;
	mutex_lock(&devs_lock);
	strscpy(dev->name, dev_name(&ib->dev), sizeof(dev->name));
	mutex_unlock(&devs_lock);
}

static struct ib_client client = {
	.name = "mooncake",
	.add = dev_add,
	.remove = dev_remove,
	.rename = dev_rename,
};

int mc_ibdev_init(void)
{
	return ib_register_client(&client);
}

void mc_ibdev_exit(void)
{
	ib_unregister_client(&client);
}

static void list_names(char *buf, size_t size)
{
	struct mc_ibdev *dev;
	size_t n = 0;

	strscpy(buf, "none", size);
	list_for_each_entry(dev, &devs, link)
		n += scnprintf(buf + n, size - n, "%s%s", n ? " " : "", dev->name);
}

struct mc_ibdev *mc_ibdev_find(const char *name, struct netlink_ext_ack *extack)
{
	struct mc_ibdev *dev;
	char names[64];

	mutex_lock(&devs_lock);
	list_for_each_entry(dev, &devs, link) {
		if (strcmp(dev->name, name))
			continue;
		kref_get(&dev->kref);
		mutex_unlock(&devs_lock);
		return dev;
	}
	list_names(names, sizeof(names));
	mutex_unlock(&devs_lock);
	mc_ext_err(extack, "no usable RDMA device '%.16s'; usable: %s", name, names);
	return ERR_PTR(-ENODEV);
}

struct mc_ibdev *mc_ibdev_nth(u32 n)
{
	struct mc_ibdev *dev, *found = NULL;

	mutex_lock(&devs_lock);
	list_for_each_entry(dev, &devs, link) {
		if (n--)
			continue;
		kref_get(&dev->kref);
		found = dev;
		break;
	}
	mutex_unlock(&devs_lock);
	return found;
}

u64 mc_ibdev_min_chunk(void)
{
	struct mc_ibdev *dev;
	u64 least = 0;

	mutex_lock(&devs_lock);
	list_for_each_entry(dev, &devs, link)
		if (!least || 1ULL << dev->chunk_shift < least)
			least = 1ULL << dev->chunk_shift;
	mutex_unlock(&devs_lock);
	return least;
}
