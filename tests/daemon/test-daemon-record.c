/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The daemon finds a record that is damaged, older or newer than its own. */
#include <check.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../daemon/base/checksum.h"
#include "../../daemon/base/scoped.h"
#include "../../daemon/base/size.h"
#include "../../dbus/names.h"
#include "lease-scene.h"
#include "record-copy.h"
#include "suite.h"

#define REGION_BYTES (4 * MIB)

/* Of docs/state.md, a second time. */
#define HEADER_BYTES   64
#define PLACE_BYTES    280
#define PLACE_BYTES_V1 152
#define NEW_PAGE       4096

static struct daemon_fixture d;
static struct daemon_lease lease;
static uint64_t total_bytes;

/* What the killed daemon left. */
static unsigned char *bytes;
static size_t nr_bytes;

static void setup(void)
{
	daemon_fixture_start(&d);
	scene_write_pool(&d, "small", "32M", "4M", NULL);
	total_bytes = scene_start(&d, "small");
	scene_lease(&d, "small", 0, NULL, &lease);
	scene_write_pattern(&lease, 1);
	daemon_store_wait(&d, "*", 1 + total_bytes / REGION_BYTES + 1);
	ck_assert_int_eq(daemon_end(&d, SIGKILL), 128 + SIGKILL);
	ck_assert_int_eq(truncate(d.log_path, 0), 0);
	bytes = record_bytes(&d, &nr_bytes);
}

static void teardown(void)
{
	daemon_lease_close(&lease);
	freep(&bytes);
	daemon_fixture_stop(&d);
}

static void put(unsigned char *at, uint64_t value, unsigned nr)
{
	for (unsigned i = 0; i < nr; i++)
		at[i] = (unsigned char) (value >> 8 * i);
}

static uint64_t get(const unsigned char *at, unsigned nr)
{
	uint64_t value = 0;

	for (unsigned i = 0; i < nr; i++)
		value |= (uint64_t) at[i] << 8 * i;
	return value;
}

/* The header that counts. */
static unsigned char *header_of(unsigned char *record)
{
	unsigned char *other = record + HEADER_BYTES;

	return get(other + 16, 8) > get(record + 16, 8) ? other : record;
}

static void seal_header(unsigned char *header)
{
	put(header + 60, checksum_crc32c(header, 60), 4);
}

static void expect_logged(const char *text)
{
	scoped(freep) char *log = daemon_log(&d);

	ck_assert_msg(strstr(log, text) != NULL, "no '%s' in:\n%s", text, log);
}

static void expect_whole_and_leased(void)
{
	struct daemon_lease other;
	char found[64];

	ck_assert_uint_eq(scene_start(&d, "small"), total_bytes);
	scene_wait_pool_bytes(&d, "small", "BytesDone", total_bytes);
	ck_assert_str_eq(scene_lease_state(&d, lease.id), "leased");
	scene_expect_pattern(&lease, 1);
	(void) snprintf(found, sizeof(found), ": %" PRIu64 " ready regions (",
	                total_bytes / REGION_BYTES - 1);
	expect_logged(found);
	expect_logged(", 0 half filled, 1 lease,");
	scene_lease(&d, "small", 0, NULL, &other);
	scene_expect_zero(&other);
	daemon_lease_close(&other);
}

/* Everything is given out once, zeroed, and nothing of it is the lessee's. */
static void expect_fresh_memory(void)
{
	uint64_t inode = scene_inode(lease.memory_fd);

	scene_wait_pool_bytes(&d, "small", "BytesDone", total_bytes);
	for (uint64_t i = 1; i < total_bytes / REGION_BYTES; i++) {
		struct daemon_lease other;

		scene_lease(&d, "small", 0, NULL, &other);
		ck_assert_uint_ne(scene_inode(other.memory_fd), inode);
		scene_expect_zero(&other);
		daemon_lease_close(&other);
	}
	scene_expect_pattern(&lease, 1);
}

