/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../dbus/names.h"
#include "fake-leases.h"
#include "fake-objects.h"

#define LEASES_MAX 64

static struct entry {
	char id[32], pool[64], state[32], unit[64];
	unsigned node_id, uid, pid;
	uint64_t bytes, realtime_usec, monotonic_usec;
} entries[LEASES_MAX];
static size_t nr_entries;

static struct {
	uint64_t bytes;
	int node_id; /* -1: none was named */
	int is_strict, is_waiting;
} asked;

static int forced_node_id = -1;
static unsigned nr_later;
static char later_error[32];
static bool is_silent;
static unsigned last_id;
static int lifetime_fd = -1; /* readable end: hangs up with the last copy of the other one */

void fake_lend_from(unsigned node_id)
{
	forced_node_id = (int) node_id;
}

void fake_lend_later(const char *words)
{
	strcpy(later_error, "NotReady");
	if (sscanf(words, "%u %31s", &nr_later, later_error) < 1)
		exit(1);
}

void fake_lend_never(void)
{
	is_silent = true;
}

void fake_add_lease(const char *words)
{
	struct entry *entry = &entries[nr_entries++];

	if (nr_entries > LEASES_MAX ||
	    sscanf(words, "%31s %63s %u %" SCNu64 " %31s %u %u %63s %" SCNu64 " %" SCNu64,
	           entry->id, entry->pool, &entry->node_id, &entry->bytes, entry->state,
	           &entry->uid, &entry->pid, entry->unit, &entry->realtime_usec,
	           &entry->monotonic_usec) != 10)
		exit(1);
	if (strcmp(entry->unit, "-") == 0)
		*entry->unit = '\0';
	fake_unescape(entry->unit);
}

void fake_print_asked(void)
{
	printf("%" PRIu64 " %d %d %d ", asked.bytes, asked.node_id, asked.is_strict,
	       asked.is_waiting);
}

static bool is_ended(int limit_msec)
{
	struct pollfd end = { .fd = lifetime_fd };

	return lifetime_fd >= 0 && poll(&end, 1, limit_msec) == 1 && (end.revents & POLLHUP);
}

void fake_print_is_ended(void)
{
	printf("%d ", is_ended(0));
}

void fake_await_end(void)
{
	if (!is_ended(20000))
		exit(1);
}

static int read_option(sd_bus_message *call)
{
	const char *name;
	uint32_t node_id;
	int r;

	r = sd_bus_message_read(call, "s", &name);
	if (r < 0)
		return r;
	if (strcmp(name, "node") == 0) {
		r = sd_bus_message_read(call, "v", "u", &node_id);
		asked.node_id = (int) node_id;
		return r;
	}
	if (strcmp(name, "strict") == 0)
		return sd_bus_message_read(call, "v", "b", &asked.is_strict);
	if (strcmp(name, "wait") == 0)
		return sd_bus_message_read(call, "v", "b", &asked.is_waiting);
	return -EINVAL;
}

static int read_asked(sd_bus_message *call)
{
	int r;

	memset(&asked, 0, sizeof(asked));
	asked.node_id = -1;
	r = sd_bus_message_read(call, "t", &asked.bytes);
	if (r >= 0)
		r = sd_bus_message_enter_container(call, 'a', "{sv}");
	while (r >= 0 && (r = sd_bus_message_enter_container(call, 'e', "sv")) > 0) {
		r = read_option(call);
		if (r >= 0)
			r = sd_bus_message_exit_container(call);
	}
	return r < 0 ? r : sd_bus_message_exit_container(call);
}

/* Memory that can be told from other files: it begins with the id. */
static int make_memory(const char *id)
{
	int fd = memfd_create("fake", MFD_CLOEXEC);

	if (fd < 0 || ftruncate(fd, 1 << 20) < 0 || pwrite(fd, id, strlen(id), 0) < 0)
		exit(1);
	return fd;
}

int fake_lease(sd_bus_message *call, void *pool, sd_bus_error *error)
{
	int memory_fd, ends[2], r;
	unsigned node_id;
	char id[16];

	(void) pool;
	fake_check(read_asked(call), "Lease");
	if (nr_later) {
		char name[64];

		nr_later--;
		(void) snprintf(name, sizeof(name), NODEINIT_ERROR("%s"), later_error);
		return sd_bus_error_set(error, name,
		                        "pool guests: 3 regions are being filled; ask again");
	}
	if (is_silent && asked.is_waiting)
		return 1;
	(void) snprintf(id, sizeof(id), "%u", ++last_id);
	memory_fd = make_memory(id);
	if (pipe2(ends, O_CLOEXEC) < 0)
		exit(1);
	node_id = (unsigned) (forced_node_id >= 0  ? forced_node_id
	                      : asked.node_id >= 0 ? asked.node_id
	                                           : 0);
	r = sd_bus_reply_method_return(call, "hhsut", memory_fd, ends[1], id, node_id,
	                               asked.bytes ? asked.bytes : UINT64_C(1) << 30);
	fake_check(sd_bus_flush(sd_bus_message_get_bus(call)), "flush");
	close(memory_fd);
	close(ends[1]);
	if (lifetime_fd >= 0)
		close(lifetime_fd);
	lifetime_fd = ends[0];
	return r;
}

int fake_list_leases(sd_bus_message *call, void *arg, sd_bus_error *error)
{
	sd_bus_message *reply = NULL;
	size_t i;
	int r;

	(void) arg, (void) error;
	fake_check(sd_bus_message_new_method_return(call, &reply), "ListLeases");
	r = sd_bus_message_open_container(reply, 'a', "(ssutsuustta{sv})");
	for (i = 0; r >= 0 && i < nr_entries; i++) {
		const struct entry *entry = &entries[i];

		r = sd_bus_message_append(reply, "(ssutsuustta{sv})", entry->id, entry->pool,
		                          entry->node_id, entry->bytes, entry->state, entry->uid,
		                          entry->pid, entry->unit, entry->realtime_usec,
		                          entry->monotonic_usec, 1, "later", "s", "unknown");
	}
	if (r >= 0)
		r = sd_bus_message_close_container(reply);
	fake_check(r, "ListLeases");
	r = sd_bus_send(NULL, reply, NULL);
	sd_bus_message_unref(reply);
	return r;
}

int fake_release_lease(sd_bus_message *call, void *arg, sd_bus_error *error)
{
	const char *id;
	size_t i;

	(void) arg;
	fake_check(sd_bus_message_read(call, "s", &id), "ReleaseLease");
	for (i = 0; i < nr_entries; i++)
		if (strcmp(entries[i].id, id) == 0) {
			strcpy(entries[i].state, "draining");
			return sd_bus_reply_method_return(call, NULL);
		}
	return sd_bus_error_setf(error, NODEINIT_ERROR_NO_SUCH_LEASE,
	                         "no lease %s; ListLeases shows those there are", id);
}
