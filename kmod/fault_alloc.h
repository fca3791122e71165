/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Builds with MC_FAULT=1 include this before every other file of the module (Kbuild): each call that may fail for want
 * of memory passes the hooks any_alloc and my_alloc first (fault.h). The code itself calls the kernel's functions by
 * their own names, so no allocation can be forgotten, and the build without hooks has nothing of this.
 *
 * What is named here is what the module uses; add to it what you begin to use.
 */
#ifndef MC_FAULT_ALLOC_H
#define MC_FAULT_ALLOC_H

#include <linux/bitmap.h>
#include <linux/gfp.h>
#include <linux/kobject.h>
#include <linux/mm.h>
#include <linux/scatterlist.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/vmalloc.h>
#include <linux/xarray.h>
#include <net/genetlink.h>
#include <rdma/ib_verbs.h>
#include <rdma/rdma_cm.h>

bool mc_fault_alloc(void);

/* Kernel functions may be macros: the inline function expands them, then takes their name. */
#define MC_FAIL_PTR(name, failed, params, args, type) \
	static inline type mc_fail_##name params { return mc_fault_alloc() ? (type)(failed) : name args; }
#define MC_FAIL_INT(name, params, args) \
	static inline int mc_fail_##name params { return mc_fault_alloc() ? -ENOMEM : name args; }

MC_FAIL_PTR(kmalloc, NULL, (size_t n, gfp_t gfp), (n, gfp), void *)
MC_FAIL_PTR(kzalloc, NULL, (size_t n, gfp_t gfp), (n, gfp), void *)
MC_FAIL_PTR(kcalloc, NULL, (size_t n, size_t size, gfp_t gfp), (n, size, gfp), void *)
MC_FAIL_PTR(kmalloc_array, NULL, (size_t n, size_t size, gfp_t gfp), (n, size, gfp), void *)
MC_FAIL_PTR(kmemdup, NULL, (const void *p, size_t n, gfp_t gfp), (p, n, gfp), void *)
MC_FAIL_PTR(memdup_user, ERR_PTR(-ENOMEM), (const void __user *p, size_t n), (p, n), void *)
MC_FAIL_PTR(vmemdup_user, ERR_PTR(-ENOMEM), (const void __user *p, size_t n), (p, n), void *)
MC_FAIL_PTR(kvmalloc, NULL, (size_t n, gfp_t gfp), (n, gfp), void *)
MC_FAIL_PTR(kvzalloc, NULL, (size_t n, gfp_t gfp), (n, gfp), void *)
MC_FAIL_PTR(kvcalloc, NULL, (size_t n, size_t size, gfp_t gfp), (n, size, gfp), void *)
MC_FAIL_PTR(kvmalloc_array, NULL, (size_t n, size_t size, gfp_t gfp), (n, size, gfp), void *)
MC_FAIL_PTR(kmem_cache_alloc, NULL, (struct kmem_cache *c, gfp_t gfp), (c, gfp), void *)
MC_FAIL_PTR(kmem_cache_zalloc, NULL, (struct kmem_cache *c, gfp_t gfp), (c, gfp), void *)
MC_FAIL_PTR(bitmap_zalloc, NULL, (unsigned int n, gfp_t gfp), (n, gfp), unsigned long *)
MC_FAIL_PTR(alloc_pages_node, NULL, (int nid, gfp_t gfp, unsigned int order), (nid, gfp, order), struct page *)
MC_FAIL_PTR(__get_free_pages, 0, (gfp_t gfp, unsigned int order), (gfp, order), unsigned long)
MC_FAIL_PTR(vmap, NULL, (struct page **p, unsigned int n, unsigned long flags, pgprot_t prot), (p, n, flags, prot),
	    void *)
MC_FAIL_PTR(genlmsg_new, NULL, (size_t n, gfp_t gfp), (n, gfp), struct sk_buff *)
MC_FAIL_PTR(ib_alloc_mr, ERR_PTR(-ENOMEM), (struct ib_pd *pd, enum ib_mr_type type, u32 n), (pd, type, n),
	    struct ib_mr *)