START_TEST(test_a_record_that_is_no_record_is_said_and_all_begins_anew)
{
	memset(bytes, 0xa5, 2 * HEADER_BYTES);
	record_overwrite(&d, bytes, nr_bytes);
	(void) scene_start(&d, "small");
	expect_logged("the record of regions and leases cannot be read");
	ck_assert_str_eq(scene_lease_state(&d, lease.id), "");
	expect_fresh_memory();
	daemon_store_wait(&d, "region-*", total_bytes / REGION_BYTES);
	daemon_store_wait(&d, "state", 1);
}
END_TEST

START_TEST(test_damaged_entries_are_left_out_and_the_others_go_on)
{
	const unsigned char *header = header_of(bytes);
	uint64_t slots_offset = get(header + 24, 8);

	/* slots 0 and 1, both places: two regions that nobody knows any more */
	for (unsigned i = 0; i < 4; i++)
		bytes[slots_offset + i * PLACE_BYTES + 100] ^= 0x10;
	record_overwrite(&d, bytes, nr_bytes);
	(void) scene_start(&d, "small");
	expect_logged("2 entries of the record of regions and leases are damaged and left out");
	expect_fresh_memory();
	daemon_store_wait(&d, "region-*", total_bytes / REGION_BYTES);
}
END_TEST

START_TEST(test_one_damaged_header_of_two_does_no_harm)
{
	unsigned char *header = header_of(bytes);

	memset(header == bytes ? bytes + HEADER_BYTES : bytes, 0x5a, HEADER_BYTES);
	record_overwrite(&d, bytes, nr_bytes);
	expect_whole_and_leased();
}
END_TEST

/* The former value of a lease's entry is that its region is ready. */
START_TEST(test_a_lease_whose_last_entry_is_damaged_is_still_a_lease)
{
	const unsigned char *header = header_of(bytes);
	uint64_t offset = get(header + 24, 8);
	unsigned nr_damaged = 0;

	for (uint64_t i = 0; i < 2 * get(header + 32, 8); i++) {
		unsigned char *place = bytes + offset + i * PLACE_BYTES;

		if (get(place + 4, 4) == RECORD_LEASED && place[152] == 0) {
			place[100] ^= 1;
			nr_damaged++;
		}
	}
	ck_assert_uint_eq(nr_damaged, 1);
	record_overwrite(&d, bytes, nr_bytes);
	(void) scene_start(&d, "small");
	ck_assert_str_eq(scene_lease_state(&d, lease.id), "leased");
	expect_fresh_memory();
}
END_TEST

/* Any bits of the entries, at random: whatever it makes of them, it starts and nothing leaks. */
START_TEST(test_flipped_bits_anywhere_never_hand_out_what_was_written)
{
	unsigned seed = (unsigned) _i + 1;

	for (unsigned i = 0; i < 24; i++)
		bytes[(size_t) rand_r(&seed) % nr_bytes] ^=
			(unsigned char) (1 << rand_r(&seed) % 8);
	record_overwrite(&d, bytes, nr_bytes);
	(void) scene_start(&d, "small");
	expect_fresh_memory();
}
END_TEST

static void expect_untouched(const char *names_before)
{
	scoped(freep) char *names = daemon_store_names(&d);
	scoped(freep) unsigned char *now = NULL;
	size_t nr;

	ck_assert_str_eq(names, names_before);
	now = record_bytes(&d, &nr);
	ck_assert_uint_eq(nr, nr_bytes);
	ck_assert_int_eq(memcmp(now, bytes, nr), 0);
}

