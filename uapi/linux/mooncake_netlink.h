/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * Generic netlink family "mooncake": administration of the node's engine.
 *
 * Every command that changes something needs CAP_SYS_ADMIN in the initial user namespace (EPERM); all live in the
 * initial network namespace. Failures carry an extended ack message that names the attribute and the value.
 *
 *   INFO_GET      -> NODE_UUID INSTANCE CLUSTER_UUID AUTH KEY_GEN KEY_GEN_OLD CLOCK_EPOCH CLOCK_OFFSET CLOCK_ERROR
 *                                                        CLOCK_AGE
 *   NODE_SET      NODE_UUID CLUSTER_UUID [AUTH]          once; again with the same values is fine, others EBUSY
 *                                                        while rails, peers or pools exist
 *   KEY_SET       KEY_GEN KEY                            write-only; newest two generations are kept
 *   CLOCK_SET     CLOCK_EPOCH CLOCK_OFFSET CLOCK_ERROR [CLOCK_AT]
 *                                                        master time = CLOCK_BOOTTIME + offset; grants are refused when
 *                                                        the error is above 500 ms or it was measured over 5 s ago
 *   RAIL_ADD      DEV_NAME ADDR [PORT]                   starts the listener on this address -> RAIL_ID
 *                                                        ENODEV (message lists usable devices), EEXIST, EADDRNOTAVAIL,
 *                                                        EINVAL, ENOKEY (no key and not auth none)
 *   RAIL_DEL      RAIL_ID
 *   RAIL_GET      dump: RAIL_ID DEV_NAME ADDR PORT STATE, counters
 *   PEER_SET      NODE_UUID RAILS { RAIL { RAIL_ID ADDR PORT } ... }   adds or replaces a peer's addresses
 *   PEER_DEL      NODE_UUID
 *   PEER_GET      dump: NODE_UUID INSTANCE EPOCH STATE RAILS, counters
 *   POOL_CREATE   NAME LEN [NUMA_NODE] [PAGE_SIZE]       -> SEG_UUID; EEXIST (name), EINVAL, ENOMEM
 *   POOL_DESTROY  SEG_UUID                               0 at once, drains in the background, again ENOENT
 *   POOL_GET      dump: SEG_UUID NAME LEN NUMA_NODE PAGE_SIZE STATE LEASES
 *   BUF_GET       dump: BUF_ID PID UID LEN PINNED STATE
 *   FAULT_SET     NAME VALUE                             builds with fault hooks only (EOPNOTSUPP otherwise)
 *
 * Multicast group "events": EVENT_* with the attributes of the object they are about.
 */
#ifndef _UAPI_LINUX_MOONCAKE_NETLINK_H
#define _UAPI_LINUX_MOONCAKE_NETLINK_H

#define MC_GENL_NAME		"mooncake"
#define MC_GENL_VERSION		1
#define MC_GENL_GROUP_EVENTS	"events"
#define MC_KEY_LEN		32

enum mc_genl_cmd {
	MC_CMD_UNSPEC,
	MC_CMD_INFO_GET,
	MC_CMD_NODE_SET,
	MC_CMD_KEY_SET,
	MC_CMD_CLOCK_SET,
	MC_CMD_RAIL_ADD,
	MC_CMD_RAIL_DEL,
	MC_CMD_RAIL_GET,
	MC_CMD_PEER_SET,
	MC_CMD_PEER_DEL,
	MC_CMD_PEER_GET,
	MC_CMD_POOL_CREATE,
	MC_CMD_POOL_DESTROY,
	MC_CMD_POOL_GET,
	MC_CMD_BUF_GET,
	MC_CMD_FAULT_SET,
	MC_CMD_EVENT_SEG_GONE,
	MC_CMD_EVENT_PEER_UP,
	MC_CMD_EVENT_PEER_DOWN,
	MC_CMD_EVENT_RAIL_UP,
	MC_CMD_EVENT_RAIL_DOWN,
	__MC_CMD_MAX,
};
#define MC_CMD_MAX (__MC_CMD_MAX - 1)

