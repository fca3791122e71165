// SPDX-License-Identifier: GPL-2.0-only
#include <linux/atomic.h>
#include <linux/errno.h>
#include <linux/sched.h>
#include <linux/seq_file.h>
#include <linux/string.h>

#include "fault.h"

#ifdef MC_FAULT
static atomic64_t fault_values[MC_FAULT_MAX];

#define X(name) #name,
static const char * const fault_names[MC_FAULT_MAX] = { MC_FAULTS(X) };
#undef X

bool __mc_fault_hit(enum mc_fault_id id)
{
	if (!atomic64_read(&fault_values[id]))
		return false;
	return atomic64_dec_if_positive(&fault_values[id]) == 0;
}

/* The thread that set my_alloc; a number is enough for tests, no reference is held. */
static pid_t fault_thread;

bool mc_fault_alloc(void)
{
	if (__mc_fault_hit(MC_FAULT_any_alloc))
		return true;
	return READ_ONCE(fault_thread) == task_pid_nr(current) && __mc_fault_hit(MC_FAULT_my_alloc);
}

u64 __mc_fault_value(enum mc_fault_id id)
{
	return atomic64_read(&fault_values[id]);
}

int mc_fault_set(const char *name, u64 value)
{
	int i = match_string(fault_names, MC_FAULT_MAX, name);

	if (i < 0 || value > S64_MAX)
		return i < 0 ? -ENOENT : -ERANGE;
	if (i == MC_FAULT_my_alloc)
		WRITE_ONCE(fault_thread, task_pid_nr(current));
	atomic64_set(&fault_values[i], value);
	return 0;
}

void mc_fault_show(struct seq_file *m)
{
	int i;

	for (i = 0; i < MC_FAULT_MAX; i++)
		seq_printf(m, "%s %lld\n", fault_names[i], (long long)atomic64_read(&fault_values[i]));
}
#else
int mc_fault_set(const char *name, u64 value)
{
	return -EOPNOTSUPP;
}

void mc_fault_show(struct seq_file *m)
{
}
#endif
