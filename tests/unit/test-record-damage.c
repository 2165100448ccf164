/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A record whose writer was stopped, and one whose bytes were changed by somebody else.
 */
#include <errno.h>
#include <string.h>

#include "record-image.h"
#include "suite.h"

#define NR_OTHERS   3
#define PLACE_BYTES 280

/* A record with entries 1 to 3, and entry 50 that was written @nr_times. */
static struct record *make(unsigned nr_times)
{
	struct record *record;

	ck_assert_int_eq(record_new(&record), 0);
	for (uint64_t id = 1; id <= NR_OTHERS; id++) {
		struct record_entry entry = image_entry(id, RECORD_LEASED);

		ck_assert_int_eq(record_put(record, &entry), 0);
	}
	for (unsigned n = 0; n < nr_times; n++) {
		struct record_entry entry = image_entry(50, RECORD_READY);

		ck_assert_int_eq(record_put(record, &entry), 0);
	}
	return record;
}

static void expect_others(const struct record *record)
{
	for (uint64_t id = 1; id <= NR_OTHERS; id++) {
		struct record_entry expected = image_entry(id, RECORD_LEASED);

		image_expect_same(record_get(record, id), &expected);
	}
}

/* Stop the writer at each byte of writing down @after (NULL: of striking 50 out). */
static void expect_old_or_new(unsigned nr_times, const struct record_entry *after)
{
	struct record_entry before = image_entry(50, RECORD_READY);
	unsigned nr_old = 0, nr_new = 0;

	for (uint64_t stop = 0; stop <= PLACE_BYTES; stop++) {
		scoped(record_freep) struct record *record = make(nr_times);
		scoped(record_freep) struct record *again = NULL;
		const struct record_entry *entry;
		size_t nr_damaged;

		image_stop_after(stop);
		if (after)
			ck_assert_int_eq(record_put(record, after), 0);
		else
			record_remove(record, 50);
		image_stop_after(UINT64_MAX);
		again = image_open(record_fd(record), &nr_damaged);
		expect_others(again);
		entry = record_get(again, 50);
		if (after && entry && entry->state == after->state) {
			image_expect_same(entry, after);
			nr_new++;
		} else if (nr_times > 0 && entry) {
			image_expect_same(entry, &before);
			nr_old++;
		} else {
			ck_assert_ptr_null(entry);
			nr_old += nr_times == 0;
			nr_new += nr_times > 0;
		}
		ck_assert_uint_eq(record_nr(again), NR_OTHERS + (entry != NULL));
		/* It can be written again, whatever it was. */
		before.state = RECORD_SPENT;
		ck_assert_int_eq(record_put(again, &before), 0);
		before.state = RECORD_READY;
		(void) record_free(again);
		again = image_open(record_fd(record), &nr_damaged);
		ck_assert_uint_eq(record_get(again, 50)->state, RECORD_SPENT);
		expect_others(again);
	}
	/* Both are seen; bytes that are there already make the new one come up earlier. */
	ck_assert_uint_ge(nr_new, 1);
	ck_assert_uint_ge(nr_old, 8);
	ck_assert_uint_eq(nr_old + nr_new, PLACE_BYTES + 1);
}

START_TEST(test_a_first_put_that_is_stopped_is_there_or_not)
{
	struct record_entry after = image_entry(50, RECORD_FILLING);

	expect_old_or_new(0, &after);
}
END_TEST

START_TEST(test_a_change_that_is_stopped_leaves_the_old_or_the_new_value_in_either_place)
{
	struct record_entry after = image_entry(50, RECORD_SPENT);

	for (unsigned nr_times = 1; nr_times <= 4; nr_times++)
		expect_old_or_new(nr_times, &after);
}
END_TEST

START_TEST(test_a_removal_that_is_stopped_leaves_the_entry_or_nothing)
{
	for (unsigned nr_times = 1; nr_times <= 3; nr_times++)
		expect_old_or_new(nr_times, NULL);
}
END_TEST

