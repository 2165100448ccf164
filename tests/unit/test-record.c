/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "record-image.h"
#include "suite.h"

#define PLACE_BYTES   280
#define PLACE_BYTES_1 152

static struct record *reopen(const struct record *record)
{
	size_t nr_damaged;
	struct record *again = image_open(record_fd(record), &nr_damaged);

	ck_assert_uint_eq(nr_damaged, 0);
	return again;
}

static struct record *make(void)
{
	struct record *record;

	ck_assert_int_eq(record_new(&record), 0);
	return record;
}

static void put(struct record *record, uint64_t id, enum record_state state)
{
	struct record_entry entry = image_entry(id, state);

	ck_assert_int_eq(record_put(record, &entry), 0);
}

START_TEST(test_a_new_record_is_empty_and_can_be_opened)
{
	scoped(record_freep) struct record *record = make();
	scoped(record_freep) struct record *again = reopen(record);
	int seals = fcntl(record_fd(record), F_GET_SEALS);

	ck_assert_uint_eq(record_nr(again), 0);
	ck_assert_uint_eq(record_last_id(again), 0);
	ck_assert_ptr_null(record_get(again, 1));
	ck_assert_int_eq(seals & F_SEAL_SHRINK, F_SEAL_SHRINK);
	ck_assert_int_eq(seals & (F_SEAL_GROW | F_SEAL_WRITE), 0);
	ck_assert_int_eq(fcntl(record_fd(record), F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	/* record_freep() takes NULL, and so does this. */
	ck_assert_ptr_null(record_free(NULL));
}
END_TEST

START_TEST(test_every_field_of_an_entry_survives)
{
	scoped(record_freep) struct record *record = make();

	for (unsigned state = RECORD_FILLING; state <= RECORD_SPENT; state++)
		put(record, state, (enum record_state) state);
	for (unsigned times = 0; times < 2; times++) {
		scoped(record_freep) struct record *again = reopen(record);

		ck_assert_uint_eq(record_nr(again), RECORD_SPENT);
		for (unsigned state = RECORD_FILLING; state <= RECORD_SPENT; state++) {
			struct record_entry expected = image_entry(state, state);

			image_expect_same(record_get(record, state), &expected);
			image_expect_same(record_get(again, state), &expected);
		}
	}
}
END_TEST

START_TEST(test_an_entry_changes_in_place_however_often)
{
	scoped(record_freep) struct record *record = make();

	put(record, 7, RECORD_FILLING);
	put(record, 8, RECORD_READY);
	for (unsigned n = 0; n < 9; n++) {
		scoped(record_freep) struct record *again = NULL;
		enum record_state state = RECORD_FILLING + n % 5;

		put(record, 7, state);
		again = reopen(record);
		ck_assert_uint_eq(record_nr(again), 2);
		ck_assert_uint_eq(record_get(again, 7)->state, state);
		ck_assert_uint_eq(record_get(again, 8)->state, RECORD_READY);
	}
}
END_TEST

START_TEST(test_what_is_struck_out_is_gone_and_its_slot_is_used_again)
{
	scoped(record_freep) struct record *record = make();
	scoped(record_freep) struct record *again = NULL;
	struct stat before, after;

	for (uint64_t id = 1; id <= 10; id++)
		put(record, id, RECORD_READY);
	ck_assert_int_eq(fstat(record_fd(record), &before), 0);
	for (uint64_t id = 11; id <= 5000; id++) {
		record_remove(record, id - 10);
		put(record, id, RECORD_LEASED);
	}
	ck_assert_int_eq(fstat(record_fd(record), &after), 0);
	ck_assert_int_eq(before.st_size, after.st_size);
	record_remove(record, 1); /* is not there any more */
	again = reopen(record);
	ck_assert_uint_eq(record_nr(record), 10);
	ck_assert_uint_eq(record_nr(again), 10);
	for (uint64_t id = 4991; id <= 5000; id++) {
		struct record_entry expected = image_entry(id, RECORD_LEASED);

		image_expect_same(record_get(record, id), &expected);
		image_expect_same(record_get(again, id), &expected);
	}
	for (size_t i = 0; i < record_nr(record); i++)
		ck_assert_uint_ge(record_at(record, i)->id, 4991);
}
END_TEST

/* The next process uses what slots are free, and only those. */
START_TEST(test_a_record_goes_on_after_it_was_opened)
{
	struct record *record = make();
	struct stat before, after;

	ck_assert_int_eq(fstat(record_fd(record), &before), 0);
	for (uint64_t id = 1; id <= 300; id++) {
		struct record *again = reopen(record);

		(void) record_free(record);
		record = again;
		put(record, id, RECORD_READY);
		if (id > 100)
			record_remove(record, id - 100);
	}
	ck_assert_uint_eq(record_nr(record), 100);
	for (uint64_t id = 201; id <= 300; id++)
		ck_assert_ptr_nonnull(record_get(record, id));
	ck_assert_int_eq(fstat(record_fd(record), &after), 0);
	ck_assert_int_eq(before.st_size, after.st_size);
	(void) record_free(record);
}
END_TEST

START_TEST(test_the_last_id_survives_its_entry)
{
	scoped(record_freep) struct record *record = make();

	put(record, 4, RECORD_READY);
	put(record, 90, RECORD_READY);
	put(record, 6, RECORD_READY);
	ck_assert_uint_eq(record_last_id(record), 90);
	for (uint64_t id = 90; id > 0; id--) {
		scoped(record_freep) struct record *again = NULL;

		record_remove(record, id);
		again = reopen(record);
		ck_assert_uint_eq(record_last_id(again), 90);
	}
	/* All slots are written over. */
	for (unsigned n = 0; n < 3; n++) {
		scoped(record_freep) struct record *again = NULL;

		for (uint64_t id = 1; id < 90; id++)
			put(record, id, RECORD_READY);
		for (uint64_t id = 1; id < 90; id++)
			record_remove(record, id);
		again = reopen(record);
		ck_assert_uint_eq(record_last_id(again), 90);
	}
}
END_TEST

START_TEST(test_it_grows_as_the_same_file)
{
	scoped(record_freep) struct record *record = make();
	scoped(record_freep) struct record *again = NULL;
	int fd = record_fd(record);
	struct stat before, after;

	ck_assert_int_eq(fstat(fd, &before), 0);
	for (uint64_t id = 1; id <= 2000; id++)
		put(record, id, RECORD_LEASED);
	ck_assert_int_eq(record_fd(record), fd);
	ck_assert_int_eq(fstat(fd, &after), 0);
	ck_assert_uint_eq(before.st_ino, after.st_ino);
	ck_assert_int_gt(after.st_size, before.st_size);
	again = reopen(record);
	ck_assert_uint_eq(record_nr(again), 2000);
	for (uint64_t id = 1; id <= 2000; id++) {
		struct record_entry expected = image_entry(id, RECORD_LEASED);

		image_expect_same(record_get(again, id), &expected);
	}
}
END_TEST

START_TEST(test_a_put_that_fails_leaves_the_former_value)
{
	scoped(record_freep) struct record *record = make();
	struct record_entry entry = image_entry(1, RECORD_LEASED);
	struct record_entry other = image_entry(2, RECORD_READY);

	put(record, 1, RECORD_READY);
	image_fail_writes(EIO);
	ck_assert_int_eq(record_put(record, &entry), -EIO);
	ck_assert_int_eq(record_put(record, &other), -EIO);
	image_fail_writes(0);
	ck_assert_uint_eq(record_get(record, 1)->state, RECORD_READY);
	ck_assert_ptr_null(record_get(record, 2));
	ck_assert_uint_eq(record_nr(record), 1);
	ck_assert_uint_eq(record_last_id(record), 1);
	ck_assert_int_eq(record_put(record, &entry), 0);
	ck_assert_int_eq(record_put(record, &other), 0);
	{
		scoped(record_freep) struct record *again = reopen(record);

		ck_assert_uint_eq(record_get(again, 1)->state, RECORD_LEASED);
		ck_assert_uint_eq(record_get(again, 2)->state, RECORD_READY);
	}
}
END_TEST

/* Changing and striking out need no room: all of it was taken when it grew. */
START_TEST(test_without_room_for_more_what_is_there_can_still_change)
{
	scoped(record_freep) struct record *record = make();
	struct record_entry entry;
	uint64_t id = 0;
	int r;

	image_fail_room(ENOSPC);
	do {
		entry = image_entry(++id, RECORD_READY);
		r = record_put(record, &entry);
	} while (r == 0);
	ck_assert_int_eq(r, -ENOSPC);
	ck_assert_uint_eq(record_nr(record), id - 1);
	put(record, 1, RECORD_LEASED);
	record_remove(record, 2);
	put(record, id, RECORD_READY);
	image_fail_room(0);
	for (uint64_t more = id + 1; more < id + 300; more++)
		put(record, more, RECORD_READY);
	{
		scoped(record_freep) struct record *again = reopen(record);

		ck_assert_uint_eq(record_get(again, 1)->state, RECORD_LEASED);
		ck_assert_ptr_null(record_get(again, 2));
		ck_assert_uint_eq(record_nr(again), id - 1 + 299);
	}
}
END_TEST

START_TEST(test_a_removal_that_cannot_be_written_takes_no_other_entry_with_it)
{
	scoped(record_freep) struct record *record = make();
	scoped(record_freep) struct record *again = NULL;

	put(record, 1, RECORD_READY);
	put(record, 2, RECORD_READY);
	image_fail_writes(EIO);
	record_remove(record, 1);
	image_fail_writes(0);
	ck_assert_ptr_null(record_get(record, 1));
	put(record, 3, RECORD_READY);
	again = reopen(record);
	ck_assert_ptr_nonnull(record_get(again, 2));
	ck_assert_ptr_nonnull(record_get(again, 3));
}
END_TEST

/* Written here by docs/state.md, and not by the code that reads it. */
START_TEST(test_the_layout_is_the_documented_one)
{
	struct record_entry one = image_entry(5, RECORD_DRAINING),
			    two = image_entry(6, RECORD_READY);
	scoped(record_freep) struct record *record = NULL;
	scoped(freep) unsigned char *bytes = NULL;
	scoped(fd_closep) int fd = -1;
	size_t nr_bytes, nr_damaged;

	bytes = image_new(2, PLACE_BYTES, 4, &nr_bytes);
	image_put(bytes, PLACE_BYTES, 0, 8, 6, &one);
	image_put(bytes, PLACE_BYTES, 0, 7, 5, &two); /* the older one */
	image_put(bytes, PLACE_BYTES, 2, 1, 44, &two);
	image_put(bytes, PLACE_BYTES, 3, 2, 45, NULL);
	fd = image_file(bytes, nr_bytes);
	record = image_open(fd, &nr_damaged);
	ck_assert_uint_eq(nr_damaged, 0);
	ck_assert_uint_eq(record_nr(record), 2);
	image_expect_same(record_get(record, 5), &one);
	image_expect_same(record_get(record, 6), &two);
	ck_assert_uint_eq(record_last_id(record), 45);
	/* And what is written is laid out like that. */
	two.state = RECORD_LEASED;
	ck_assert_int_eq(record_put(record, &two), 0);
	image_put(bytes, PLACE_BYTES, 2, 2, 45, &two);
	record_remove(record, 5);
	image_put(bytes, PLACE_BYTES, 0, 9, 45, NULL);
	{
		scoped(freep) unsigned char *after = image_read(fd, &nr_bytes);

		ck_assert_int_eq(memcmp(after, bytes, nr_bytes), 0);
	}
}
END_TEST

static unsigned char *image_of_version_1(size_t *ret_bytes)
{
	struct record_entry one = image_entry(5, RECORD_LEASED), two = image_entry(6, RECORD_READY);
	unsigned char *bytes = image_new(1, PLACE_BYTES_1, 4, ret_bytes);

	image_put(bytes, PLACE_BYTES_1, 0, 1, 5, &one);
	image_put(bytes, PLACE_BYTES_1, 1, 1, 99, &two);
	image_put(bytes, PLACE_BYTES_1, 1, 2, 99, NULL);
	image_put(bytes, PLACE_BYTES_1, 3, 3, 40, &two);
	return bytes;
}

static void expect_version_1(const struct record *record)
{
	struct record_entry one = image_entry(5, RECORD_LEASED), two = image_entry(6, RECORD_READY);

	memset(one.unit, 0, sizeof(one.unit));
	memset(two.unit, 0, sizeof(two.unit));
	ck_assert_uint_eq(record_nr(record), 2);
	image_expect_same(record_get(record, 5), &one);
	image_expect_same(record_get(record, 6), &two);
	ck_assert_uint_eq(record_last_id(record), 99);
}

START_TEST(test_version_1_is_read_and_converted_on_the_same_file)
{
	scoped(record_freep) struct record *record = NULL;
	scoped(record_freep) struct record *again = NULL;
	scoped(freep) unsigned char *bytes = NULL;
	size_t nr_bytes, nr_damaged = 7;
	uint32_t version = 0;
	int fd;

	bytes = image_of_version_1(&nr_bytes);
	fd = image_file(bytes, nr_bytes);
	ck_assert_int_eq(record_open(fd, &record, &nr_damaged, &version), 0);
	ck_assert_uint_eq(version, 1);
	ck_assert_uint_eq(nr_damaged, 0);
	ck_assert_int_eq(record_fd(record), fd);
	expect_version_1(record);
	put(record, 100, RECORD_LEASED);
	put(record, 6, RECORD_SPENT);
	record_remove(record, 5);
	again = reopen(record);
	ck_assert_uint_eq(record_nr(again), 2);
	ck_assert_uint_eq(record_get(again, 6)->state, RECORD_SPENT);
	ck_assert_str_eq(record_get(again, 100)->unit, "unit-100.service");
	ck_assert_uint_eq(record_last_id(again), 100);
}
END_TEST

START_TEST(test_an_empty_record_of_version_1_keeps_the_last_id)
{
	scoped(record_freep) struct record *record = NULL;
	scoped(record_freep) struct record *again = NULL;
	scoped(freep) unsigned char *bytes = NULL;
	scoped(fd_closep) int fd = -1;
	size_t nr_bytes, nr_damaged;

	bytes = image_new(1, PLACE_BYTES_1, 2, &nr_bytes);
	image_put(bytes, PLACE_BYTES_1, 1, 4, 31, NULL);
	fd = image_file(bytes, nr_bytes);
	record = image_open(fd, &nr_damaged);
	again = reopen(record);
	ck_assert_uint_eq(record_nr(again), 0);
	ck_assert_uint_eq(record_last_id(again), 31);
	put(again, 32, RECORD_READY);
	put(again, 33, RECORD_READY);
	ck_assert_uint_eq(record_nr(again), 2);
}
END_TEST

START_TEST(test_a_conversion_may_be_stopped_at_any_byte)
{
	scoped(freep) unsigned char *bytes = NULL;
	size_t nr_bytes, nr_damaged;

	bytes = image_of_version_1(&nr_bytes);
	/* Two entries and two headers, and what is beyond. */
	for (uint64_t stop = 0; stop <= 2 * PLACE_BYTES + 2 * 64 + 1; stop++) {
		scoped(fd_closep) int fd = image_file(bytes, nr_bytes);
		struct record *record;

		image_stop_after(stop);
		record = image_open(fd, &nr_damaged);
		(void) record_free(record);
		image_stop_after(UINT64_MAX);
		record = image_open(fd, &nr_damaged);
		ck_assert_uint_eq(nr_damaged, 0);
		expect_version_1(record);
		(void) record_free(record);
	}
}
END_TEST

START_TEST(test_a_conversion_without_room_leaves_the_descriptor_with_the_caller)
{
	scoped(freep) unsigned char *bytes = NULL;
	scoped(fd_closep) int fd = -1;
	struct record *record = NULL;
	size_t nr_bytes, nr_damaged = 7;
	uint32_t version;

	bytes = image_of_version_1(&nr_bytes);
	fd = image_file(bytes, nr_bytes);
	image_fail_room(ENOSPC);
	ck_assert_int_eq(record_open(fd, &record, &nr_damaged, &version), -ENOSPC);
	image_fail_room(0);
	image_fail_writes(EIO);
	ck_assert_int_eq(record_open(fd, &record, &nr_damaged, &version), -EIO);
	image_fail_writes(0);
	ck_assert_ptr_null(record);
	ck_assert_uint_eq(nr_damaged, 7);
	ck_assert_int_ge(fcntl(fd, F_GETFD), 0);
	record = image_open(fd, &nr_damaged);
	expect_version_1(record);
	(void) record_free(record);
}
END_TEST

START_TEST(test_a_newer_version_is_refused_and_not_a_byte_is_changed)
{
	scoped(freep) unsigned char *bytes = NULL;
	scoped(freep) unsigned char *after = NULL;
	scoped(fd_closep) int fd = -1;
	size_t nr_bytes, nr_damaged = 7, nr_after;
	struct record *record = NULL;
	uint32_t version = 0;

	/* Its header leads to what we know nothing of; ours is still there, too, and older. */
	bytes = image_new(3, 400, 4, &nr_bytes);
	memset(bytes + 4096, 0xa5, nr_bytes - 4096);
	{
		size_t nr_older;
		scoped(freep) unsigned char *older = image_new(2, PLACE_BYTES, 1, &nr_older);

		memcpy(bytes, older + 64, 64);
	}
	fd = image_file(bytes, nr_bytes);
	ck_assert_int_eq(record_open(fd, &record, &nr_damaged, &version), -EPROTONOSUPPORT);
	ck_assert_uint_eq(version, 3);
	ck_assert_ptr_null(record);
	ck_assert_uint_eq(nr_damaged, 7);
	after = image_read(fd, &nr_after);
	ck_assert_uint_eq(nr_after, nr_bytes);
	ck_assert_int_eq(memcmp(after, bytes, nr_bytes), 0);
}
END_TEST

static void expect_no_record(const unsigned char *bytes, size_t nr_bytes)
{
	scoped(fd_closep) int fd = image_file(bytes, nr_bytes);
	struct record *record = NULL;
	size_t nr_damaged = 7;
	uint32_t version = 7;

	ck_assert_int_eq(record_open(fd, &record, &nr_damaged, &version), -EBADMSG);
	ck_assert_ptr_null(record);
	ck_assert_int_ge(fcntl(fd, F_GETFD), 0);
}

START_TEST(test_what_is_no_record_is_refused)
{
	static const unsigned char zeroes[8192], text[] = "nodeinit";
	scoped(freep) unsigned char *bytes = NULL;
	size_t nr_bytes;

	expect_no_record(zeroes, 0);
	expect_no_record(text, sizeof(text));
	expect_no_record(zeroes, sizeof(zeroes));
	/* Places of another size, more slots than the file has, than there may be. */
	free(image_new(2, PLACE_BYTES, 1, &nr_bytes));
	bytes = image_new(2, 200, 1, &nr_bytes);
	expect_no_record(bytes, nr_bytes);
	free(bytes);
	bytes = image_new(2, PLACE_BYTES, 4, &nr_bytes);
	expect_no_record(bytes, nr_bytes - 1);
	free(bytes);
	bytes = image_new(1, PLACE_BYTES, 1, &nr_bytes);
	expect_no_record(bytes, nr_bytes);
}
END_TEST

START_TEST(test_without_descriptors_there_is_no_record_and_no_leak)
{
	struct record *record = NULL;
	int r = 0;

	image_fail_writes(ENOSPC);
	r = record_new(&record);
	image_fail_writes(0);
	ck_assert_int_eq(r, -ENOSPC);
	ck_assert_ptr_null(record);
	image_fail_room(ENOMEM);
	r = record_new(&record);
	image_fail_room(0);
	ck_assert_int_eq(r, -ENOMEM);
	ck_assert_ptr_null(record);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("record");
	TCase *tcase = tcase_create("record");

	tcase_set_timeout(tcase, 60);
	tcase_add_test(tcase, test_a_new_record_is_empty_and_can_be_opened);
	tcase_add_test(tcase, test_every_field_of_an_entry_survives);
	tcase_add_test(tcase, test_an_entry_changes_in_place_however_often);
	tcase_add_test(tcase, test_what_is_struck_out_is_gone_and_its_slot_is_used_again);
	tcase_add_test(tcase, test_a_record_goes_on_after_it_was_opened);
	tcase_add_test(tcase, test_the_last_id_survives_its_entry);
	tcase_add_test(tcase, test_it_grows_as_the_same_file);
	tcase_add_test(tcase, test_a_put_that_fails_leaves_the_former_value);
	tcase_add_test(tcase, test_without_room_for_more_what_is_there_can_still_change);
	tcase_add_test(tcase, test_a_removal_that_cannot_be_written_takes_no_other_entry_with_it);
	tcase_add_test(tcase, test_the_layout_is_the_documented_one);
	tcase_add_test(tcase, test_version_1_is_read_and_converted_on_the_same_file);
	tcase_add_test(tcase, test_an_empty_record_of_version_1_keeps_the_last_id);
	tcase_add_test(tcase, test_a_conversion_may_be_stopped_at_any_byte);
	tcase_add_test(tcase, test_a_conversion_without_room_leaves_the_descriptor_with_the_caller);
	tcase_add_test(tcase, test_a_newer_version_is_refused_and_not_a_byte_is_changed);
	tcase_add_test(tcase, test_what_is_no_record_is_refused);
	tcase_add_test(tcase, test_without_descriptors_there_is_no_record_and_no_leak);
	suite_add_tcase(suite, tcase);
	return suite_main(suite);
}
