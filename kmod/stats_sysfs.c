// SPDX-License-Identifier: GPL-2.0-only
/* transports/NAME/ below /sys/class/misc/mooncake: what each transport has moved, one value a file. */
#include <linux/kobject.h>
#include <linux/sysfs.h>

#include "engine.h"
#include "stats.h"
#include "sysfs.h"

static struct kobject *top_kobj;
static struct kobject *transport_kobj[MC_TRANSPORTS];

static enum mc_transport transport_of(struct kobject *kobj)
{
	int i;

	for (i = 0; i < MC_TRANSPORTS - 1; i++)
		if (transport_kobj[i] == kobj)
			break;
	return i;
}

static u64 percentile(const struct mc_xfer_stat *s, u32 permille)
{
	return mc_hist_percentile(s->hist, MC_HIST_BUCKETS, permille);
}

#define STAT_ATTR(_name, _write, _expr) \
static ssize_t _name##_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf) \
{ \
	struct mc_xfer_stat s; \
	\
	mc_stat_xfer(transport_of(kobj), _write, &s); \
	return sysfs_emit(buf, "%llu\n", _expr); \
} \
static struct kobj_attribute attr_##_name = __ATTR_RO(_name)

#define BOTH(_name, _expr) \
	STAT_ATTR(read_##_name, false, _expr); \
	STAT_ATTR(write_##_name, true, _expr)

BOTH(requests, s.reqs);
BOTH(errors, s.errors);
BOTH(bytes, s.bytes);
BOTH(p50_ns, percentile(&s, 500));
BOTH(p99_ns, percentile(&s, 990));

static const struct attribute *attrs[] = {
	&attr_read_requests.attr, &attr_read_errors.attr, &attr_read_bytes.attr, &attr_read_p50_ns.attr,
	&attr_read_p99_ns.attr, &attr_write_requests.attr, &attr_write_errors.attr, &attr_write_bytes.attr,
	&attr_write_p50_ns.attr, &attr_write_p99_ns.attr, NULL
};

int mc_stats_sysfs_init(void)
{
	int i, ret = -ENOMEM;

	top_kobj = kobject_create_and_add("transports", mc_kobj);
	if (!top_kobj)
		return -ENOMEM;
	for (i = 0; i < MC_TRANSPORTS; i++) {
		transport_kobj[i] = kobject_create_and_add(mc_transport_name(i), top_kobj);
		ret = transport_kobj[i] ? sysfs_create_files(transport_kobj[i], attrs) : -ENOMEM;
		if (ret) {
			mc_stats_sysfs_exit();
			return ret;
		}
	}
	return 0;
}

void mc_stats_sysfs_exit(void)
{
	int i;

	for (i = 0; i < MC_TRANSPORTS; i++) {
		kobject_put(transport_kobj[i]);
		transport_kobj[i] = NULL;
	}
	kobject_put(top_kobj);
}
