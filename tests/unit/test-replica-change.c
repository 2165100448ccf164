/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Originals that change while they are copied. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "replica-world.h"
#include "suite.h"

/* With two files of a page each: five chunks, and by itself as well. */
#define B_BYTES   (296 * KIB - 50)
#define ALL_BYTES (304 * KIB)

/* The first round, three at once, two after a back-off. */
#define NR_ROUNDS_MAX 6

static struct replica_world world;

static void set_up(void)
{
	replica_world_open(&world);
}

static void tear_down(void)
{
	replica_world_close(&world);
}

/* What happens to "b" before each third chunk, which is in the middle of it. */
struct event {
	void (*happens)(unsigned seed);
	unsigned nr_times;
	unsigned nr_happened;
};

static void on_chunk(unsigned nr, void *arg)
{
	struct event *event = arg;

	if (nr % 5 != 3 || event->nr_happened == event->nr_times)
		return;
	event->happens(++event->nr_happened);
}

static void is_replaced(unsigned seed)
{
	char new_path[PATH_MAX];

	(void) snprintf(new_path, sizeof(new_path), "%s", replica_original(&world, "new"));
	replica_write(&world, "new", B_BYTES, 50 + seed);
	ck_assert_int_eq(rename(new_path, replica_original(&world, "b")), 0);
}

static void write_at(uint64_t offset_bytes, const char *text)
{
	scoped(fd_closep) int fd = open(replica_original(&world, "b"), O_WRONLY | O_CLOEXEC);

	ck_assert_int_eq(pwrite(fd, text, strlen(text), (off_t) offset_bytes),
	                 (ssize_t) strlen(text));
}

static void is_written_where_it_was_copied(unsigned seed)
{
	char text[16];

	(void) snprintf(text, sizeof(text), "new%u", seed);
	write_at(10, text);
}

static void is_written_where_it_is_to_be_copied(unsigned seed)
{
	char text[16];

	(void) snprintf(text, sizeof(text), "new%u", seed);
	write_at(B_BYTES - 10, text);
}

static void has_another_mode(unsigned seed)
{
	ck_assert_int_eq(chmod(replica_original(&world, "b"), seed % 2 ? 0755 : 0644), 0);
}

static void is_shrunk(unsigned seed)
{
	ck_assert_int_eq(truncate(replica_original(&world, "b"), 1000 + seed), 0);
}

static void is_grown(unsigned seed)
{
	write_at(B_BYTES + KIB * seed, "more");
}

static void is_grown_within_its_page(unsigned seed)
{
	(void) seed;
	write_at(B_BYTES, "more");
}

static void is_removed(unsigned seed)
{
	(void) seed;
	(void) unlink(replica_original(&world, "b"));
}

static void becomes_a_fifo(unsigned seed)
{
	is_removed(seed);
	ck_assert_int_eq(mkfifo(replica_original(&world, "b"), 0644), 0);
}

static void becomes_a_link(unsigned seed)
{
	is_removed(seed);
	ck_assert_int_eq(symlink("a", replica_original(&world, "b")), 0);
}

static void becomes_privileged(unsigned seed)
{
	(void) seed;
	ck_assert_int_eq(chmod(replica_original(&world, "b"), 04755), 0);
}

static void closes_to_others(void)
{
	ck_assert_int_eq(chmod(replica_original(&world, "d"), 0750), 0);
}

static void closes_to_its_group(void)
{
	ck_assert_int_eq(chmod(replica_original(&world, "d/e"), 0705), 0);
}

static struct share *make(struct event *event)
{
	replica_add(&world, "a", 1, 1);
	/* The first chunk of "b" is that of "a" as well; the door counts from 1. */
	replica_add(&world, "b", B_BYTES, 2);
	replica_add(&world, "c", 1, 3);
	if (event) {
		world.door.on_chunk = on_chunk;
		world.door.arg = event;
	}
	return replica_make(&world, 0);
}

static void (*const passing_events[])(unsigned) = {
	is_replaced,      is_written_where_it_was_copied, is_written_where_it_is_to_be_copied,
	has_another_mode, is_grown_within_its_page,
};

START_TEST(test_an_original_that_changed_is_copied_again_at_once)
{
	struct event event = { .happens = passing_events[_i], .nr_times = 2 };
	struct share *share = make(&event);
	unsigned nr_before = replica_nr_descriptors();
	struct stat original, copy;

	ck_assert_uint_eq(replica_drive(&share->parts[STAGE_DEFERRED]), 3);
	ck_assert_uint_eq(event.nr_happened, 2);
	ck_assert(replica_is_copied(&world, "a"));
	ck_assert(replica_is_copied(&world, "b"));
	ck_assert(replica_is_copied(&world, "c"));
	ck_assert_uint_eq(replica_status(share).done_bytes, ALL_BYTES);
	ck_assert_uint_eq(replica_status(share).nr_missing, 0);
	ck_assert_uint_eq(replica_status(share).nr_attempts, 0);
	ck_assert_int_eq(lstat(replica_original(&world, "b"), &original), 0);
	ck_assert_int_eq(lstat(replica_copy(&world, "b"), &copy), 0);
	ck_assert_uint_eq(copy.st_mode & 0777, original.st_mode & 0555);
	ck_assert_uint_eq(replica_nr_descriptors(), nr_before);
	/* What it has is the new one: that it is another one than planned is no reason to replace.
	 */
	replica_forget_names(&world);
	replica_name(&world, "a");
	replica_name(&world, "b");
	replica_name(&world, "c");
	ck_assert(share->ops->share_is_same(share, replica_plan(&world, 0)));
	replica_free(share);
}
END_TEST