MC_FAIL_PTR(ib_alloc_cq_any, ERR_PTR(-ENOMEM), (struct ib_device *dev, void *p, int n, enum ib_poll_context ctx),
	    (dev, p, n, ctx), struct ib_cq *)
MC_FAIL_PTR(rdma_create_id, ERR_PTR(-ENOMEM),
	    (struct net *net, rdma_cm_event_handler fn, void *p, enum rdma_ucm_port_space ps, enum ib_qp_type type),
	    (net, fn, p, ps, type), struct rdma_cm_id *)
MC_FAIL_INT(rdma_create_qp, (struct rdma_cm_id *id, struct ib_pd *pd, struct ib_qp_init_attr *attr), (id, pd, attr))
MC_FAIL_INT(rdma_listen, (struct rdma_cm_id *id, int n), (id, n))
MC_FAIL_INT(rdma_accept, (struct rdma_cm_id *id, struct rdma_conn_param *param), (id, param))
MC_FAIL_INT(__xa_alloc_cyclic,
	    (struct xarray *xa, u32 *id, void *entry, struct xa_limit limit, u32 *next, gfp_t gfp),
	    (xa, id, entry, limit, next, gfp))
MC_FAIL_INT(sg_alloc_table, (struct sg_table *t, unsigned int n, gfp_t gfp), (t, n, gfp))
MC_FAIL_INT(ib_dma_map_sgtable_attrs,
	    (struct ib_device *dev, struct sg_table *t, enum dma_data_direction dir, unsigned long attrs),
	    (dev, t, dir, attrs))

static inline struct page *mc_fail_alloc_page(gfp_t gfp)
{
	return mc_fault_alloc() ? NULL : alloc_page(gfp);
}

#undef kmalloc
#define kmalloc mc_fail_kmalloc
#undef kzalloc
#define kzalloc mc_fail_kzalloc
#undef kcalloc
#define kcalloc mc_fail_kcalloc
#undef kmalloc_array
#define kmalloc_array mc_fail_kmalloc_array
#undef kmemdup
#define kmemdup mc_fail_kmemdup
#undef memdup_user
#define memdup_user mc_fail_memdup_user
#undef vmemdup_user
#define vmemdup_user mc_fail_vmemdup_user
#undef kvmalloc
#define kvmalloc mc_fail_kvmalloc
#undef kvzalloc
#define kvzalloc mc_fail_kvzalloc
#undef kvcalloc
#define kvcalloc mc_fail_kvcalloc
#undef kvmalloc_array
#define kvmalloc_array mc_fail_kvmalloc_array
#undef kmem_cache_alloc
#define kmem_cache_alloc mc_fail_kmem_cache_alloc
#undef kmem_cache_zalloc
#define kmem_cache_zalloc mc_fail_kmem_cache_zalloc
#undef bitmap_zalloc
#define bitmap_zalloc mc_fail_bitmap_zalloc
#undef alloc_pages_node
#define alloc_pages_node mc_fail_alloc_pages_node
#undef alloc_page
#define alloc_page mc_fail_alloc_page
#undef __get_free_pages
#define __get_free_pages mc_fail___get_free_pages
#undef vmap
#define vmap mc_fail_vmap
#undef genlmsg_new
#define genlmsg_new mc_fail_genlmsg_new
#undef ib_alloc_mr
#define ib_alloc_mr mc_fail_ib_alloc_mr
#undef ib_alloc_cq_any
#define ib_alloc_cq_any mc_fail_ib_alloc_cq_any
#undef rdma_create_id
#define rdma_create_id mc_fail_rdma_create_id
#undef rdma_create_qp
#define rdma_create_qp mc_fail_rdma_create_qp
#undef rdma_listen
#define rdma_listen mc_fail_rdma_listen
#undef rdma_accept
#define rdma_accept mc_fail_rdma_accept
#undef __xa_alloc_cyclic
#define __xa_alloc_cyclic mc_fail___xa_alloc_cyclic
#undef sg_alloc_table
#define sg_alloc_table mc_fail_sg_alloc_table
#undef ib_dma_map_sgtable_attrs
#define ib_dma_map_sgtable_attrs mc_fail_ib_dma_map_sgtable_attrs

#endif /* MC_FAULT_ALLOC_H */
