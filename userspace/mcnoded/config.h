/* SPDX-License-Identifier: MIT */
/* mcnoded's one configuration file. */
#ifndef ND_CONFIG_H
#define ND_CONFIG_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "mcnl.h"

#define ND_CONFIG_PATH	"/etc/mooncake/mcnoded.yaml"
#define ND_UUID_PATH	"/var/lib/mooncake/node-uuid"
#define ND_KEY_PATH	"/etc/mooncake/cluster.key"
#define ND_MAX_RAILS	16

/**
 * struct nd_rail_config - a listener to start
 * @device: RDMA device
 * @addr: address of it
 * @port: port
 */
struct nd_rail_config {
	char device[64];
	struct mcnl_addr addr;
	uint16_t port;
};

/**
 * struct nd_config - what the file says
 * @master: address as written
 * @name: node's name, for people; the host name when not given
 * @uuid_file: where the node's UUID is kept
 * @cluster: cluster UUID
 * @auth_none: go without a key
 * @key_file: cluster key
 * @key_gen: its generation
 * @n_rails: how many @rails
 * @rails: listeners
 * @has_pool: @pool is given
 * @pool: the pool to create or to take over: name, len, numa, page_size
 * @destroy_pool: give the pool's memory back on exit
 */
struct nd_config {
	char master[320];
	char name[MC_NAME_LEN];
	char uuid_file[PATH_MAX];
	uint8_t cluster[MC_UUID_LEN];
	bool auth_none;
	char key_file[PATH_MAX];
	uint32_t key_gen;
	size_t n_rails;
	struct nd_rail_config rails[ND_MAX_RAILS];
	bool has_pool;
	struct mcnl_pool pool;
	bool destroy_pool;
};

/** typedef nd_complain_fn - takes one line about one bad place of the file, without newline */
typedef void (*nd_complain_fn)(const char *line, void *arg);

/**
 * nd_config_load() - read a file
 * @path: the file
 * @cfg: result, valid when 0 is returned
 * @complain: called once for each bad place, with "file:line: ..." and the bad value
 * @arg: for @complain
 *
 * Return: 0, or how many places are bad.
 */
int nd_config_load(const char *path, struct nd_config *cfg, nd_complain_fn complain, void *arg);

#endif /* ND_CONFIG_H */
