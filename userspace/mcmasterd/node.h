/* SPDX-License-Identifier: MIT */
/* Nodes: who takes part. Look-up, creation and text; the rules of registering are in op.c and apply.c. */
#ifndef MC_MASTER_NODE_H
#define MC_MASTER_NODE_H

#include "state.h"

#define MC_ADDR_TEXT	320u

/**
 * mc_node_add() - a record for a node not known yet
 * @s: state
 * @uuid: its UUID
 *
 * Return: the node, or NULL when out of memory.
 */
struct mc_node *mc_node_add(struct mc_state *s, const uint8_t *uuid);

/**
 * mc_node_drop() - forget a node
 * @s: state
 * @n: node
 */
void mc_node_drop(struct mc_state *s, struct mc_node *n);

/**
 * mc_node_of_client() - which node does this run of mcnoded speak for?
 * @s: state
 * @client: its UUID
 *
 * Return: the node or NULL.
 */
struct mc_node *mc_node_of_client(const struct mc_state *s, const uint8_t *client);

/**
 * mc_node_same_rails() - do both have the same rails?
 * @a: one
 * @b: other
 *
 * Return: true when number, addresses and ports agree.
 */
bool mc_node_same_rails(const struct mc_node_info *a, const struct mc_node_info *b);

/**
 * mc_node_addresses() - where a node is, for messages
 * @info: node
 * @out: "10.0.0.1 (rails 10.1.0.1:50060 10.2.0.1:50060)"
 *
 * Return: @out.
 */
const char *mc_node_addresses(const struct mc_node_info *info, char out[MC_ADDR_TEXT]);

/**
 * mc_node_state_name() - for people
 * @state: of a node
 *
 * Return: "ok", "need_remount" or "gone".
 */
const char *mc_node_state_name(enum mc_node_state state);

/**
 * mc_node_dump() - one line
 * @n: node
 * @f: where
 */
void mc_node_dump(const struct mc_node *n, FILE *f);

#endif
