// SPDX-License-Identifier: MIT
/*
 * Peers: the kernel's table follows the master's list. A node that the list stops naming keeps its peer for a
 * while: a master that has just restarted names only the nodes that have pinged it, and transfers should not die
 * of that.
 */
#include "node.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "mctext.h"

static struct nd_peer *find(struct nd_node *nd, const uint8_t *uuid)
{
	for (size_t i = 0; i < nd->n_peers; i++)
		if (!memcmp(nd->peers[i].r.uuid, uuid, MC_UUID_LEN))
			return &nd->peers[i];
	return NULL;
}

static struct nd_peer *add(struct nd_node *nd, const uint8_t *uuid)
{
	struct nd_peer *p = reallocarray(nd->peers, nd->n_peers + 1, sizeof(*p));

	if (!p)
		return NULL;
	nd->peers = p;
	p += nd->n_peers++;
	memset(p, 0, sizeof(*p));
	memcpy(p->r.uuid, uuid, MC_UUID_LEN);
	return p;
}

static bool same_rails(const struct nd_remote *a, const struct nd_remote *b)
{
	if (a->n_rails != b->n_rails)
		return false;
	for (size_t i = 0; i < a->n_rails; i++)
		if (a->rails[i].id != b->rails[i].id || a->rails[i].port != b->rails[i].port ||
		    memcmp(&a->rails[i].addr, &b->rails[i].addr, sizeof(a->rails[i].addr)))
			return false;
	return true;
}

int nd_peers_adopt(struct nd_node *nd)
{
	struct mcnl_peer *have = NULL;
	size_t n;
	int rc = nd->k->peers(nd->kctx, &have, &n);

	nd->n_peers = 0;
	for (size_t i = 0; i < n && !rc; i++) {
		struct nd_peer *p = add(nd, have[i].node_uuid);

		if (!p) {
			rc = -ENOMEM;
			break;
		}
		p->missing_since = nd->now();
		p->r.n_rails = have[i].n_rails;
		memcpy(p->r.rails, have[i].rails, have[i].n_rails * sizeof(have[i].rails[0]));
	}
	free(have);
	return rc;
}

static int install(struct nd_node *nd, const struct nd_remote *r)
{
	struct nd_peer *p = find(nd, r->uuid);
	bool known = p && same_rails(&p->r, r);
	char uuid[MCT_UUID_TEXT];
	int rc;

	if (!p)
		p = add(nd, r->uuid);
	if (!p)
		return -ENOMEM;
	p->wanted = true;
	p->missing_since = 0;
	if (known)
		return 0;
	rc = nd->k->peer_set(nd->kctx, r->uuid, r->rails, r->n_rails);
	if (rc) {
		if (!p->complained)
			nd_log(ND_ERROR, "%s", nd->k->errmsg(nd->kctx));
		p->complained = true;
		return rc;
	}
	p->r = *r;
	p->complained = false;
	nd_log(ND_INFO, "peer %s ('%s') with %zu rails is installed", mct_uuid_text(r->uuid, uuid), r->name,
	       r->n_rails);
	return 0;
}

int nd_peers_update(struct nd_node *nd, const struct nd_remote *list, size_t n)
{
	int rc = 0, one;

	for (size_t i = 0; i < nd->n_peers; i++)
		nd->peers[i].wanted = false;
	for (size_t i = 0; i < n; i++) {
		/* a node without rails can't be reached: nothing to install */
		if (!memcmp(list[i].uuid, nd->self.uuid, MC_UUID_LEN) || !list[i].n_rails)
			continue;
		one = install(nd, &list[i]);
		if (one)
			rc = one;
	}
	for (size_t i = 0; i < nd->n_peers; i++)
		if (!nd->peers[i].wanted && !nd->peers[i].missing_since)
			nd->peers[i].missing_since = nd->now();
	return rc;
}

void nd_peers_expire(struct nd_node *nd)
{
	char uuid[MCT_UUID_TEXT];
	size_t keep = 0;

	for (size_t i = 0; i < nd->n_peers; i++) {
		struct nd_peer *p = &nd->peers[i];
		bool gone = p->missing_since && nd->now() - p->missing_since >= ND_PEER_GRACE_NS;
		int rc = gone ? nd->k->peer_del(nd->kctx, p->r.uuid) : 0;

		if (gone && (!rc || rc == -ENOENT)) {
			nd_log(ND_INFO, "peer %s is removed: the master no longer names it",
			       mct_uuid_text(p->r.uuid, uuid));
			continue;
		}
		nd->peers[keep++] = *p;
	}
	nd->n_peers = keep;
}