START_TEST(test_growing_may_be_stopped_at_any_byte)
{
	struct record_entry after = image_entry(50, RECORD_FILLING);

	for (uint64_t stop = 0; stop <= 2 * 64 + PLACE_BYTES; stop++) {
		scoped(record_freep) struct record *record = make(0);
		scoped(record_freep) struct record *again = NULL;
		size_t nr_damaged, nr_full;

		/* Until it has to grow. */
		image_fail_room(ENOSPC);
		for (uint64_t id = 1000;; id++) {
			struct record_entry entry = image_entry(id, RECORD_READY);

			if (record_put(record, &entry) < 0)
				break;
		}
		image_fail_room(0);
		nr_full = record_nr(record);
		image_stop_after(stop);
		ck_assert_int_eq(record_put(record, &after), 0);
		image_stop_after(UINT64_MAX);
		again = image_open(record_fd(record), &nr_damaged);
		expect_others(again);
		ck_assert_uint_eq(record_nr(again), nr_full + (record_get(again, 50) != NULL));
		if (record_get(again, 50))
			image_expect_same(record_get(again, 50), &after);
		else
			ck_assert_uint_lt(stop, 2 * 64 + PLACE_BYTES);
		ck_assert_int_eq(record_put(again, &after), 0);
	}
}
END_TEST

START_TEST(test_an_entry_that_is_damaged_in_both_places_is_left_out_and_counted)
{
	scoped(record_freep) struct record *record = make(2);
	scoped(freep) unsigned char *bytes = NULL;
	size_t nr_bytes, nr_damaged, nr_places = 0;

	bytes = image_read(record_fd(record), &nr_bytes);
	/* One place after the other. */
	for (size_t at = 4096; at + PLACE_BYTES <= nr_bytes; at += PLACE_BYTES) {
		scoped(record_freep) struct record *again = NULL;
		scoped(fd_closep) int fd = -1;

		if (memcmp(bytes + at + 88, "pool-50", 7) != 0)
			continue;
		nr_places++;
		bytes[at + 40] ^= 0x10;
		fd = image_file(bytes, nr_bytes);
		again = image_open(fd, &nr_damaged);
		expect_others(again);
		ck_assert_uint_eq(nr_damaged, nr_places == 2);
		ck_assert_int_eq(record_get(again, 50) != NULL, nr_places == 1);
	}
	ck_assert_uint_eq(nr_places, 2);
}
END_TEST

START_TEST(test_an_id_that_is_there_twice_is_counted_and_comes_up_once)
{
	struct record_entry one = image_entry(5, RECORD_LEASED), two = image_entry(5, RECORD_READY);
	scoped(record_freep) struct record *record = NULL;
	scoped(freep) unsigned char *bytes = NULL;
	scoped(fd_closep) int fd = -1;
	size_t nr_bytes, nr_damaged;

	bytes = image_new(2, PLACE_BYTES, 2, &nr_bytes);
	image_put(bytes, PLACE_BYTES, 0, 1, 5, &one);
	image_put(bytes, PLACE_BYTES, 1, 1, 5, &two);
	fd = image_file(bytes, nr_bytes);
	record = image_open(fd, &nr_damaged);
	ck_assert_uint_eq(record_nr(record), 1);
	ck_assert_uint_eq(nr_damaged, 1);
}
END_TEST

/* A checksum that is right does not make sense of nonsense. */
START_TEST(test_a_place_that_makes_no_sense_is_damaged)
{
	for (unsigned n = 0; n < 9; n++) {
		struct record_entry entry = image_entry(5, RECORD_LEASED);
		scoped(record_freep) struct record *record = NULL;
		scoped(freep) unsigned char *bytes = NULL;
		scoped(fd_closep) int fd = -1;
		size_t nr_bytes, nr_damaged;
		uint64_t sequence = 1;

		bytes = image_new(2, PLACE_BYTES, 2, &nr_bytes);
		switch (n) {
		case 0:
			entry.id = 0;
			break;
		case 1:
			entry.state = RECORD_SPENT + 1;
			break;
		case 2:
			memset(entry.pool, 'x', sizeof(entry.pool));
			break;
		case 3:
			memset(entry.unit, 'x', sizeof(entry.unit));
			break;
		case 4:
			sequence = 0;
			break;
		case 5:
			entry.bytes = 0;
			break;
		case 6:
			entry.bytes++;
			break;
		case 7:
			entry.page_bytes = 0;
			break;
		default:
			break;
		}
		image_put(bytes, PLACE_BYTES, 0, sequence, 5, &entry);
		if (n == 8) {
			/* In the place that is not its turn. */
			memcpy(bytes + 4096, bytes + 4096 + PLACE_BYTES, PLACE_BYTES);
			memset(bytes + 4096 + PLACE_BYTES, 0, PLACE_BYTES);
		}
		fd = image_file(bytes, nr_bytes);
		record = image_open(fd, &nr_damaged);
		ck_assert_msg(record_nr(record) == 0 && nr_damaged == 1,
		              "case %u: %zu entries, %zu damaged", n, record_nr(record),
		              nr_damaged);
	}
}
END_TEST