enum mc_genl_attr {
	MC_ATTR_UNSPEC,
	MC_ATTR_PAD,
	MC_ATTR_NODE_UUID,	/* binary 16 */
	MC_ATTR_INSTANCE,	/* u64 */
	MC_ATTR_CLUSTER_UUID,	/* binary 16 */
	MC_ATTR_AUTH,		/* u32, enum mc_auth */
	MC_ATTR_KEY_GEN,	/* u32, from 1 */
	MC_ATTR_KEY,		/* binary MC_KEY_LEN, never sent by the kernel */
	MC_ATTR_CLOCK_EPOCH,	/* u64 */
	MC_ATTR_CLOCK_OFFSET,	/* s64, ns */
	MC_ATTR_CLOCK_ERROR,	/* u64, ns */
	MC_ATTR_CLOCK_AGE,	/* u64, ns since the last CLOCK_SET */
	MC_ATTR_RAIL_ID,	/* u32, from 1 */
	MC_ATTR_DEV_NAME,	/* string: RDMA device, for example mlx5_0 */
	MC_ATTR_ADDR,		/* binary: struct in_addr (4) or in6_addr (16) */
	MC_ATTR_PORT,		/* u16, host order, default MC_DEFAULT_PORT */
	MC_ATTR_STATE,		/* string */
	MC_ATTR_RAILS,		/* nest of MC_ATTR_RAIL */
	MC_ATTR_RAIL,		/* nest: RAIL_ID ADDR PORT [STATE, counters] */
	MC_ATTR_EPOCH,		/* u64, connection epoch */
	MC_ATTR_SEG_UUID,	/* binary 16 */
	MC_ATTR_NAME,		/* string, up to 63 bytes */
	MC_ATTR_LEN,		/* u64 bytes */
	MC_ATTR_NUMA_NODE,	/* s32, -1 any */
	MC_ATTR_PAGE_SIZE,	/* u32: 4096 or 2097152 */
	MC_ATTR_LEASES,		/* u32, peers that hold the segment open */
	MC_ATTR_BUF_ID,		/* u32 */
	MC_ATTR_PID,		/* u32, process that registered it */
	MC_ATTR_UID,		/* u32 */
	MC_ATTR_PINNED,		/* u64, bytes */
	MC_ATTR_READ_BYTES,	/* u64, payload this node read from the peer or through the rail */
	MC_ATTR_WRITE_BYTES,	/* u64, payload this node wrote */
	MC_ATTR_READ_OPS,	/* u64, slices */
	MC_ATTR_WRITE_OPS,	/* u64, slices */
	MC_ATTR_ERRORS,		/* u64, slices that failed */
	MC_ATTR_RETRIES,	/* u64, slices posted again */
	MC_ATTR_INFLIGHT,	/* u64, slices posted now */
	MC_ATTR_RECONNECTS,	/* u64 */
	MC_ATTR_LAST_ERROR,	/* string: why the last connection failed or ended */
	MC_ATTR_VALUE,		/* u64 */
	MC_ATTR_LOCAL_BYTES,	/* u64, INFO_GET: bytes moved by the local copy engine */
	MC_ATTR_LOCAL_RAIL_ID,	/* u32: the local end of a peer's rail */
	MC_ATTR_CLOCK_AT,	/* u64, CLOCK_SET: CLOCK_BOOTTIME when it was measured, ns; now when missing */
	MC_ATTR_KEY_GEN_OLD,	/* u32, INFO_GET: the other generation that is accepted, 0: none */
	__MC_ATTR_MAX,
};
#define MC_ATTR_MAX (__MC_ATTR_MAX - 1)

enum mc_auth {
	MC_AUTH_NONE,		/* asked for explicitly */
	MC_AUTH_KEY,		/* cluster key */
	MC_AUTH_UNSET,		/* no key loaded and not allowed to go without: nothing connects */
};

#define MC_DEFAULT_PORT		50060

#endif /* _UAPI_LINUX_MOONCAKE_NETLINK_H */
