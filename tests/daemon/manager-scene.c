/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <check.h>
#include <errno.h>
#include <ev.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../daemon/base/clock.h"
#include "../../daemon/base/log.h"
#include "../../daemon/manager-state.h"
#include "../../dbus/names.h"
#include "daemon-fixture.h"
#include "kernel-model.h"
#include "memory-model.h"
#include "suite.h"

#include "manager-scene.h"

#define LOG_LINES 256

struct daemon_fixture d;
struct kernel_model *model;
struct manager *manager;
struct ev_loop *loop;
const struct store_ops *store;
const char *run_directory_of_manager;
static char *log_lines[LOG_LINES];
static unsigned nr_log_lines;

static void keep_line(enum log_level level, const char *message, const char *const *fields,
                      size_t nr_fields)
{
	(void) level, (void) fields, (void) nr_fields;
	if (nr_log_lines < LOG_LINES)
		log_lines[nr_log_lines++] = strdup(message);
}

unsigned nr_lines_with(const char *text)
{
	unsigned nr = 0;

	for (unsigned i = 0; i < nr_log_lines; i++)
		nr += strstr(log_lines[i], text) != NULL;
	return nr;
}

void setup(void)
{
	char notify[128];

	daemon_fixture_start(&d);
	(void) snprintf(notify, sizeof(notify), "%s/notify", d.directory);
	ck_assert_int_eq(setenv("NOTIFY_SOCKET", notify, 1), 0);
	log_set_sink(keep_line);
	memory_model_reset();
	model = kernel_model_new();
	kernel_model_add_node(model, 0, "0-1", 8 * GIB);
	kernel_model_add_node(model, 1, "2-3", 8 * GIB);
	kernel_model_add_page_size(model, HUGE_BYTES);
	loop = ev_loop_new(EVFLAG_AUTO);
}

void teardown(void)
{
	memory_model_gate_open(UINT_MAX);
	manager_freep(&manager);
	store = NULL;
	run_directory_of_manager = NULL;
	ev_loop_destroy(loop);
	kernel_model_freep(&model);
	daemon_fixture_stop(&d);
	for (unsigned i = 0; i < nr_log_lines; i++)
		free(log_lines[i]);
	nr_log_lines = 0;
	log_set_sink(NULL);
}

void start(void)
{
	struct manager_setup manager_setup = {
		.loop = loop,
		.kernel = kernel_model_kernel(model),
		.memory = &memory_model,
		.config_directory = d.directory,
		.run_directory = run_directory_of_manager,
		.bus_address = bus_fixture_address(&d.bus),
		.store = store,
	};

	ck_assert_int_eq(manager_new(&manager_setup, &manager), 0);
	ck_assert_int_eq(manager_start(manager), 0);
}

void on_limit(struct ev_loop *on_loop, ev_timer *timer, int events)
{
	(void) on_loop, (void) events;
	*(bool *) timer->data = true;
}

/* Let the loop turn until @is_so, or fail. */
void run_until(bool (*is_so)(void), const char *what)
{
	bool is_over = false;
	ev_timer limit;

	ev_timer_init(&limit, on_limit, (double) LIMIT_USEC / 1e6, 0.);
	limit.data = &is_over;
	ev_timer_start(loop, &limit);
	while (!is_so() && !is_over) {
		ev_run(loop, EVRUN_ONCE);
		/* a service manager reads what it is sent */
		(void) daemon_was_notified(&d, "");
	}
	ev_timer_stop(loop, &limit);
	ck_assert_msg(!is_over, "never: %s (state %s)", what, manager_state_text(manager));
}

static int on_pause_or_resume(sd_bus_message *reply, void *arg, sd_bus_error *ret_error)
{
	(void) ret_error;
	*(int *) arg = sd_bus_message_is_method_error(reply, NULL) ? -EIO : 0;
	return 0;
}

/* A call from another connection, while the manager's loop turns. */
static int call(const char *path, const char *interface, const char *method)
{
	scoped(sd_bus_flush_close_unrefp) sd_bus *bus = bus_fixture_connect(&d.bus);
	uint64_t end_usec = clock_monotonic_usec() + LIMIT_USEC;
	int result = 1;

	ck_assert_int_ge(sd_bus_call_method_async(bus, NULL, NODEINIT_BUS_NAME, path, interface,
	                                          method, on_pause_or_resume, &result, "a{sv}", 0),
	                 0);
	while (result == 1) {
		ck_assert_uint_lt(clock_monotonic_usec(), end_usec);
		ck_assert_int_ge(sd_bus_process(bus, NULL), 0);
		ev_run(loop, EVRUN_NOWAIT);
	}
	return result;
}

int bus_call(const char *method)
{
	return call(NODEINIT_PATH, NODEINIT_MANAGER_INTERFACE, method);
}

int bus_call_pool(const char *pool, const char *method)
{
	char path[256];

	(void) snprintf(path, sizeof(path), NODEINIT_PATH "/pool/%s", pool);
	return call(path, NODEINIT_POOL_INTERFACE, method);
}

bool is_ready(void)
{
	return manager->is_ready;
}

bool is_failed(void)
{
	return strcmp(manager_state_text(manager), "failed") == 0 && manager->completion.has_fired;
}

bool is_ready_notified(void)
{
	return daemon_was_notified(&d, "READY=1");
}

bool is_settled(void)
{
	return manager->completion.has_fired && !inventory_is_busy(&manager->inventory);
}

struct managed_share *share_of(const char *pool, unsigned node_id)
{
	struct managed_pool *managed = inventory_pool(&manager->inventory, pool);

	ck_assert_ptr_nonnull(managed);
	return managed_pool_share(managed, node_id);
}

const char region_pool[] = "[Pool]\nKind=region\nPageSize=base\nSize=1G\nEarly=128M\n"
			   "[Region]\nRegionSize=128M\n";

bool is_a_chunk_at_the_gate(void)
{
	return memory_model_gate_wait(1, 0);
}
