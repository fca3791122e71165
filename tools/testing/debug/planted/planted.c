// SPDX-License-Identifier: GPL-2.0-only
/*
 * One bug of each kind that the debug kernels must report, chosen by the parameter bug=. Loading it does the damage and
 * then fails, so that nothing stays but the report. It tests make check-debug itself: a detector that is silent proves
 * nothing.
 */
#include <linux/kernel.h>
#include <linux/list.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/refcount.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/timer.h>
#include <linux/vmalloc.h>

static char *bug = "";
module_param(bug, charp, 0);
MODULE_PARM_DESC(bug, "which bug");

static DEFINE_MUTEX(lock_a);
static DEFINE_MUTEX(lock_b);
static DEFINE_SPINLOCK(spin);
static int shift = 40;
static int index = 9;
static int array[4];

/* The compiler must know neither what a pointer points to nor what a number is. */
#define HIDE(x) ({ typeof(x) __x = (x); OPTIMIZER_HIDE_VAR(__x); __x; })

static void slab_overrun(void)
{
	char *p = HIDE((char *)kmalloc(20, GFP_KERNEL));

	if (p)
		p[24] = 1;
	kfree(p);
}

static void use_after_free(void)
{
	char *p = HIDE((char *)kmalloc(32, GFP_KERNEL));

	kfree(p);
	if (p)
		pr_info("planted: read %d\n", READ_ONCE(p[3]));
}

static void vmalloc_overrun(void)
{
	char *p = HIDE((char *)vmalloc(4000));

	if (p)
		WRITE_ONCE(p[4050], 1);
	vfree(p);
}

static void lock_inversion(void)
{
	mutex_lock(&lock_a);
	mutex_lock(&lock_b);
	mutex_unlock(&lock_b);
	mutex_unlock(&lock_a);
	mutex_lock(&lock_b);
	mutex_lock(&lock_a);
	mutex_unlock(&lock_a);
	mutex_unlock(&lock_b);
}

/*
 * What every function that may sleep begins with, and no more: a mutex here is a report of lockdep's too, and a
 * processor that changes its task upsets the count of preemption; either ends lockdep.
 */
static void sleep_in_atomic(void)
{
	spin_lock(&spin);
	might_sleep();
	spin_unlock(&spin);
}

static noinline void leak(void)
{
	char *p = HIDE((char *)kmalloc(777, GFP_KERNEL));

	if (p)
		p[0] = 1;
}

static void list_corruption(void)
{
	struct list_head head, entry;

	INIT_LIST_HEAD(&head);
	list_add(&entry, &head);
	list_del(&entry);
	list_del(&entry);
}

static void ubsan_shift(void)
{
	pr_info("planted: %d\n", 1 << READ_ONCE(shift));
}

static void ubsan_bounds(void)
{
	pr_info("planted: %d\n", array[READ_ONCE(index)]);
}

static void refcount(void)
{
	refcount_t count = REFCOUNT_INIT(1);

	if (refcount_dec_and_test(&count))
		refcount_inc(&count);
}

static void timer_fired(struct timer_list *t)
{
}

/* Memory that holds a running timer is freed. */
static void object_freed(void)
{
	struct timer_list *t = kmalloc(sizeof(*t), GFP_KERNEL);

	if (!t)
		return;
	timer_setup(t, timer_fired, 0);
	mod_timer(t, jiffies + 100 * HZ);
	kfree(t);
}

static void rcu_unprotected(void)
{
	RCU_LOCKDEP_WARN(!rcu_read_lock_held(), "planted");
}

static const struct {
	const char *name;
	void (*run)(void);
} bugs[] = {
	{ "slab-overrun", slab_overrun },
	{ "use-after-free", use_after_free },
	{ "vmalloc-overrun", vmalloc_overrun },
	{ "lock-inversion", lock_inversion },
	{ "sleep-in-atomic", sleep_in_atomic },
	{ "leak", leak },
	{ "list-corruption", list_corruption },
	{ "ubsan-shift", ubsan_shift },
	{ "ubsan-bounds", ubsan_bounds },
	{ "refcount", refcount },
	{ "object-freed", object_freed },
	{ "rcu-unprotected", rcu_unprotected },
};

static int __init planted_init(void)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(bugs); i++) {
		if (!strcmp(bugs[i].name, bug)) {
			pr_info("planted: %s\n", bug);
			bugs[i].run();
			return -EAGAIN;
		}
	}
	return -EINVAL;
}

module_init(planted_init);
MODULE_DESCRIPTION("Bugs on purpose");
MODULE_LICENSE("GPL");