static const struct {
	void (*happens)(unsigned seed);
	unsigned nr_times;
} lasting_events[] = {
	{ is_written_where_it_was_copied, UINT_MAX },
	{ is_replaced, UINT_MAX },
	{ is_shrunk, 1 },
	{ is_grown, 1 },
	{ becomes_a_fifo, 1 },
	{ becomes_a_link, 1 },
	{ becomes_privileged, 1 },
};

START_TEST(test_an_original_that_does_not_stand_still_is_a_link_after_a_while)
{
	struct event event = { lasting_events[_i].happens, lasting_events[_i].nr_times, 0 };
	struct share *share = make(&event);
	unsigned nr_before = replica_nr_descriptors();
	struct share_status status;

	ck_assert_uint_eq(replica_drive(&share->parts[STAGE_DEFERRED]), NR_ROUNDS_MAX);
	status = replica_status(share);
	ck_assert_int_eq(status.reason, REASON_CHANGING);
	ck_assert_uint_eq(status.nr_missing, 1);
	ck_assert_str_eq(status.missing, replica_original(&world, "b"));
	ck_assert_uint_eq(status.nr_attempts, 2);
	ck_assert_uint_eq(status.done_bytes, 2 * REPLICA_PAGE);
	ck_assert_str_eq(replica_link(&world, "b"), replica_original(&world, "b"));
	ck_assert(replica_is_copied(&world, "a"));
	ck_assert(replica_is_copied(&world, "c"));
	ck_assert_uint_eq(replica_nr_descriptors(), nr_before);
	replica_free(share);
}
END_TEST

START_TEST(test_an_original_behind_a_link_that_was_not_there_is_not_reached)
{
	struct share *share;

	replica_add(&world, "d/b", 5000, 2);
	ck_assert_int_eq(
		rename(replica_original(&world, "d"), replica_original(&world, "elsewhere")), 0);
	ck_assert_int_eq(symlink("elsewhere", replica_original(&world, "d")), 0);
	share = replica_make(&world, 0);
	ck_assert_uint_eq(replica_drive(&share->parts[STAGE_DEFERRED]), NR_ROUNDS_MAX);
	ck_assert_int_eq(replica_status(share).reason, REASON_CHANGING);
	ck_assert_str_eq(replica_link(&world, "d/b"), replica_original(&world, "d/b"));
	replica_free(share);
}
END_TEST

static void (*const closings[])(void) = { closes_to_others, closes_to_its_group };

START_TEST(test_an_original_whose_directory_was_closed_is_not_shown_by_a_copy)
{
	struct share *share;

	replica_add(&world, "d/e/b", 5000, 2);
	share = replica_make(&world, 0);
	closings[_i]();
	ck_assert_uint_eq(replica_drive(&share->parts[STAGE_DEFERRED]), 1);
	ck_assert_int_eq(replica_status(share).reason, REASON_NOT_PERMITTED);
	ck_assert_str_eq(replica_link(&world, "d/e/b"), replica_original(&world, "d/e/b"));
	ck_assert_uint_eq(replica_status(share).done_bytes, 0);
	replica_free(share);
}
END_TEST

START_TEST(test_an_original_that_is_longer_than_it_says_is_a_link)
{
	char target[64] = "", path[160];
	struct original *original;
	struct share *share;
	struct stat status;

	replica_add(&world, "c", 5000, 2);
	replica_add(&world, "b", 0, 1);
	original = &world.files[1];
	free(original->path);
	original->path = strdup("/proc/version");
	ck_assert_int_eq(lstat(original->path, &status), 0);
	original_identity_read(&status, &original->identity);
	share = replica_make(&world, 0);
	(void) replica_drive(&share->parts[STAGE_DEFERRED]);
	ck_assert_int_eq(replica_status(share).reason, REASON_CHANGING);
	(void) snprintf(path, sizeof(path), "%s/node%u/proc/version", world.copies, world.node_id);
	ck_assert_int_gt(readlink(path, target, sizeof(target) - 1), 0);
	ck_assert_str_eq(target, "/proc/version");
	ck_assert(replica_is_copied(&world, "c"));
	replica_free(share);
}
END_TEST

