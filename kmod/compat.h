/* SPDX-License-Identifier: GPL-2.0-only */
/* Differences between the supported kernels (6.1 and 6.12): the only place that looks at the version. */
#ifndef MC_COMPAT_H
#define MC_COMPAT_H

#include <linux/eventfd.h>
#include <linux/mm.h>
#include <linux/shmem_fs.h>
#include <linux/version.h>
#include <net/genetlink.h>

/* Also said by the README and Documentation/testing.rst. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 1, 0)
#error "mooncake needs Linux 6.1 or newer"
#endif

/* 6.8 dropped the count: it was always 1 here. */
static inline void mc_eventfd_signal(struct eventfd_ctx *efd)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 8, 0)
	eventfd_signal(efd);
#else
	eventfd_signal(efd, 1);
#endif
}

/* 6.3 made vm_flags constant outside the helpers. */
static inline void mc_vm_flags(struct vm_area_struct *vma, vm_flags_t set, vm_flags_t clear)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 3, 0)
	vm_flags_mod(vma, set, clear);
#else
	vma->vm_flags = (vma->vm_flags | set) & ~clear;
#endif
}

/* 6.5 dropped the VMA array. The caller holds the mmap lock for reading and has looked at the VMAs. */
static inline long mc_pin_user_pages(unsigned long start, unsigned long n, unsigned int flags, struct page **pages)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 5, 0)
	return pin_user_pages(start, n, flags, pages);
#else
	return pin_user_pages(start, n, flags, pages, NULL);
#endif
}

/* Exactly one of the function and the operations is there for modules; 6.6 changed sides. */
static inline bool mc_mapping_is_shmem(struct address_space *mapping)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 6, 0)
	return shmem_mapping(mapping);
#else
	return mapping->a_ops == &shmem_aops;
#endif
}

/*
 * What the soft-RoCE of this kernel is known to lack, NULL: nothing. Drivers have no versions that another module could
 * ask for, so the kernel's counts; a distribution that has a fix backported is not told apart.
 */
static inline const char *mc_rxe_lacks(void)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 1, 53)
	return "\"RDMA/rxe: Fix incomplete state save in rxe_requester\": lost packets can corrupt what is sent again";
#elif LINUX_VERSION_CODE < KERNEL_VERSION(6, 3, 0)
	return "\"RDMA/rxe: Replace rxe_map and rxe_phys_buf by xarray\": it reads behind a full table of pages";
#else
	return NULL;
#endif
}

#endif /* MC_COMPAT_H */
