/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * scene-leases.h - the operations of struct bus_service_ops for leases, as scene.h scripts them
 */
#pragma once

#include "scene.h"

void scene_lease(void *arg, struct lease_call *call, const struct lease_request *request);
void scene_lease_cancelled(void *arg, struct lease_call *call);
void scene_lease_unit(void *arg, const char *id, const char *unit);
int scene_list_leases(void *arg, struct lease_view **ret, size_t *ret_nr);
int scene_lease_owner(void *arg, const char *id, uid_t *ret_uid);
int scene_release(void *arg, const char *id, char **ret_sentence);

void scene_leases_clear(struct scene_leases *leases);
