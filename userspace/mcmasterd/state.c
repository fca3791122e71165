// SPDX-License-Identifier: MIT
#include "state.h"

#include <stdlib.h>
#include <string.h>

#include "discard.h"
#include "node.h"
#include "segment.h"

void mc_state_init(struct mc_state *s, const struct mc_state_config *cfg)
{
	memset(s, 0, sizeof(*s));
	s->cfg = *cfg;
	s->nodes_version = cfg->nodes_version;
	mc_table_init(&s->table, cfg->seed);
	TAILQ_INIT(&s->writing);
	mc_leases_init(&s->leases);
}

static void free_tree(struct mc_tree_node *n)
{
	while (n) {
		struct mc_tree_node *right = n->right;

		free_tree(n->left);
		free(n);
		n = right;
	}
}

void mc_state_fini(struct mc_state *s)
{
	uint32_t i;

	mc_leases_fini(&s->leases);
	for (i = 0; i < MC_SHARDS; i++)
		free_tree(s->table.root[i]);
	for (i = 0; i < s->nsegments; i++) {
		mc_alloc_free(s->segments[i]->alloc);
		free(s->segments[i]);
	}
	for (i = 0; i < s->nnodes; i++)
		free(s->nodes[i]);
	free(s->segments);
	free(s->nodes);
	free(s->discard.heap);
	memset(s, 0, sizeof(*s));
}

struct mc_object *mc_state_object(const struct mc_state *s, const struct mc_scoped *name)
{
	return (struct mc_object *)mc_table_find(&s->table, name->bytes, name->len);
}

uint64_t mc_object_protected(const struct mc_object *o)
{
	uint64_t named = mc_lease_end(&o->leases);

	return named > o->open_until ? named : o->open_until;
}

static void dump_object(const struct mc_object *o, FILE *f)
{
	char text[MC_KEY_TEXT], uuid[MC_UUID_TEXT];
	uint32_t i;

	fprintf(f, "object %s size %llu client %s token %llx start %llu lease %llu crc %d:%08x %s\n",
		mc_key_text(o->tree.name, o->tree.name_len, text), (unsigned long long)o->size,
		mc_uuid_text(o->client, uuid), (unsigned long long)o->token, (unsigned long long)o->put_start,
		(unsigned long long)o->lease_until, o->has_crc32c, o->crc32c, o->complete ? "complete" : "writing");
	for (i = 0; i < o->nslots; i++) {
		const struct mc_replica *r = &o->replicas[i];
		struct mc_extent e;

		if (!r->segment)
			continue;
		e = mc_alloc_extent(r->segment->alloc, r->handle);
		fprintf(f, " replica %llu %s page %u pages %u\n", (unsigned long long)r->id,
			mc_uuid_text(r->segment->uuid, uuid), e.page, e.pages);
	}
}

static void dump_objects(const struct mc_state *s, FILE *f)
{
	struct mc_table_walk *w = malloc(sizeof(*w));
	struct mc_tree_node *n;

	if (!w) {
		fprintf(f, "out of memory\n");
		return;
	}
	mc_table_walk_from(w, &s->table, (const uint8_t *)"", 0, false);
	while ((n = mc_table_walk_next(w)))
		dump_object((struct mc_object *)n, f);
	free(w);
}

void mc_state_dump(const struct mc_state *s, FILE *f)
{
	uint32_t i;

	fprintf(f, "objects %llu writing %llu replicas %llu version +%llu\n", (unsigned long long)s->nobjects,
		(unsigned long long)s->nwriting, (unsigned long long)s->nreplicas,
		(unsigned long long)(s->nodes_version - s->cfg.nodes_version));
	for (i = 0; i < s->nnodes; i++)
		mc_node_dump(s->nodes[i], f);
	for (i = 0; i < s->nsegments; i++)
		mc_segment_dump(s->segments[i], f);
	dump_objects(s, f);
	mc_discard_dump(&s->discard, f);
}
