/* SPDX-License-Identifier: MIT */
/* What the commands for the local kernel share. */
#ifndef CTL_NLCTL_H
#define CTL_NLCTL_H

#include "ctl.h"

/** ctl_nl_open() - reach the module; exit status */
int ctl_nl_open(const struct ctl *c, struct mcnl **out);

/** ctl_nl_done() - close, and turn the last result into an exit status with its line */
int ctl_nl_done(const struct ctl *c, struct mcnl *nl, int rc);

#endif /* CTL_NLCTL_H */
