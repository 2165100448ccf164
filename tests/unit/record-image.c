/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <check.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "../../daemon/base/checksum.h"
#include "record-image.h"

static uint64_t bytes_left_to_write = UINT64_MAX;
static int write_error, room_error;

ssize_t __real_pwrite64(int fd, const void *bytes, size_t nr_bytes, off_t offset);
ssize_t __wrap_pwrite64(int fd, const void *bytes, size_t nr_bytes, off_t offset);
int __real_fallocate64(int fd, int mode, off_t offset, off_t nr_bytes);
int __wrap_fallocate64(int fd, int mode, off_t offset, off_t nr_bytes);

ssize_t __wrap_pwrite64(int fd, const void *bytes, size_t nr_bytes, off_t offset)
{
	size_t nr_written = nr_bytes;

	if (write_error) {
		errno = write_error;
		return -1;
	}
	if (nr_written > bytes_left_to_write)
		nr_written = bytes_left_to_write;
	if (bytes_left_to_write != UINT64_MAX)
		bytes_left_to_write -= nr_written;
	if (nr_written > 0 &&
	    __real_pwrite64(fd, bytes, nr_written, offset) != (ssize_t) nr_written)
		return -1;
	return (ssize_t) nr_bytes;
}

int __wrap_fallocate64(int fd, int mode, off_t offset, off_t nr_bytes)
{
	if (room_error) {
		errno = room_error;
		return -1;
	}
	return bytes_left_to_write == 0 ? 0 : __real_fallocate64(fd, mode, offset, nr_bytes);
}

void image_stop_after(uint64_t bytes)
{
	bytes_left_to_write = bytes;
}

void image_fail_writes(int error)
{
	write_error = error;
}

void image_fail_room(int error)
{
	room_error = error;
}

unsigned char *image_read(int fd, size_t *ret_bytes)
{
	unsigned char *bytes;
	struct stat st;

	ck_assert_int_eq(fstat(fd, &st), 0);
	bytes = malloc((size_t) st.st_size + 1);
	ck_assert_ptr_nonnull(bytes);
	ck_assert_int_eq(pread(fd, bytes, (size_t) st.st_size, 0), st.st_size);
	*ret_bytes = (size_t) st.st_size;
	return bytes;
}

int image_file(const unsigned char *bytes, size_t nr_bytes)
{
	int fd = memfd_create("image", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(__real_pwrite64(fd, bytes, nr_bytes, 0), (ssize_t) nr_bytes);
	return fd;
}

/* Little endian by arithmetic, whatever the machine is. */
static void put(unsigned char *at, uint64_t value, unsigned nr_bytes)
{
	for (unsigned i = 0; i < nr_bytes; i++)
		at[i] = (unsigned char) (value >> 8 * i);
}

#define SLOTS_OFFSET 4096

unsigned char *image_new(uint32_t version, uint32_t place_bytes, uint64_t nr_slots,
                         size_t *ret_bytes)
{
	size_t nr_bytes = SLOTS_OFFSET + 2 * place_bytes * nr_slots;
	unsigned char *bytes = calloc(1, nr_bytes), *header;

	ck_assert_ptr_nonnull(bytes);
	/* In the second place, and the first is blank: this is all there is. */
	header = bytes + 64;
	memcpy(header, "nodeinit", 8);
	put(header + 8, version, 4);
	put(header + 12, place_bytes, 4);
	put(header + 16, 3, 8);
	put(header + 24, SLOTS_OFFSET, 8);
	put(header + 32, nr_slots, 8);
	put(header + 60, checksum_crc32c(header, 60), 4);
	*ret_bytes = nr_bytes;
	return bytes;
}

void image_put(unsigned char *bytes, uint32_t place_bytes, size_t slot, uint64_t sequence,
               uint64_t last_id, const struct record_entry *entry)
{
	unsigned char *at = bytes + SLOTS_OFFSET + (2 * slot + sequence % 2) * place_bytes;

	memset(at, 0, place_bytes);
	put(at + 8, sequence, 8);
	put(at + 16, last_id, 8);
	if (entry) {
		put(at + 4, entry->state, 4);
		put(at + 24, entry->id, 8);
		put(at + 32, entry->page_bytes, 8);
		put(at + 40, entry->bytes, 8);
		put(at + 48, entry->since_realtime_usec, 8);
		put(at + 56, entry->since_monotonic_usec, 8);
		put(at + 64, entry->node_id, 4);
		put(at + 68, entry->page, 4);
		put(at + 72, entry->is_locked, 4);
		put(at + 76, entry->uid, 4);
		put(at + 80, entry->pid, 4);
		memcpy(at + 88, entry->pool, sizeof(entry->pool));
		if (place_bytes >= 280)
			memcpy(at + 152, entry->unit, sizeof(entry->unit));
	}
	put(at, checksum_crc32c(at + 4, place_bytes - 4), 4);
}

struct record_entry image_entry(uint64_t id, enum record_state state)
{
	struct record_entry entry = {
		.id = id,
		.state = state,
		.node_id = 3,
		.page = 2,
		.page_bytes = UINT64_C(1) << 30,
		.bytes = UINT64_C(5) << 34,
		.is_locked = true,
		.uid = 1000 + (uint32_t) id,
		.pid = UINT32_C(0x87654321),
		.since_realtime_usec = UINT64_C(0x0102030405060708),
		.since_monotonic_usec = UINT64_C(0x1112131415161718),
	};

	(void) snprintf(entry.pool, sizeof(entry.pool), "pool-%llu", (unsigned long long) id);
	(void) snprintf(entry.unit, sizeof(entry.unit), "unit-%llu.service",
	                (unsigned long long) id);
	return entry;
}

void image_expect_same(const struct record_entry *entry, const struct record_entry *expected)
{
	ck_assert_ptr_nonnull(entry);
	ck_assert_uint_eq(entry->id, expected->id);
	ck_assert_uint_eq(entry->state, expected->state);
	ck_assert_uint_eq(entry->node_id, expected->node_id);
	ck_assert_uint_eq(entry->page, expected->page);
	ck_assert_uint_eq(entry->page_bytes, expected->page_bytes);
	ck_assert_uint_eq(entry->bytes, expected->bytes);
	ck_assert_uint_eq(entry->is_locked, expected->is_locked);
	ck_assert_uint_eq(entry->uid, expected->uid);
	ck_assert_uint_eq(entry->pid, expected->pid);
	ck_assert_uint_eq(entry->since_realtime_usec, expected->since_realtime_usec);
	ck_assert_uint_eq(entry->since_monotonic_usec, expected->since_monotonic_usec);
	ck_assert_str_eq(entry->pool, expected->pool);
	ck_assert_str_eq(entry->unit, expected->unit);
}

struct record *image_open(int fd, size_t *ret_nr_damaged)
{
	struct record *record;
	uint32_t version;
	int r, ours = fcntl(fd, F_DUPFD_CLOEXEC, 0);

	ck_assert_int_ge(ours, 0);
	r = record_open(ours, &record, ret_nr_damaged, &version);
	ck_assert_msg(r == 0, "the record does not open: %s", strerror(-r));
	return record;
}
