/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * lease-scene.h - lessees of the fixture's daemon, and what they find in their memory
 *
 * Faults are ck_assert()s; waits end with a change that the daemon tells, and have a limit.
 */
#pragma once

#include "daemon-lease.h"

#define POOL_PATH(name) NODEINIT_POOL_PREFIX "/" name

/* As daemon_write_pool(): regions of base pages, without an early part. @more: lines of [Region],
 * or NULL. */
void scene_write_pool(struct daemon_fixture *fixture, const char *name, const char *size,
                      const char *region_size, const char *more);

/* Launch it and wait until all is ready. Return: bytes that pool @name has. */
uint64_t scene_start(struct daemon_fixture *fixture, const char *name);

uint64_t scene_pool_bytes(struct daemon_fixture *fixture, const char *name, const char *property);
void scene_wait_pool_bytes(struct daemon_fixture *fixture, const char *name, const char *property,
                           uint64_t bytes);

/* Manager.Reload that is to succeed. */
void scene_reload(struct daemon_fixture *fixture);

/* A lease that is to succeed. */
void scene_lease(struct daemon_fixture *fixture, const char *pool, uint64_t bytes,
                 const struct daemon_lease_options *options, struct daemon_lease *ret);

/* One that is not: with the D-Bus error @error and @text in its sentence. */
void scene_refused(struct daemon_fixture *fixture, const char *pool, uint64_t bytes,
                   const struct daemon_lease_options *options, const char *error, const char *text);

/* "leased", "draining", or "" where it is not listed. Static. */
const char *scene_lease_state(struct daemon_fixture *fixture, const char *id);
void scene_wait_lease_state(struct daemon_fixture *fixture, const char *id, const char *state);

/* Every byte of it. The size is what the lease says. */
void scene_expect_zero(const struct daemon_lease *lease);
void scene_write_pattern(const struct daemon_lease *lease, unsigned seed);
void scene_expect_pattern(const struct daemon_lease *lease, unsigned seed);

/* The caller unmaps it. */
unsigned char *scene_map(const struct daemon_lease *lease);

uint64_t scene_inode(int fd);
