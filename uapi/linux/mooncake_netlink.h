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
 *   RAIL_ADD      DEV_NAME [ADDR] [PORT] [GID_INDEX]                   starts the listener on this address -> RAIL_ID
 *                                                        ENODEV (message lists usable devices), EEXIST, EADDRNOTAVAIL,
 *                                                        EINVAL, ENOKEY (no key and not auth none)
 *                                                        Without ADDR the best entry of the GID table is taken (ENODEV:
 *                                                        none); GID_INDEX insists on one (EINVAL: shows the table)
 *   RAIL_DEL      RAIL_ID
 *   RAIL_SET      RAIL_ID [SLICE_BYTES] [TAIL_BYTES] [TOS] [SERVICE_LEVEL] [NUMA_NODE WEIGHT] or
 *                                                        [PCI_DEVICE WEIGHT]: ENODEV, ENOSPC (16 are set)
 *   RAIL_GET      dump: RAIL_ID DEV_NAME ADDR PORT STATE [PCI_DEVICE], counters
 *   PEER_SET      NODE_UUID RAILS { RAIL { RAIL_ID ADDR PORT } ... }   adds or replaces a peer's addresses
 *   PEER_DEL      NODE_UUID
 *   PEER_GET      dump: NODE_UUID INSTANCE EPOCH STATE RAILS PATHS, counters
 *   POOL_CREATE   NAME LEN [NUMA_NODE] [PAGE_SIZE]       -> SEG_UUID; EEXIST (name), EINVAL, ENOMEM
 *   POOL_DESTROY  SEG_UUID                               0 at once, drains in the background, again ENOENT
 *   POOL_GET      dump: SEG_UUID NAME LEN NUMA_NODE PAGE_SIZE STATE LEASES
 *   SEG_GET       dump: SEG_UUID NAME LEN RIGHTS GEN STATE LEASES [PID UID]   pools and exported segments; PID and UID
 *                                                        of who opened the file that owns it
 *   BUF_GET       dump: BUF_ID PID UID LEN PINNED STATE
 *   CLIENT_GET    dump: PID UID NAME STATE BUFFERS PINNED   open files of the device, and closed ones that still let
 *                                                        go of what they had ("closing"); PID, UID, NAME: who opened it
 *   FAULT_SET     NAME VALUE                             builds with fault hooks only (EOPNOTSUPP otherwise)
 *   STAT_GET      dump: TRANSPORT OP REQS ERRORS BYTES HIST, one for each transport and operation, of the whole node
 *
 * Multicast group "events". Each event has SEQ (counts events; a gap says that this listener missed some: its socket
 * was full, or the kernel had no memory) and TIME, and REASON where there is one:
 *
 *   EVENT_SEG_GONE     SEG_UUID NODE_UUID [NAME] [PID]   a segment of NODE_UUID can't be reached any more: ESTALE. It
 *                                                        is this node's own, or one of a peer that was open here
 *   EVENT_BUF_GONE     BUF_ID PID UID LEN                a buffer is unregistered; its pages are let go when idle
 *   EVENT_PEER_UP      NODE_UUID                         the first path to a peer is live
 *   EVENT_PEER_DOWN    NODE_UUID LAST_ERROR              the last one is gone
 *   EVENT_RAIL_UP      RAIL_ID DEV_NAME [path]           the rail itself; with NODE_UUID its path to that peer, whose
 *                                                        other end is REMOTE_RAIL_ID of the peer at ADDR PORT
 *   EVENT_RAIL_PAUSED  RAIL_ID DEV_NAME [path] LAST_ERROR   carries nothing until it is tried again
 *   EVENT_RAIL_DOWN    RAIL_ID DEV_NAME [path] LAST_ERROR   was taken away
 *   EVENT_CLIENT_GONE  CLIENT_UUID PID                   the file that named this client (MC_IOC_CLIENT) was closed
 *
 * Words of STATE: MC_STATE_*.
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
	MC_CMD_EVENT_BUF_GONE,
	MC_CMD_EVENT_RAIL_PAUSED,
	MC_CMD_STAT_GET,
	MC_CMD_RAIL_SET,
	MC_CMD_SEG_GET,
	MC_CMD_EVENT_CLIENT_GONE,
	MC_CMD_CLIENT_GET,
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
	MC_ATTR_SEQ,		/* u64, events so far */
	MC_ATTR_TIME,		/* u64, CLOCK_BOOTTIME of the event, ns */
	MC_ATTR_REASON,		/* u32, enum mc_reason */
	MC_ATTR_TRANSPORT,	/* u32, enum mc_transport */
	MC_ATTR_OP,		/* u32, MC_OP_READ or MC_OP_WRITE of the device's header */
	MC_ATTR_REQS,		/* u64, requests that ended well */
	MC_ATTR_BYTES,		/* u64, their payload */
	MC_ATTR_HIST,		/* histogram of their latency from submission to completion, see MC_HIST_BUCKETS */
	MC_ATTR_READ_HIST,	/* histogram of a rail: READ slices, from posting to completion */
	MC_ATTR_WRITE_HIST,	/* the same for WRITE slices */
	MC_ATTR_PATHS,		/* nest of MC_ATTR_PATH: a peer's, one for each local rail */
	MC_ATTR_PATH,		/* nest: LOCAL_RAIL_ID RAIL_ID (partner) STATE EPOCH BANDWIDTH ATTEMPTS RETRY_COUNT
				 * RNR_RETRY_COUNT ACK_TIMEOUT LAST_ERROR [MTU READ_DEPTH TOS] [UNREACHABLE...] */
	MC_ATTR_BANDWIDTH,	/* u64, measured bytes a second */
	MC_ATTR_ATTEMPTS,	/* u32, attempts to connect that have ended */
	MC_ATTR_UNREACHABLE,	/* u32, may repeat: a peer's rail that this path can't reach and leaves alone */
	MC_ATTR_MTU,		/* u32, bytes of payload of a packet, as agreed */
	MC_ATTR_READ_DEPTH,	/* u32, READs under way on one connection, as agreed */
	MC_ATTR_TOS,		/* u32, type of service: of a rail as asked for or MC_RAIL_DEFAULT, of a path what is */
	MC_ATTR_RETRY_COUNT,	/* u32, tries of a packet without acknowledgement */
	MC_ATTR_RNR_RETRY_COUNT, /* u32, tries while the other side has no receive posted */
	MC_ATTR_SLICE_BYTES,	/* u32, 4096 to 16777216: bytes of a slice on this rail */
	MC_ATTR_TAIL_BYTES,	/* u32, up to SLICE_BYTES: a rest of so many bytes joins the last slice */
	MC_ATTR_SERVICE_LEVEL,	/* u32, 0 to 15, MC_RAIL_DEFAULT: the node's default */
	MC_ATTR_WEIGHT,		/* u32, 0 to 255: of the rail for memory of NUMA_NODE or PCI_DEVICE; 0: by distance */
	MC_ATTR_GID_INDEX,	/* s32: the rail's entry in its port's GID table, -1: none */
	MC_ATTR_GID_REASON,	/* string: why that one */
	MC_ATTR_ACK_TIMEOUT,	/* u32, 4.096 us times two to this power between two tries */
	MC_ATTR_RIGHTS,		/* u32, MC_RIGHT_* of the device's header */
	MC_ATTR_GEN,		/* u32, generation of a segment's memory */
	MC_ATTR_REMOTE_RAIL_ID,	/* u32: the peer's end of a path, in events */
	MC_ATTR_PCI_DEVICE,	/* string: a PCI function, "0000:41:00.0"; RAIL_GET: the rail's own */
	MC_ATTR_CLIENT_UUID,	/* binary 16 */
	MC_ATTR_BUFFERS,	/* u32, registered buffers */
	__MC_ATTR_MAX,
};
#define MC_ATTR_MAX (__MC_ATTR_MAX - 1)

