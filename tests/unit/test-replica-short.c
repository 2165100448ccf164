/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Copies that do not come to their end: no room, reads and writes that go wrong, a cancel. */
#include <errno.h>
#include <string.h>

#include "replica-world.h"
#include "suite.h"

/* With two files of a page each: five chunks. */
#define B_BYTES   (296 * KIB - 50)
#define ALL_BYTES (304 * KIB)

static struct replica_world world;

static void set_up(void)
{
	replica_world_open(&world);
}

static void tear_down(void)
{
	replica_world_close(&world);
}

/* What becomes of the next calls; tests say which of their own writes are meant to pass. */
static struct {
	_Atomic unsigned nr_bad_writes; /* write something else */
	_Atomic unsigned nr_failed_writes;
	_Atomic unsigned nr_failed_reads; /* of originals, with EIO */
	ino_t original;
} faults;

ssize_t __real_pwrite64(int fd, const void *buffer, size_t bytes, off_t offset_bytes);
ssize_t __wrap_pwrite64(int fd, const void *buffer, size_t bytes, off_t offset_bytes);
ssize_t __real_pread64(int fd, void *buffer, size_t bytes, off_t offset_bytes);
ssize_t __wrap_pread64(int fd, void *buffer, size_t bytes, off_t offset_bytes);

ssize_t __wrap_pwrite64(int fd, const void *buffer, size_t bytes, off_t offset_bytes)
{
	scoped(freep) char *bad = NULL;

	if (faults.nr_failed_writes > 0) {
		faults.nr_failed_writes--;
		errno = ENOSPC;
		return -1;
	}
	if (faults.nr_bad_writes == 0)
		return __real_pwrite64(fd, buffer, bytes, offset_bytes);
	faults.nr_bad_writes--;
	bad = malloc(bytes);
	memcpy(bad, buffer, bytes);
	bad[bytes - 1] ^= 1;
	return __real_pwrite64(fd, bad, bytes, offset_bytes);
}

/* Short reads, too: all but the first byte come with another call. */
ssize_t __wrap_pread64(int fd, void *buffer, size_t bytes, off_t offset_bytes)
{
	struct stat status;

	if (faults.nr_failed_reads > 0 && fstat(fd, &status) == 0 &&
	    status.st_ino == faults.original) {
		faults.nr_failed_reads--;
		errno = EIO;
		return -1;
	}
	return __real_pread64(fd, buffer, offset_bytes == 0 ? 1 : bytes, offset_bytes);
}

static struct share *make(void)
{
	replica_add(&world, "a", 1, 1);
	replica_add(&world, "b", B_BYTES, 2);
	replica_add(&world, "c", 1, 3);
	return replica_make(&world, 0);
}

START_TEST(test_a_copy_that_is_not_equal_is_made_again)
{
	struct share *share = make();

	faults.nr_bad_writes = 1; /* the first write is that of "a" */
	ck_assert_int_eq(replica_round(&share->parts[STAGE_DEFERRED], 1), 1);
	ck_assert(replica_is_absent(&world, "a"));
	ck_assert_uint_eq(replica_status(share).done_bytes, ALL_BYTES - REPLICA_PAGE);
	ck_assert_int_eq(replica_round(&share->parts[STAGE_DEFERRED], 1), 0);
	ck_assert(replica_is_copied(&world, "a"));
	ck_assert_uint_eq(replica_status(share).done_bytes, ALL_BYTES);
	replica_free(share);
}
END_TEST

START_TEST(test_a_write_without_memory_ends_the_round_and_is_tried_later)
{
	struct share *share = make();
	unsigned nr_before = replica_nr_descriptors();

	faults.nr_failed_writes = 1;
	ck_assert_int_eq(replica_round(&share->parts[STAGE_DEFERRED], 1), -EAGAIN);
	ck_assert_uint_eq(replica_status(share).done_bytes, 0);
	ck_assert_uint_eq(replica_nr_descriptors(), nr_before);
	ck_assert_int_eq(replica_round(&share->parts[STAGE_DEFERRED], 1), 0);
	ck_assert_uint_eq(replica_status(share).done_bytes, ALL_BYTES);
	ck_assert_uint_eq(replica_status(share).nr_attempts, 1);
	ck_assert(replica_is_copied(&world, "b"));
	replica_free(share);
}
END_TEST

START_TEST(test_an_original_with_a_bad_block_is_unreadable_and_a_link)
{
	struct share *share = make();
	struct stat status;

	ck_assert_int_eq(lstat(replica_original(&world, "b"), &status), 0);
	faults.original = status.st_ino;
	faults.nr_failed_reads = 1;
	ck_assert_uint_eq(replica_drive(&share->parts[STAGE_DEFERRED]), 1);
	ck_assert_int_eq(replica_status(share).reason, REASON_UNREADABLE);
	ck_assert_int_eq(replica_status(share).error, 0);
	ck_assert_uint_eq(replica_status(share).done_bytes, 2 * REPLICA_PAGE);
	ck_assert_str_eq(replica_link(&world, "b"), replica_original(&world, "b"));
	replica_free(share);
}
END_TEST

#define RESERVE_BYTES (512 * MIB)

static void node_fills(unsigned nr, void *arg)
{
	(void) arg;
	if (nr == 3)
		kernel_model_set_free_bytes(world.model, 1, RESERVE_BYTES + 64 * KIB - 1);
}

