/* SPDX-License-Identifier: GPL-2.0-only */
/* The transport within a node: the processor copies between a buffer and a pool. */
#ifndef MC_LOCAL_H
#define MC_LOCAL_H

#include "engine.h"

extern const struct mc_transport_ops mc_local_ops;

int mc_local_init(void);
void mc_local_exit(void);

#endif /* MC_LOCAL_H */
