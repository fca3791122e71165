// SPDX-License-Identifier: GPL-2.0-only
/* segments/ below /sys/class/misc/mooncake, documented in Documentation/ABI/testing/sysfs-class-misc-mooncake. */
#include <linux/kobject.h>
#include <linux/slab.h>
#include <linux/sysfs.h>

#include "engine.h"
#include "seg.h"
#include "seg_sysfs.h"
#include "useg.h"

static struct kobject *segs_kobj;

/**
 * struct mc_seg_dir - directory of a segment
 * @kobj: in sysfs
 * @uuid: the segment
 */
struct mc_seg_dir {
	struct kobject kobj;
	u8 uuid[MC_UUID_LEN];
};

static struct mc_seg_dir *to_dir(struct kobject *kobj)
{
	return container_of(kobj, struct mc_seg_dir, kobj);
}

static void dir_release(struct kobject *kobj)
{
	kfree(to_dir(kobj));
}

#define SEG_ATTR(_name, _fmt, _expr) \
static ssize_t _name##_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf) \
{ \
	struct mc_seg *seg = mc_seg_find(to_dir(kobj)->uuid); \
	ssize_t ret = -ENODEV; \
	\
	if (seg) { \
		ret = sysfs_emit(buf, _fmt "\n", _expr); \
		mc_seg_put(seg); \
	} \
	return ret; \
} \
static struct kobj_attribute seg_##_name = __ATTR_RO(_name)

static u32 owner_pid(struct mc_seg *seg)
{
	struct mc_useg *us = mc_seg_useg(seg);

	return us ? us->pid : 0;
}

static const char *rights_name(u32 rights)
{
	if (rights & MC_RIGHT_WRITE)
		return rights & MC_RIGHT_READ ? "read-write" : "write";
	return rights & MC_RIGHT_READ ? "read" : "none";
}

SEG_ATTR(name, "%s", seg->name);
SEG_ATTR(kind, "%s", mc_seg_useg(seg) ? "exported" : "pool");
SEG_ATTR(len, "%llu", READ_ONCE(seg->target.len));
SEG_ATTR(generation, "%u", READ_ONCE(seg->target.gen));
SEG_ATTR(rights, "%s", rights_name(seg->target.rights));
SEG_ATTR(leases, "%d", atomic_read(&seg->leases));
SEG_ATTR(pid, "%u", owner_pid(seg));

static struct attribute *seg_attrs[] = {
	&seg_name.attr, &seg_kind.attr, &seg_len.attr, &seg_generation.attr, &seg_rights.attr, &seg_leases.attr,
	&seg_pid.attr, NULL
};
ATTRIBUTE_GROUPS(seg);

static const struct kobj_type seg_ktype = {
	.release = dir_release,
	.sysfs_ops = &kobj_sysfs_ops,
	.default_groups = seg_groups,
};

struct mc_seg_dir *mc_seg_dir_add(const u8 *uuid)
{
	struct mc_seg_dir *dir = kzalloc(sizeof(*dir), GFP_KERNEL);
	int ret;

	if (!dir)
		return ERR_PTR(-ENOMEM);
	memcpy(dir->uuid, uuid, MC_UUID_LEN);
	ret = kobject_init_and_add(&dir->kobj, &seg_ktype, segs_kobj, "%pUb", uuid);
	if (!ret)
		return dir;
	kobject_put(&dir->kobj);
	return ERR_PTR(ret);
}

void mc_seg_dir_del(struct mc_seg_dir *dir)
{
	if (IS_ERR_OR_NULL(dir))
		return;
	kobject_del(&dir->kobj);
	kobject_put(&dir->kobj);
}

int mc_seg_sysfs_init(void)
{
	segs_kobj = kobject_create_and_add("segments", mc_kobj);
	return segs_kobj ? 0 : -ENOMEM;
}

void mc_seg_sysfs_exit(void)
{
	kobject_put(segs_kobj);
}
