/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The service manager's store of descriptors, as tests look at it and spoil it. */
#include <check.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "../../daemon/base/clock.h"
#include "daemon-fixture.h"

static struct fd_store *lock_store(struct daemon_fixture *fixture)
{
	notify_socket_lock(&fixture->notify);
	return &fixture->notify.store;
}

static void unlock_store(struct daemon_fixture *fixture)
{
	notify_socket_unlock(&fixture->notify);
}

static size_t count(const struct fd_store *store, const char *pattern)
{
	size_t nr = 0;

	for (size_t i = 0; i < store->nr; i++)
		nr += fnmatch(pattern, store->entries[i].name, 0) == 0;
	return nr;
}

size_t daemon_store_nr(struct daemon_fixture *fixture, const char *pattern)
{
	size_t nr = count(lock_store(fixture), pattern);

	unlock_store(fixture);
	return nr;
}

size_t daemon_store_nr_dropped(struct daemon_fixture *fixture)
{
	size_t nr = lock_store(fixture)->nr_dropped;

	unlock_store(fixture);
	return nr;
}

char *daemon_store_names(struct daemon_fixture *fixture)
{
	struct fd_store *store = lock_store(fixture);
	char *text = NULL;
	size_t bytes;
	FILE *file = open_memstream(&text, &bytes);

	ck_assert_ptr_nonnull(file);
	for (size_t i = store->nr; i-- > 0;)
		(void) fprintf(file, "%s\n", store->entries[i].name);
	ck_assert_int_eq(fclose(file), 0);
	unlock_store(fixture);
	return text;
}

int daemon_store_get(struct daemon_fixture *fixture, const char *name)
{
	struct fd_store *store = lock_store(fixture);
	int fd = -1;

	for (size_t i = store->nr; i-- > 0 && fd < 0;)
		if (strcmp(store->entries[i].name, name) == 0)
			fd = fcntl(store->entries[i].fd, F_DUPFD_CLOEXEC, 0);
	unlock_store(fixture);
	return fd;
}

void daemon_store_put(struct daemon_fixture *fixture, const char *name, int fd)
{
	int kept_fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);

	ck_assert_int_ge(kept_fd, 0);
	fd_store_add(lock_store(fixture), name, kept_fd, false);
	unlock_store(fixture);
}

void daemon_store_wait(struct daemon_fixture *fixture, const char *pattern, size_t nr)
{
	uint64_t end_usec = clock_monotonic_usec() + DAEMON_LIMIT_MSEC * UINT64_C(1000);
	struct fd_store *store = lock_store(fixture);

	while (count(store, pattern) != nr)
		ck_assert_msg(notify_socket_wait(&fixture->notify, end_usec),
		              "%zu of %zu in the store match '%s', not %zu", count(store, pattern),
		              store->nr, pattern, nr);
	unlock_store(fixture);
}

size_t daemon_store_drop(struct daemon_fixture *fixture, const char *pattern, size_t nr,
                         unsigned seed)
{
	size_t nr_dropped = fd_store_lose(lock_store(fixture), pattern, nr, seed);

	unlock_store(fixture);
	return nr_dropped;
}

void daemon_store_shuffle(struct daemon_fixture *fixture, unsigned seed)
{
	fd_store_shuffle(lock_store(fixture), seed);
	unlock_store(fixture);
}

size_t daemon_store_duplicate(struct daemon_fixture *fixture, const char *name)
{
	size_t nr = fd_store_duplicate(lock_store(fixture), name);

	unlock_store(fixture);
	return nr;
}

void daemon_store_limit(struct daemon_fixture *fixture, size_t nr)
{
	lock_store(fixture)->max_nr = nr;
	unlock_store(fixture);
}
