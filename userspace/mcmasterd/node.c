// SPDX-License-Identifier: MIT
#include "node.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

static uint32_t position(const struct mc_state *s, const uint8_t *uuid)
{
	uint32_t lo = 0, hi = s->nnodes;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (memcmp(s->nodes[mid]->uuid, uuid, MC_UUID_LEN) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

struct mc_node *mc_state_node(const struct mc_state *s, const uint8_t *uuid)
{
	uint32_t i = position(s, uuid);

	if (i == s->nnodes || memcmp(s->nodes[i]->uuid, uuid, MC_UUID_LEN))
		return NULL;
	return s->nodes[i];
}

struct mc_node *mc_node_add(struct mc_state *s, const uint8_t *uuid)
{
	uint32_t at = position(s, uuid);
	struct mc_node **p, *n;

	p = reallocarray(s->nodes, s->nnodes + 1, sizeof(*p));
	if (!p)
		return NULL;
	s->nodes = p;
	n = calloc(1, sizeof(*n));
	if (!n)
		return NULL;
	memcpy(n->uuid, uuid, MC_UUID_LEN);
	memmove(p + at + 1, p + at, (s->nnodes - at) * sizeof(*p));
	p[at] = n;
	s->nnodes++;
	return n;
}

void mc_node_drop(struct mc_state *s, struct mc_node *n)
{
	uint32_t at = position(s, n->uuid);

	s->nnodes--;
	memmove(s->nodes + at, s->nodes + at + 1, (s->nnodes - at) * sizeof(*s->nodes));
	free(n);
}

struct mc_node *mc_node_of_client(const struct mc_state *s, const uint8_t *client)
{
	uint32_t i;

	for (i = 0; i < s->nnodes; i++)
		if (!memcmp(s->nodes[i]->client, client, MC_UUID_LEN))
			return s->nodes[i];
	return NULL;
}

bool mc_node_same_rails(const struct mc_node_info *a, const struct mc_node_info *b)
{
	uint32_t i;

	if (a->nrails != b->nrails)
		return false;
	for (i = 0; i < a->nrails; i++) {
		const struct mc_rail *x = &a->rails[i], *y = &b->rails[i];

		if (x->id != y->id || x->port != y->port || x->addr_len != y->addr_len ||
		    memcmp(x->addr, y->addr, x->addr_len))
			return false;
	}
	return true;
}

const char *mc_node_addresses(const struct mc_node_info *info, char out[MC_ADDR_TEXT])
{
	size_t n = snprintf(out, MC_ADDR_TEXT, "%s (%s", info->peer, info->nrails ? "rails" : "no rails");
	char addr[INET6_ADDRSTRLEN];
	uint32_t i;

	for (i = 0; i < info->nrails && n < MC_ADDR_TEXT - 64; i++) {
		const struct mc_rail *r = &info->rails[i];

		inet_ntop(r->addr_len == 16 ? AF_INET6 : AF_INET, r->addr, addr, sizeof(addr));
		n += snprintf(out + n, MC_ADDR_TEXT - n, r->addr_len == 16 ? " [%s]:%u" : " %s:%u", addr, r->port);
	}
	snprintf(out + n, MC_ADDR_TEXT - n, "%s)", i < info->nrails ? " ..." : "");
	return out;
}

const char *mc_node_state_name(enum mc_node_state state)
{
	static const char * const names[] = {
		[MC_NODE_NEED_REMOUNT] = "need_remount",
		[MC_NODE_OK] = "ok",
		[MC_NODE_GONE] = "gone",
	};

	return names[state];
}

void mc_node_dump(const struct mc_node *n, FILE *f)
{
	char uuid[MC_UUID_TEXT], client[MC_UUID_TEXT], addr[MC_ADDR_TEXT];

	fprintf(f, "node %s client %s name %s at %s %s since %llu ping %llu\n", mc_uuid_text(n->uuid, uuid),
		mc_uuid_text(n->client, client), n->info.name, mc_node_addresses(&n->info, addr),
		mc_node_state_name(n->state), (unsigned long long)n->client_since, (unsigned long long)n->last_ping);
}
