/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <grp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../daemon/base/scoped.h"
#include "scene-leases.h"
#include "scene.h"

#define LIMIT_SECONDS 20.
#define NOBODY        65534

static int answer(struct scene *scene, char **ret_sentence)
{
	if (scene->result < 0 && scene->sentence && ret_sentence)
		*ret_sentence = strdup(scene->sentence);
	return scene->result;
}

static int reload(void *arg, char **ret_sentence)
{
	struct scene *scene = arg;

	scene->nr_reloads++;
	return answer(scene, ret_sentence);
}

static int pause_work(void *arg)
{
	struct scene *scene = arg;

	scene->nr_pauses++;
	return answer(scene, NULL);
}

static int resume_work(void *arg)
{
	struct scene *scene = arg;

	scene->nr_resumes++;
	return answer(scene, NULL);
}

static int retry(void *arg, const char *pool, char **ret_sentence)
{
	struct scene *scene = arg;

	scene->nr_retries++;
	(void) snprintf(scene->retried_pool, sizeof(scene->retried_pool), "%s", pool);
	return answer(scene, ret_sentence);
}

static int timeline(void *arg, struct timeline_entry **ret, size_t *ret_nr)
{
	struct timeline_entry *entries = calloc(2, sizeof(*entries));

	(void) arg;
	ck_assert_ptr_nonnull(entries);
	entries[0] =
		(struct timeline_entry){ 3, "guests", "early", "settled", 10, 20, 30, 4, 50, 6, 3 };
	entries[1] = (struct timeline_entry){
		.node_id = 4, .pool = "guests", .stage = "deferred", .state = "waiting"
	};
	*ret = entries;
	*ret_nr = 2;
	return 0;
}

static void log_level_changed(void *arg, int level)
{
	struct scene *scene = arg;

	scene->nr_levels++;
	scene->level = level;
}

static void on_connected(void *arg, bool is_connected, int error)
{
	struct scene *scene = arg;

	if (is_connected) {
		scene->nr_owned++;
	} else {
		scene->nr_lost++;
		scene->lost_error = error;
	}
}

static const struct bus_service_ops ops = {
	.reload = reload,
	.pause = pause_work,
	.resume = resume_work,
	.retry = retry,
	.timeline = timeline,
	.lease = scene_lease,
	.lease_cancelled = scene_lease_cancelled,
	.lease_unit = scene_lease_unit,
	.leases = scene_list_leases,
	.lease_owner = scene_lease_owner,
	.release = scene_release,
	.log_level_changed = log_level_changed,
	.on_connected = on_connected,
};

static void on_limit(struct ev_loop *loop, ev_timer *watcher, int revents)
{
	(void) loop, (void) revents;
	*(bool *) watcher->data = true;
}

static void on_client_lost(int error, void *arg)
{
	(void) error, (void) arg;
}

void scene_begin_without_service(struct scene *scene)
{
	const char *limits = scene->fixture.limits;

	memset(scene, 0, sizeof(*scene));
	scene->fixture.limits = limits;
	scene->leases.memory = -1;
	bus_fixture_start(&scene->fixture);
	scene->loop = ev_loop_new(EVFLAG_AUTO);
	ck_assert_ptr_nonnull(scene->loop);
	ev_timer_init(&scene->limit, on_limit, 0., 0.);
	scene->limit.data = &scene->is_late;
}

void scene_add_service(struct scene *scene, const char *address)
{
	ck_assert_int_eq(bus_service_new(scene->loop, address, &ops, scene, &scene->service), 0);
}

void scene_connect_client(struct scene *scene)
{
	scene->client = bus_fixture_connect(&scene->fixture);
	ck_assert_int_eq(
		bus_loop_new(scene->loop, scene->client, on_client_lost, NULL, &scene->client_loop),
		0);
}

static void begin(struct scene *scene, const char *address)
{
	scene_add_service(scene, address);
	ck_assert_int_eq(bus_service_start(scene->service), 0);
	scene_until(scene, scene->nr_owned == 1);
	scene_connect_client(scene);
}

void scene_begin(struct scene *scene)
{
	scene_begin_without_service(scene);
	begin(scene, bus_fixture_address(&scene->fixture));
}

void scene_begin_with_limits(struct scene *scene, const char *limits)
{
	scene->fixture.limits = limits;
	scene_begin(scene);
}

void scene_begin_as_system_bus(struct scene *scene)
{
	scene_begin_without_service(scene);
	(void) setenv("DBUS_SYSTEM_BUS_ADDRESS", bus_fixture_address(&scene->fixture), 1);
	begin(scene, "system");
}

void scene_end(struct scene *scene)
{
	scene->service = bus_service_free(scene->service);
	scene->client_loop = bus_loop_free(scene->client_loop);
	scene->client = sd_bus_unref(scene->client);
	ev_timer_stop(scene->loop, &scene->limit);
	ev_loop_destroy(scene->loop);
	bus_fixture_stop(&scene->fixture);
	scene_leases_clear(&scene->leases);
	scene->fixture.limits = NULL;
}

