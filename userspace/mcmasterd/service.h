/* SPDX-License-Identifier: MIT */
/*
 * The gRPC side: turns requests into records and look-ups, and results into replies. service.c has the calls about
 * nodes and segments, service_object.c those about objects.
 */
#ifndef MC_MASTER_SERVICE_H
#define MC_MASTER_SERVICE_H

#include "arena.h"
#include "master.h"
#include "mooncake.pb-c.h"

#define V1(type) Mooncake__V1__##type

/**
 * struct mc_service - what protoc-c's dispatcher gets
 * @base: generated; first member
 * @master: who does the work
 */
struct mc_service {
	V1(Master_Service) base;
	struct mc_master *master;
};

/**
 * mc_service_init() - connect the calls with a master
 * @svc: service
 * @m: master
 */
void mc_service_init(struct mc_service *svc, struct mc_master *m);

/**
 * mc_service_master() - the master behind a call
 * @base: as the dispatcher passes it
 *
 * Return: the master.
 */
struct mc_master *mc_service_master(V1(Master_Service) *base);

/**
 * mc_service_status() - a result as the contract writes it
 * @a: memory of the call
 * @res: result
 *
 * Return: the status, NULL when out of memory.
 */
V1(Status) *mc_service_status(struct mc_arena *a, const struct mc_result *res);

/**
 * mc_service_objects() - add the calls about objects
 * @s: table of calls
 */
void mc_service_objects(V1(Master_Service) *s);

#endif