START_TEST(test_a_newer_record_is_refused_and_nothing_is_touched)
{
	scoped(freep) char *names = daemon_store_names(&d), *state = NULL;
	scoped(freep) unsigned char *ours = malloc(nr_bytes);
	sd_bus_error error = SD_BUS_ERROR_NULL;
	int signal = _i ? SIGTERM : SIGKILL;

	memcpy(ours, bytes, nr_bytes);
	put(header_of(bytes) + 8, 3, 4);
	seal_header(header_of(bytes));
	record_overwrite(&d, bytes, nr_bytes);

	daemon_forget_notified(&d);
	daemon_launch(&d, NULL);
	daemon_wait_notified(&d, "READY=1");
	state = daemon_get_text(&d, NODEINIT_PATH, NODEINIT_MANAGER_INTERFACE, "State");
	ck_assert_str_eq(state, "failed");
	ck_assert(!daemon_get_bool(&d, NODEINIT_PATH, NODEINIT_MANAGER_INTERFACE, "Ready"));
	expect_logged("is of version 3, written by a newer nodeinitd");
	ck_assert_int_lt(
		daemon_call(&d, NODEINIT_PATH, NODEINIT_MANAGER_INTERFACE, "Reload", &error), 0);
	ck_assert_ptr_nonnull(strstr(error.message, "version 3"));
	sd_bus_error_free(&error);
	daemon_wait_notified(&d, "STATUS=failed: *");
	ck_assert_int_eq(daemon_end(&d, signal), _i ? 0 : 128 + SIGKILL);
	expect_untouched(names);
	scene_expect_pattern(&lease, 1);

	record_overwrite(&d, ours, nr_bytes);
	expect_whole_and_leased();
}
END_TEST

/* The same places without the unit, behind what is there, and a header that points at them. */
START_TEST(test_an_older_record_is_taken_over)
{
	unsigned char *header = header_of(bytes);
	size_t nr_places = 2 * get(header + 32, 8);
	uint64_t from = get(header + 24, 8);
	uint64_t to = (nr_bytes + NEW_PAGE - 1) / NEW_PAGE * NEW_PAGE;
	size_t nr_old_bytes = to + nr_places * PLACE_BYTES_V1;
	scoped(freep) unsigned char *old = calloc(1, nr_old_bytes);
	static const unsigned char blank[PLACE_BYTES_V1];

	memcpy(old, bytes, nr_bytes);
	for (size_t i = 0; i < nr_places; i++) {
		unsigned char *place = old + to + i * PLACE_BYTES_V1;

		memcpy(place, bytes + from + i * PLACE_BYTES, PLACE_BYTES_V1);
		if (memcmp(place, blank, PLACE_BYTES_V1) != 0)
			put(place, checksum_crc32c(place + 4, PLACE_BYTES_V1 - 4), 4);
	}
	memset(old, 0, 2 * HEADER_BYTES);
	header = old + (header - bytes);
	memcpy(header, header_of(bytes), HEADER_BYTES);
	put(header + 8, 1, 4);
	put(header + 12, PLACE_BYTES_V1, 4);
	put(header + 24, to, 8);
	seal_header(header);
	record_overwrite(&d, old, nr_old_bytes);
	expect_whole_and_leased();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("daemon-record");
	TCase *tc = tcase_create("record");

	bus_fixture_require();
	tcase_set_timeout(tc, 120);
	tcase_add_checked_fixture(tc, setup, teardown);
	tcase_add_test(tc, test_a_record_that_is_no_record_is_said_and_all_begins_anew);
	tcase_add_test(tc, test_damaged_entries_are_left_out_and_the_others_go_on);
	tcase_add_test(tc, test_one_damaged_header_of_two_does_no_harm);
	tcase_add_test(tc, test_a_lease_whose_last_entry_is_damaged_is_still_a_lease);
	tcase_add_loop_test(tc, test_flipped_bits_anywhere_never_hand_out_what_was_written, 0, 20);
	tcase_add_loop_test(tc, test_a_newer_record_is_refused_and_nothing_is_touched, 0, 2);
	tcase_add_test(tc, test_an_older_record_is_taken_over);
	suite_add_tcase(suite, tc);
	return suite_main(suite);
}