void scene_set_limit(struct scene *scene)
{
	scene->is_late = false;
	ev_timer_stop(scene->loop, &scene->limit);
	ev_now_update(scene->loop);
	ev_timer_set(&scene->limit, LIMIT_SECONDS, 0.);
	ev_timer_start(scene->loop, &scene->limit);
}

bool scene_turn(struct scene *scene)
{
	(void) ev_run(scene->loop, EVRUN_ONCE);
	ck_assert_msg(!scene->is_late, "nothing came within %g s", LIMIT_SECONDS);
	return true;
}

static int on_reply(sd_bus_message *reply, void *userdata, sd_bus_error *ret_error)
{
	(void) ret_error;
	*(sd_bus_message **) userdata = sd_bus_message_ref(reply);
	return 1;
}

static sd_bus_message *send_and_wait(struct scene *scene, sd_bus_message *call)
{
	sd_bus_message *reply = NULL;

	ck_assert_int_ge(sd_bus_call_async(scene->client, NULL, call, on_reply, &reply, 0), 0);
	scene_until(scene, reply);
	return reply;
}

sd_bus_message *scene_call(struct scene *scene, const char *path, const char *interface,
                           const char *member, const char *types, ...)
{
	scoped(sd_bus_message_unrefp) sd_bus_message *call = NULL;
	va_list args;

	ck_assert_int_ge(sd_bus_message_new_method_call(scene->client, &call, NODEINIT_BUS_NAME,
	                                                path, interface, member),
	                 0);
	va_start(args, types);
	ck_assert_int_ge(sd_bus_message_appendv(call, types, args), 0);
	va_end(args);
	return send_and_wait(scene, call);
}

sd_bus_message *scene_get(struct scene *scene, const char *path, const char *interface,
                          const char *property)
{
	sd_bus_message *reply = scene_call(scene, path, "org.freedesktop.DBus.Properties", "Get",
	                                   "ss", interface, property);

	ck_assert_msg(!sd_bus_message_is_method_error(reply, NULL), "%s.%s: %s", interface,
	              property, sd_bus_message_get_error(reply)->message);
	return reply;
}

/* What the error of nobody's last call was: its name, and after the zero its sentence. */
static char nobodys_error[512];

struct nobodys_call {
	const char *path, *interface, *member;
	bool is_interactive;
	int (*fill)(sd_bus_message *call); /* NULL: see the others */
	const char *const *set_strings;    /* NULL: empty options */
};

static int fill_call(sd_bus_message *message, const struct nobodys_call *call)
{
	if (call->fill)
		return call->fill(message);
	if (call->set_strings)
		return sd_bus_message_append(message, "ssv", call->set_strings[0],
		                             call->set_strings[1], "s", call->set_strings[2]);
	return sd_bus_message_append(message, "a{sv}", 0);
}

/* In the child: one blocking call; the error goes to @result_fd. */
_Noreturn static void call_and_exit(const struct scene *scene, const struct nobodys_call *call,
                                    int result_fd)
{
	static const gid_t groups[] = { SCENE_NOBODYS_GROUP };
	sd_bus_message *message = NULL;
	sd_bus_error error = SD_BUS_ERROR_NULL;
	sd_bus *bus;
	int r;

	if (setgroups(1, groups) < 0 || setgid(NOBODY) < 0 || setuid(NOBODY) < 0)
		_exit(1);
	bus = bus_fixture_connect(&scene->fixture);
	r = sd_bus_message_new_method_call(bus, &message, NODEINIT_BUS_NAME, call->path,
	                                   call->interface, call->member);
	if (r >= 0)
		r = fill_call(message, call);
	if (r >= 0)
		r = sd_bus_message_set_allow_interactive_authorization(message,
		                                                       call->is_interactive);
	if (r >= 0)
		r = sd_bus_call(bus, message, 0, &error, NULL);
	if (r < 0)
		(void) snprintf(nobodys_error, sizeof(nobodys_error), "%s%c%s",
		                error.name ? error.name : "no error name", 0,
		                error.message ? error.message : "");
	_exit(write(result_fd, nobodys_error, sizeof(nobodys_error)) < 0);
}

static void on_readable(struct ev_loop *loop, ev_io *watcher, int revents)
{
	(void) revents;
	ev_io_stop(loop, watcher);
}

static const char *call_as_nobody(struct scene *scene, const struct nobodys_call *call)
{
	ev_io result;
	int fds[2];
	pid_t pid;

	memset(nobodys_error, 0, sizeof(nobodys_error));
	ck_assert_int_eq(pipe(fds), 0);
	pid = fork();
	ck_assert_int_ge(pid, 0);
	if (pid == 0)
		call_and_exit(scene, call, fds[1]);
	(void) close(fds[1]);
	ev_io_init(&result, on_readable, fds[0], EV_READ);
	ev_io_start(scene->loop, &result);
	scene_until(scene, !ev_is_active(&result));
	ck_assert_int_gt(read(fds[0], nobodys_error, sizeof(nobodys_error) - 1), 0);
	(void) close(fds[0]);
	(void) waitpid(pid, NULL, 0);
	return nobodys_error;
}