START_TEST(test_a_node_that_is_full_up_to_the_reserve_gets_links)
{
	struct share *share;
	struct share_status status;
	unsigned nr_before;

	world.reserve_bytes = RESERVE_BYTES;
	share = make();
	nr_before = replica_nr_descriptors();
	world.door.on_chunk = node_fills;
	/* One chunk fits; it does not any more. */
	kernel_model_set_free_bytes(world.model, 1, RESERVE_BYTES + 64 * KIB);
	ck_assert_uint_eq(replica_drive(&share->parts[STAGE_DEFERRED]), 3);
	status = replica_status(share);
	ck_assert_int_eq(status.reason, REASON_EXCEEDS_RESERVE);
	ck_assert_uint_eq(status.nr_missing, 2);
	ck_assert_str_eq(status.missing, replica_original(&world, "b"));
	ck_assert_uint_eq(status.done_bytes, REPLICA_PAGE);
	ck_assert_str_eq(replica_link(&world, "b"), replica_original(&world, "b"));
	ck_assert_str_eq(replica_link(&world, "c"), replica_original(&world, "c"));
	ck_assert(replica_is_copied(&world, "a"));
	ck_assert_uint_eq(replica_nr_descriptors(), nr_before);
	/* Retry, with memory; in parallel, as all of it fits. */
	kernel_model_set_free_bytes(world.model, 1, RESERVE_BYTES + 4 * 64 * KIB);
	ck_assert_int_eq(replica_round(&share->parts[STAGE_DEFERRED], 4), 0);
	ck_assert(replica_is_copied(&world, "b"));
	ck_assert(replica_is_copied(&world, "c"));
	ck_assert_uint_eq(replica_status(share).nr_missing, 0);
	ck_assert_uint_eq(replica_status(share).done_bytes, ALL_BYTES);
	replica_free(share);
}
END_TEST

START_TEST(test_what_was_cancelled_is_interrupted_and_goes_on_later)
{
	struct share *share = make();
	struct part *part = &share->parts[STAGE_DEFERRED];
	unsigned nr_before = replica_nr_descriptors();

	ck_assert_int_eq(share->ops->prepare(part), 0);
	ck_assert_uint_eq(part->nr_chunks, 5);
	ck_assert_int_eq(share->ops->run_chunk(part, 0), 0);
	ck_assert_int_eq(share->ops->run_chunk(part, 1), 0);
	ck_assert_uint_eq(replica_nr_descriptors(), nr_before + 2);
	ck_assert_uint_eq(replica_status(share).done_bytes, 128 * KIB);
	ck_assert_int_eq(share->ops->finish(part, true), 0);
	ck_assert_uint_eq(replica_nr_descriptors(), nr_before);
	ck_assert_int_eq(replica_status(share).reason, REASON_INTERRUPTED);
	ck_assert_uint_eq(replica_status(share).nr_missing, 2);
	ck_assert_uint_eq(replica_status(share).done_bytes, REPLICA_PAGE);
	ck_assert(replica_is_absent(&world, "b"));
	ck_assert_int_eq(replica_round(part, 1), 0);
	ck_assert(replica_is_copied(&world, "b"));
	ck_assert_uint_eq(replica_status(share).nr_missing, 0);
	replica_free(share);
}
END_TEST

START_TEST(test_an_early_part_without_room_leaves_the_deferred_one_its_files)
{
	struct share *share;

	world.reserve_bytes = RESERVE_BYTES;
	replica_add(&world, "a", 5000, 1)->is_linked = true;
	replica_add(&world, "b", 64 * KIB, 2);
	replica_add(&world, "c", 64 * KIB, 3);
	share = replica_make(&world, 64 * KIB);
	kernel_model_set_free_bytes(world.model, 1, RESERVE_BYTES);
	ck_assert_uint_eq(replica_drive(&share->parts[STAGE_EARLY]), 3);
	/* Not what the plan has refused, but what went wrong is told first. */
	ck_assert_str_eq(replica_status(share).missing, replica_original(&world, "b"));
	ck_assert_uint_eq(replica_status(share).nr_missing, 2);
	kernel_model_set_free_bytes(world.model, 1, RESERVE_BYTES + MIB);
	ck_assert_uint_eq(replica_drive(&share->parts[STAGE_DEFERRED]), 1);
	ck_assert(replica_is_copied(&world, "c"));
	ck_assert_str_eq(replica_link(&world, "b"), replica_original(&world, "b"));
	ck_assert_uint_eq(replica_status(share).done_bytes, 64 * KIB);
	replica_free(share);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("replica-short");
	TCase *tcase = tcase_create("replica-short");

	tcase_set_timeout(tcase, 60);
	tcase_add_checked_fixture(tcase, set_up, tear_down);
	tcase_add_test(tcase, test_a_copy_that_is_not_equal_is_made_again);
	tcase_add_test(tcase, test_a_write_without_memory_ends_the_round_and_is_tried_later);
	tcase_add_test(tcase, test_an_original_with_a_bad_block_is_unreadable_and_a_link);
	tcase_add_test(tcase, test_a_node_that_is_full_up_to_the_reserve_gets_links);
	tcase_add_test(tcase, test_what_was_cancelled_is_interrupted_and_goes_on_later);
	tcase_add_test(tcase, test_an_early_part_without_room_leaves_the_deferred_one_its_files);
	suite_add_tcase(suite, tcase);
	return suite_main(suite);
}