START_TEST(test_an_original_that_was_removed_has_no_copy_until_it_comes_back)
{
	struct event event = { .happens = is_removed, .nr_times = 1 };
	struct share *share = make(&event);

	ck_assert_uint_eq(replica_drive(&share->parts[STAGE_DEFERRED]), 1);
	ck_assert_int_eq(replica_status(share).reason, REASON_GONE);
	ck_assert_uint_eq(replica_status(share).done_bytes, 2 * REPLICA_PAGE);
	ck_assert(replica_is_absent(&world, "b"));
	ck_assert(replica_is_copied(&world, "c"));
	replica_write(&world, "b", B_BYTES, 9);
	/* Retry. */
	ck_assert_uint_eq(replica_drive(&share->parts[STAGE_DEFERRED]), 1);
	ck_assert(replica_is_copied(&world, "b"));
	ck_assert_int_eq(replica_status(share).reason, REASON_NONE);
	ck_assert_uint_eq(replica_status(share).done_bytes, ALL_BYTES);
	replica_free(share);
}
END_TEST

START_TEST(test_what_the_early_part_has_of_a_file_that_changed_is_copied_once_more)
{
	struct share *share;
	struct part *early, *deferred;

	replica_add(&world, "b", B_BYTES, 2);
	share = replica_make(&world, 100 * KIB);
	early = &share->parts[STAGE_EARLY];
	deferred = &share->parts[STAGE_DEFERRED];
	ck_assert_int_eq(replica_round(early, 1), 0);
	ck_assert_uint_eq(replica_status(share).early_done_bytes, 100 * KIB);
	write_at(5, "changed");
	ck_assert_int_eq(replica_round(deferred, 1), 1);
	ck_assert_uint_eq(replica_status(share).done_bytes, 0);
	ck_assert_int_eq(replica_status(share).reason, REASON_NONE);
	ck_assert_int_eq(replica_round(deferred, 1), 0);
	ck_assert_uint_eq(replica_status(share).early_done_bytes, 100 * KIB);
	ck_assert_uint_eq(replica_status(share).done_bytes, 296 * KIB);
	ck_assert(replica_is_copied(&world, "b"));
	replica_free(share);
}
END_TEST

START_TEST(test_a_crew_survives_an_original_that_changes_all_the_time)
{
	struct event event = { .happens = is_written_where_it_was_copied, .nr_times = 3 };
	struct share *share = make(&event);
	int r;

	while ((r = replica_round(&share->parts[STAGE_DEFERRED], 4)) != 0)
		ck_assert_uint_le(replica_status(share).done_bytes, ALL_BYTES);
	ck_assert(replica_is_copied(&world, "b"));
	ck_assert_uint_eq(replica_status(share).done_bytes, ALL_BYTES);
	replica_free(share);
}
END_TEST

START_TEST(test_lists_are_the_same_when_files_identities_and_links_are)
{
	struct share *share = make(NULL);

	ck_assert(share->ops->share_is_same(share, replica_plan(&world, 0)));
	world.copies_planned[1].is_linked = true;
	ck_assert(!share->ops->share_is_same(share, replica_plan(&world, 0)));
	world.copies_planned[1].is_linked = false;
	world.files[2].identity.changed.tv_nsec++;
	ck_assert(!share->ops->share_is_same(share, replica_plan(&world, 0)));
	world.files[2].identity.changed.tv_nsec--;
	world.nr_files--;
	ck_assert(!share->ops->share_is_same(share, replica_plan(&world, 0)));
	world.nr_files++;
	world.files[0].link_target = strdup("c");
	ck_assert(!share->ops->share_is_same(share, replica_plan(&world, 0)));
	free(take(world.files[0].link_target));
	ck_assert(share->ops->share_is_same(share, replica_plan(&world, 0)));
	world.files[0].path[strlen(world.files[0].path) - 1] = 'A';
	ck_assert(!share->ops->share_is_same(share, replica_plan(&world, 0)));
	/* Plain directories are on no node: nothing to look at once more. */
	replica_run(share);
	ck_assert_int_eq(share->ops->share_recheck(share), 0);
	replica_free(share);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("replica-change");
	TCase *tcase = tcase_create("replica-change");

	tcase_set_timeout(tcase, 60);
	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_loop_test(tcase, test_an_original_that_changed_is_copied_again_at_once, 0,
	                    (int) ELEMENTS(passing_events));
	tcase_add_loop_test(tcase,
	                    test_an_original_that_does_not_stand_still_is_a_link_after_a_while, 0,
	                    (int) ELEMENTS(lasting_events));
	tcase_add_test(tcase, test_an_original_behind_a_link_that_was_not_there_is_not_reached);
	tcase_add_loop_test(tcase,
	                    test_an_original_whose_directory_was_closed_is_not_shown_by_a_copy, 0,
	                    (int) ELEMENTS(closings));
	tcase_add_test(tcase, test_an_original_that_is_longer_than_it_says_is_a_link);
	tcase_add_test(tcase, test_an_original_that_was_removed_has_no_copy_until_it_comes_back);
	tcase_add_test(tcase,
	               test_what_the_early_part_has_of_a_file_that_changed_is_copied_once_more);
	tcase_add_test(tcase, test_a_crew_survives_an_original_that_changes_all_the_time);
	tcase_add_test(tcase, test_lists_are_the_same_when_files_identities_and_links_are);
	suite_add_tcase(suite, tcase);
	return suite_main(suite);
}