START_TEST(test_either_header_alone_is_enough)
{
	for (unsigned at = 0; at < 2; at++) {
		scoped(record_freep) struct record *record = make(1);
		scoped(record_freep) struct record *again = NULL;
		scoped(freep) unsigned char *bytes = NULL;
		scoped(fd_closep) int fd = -1;
		size_t nr_bytes, nr_damaged;

		bytes = image_read(record_fd(record), &nr_bytes);
		bytes[64 * at + 20] ^= 1;
		fd = image_file(bytes, nr_bytes);
		again = image_open(fd, &nr_damaged);
		expect_others(again);
		ck_assert_uint_eq(record_nr(again), NR_OTHERS + 1);
		ck_assert_uint_eq(nr_damaged, 0);
	}
}
END_TEST

static unsigned next(unsigned *seed)
{
	*seed = *seed * 1103515245U + 12345U;
	return *seed / 65536U % 32768U;
}

/*
 * Whatever comes up is something that was written for that id: a checksum of 32 bits lets one
 * damage in 4 billion pass, and a few flips none at all.
 */
START_TEST(test_random_flips_never_make_an_entry_that_was_not_written)
{
	scoped(record_freep) struct record *record = make(2);
	scoped(freep) unsigned char *bytes = NULL;
	unsigned seed = 4711, nr_opened = 0, nr_left_out = 0;
	size_t nr_bytes;

	bytes = image_read(record_fd(record), &nr_bytes);
	nr_bytes = 4096 + 2 * PLACE_BYTES * 256;
	for (unsigned round = 0; round < 4000; round++) {
		scoped(freep) unsigned char *flipped = malloc(nr_bytes);
		scoped(fd_closep) int fd = -1;
		struct record *again = NULL;
		size_t nr_damaged = 0;
		uint32_t version;
		int r;

		memcpy(flipped, bytes, nr_bytes);
		for (unsigned n = 1 + next(&seed) % 6; n > 0; n--) {
			/* In the entries that are there, and now and then in the headers. */
			size_t at = next(&seed) % 8 ? 4096 + next(&seed) % (2 * PLACE_BYTES * 5)
			                            : next(&seed) % 128;

			flipped[at] ^= (unsigned char) (1U << next(&seed) % 8);
		}
		fd = image_file(flipped, nr_bytes);
		r = record_open(fd, &again, &nr_damaged, &version);
		ck_assert_msg(r == 0 || r == -EBADMSG || r == -EPROTONOSUPPORT, "%d", r);
		if (r < 0)
			continue;
		(void) take_fd(fd);
		nr_opened++;
		for (size_t i = 0; i < record_nr(again); i++) {
			const struct record_entry *entry = record_at(again, i);
			struct record_entry expected = image_entry(
				entry->id, entry->id == 50 ? RECORD_READY : RECORD_LEASED);

			ck_assert(entry->id == 50 || entry->id <= NR_OTHERS);
			image_expect_same(entry, &expected);
		}
		ck_assert_uint_ge(record_nr(again) + nr_damaged, NR_OTHERS + 1);
		nr_left_out += record_nr(again) < NR_OTHERS + 1;
		(void) record_free(again);
	}
	ck_assert_uint_gt(nr_opened, 3000);
	ck_assert_uint_gt(nr_left_out, 100);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("record-damage");
	TCase *tcase = tcase_create("damage");

	tcase_set_timeout(tcase, 120);
	tcase_add_test(tcase, test_a_first_put_that_is_stopped_is_there_or_not);
	tcase_add_test(
		tcase,
		test_a_change_that_is_stopped_leaves_the_old_or_the_new_value_in_either_place);
	tcase_add_test(tcase, test_a_removal_that_is_stopped_leaves_the_entry_or_nothing);
	tcase_add_test(tcase, test_growing_may_be_stopped_at_any_byte);
	tcase_add_test(tcase, test_an_entry_that_is_damaged_in_both_places_is_left_out_and_counted);
	tcase_add_test(tcase, test_an_id_that_is_there_twice_is_counted_and_comes_up_once);
	tcase_add_test(tcase, test_a_place_that_makes_no_sense_is_damaged);
	tcase_add_test(tcase, test_either_header_alone_is_enough);
	tcase_add_test(tcase, test_random_flips_never_make_an_entry_that_was_not_written);
	suite_add_tcase(suite, tcase);
	return suite_main(suite);
}
