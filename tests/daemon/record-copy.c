/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <check.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "record-copy.h"

unsigned char *record_bytes(struct daemon_fixture *fixture, size_t *ret_nr)
{
	scoped(fd_closep) int fd = daemon_store_get(fixture, "state");
	unsigned char *bytes;
	struct stat st;

	ck_assert_int_eq(fstat(fd, &st), 0);
	bytes = malloc((size_t) st.st_size);
	ck_assert_ptr_nonnull(bytes);
	ck_assert_int_eq(pread(fd, bytes, (size_t) st.st_size, 0), st.st_size);
	*ret_nr = (size_t) st.st_size;
	return bytes;
}

void record_overwrite(struct daemon_fixture *fixture, const unsigned char *bytes, size_t nr)
{
	scoped(fd_closep) int fd = daemon_store_get(fixture, "state");

	ck_assert_int_eq(pwrite(fd, bytes, nr, 0), (ssize_t) nr);
}

struct record *record_copy(struct daemon_fixture *fixture)
{
	scoped(freep) unsigned char *bytes = NULL;
	struct record *record = NULL;
	size_t nr, nr_damaged;
	uint32_t version;
	int fd;

	if (daemon_store_nr(fixture, "state") == 0)
		return NULL;
	bytes = record_bytes(fixture, &nr);
	fd = memfd_create("record", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, bytes, nr), (ssize_t) nr);
	ck_assert_int_eq(record_open(fd, &record, &nr_damaged, &version), 0);
	ck_assert_uint_eq(nr_damaged, 0);
	return record;
}
