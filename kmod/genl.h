/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef MC_GENL_H
#define MC_GENL_H

#include <linux/types.h>

struct netlink_ext_ack;

extern struct genl_family mc_genl_family;

int mc_genl_init(void);
void mc_genl_exit(void);

/**
 * mc_ext_err - tell a netlink caller what is wrong, with values
 * @extack: may be NULL
 * @fmt: format
 *
 * The text lives in a small ring of static buffers until netlink has copied it into the answer; 6.1 has no formatted
 * messages of its own.
 */
__printf(2, 3) void mc_ext_err(struct netlink_ext_ack *extack, const char *fmt, ...);

#endif /* MC_GENL_H */
