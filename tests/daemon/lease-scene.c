/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "../../daemon/base/clock.h"
#include "../../daemon/base/scoped.h"
#include "../../dbus/names.h"
#include "lease-scene.h"

void scene_write_pool(struct daemon_fixture *fixture, const char *name, const char *size,
                      const char *region_size, const char *more)
{
	char text[512];

	(void) snprintf(text, sizeof(text),
	                "[Pool]\nKind=region\nPageSize=base\nSize=%s\nEarly=none\n"
	                "[Region]\nRegionSize=%s\n%s",
	                size, region_size, more ? more : "");
	daemon_write_pool(fixture, name, text);
}

static const char *pool_path(const char *name)
{
	static char path[128];

	(void) snprintf(path, sizeof(path), "%s/%s", NODEINIT_POOL_PREFIX, name);
	return path;
}

uint64_t scene_pool_bytes(struct daemon_fixture *fixture, const char *name, const char *property)
{
	return daemon_get_u64(fixture, pool_path(name), NODEINIT_POOL_INTERFACE, property);
}

void scene_wait_pool_bytes(struct daemon_fixture *fixture, const char *name, const char *property,
                           uint64_t bytes)
{
	daemon_wait_u64(fixture, pool_path(name), NODEINIT_POOL_INTERFACE, property, bytes);
}

uint64_t scene_start(struct daemon_fixture *fixture, const char *name)
{
	daemon_forget_notified(fixture);
	daemon_launch(fixture, NULL);
	daemon_wait_notified(fixture, "READY=1");
	daemon_wait_state(fixture, NODEINIT_PATH, NODEINIT_MANAGER_INTERFACE, "ready");
	return scene_pool_bytes(fixture, name, "BytesTotal");
}

void scene_reload(struct daemon_fixture *fixture)
{
	sd_bus_error error = SD_BUS_ERROR_NULL;
	int r = daemon_call(fixture, NODEINIT_PATH, NODEINIT_MANAGER_INTERFACE, "Reload", &error);

	ck_assert_msg(r >= 0, "Reload: %s", error.message);
}

void scene_lease(struct daemon_fixture *fixture, const char *pool, uint64_t bytes,
                 const struct daemon_lease_options *options, struct daemon_lease *ret)
{
	sd_bus_error error = SD_BUS_ERROR_NULL;
	int r = daemon_lease(fixture, pool, bytes, options, ret, &error);

	ck_assert_msg(r == 0, "Lease: %s: %s", error.name, error.message);
}

void scene_refused(struct daemon_fixture *fixture, const char *pool, uint64_t bytes,
                   const struct daemon_lease_options *options, const char *error, const char *text)
{
	sd_bus_error found = SD_BUS_ERROR_NULL;
	struct daemon_lease lease;

	ck_assert_int_lt(daemon_lease(fixture, pool, bytes, options, &lease, &found), 0);
	ck_assert_str_eq(found.name, error);
	ck_assert_msg(strstr(found.message, text) != NULL, "no '%s' in: %s", text, found.message);
	sd_bus_error_free(&found);
}

const char *scene_lease_state(struct daemon_fixture *fixture, const char *id)
{
	scoped(freep) struct daemon_lease_line *lines = NULL;
	size_t nr = daemon_leases(fixture, &lines);

	for (size_t i = 0; i < nr; i++)
		if (strcmp(lines[i].id, id) == 0)
			return strcmp(lines[i].state, "leased") == 0 ? "leased" : "draining";
	return "";
}

static int on_changed(sd_bus_message *signal, void *userdata, sd_bus_error *ret_error)
{
	(void) signal, (void) ret_error;
	*(bool *) userdata = true;
	return 0;
}

/* A lease has no signal of its own, and its pool, whose bytes change with it, may be gone. */
#define LOOK_AGAIN_USEC 50000

/* Looks again after every change of any object, and now and then. */
void scene_wait_lease_state(struct daemon_fixture *fixture, const char *id, const char *state)
{
	scoped(sd_bus_slot_unrefp) sd_bus_slot *slot = NULL;
	uint64_t end_usec = clock_monotonic_usec() + DAEMON_LIMIT_MSEC * UINT64_C(1000);
	sd_bus *bus = daemon_client(fixture);
	bool has_changed = true;

	ck_assert_int_ge(sd_bus_match_signal(bus, &slot, NODEINIT_BUS_NAME, NULL,
	                                     "org.freedesktop.DBus.Properties", "PropertiesChanged",
	                                     on_changed, &has_changed),
	                 0);
	for (;;) {
		int r;

		if (has_changed && strcmp(scene_lease_state(fixture, id), state) == 0)
			return;
		has_changed = false;
		ck_assert_msg(clock_monotonic_usec() < end_usec, "lease %s stays '%s', not '%s'",
		              id, scene_lease_state(fixture, id), state);
		r = sd_bus_process(bus, NULL);
		ck_assert_int_ge(r, 0);
		if (r == 0 && !has_changed)
			has_changed = sd_bus_wait(bus, LOOK_AGAIN_USEC) == 0;
	}
}

uint64_t scene_inode(int fd)
{
	struct stat st;

	ck_assert_int_eq(fstat(fd, &st), 0);
	return st.st_ino;
}

unsigned char *scene_map(const struct daemon_lease *lease)
{
	struct stat st;
	void *memory;

	ck_assert_int_eq(fstat(lease->memory_fd, &st), 0);
	ck_assert_uint_eq((uint64_t) st.st_size, lease->bytes);
	memory = mmap(NULL, lease->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, lease->memory_fd, 0);
	ck_assert_ptr_ne(memory, MAP_FAILED);
	return memory;
}

#define PAGE_WORDS 512

/* Different in every page of every lease, and never all zero. */
static void make_page(uint64_t words[PAGE_WORDS], unsigned seed, uint64_t page)
{
	for (size_t i = 0; i < PAGE_WORDS; i++)
		words[i] = UINT64_C(0x6e6f6465696e6974) ^
		           ((uint64_t) (seed + 1) << 32 | (uint32_t) page);
}

void scene_expect_zero(const struct daemon_lease *lease)
{
	unsigned char *memory = scene_map(lease);

	ck_assert_msg(memory[0] == 0 && memcmp(memory, memory + 1, lease->bytes - 1) == 0,
	              "the memory of lease %s is not all zero", lease->id);
	ck_assert_int_eq(munmap(memory, lease->bytes), 0);
}

void scene_write_pattern(const struct daemon_lease *lease, unsigned seed)
{
	unsigned char *memory = scene_map(lease);
	uint64_t words[PAGE_WORDS];

	for (uint64_t at = 0; at < lease->bytes; at += sizeof(words)) {
		make_page(words, seed, at / sizeof(words));
		memcpy(memory + at, words, sizeof(words));
	}
	ck_assert_int_eq(munmap(memory, lease->bytes), 0);
}

void scene_expect_pattern(const struct daemon_lease *lease, unsigned seed)
{
	unsigned char *memory = scene_map(lease);
	uint64_t words[PAGE_WORDS];

	for (uint64_t at = 0; at < lease->bytes; at += sizeof(words)) {
		make_page(words, seed, at / sizeof(words));
		if (memcmp(memory + at, words, sizeof(words)) != 0)
			ck_abort_msg("lease %s lost what was written at %" PRIu64, lease->id, at);
	}
	ck_assert_int_eq(munmap(memory, lease->bytes), 0);
}