enum mc_auth {
	MC_AUTH_NONE,		/* asked for explicitly */
	MC_AUTH_KEY,		/* cluster key */
	MC_AUTH_UNSET,		/* no key loaded and not allowed to go without: nothing connects */
};

/**
 * enum mc_reason - why an event happened
 * @MC_REASON_NONE: nothing to say
 * @MC_REASON_ASKED: the owner or an administrator wanted it
 * @MC_REASON_EXIT: the open file that owned it was closed, by its process or by the process's end
 * @MC_REASON_DEVICE: the RDMA device or its port went away
 * @MC_REASON_SILENT: no answer in time
 * @MC_REASON_BROKEN: a connection failed; MC_ATTR_LAST_ERROR says how
 * @MC_REASON_OWNER: the node that owns it withdrew it
 */
enum mc_reason {
	MC_REASON_NONE,
	MC_REASON_ASKED,
	MC_REASON_EXIT,
	MC_REASON_DEVICE,
	MC_REASON_SILENT,
	MC_REASON_BROKEN,
	MC_REASON_OWNER,
};

/**
 * enum mc_transport - what moved the bytes of a request
 * @MC_TRANSPORT_LOCAL: the processor, within this node
 * @MC_TRANSPORT_RDMA: RDMA between nodes
 * @MC_TRANSPORT_TCP: TCP between nodes
 * @MC_TRANSPORT_NVME: a block device
 * @MC_TRANSPORTS: how many there are
 */
enum mc_transport {
	MC_TRANSPORT_LOCAL,
	MC_TRANSPORT_RDMA,
	MC_TRANSPORT_TCP,
	MC_TRANSPORT_NVME,
	MC_TRANSPORTS
};

/*
 * A histogram is a binary attribute: __u64 counts in the byte order of the machine, from bucket 0 to the last one that
 * is not 0 (an empty histogram has no attribute). Bucket i counts latencies from 2^i ns up to below 2^(i+1) ns; the
 * first has 0 too, the last everything longer.
 */
#define MC_HIST_BUCKETS		42

/* Words of MC_ATTR_STATE and of the state files in sysfs. */
#define MC_STATE_DOWN		"down"		/* peer: not needed yet or not reached; rail: port down */
#define MC_STATE_CONNECTING	"connecting"	/* peer: an attempt is under way */
#define MC_STATE_HELLO		"hello"		/* peer: both ends prove who they are */
#define MC_STATE_LIVE		"live"		/* peer: slices are posted; pool, buffer: in use */
#define MC_STATE_BROKEN		"broken"	/* peer: its path failed and is being fenced */
#define MC_STATE_NO_DEVICE	"no device"	/* rail: its RDMA device is not there; it comes back by itself */
#define MC_STATE_NO_ADDRESS	"no address"	/* rail: its address is not there; it comes back by itself */
#define MC_STATE_UP		"up"		/* rail: listening, its port is active */
#define MC_STATE_PAUSED		"paused"	/* peer, path: failed, tried again after a pause */
#define MC_STATE_QUARANTINE	"quarantine"	/* buffer, pool: given back, waits for devices and peers to let go */
#define MC_STATE_CLOSING	"closing"	/* client: closed, what it had is being let go */

#define MC_RAIL_DEFAULT		0xffffffffU	/* TOS, SERVICE_LEVEL: not set */
#define MC_DEFAULT_PORT		50060

#endif /* _UAPI_LINUX_MOONCAKE_NETLINK_H */