const char *scene_call_as_nobody(struct scene *scene, const char *path, const char *interface,
                                 const char *member, bool is_interactive,
                                 const char *const *set_strings)
{
	const struct nobodys_call call = {
		.path = path,
		.interface = interface,
		.member = member,
		.is_interactive = is_interactive,
		.set_strings = set_strings,
	};

	return call_as_nobody(scene, &call);
}

const char *scene_call_filled_as_nobody(struct scene *scene, const char *path,
                                        const char *interface, const char *member,
                                        int (*fill)(sd_bus_message *call))
{
	const struct nobodys_call call = {
		.path = path,
		.interface = interface,
		.member = member,
		.fill = fill,
	};

	return call_as_nobody(scene, &call);
}

const char *scene_nobodys_sentence(void)
{
	return nobodys_error + strlen(nobodys_error) + 1;
}

static void render(sd_bus_message *message, FILE *out)
{
	const char *contents;
	union {
		uint64_t t;
		uint32_t u;
		int32_t i;
		int b;
		const char *s;
	} value;
	char type;

	while (sd_bus_message_peek_type(message, &type, &contents) > 0) {
		switch (type) {
		case 'a':
		case 'r':
		case 'e':
		case 'v':
			ck_assert_int_gt(sd_bus_message_enter_container(message, type, contents),
			                 0);
			(void) fprintf(out, "%c(", type);
			render(message, out);
			(void) fprintf(out, ")");
			ck_assert_int_ge(sd_bus_message_exit_container(message), 0);
			continue;
		}
		ck_assert_int_gt(sd_bus_message_read_basic(message, type, &value), 0);
		switch (type) {
		case 's':
		case 'o':
			(void) fprintf(out, "%c\"%s\" ", type, value.s);
			break;
		case 't':
			(void) fprintf(out, "t%llu ", (unsigned long long) value.t);
			break;
		case 'u':
			(void) fprintf(out, "u%u ", value.u);
			break;
		case 'i':
		case 'b':
			(void) fprintf(out, "%c%d ", type, value.i);
			break;
		default:
			ck_abort_msg("a type that the face does not have: %c", type);
		}
	}
}

char *scene_render(sd_bus_message *message)
{
	char *text = NULL;
	size_t text_bytes;
	FILE *out = open_memstream(&text, &text_bytes);

	ck_assert_ptr_nonnull(out);
	render(message, out);
	ck_assert_int_eq(fclose(out), 0);
	return text;
}

void scene_assert_property(struct scene *scene, const char *path, const char *interface,
                           const char *property, const char *text)
{
	scoped(sd_bus_message_unrefp) sd_bus_message *reply =
		scene_get(scene, path, interface, property);
	scoped(freep) char *got = scene_render(reply);

	ck_assert_msg(strcmp(got, text) == 0, "%s is %s, not %s", property, got, text);
}

void assert_error(sd_bus_message *reply, const char *name, const char *part_of_sentence)
{
	const sd_bus_error *error;

	ck_assert_msg(sd_bus_message_is_method_error(reply, NULL), "no error, but %s was due",
	              name);
	error = sd_bus_message_get_error(reply);
	ck_assert_str_eq(error->name, name);
	ck_assert_ptr_nonnull(error->message);
	ck_assert_msg(!part_of_sentence || strstr(error->message, part_of_sentence),
	              "\"%s\" does not say \"%s\"", error->message, part_of_sentence);
}

struct manager_view sample_manager(void)
{
	return (struct manager_view){
		.version = "1.2.3",
		.state = "deferred",
		.generation = 1,
		.total_bytes = 1000,
		.done_bytes = 100,
		.started_monotonic_usec = 5,
		.started_realtime_usec = 6,
	};
}

struct node_view sample_node(unsigned node_id)
{
	return (struct node_view){
		.node_id = node_id,
		.cpus = "0-3",
		.helper_node_id = -1,
		.memory_bytes = 4096,
		.spanned_bytes = 8192,
		.early_budget_bytes = 1024,
		.total_bytes = 1000,
		.state = "deferred",
		.current_pool = "guests",
	};
}

struct pool_view sample_pool(const char *name)
{
	static const struct share_view shares[] = {
		{ 0, "deferred", 500, 100, 50, 0, "" },
		{ 1, "degraded", 500, 100, 400, 100, "fragmented" },
	};

	return (struct pool_view){
		.name = name,
		.kind = "region",
		.page_bytes = 4096,
		.region_bytes = 8192,
		.is_required = true,
		.state = "deferred",
		.total_bytes = 1000,
		.done_bytes = 450,
		.short_bytes = 100,
		.shares = shares,
		.nr_shares = 2,
	};
}

void scene_show_guests(struct scene *scene)
{
	struct pool_view view = sample_pool("guests");

	ck_assert_int_eq(bus_service_show_pool(scene->service, &view), 0);
}
