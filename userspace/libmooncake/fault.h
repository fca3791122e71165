/* SPDX-License-Identifier: MIT */
/*
 * Faults that a test can ask libmooncake for, by environment variables, in builds with -DMC_FAULT only. All of them
 * are here:
 *
 *   MC_FAULT_HOLD_GET_MS=n   a get waits n ms between learning where an object is and fetching it, behind the check
 *                            that its lease still runs: what the master does meanwhile must not become a wrong answer
 *   MC_FAULT_HOLD_END_MS=n   a put waits n ms between the last byte's arrival and PutEnd: the attempt may be over
 */
#ifndef MC_FAULT_H
#define MC_FAULT_H

#ifdef MC_FAULT
#include <stdlib.h>
#include <time.h>

/**
 * mc_fault_hold() - wait as long as an environment variable says
 * @name: variable
 */
static inline void mc_fault_hold(const char *name)
{
	const char *v = getenv(name);
	long ms = v ? atol(v) : 0;
	struct timespec t = { .tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000 };

	if (ms > 0)
		nanosleep(&t, NULL);
}
#else
static inline void mc_fault_hold(const char *name)
{
	(void)name;
}
#endif

#endif
