/* SPDX-License-Identifier: MIT */
/* The loop that drives a node, and the kernel's events in it. */
#ifndef ND_LOOP_H
#define ND_LOOP_H

#include <signal.h>

#include "node.h"

/** nd_reload_key - set by SIGHUP: read the key file again */
extern volatile sig_atomic_t nd_reload_key;

/** nd_boottime() - CLOCK_BOOTTIME in ns */
uint64_t nd_boottime(void);

/** nd_loop() - tick until *@stopping; SIGTERM and SIGINT must be blocked and are taken while it waits */
void nd_loop(struct nd_node *nd, const volatile sig_atomic_t *stopping);

#endif /* ND_LOOP_H */
