/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * scene.h - a bus, the service and one client of it, on one loop
 *
 * The service's operations count what they were asked for and answer as the test says.
 */
#pragma once

#include <ev.h>
#include <stdbool.h>
#include <stddef.h>
#include <systemd/sd-bus.h>

#include "../../daemon/bus/loop.h"
#include "../../daemon/bus/service.h"
#include "../../dbus/names.h"
#include "bus-fixture.h"
#include "suite.h"

struct scene;

#define SCENE_CALLS_MAX     512
#define SCENE_LIFETIMES_MAX 512

/* What Pool.Lease and its kin answer, and what they were asked for. */
struct scene_leases {
	bool is_late;                      /* keep the call: scene_answer_lease() */
	int error;                         /* 0: lend; -errno, with the scene's sentence */
	void (*hook)(struct scene *scene); /* runs within ops->lease, before the answer */

	int memory;                         /* the file that is lent, made for the first lease */
	int lifetimes[SCENE_LIFETIMES_MAX]; /* our ends of the last ones, a ring */
	unsigned nr_lent;
	int result; /* of the last bus_service_answer_lease() */

	struct lease_call *calls[SCENE_CALLS_MAX]; /* that wait */
	unsigned nr_calls;
	unsigned nr_requests, nr_cancelled;
	struct lease_request request; /* the last one; pool and gids are below */
	char pool[64];
	gid_t gids[8]; /* the first ones */

	unsigned nr_units;
	char unit_id[24], unit[64]; /* the last one */

	unsigned nr_listed; /* how many ListLeases shows */
	uid_t owner;        /* of lease 7; there is no other */
	unsigned nr_releases;
	char released_id[24];
};

struct scene {
	struct bus_fixture fixture;
	struct ev_loop *loop;
	struct bus_service *service;
	sd_bus *client;
	struct bus_loop *client_loop;
	ev_timer limit;
	bool is_late;

	/* What the operations answer. */
	int result;
	const char *sentence;
	/* What they were asked for. */
	unsigned nr_reloads, nr_pauses, nr_resumes, nr_retries, nr_levels;
	char retried_pool[64];
	int level;
	unsigned nr_owned, nr_lost;
	int lost_error;
	struct scene_leases leases;
};

/* A service on the fixture's own address, its name owned, and a client. */
void scene_begin(struct scene *scene);
/* The same with a service that takes the test's bus for the system bus. */
void scene_begin_as_system_bus(struct scene *scene);
void scene_end(struct scene *scene);

/* The same as scene_begin() on a bus with other limits (bus-fixture.h). */
void scene_begin_with_limits(struct scene *scene, const char *limits);

/* Only bus and loop; the service is made by scene_add_service(), but not started. */
void scene_begin_without_service(struct scene *scene);
void scene_add_service(struct scene *scene, const char *address);
void scene_connect_client(struct scene *scene);

/* One turn of the loop. Return: true; it fails the test when the limit has passed. */
bool scene_turn(struct scene *scene);
void scene_set_limit(struct scene *scene);

#define scene_until(scene, condition)                       \
	do {                                                \
		scene_set_limit(scene);                     \
		while (!(condition) && scene_turn(scene)) { \
		}                                           \
	} while (0)

/* Call the service and run the loop until the reply, which the caller owns, is there. */
sd_bus_message *scene_call(struct scene *scene, const char *path, const char *interface,
                           const char *member, const char *types, ...);

/* Get one property; the reply stands before the value within the variant. */
sd_bus_message *scene_get(struct scene *scene, const char *path, const char *interface,
                          const char *property);

/*
 * Call as uid nobody, from a process of its own. @signature is "a{sv}" for empty options, or "ssv"
 * for Properties.Set of a string. Return: the error's name, "" for none; valid until the next call.
 */
const char *scene_call_as_nobody(struct scene *scene, const char *path, const char *interface,
                                 const char *member, bool is_interactive,
                                 const char *const *set_strings);

/*
 * As nobody, with the supplementary group SCENE_NOBODYS_GROUP; @fill appends the arguments.
 * scene_nobodys_sentence() is the error's text then, also valid until the next call.
 */
#define SCENE_NOBODYS_GROUP 4242
const char *scene_call_filled_as_nobody(struct scene *scene, const char *path,
                                        const char *interface, const char *member,
                                        int (*fill)(sd_bus_message *call));
const char *scene_nobodys_sentence(void);

/* Answer waiting call @i, as leases.error says. The others move up. */
void scene_answer_lease(struct scene *scene, unsigned i);

/* How many of the last lifetimes are still open on the other side. */
unsigned scene_open_lifetimes(const struct scene *scene);

/* Wait until so many are; the loop does not run meanwhile. The bus may be the last that has one. */
void scene_await_lifetimes(const struct scene *scene, unsigned nr_open);

/* The value that @message stands before, as text, whatever its type. The caller frees. */
char *scene_render(sd_bus_message *message);

/* Get one property and compare it with @text, as scene_render() gives it. */
void scene_assert_property(struct scene *scene, const char *path, const char *interface,
                           const char *property, const char *text);

void assert_error(sd_bus_message *reply, const char *name, const char *part_of_sentence);

/* Views with plausible values. */
struct manager_view sample_manager(void);
struct node_view sample_node(unsigned node_id);
struct pool_view sample_pool(const char *name);

/* Have the service show the pool "guests", which is such a one. */
void scene_show_guests(struct scene *scene);
