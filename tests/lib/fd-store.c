/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <linux/kcmp.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fd-store.h"

#define FIRST_FD 3

static ino_t fd_inode(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 ? st.st_ino : 0;
}

/* The same open file, not just the same content: a second open of a memfd is another one. */
static bool is_there(const struct fd_store *store, int fd)
{
	ino_t inode = fd_inode(fd);
	pid_t self = getpid();

	for (size_t i = 0; i < store->nr; i++)
		if (store->entries[i].inode == inode &&
		    syscall(SYS_kcmp, self, self, KCMP_FILE, (long) store->entries[i].fd,
		            (long) fd) == 0)
			return true;
	return false;
}

static void append(struct fd_store *store, const char *name, int fd, bool is_watched)
{
	struct fd_store_entry entry = { strdup(name), fd, is_watched, fd_inode(fd) };

	store->entries = reallocarray(store->entries, store->nr + 1, sizeof(*store->entries));
	if (!store->entries)
		abort();
	store->entries[store->nr++] = entry;
}

void fd_store_add(struct fd_store *store, const char *name, int fd, bool is_watched)
{
	if (store->nr >= store->max_nr || is_there(store, fd)) {
		store->nr_dropped++;
		(void) close(fd);
		return;
	}
	append(store, name, fd, is_watched);
}

static void remove_at(struct fd_store *store, size_t at)
{
	(void) close(store->entries[at].fd);
	free(store->entries[at].name);
	store->nr--;
	memmove(&store->entries[at], &store->entries[at + 1],
	        (store->nr - at) * sizeof(*store->entries));
}

void fd_store_forget(struct fd_store *store, const char *name)
{
	for (size_t i = store->nr; i-- > 0;)
		if (strcmp(store->entries[i].name, name) == 0)
			remove_at(store, i);
}

static bool is_matched(const struct fd_store *store, size_t at, const char *pattern)
{
	return fnmatch(pattern, store->entries[at].name, 0) == 0;
}

size_t fd_store_lose(struct fd_store *store, const char *pattern, size_t nr, unsigned seed)
{
	size_t nr_matched = 0, nr_removed = 0;

	for (size_t i = 0; i < store->nr; i++)
		nr_matched += is_matched(store, i, pattern);
	if (nr > nr_matched)
		nr = nr_matched;
	/* Each of those left has the same chance to be among those that have still to go. */
	for (size_t i = store->nr; i-- > 0 && nr_removed < nr;) {
		if (!is_matched(store, i, pattern))
			continue;
		if ((size_t) rand_r(&seed) % nr_matched < nr - nr_removed) {
			remove_at(store, i);
			nr_removed++;
		}
		nr_matched--;
	}
	return nr_removed;
}

size_t fd_store_duplicate(struct fd_store *store, const char *name)
{
	size_t nr_before = store->nr, nr_added = 0;

	for (size_t i = 0; i < nr_before; i++) {
		int fd;

		if (strcmp(store->entries[i].name, name) != 0)
			continue;
		fd = fcntl(store->entries[i].fd, F_DUPFD_CLOEXEC, 0);
		if (fd < 0)
			abort();
		append(store, name, fd, store->entries[i].is_watched);
		nr_added++;
	}
	return nr_added;
}

void fd_store_shuffle(struct fd_store *store, unsigned seed)
{
	for (size_t i = store->nr; i > 1; i--) {
		size_t other = (size_t) rand_r(&seed) % i;
		struct fd_store_entry entry = store->entries[other];

		store->entries[other] = store->entries[i - 1];
		store->entries[i - 1] = entry;
	}
}

void fd_store_settle(struct fd_store *store)
{
	for (size_t i = store->nr; i-- > 0;) {
		struct pollfd poll_fd = { .fd = store->entries[i].fd };

		if (store->entries[i].is_watched && poll(&poll_fd, 1, 0) == 1 &&
		    poll_fd.revents & (POLLHUP | POLLERR))
			remove_at(store, i);
	}
}

void fd_store_clear(struct fd_store *store)
{
	(void) fd_store_lose(store, "*", SIZE_MAX, 0);
	free(store->entries);
	store->entries = NULL;
}

/* The names in the order of the descriptors, as LISTEN_FDNAMES has them. */
static char *join_names(const struct fd_store *store)
{
	char *text = NULL;
	size_t bytes;
	FILE *file = open_memstream(&text, &bytes);

	if (!file)
		return NULL;
	for (size_t i = store->nr; i-- > 0;)
		(void) fprintf(file, "%s%s", store->entries[i].name, i > 0 ? ":" : "");
	return fclose(file) == 0 ? text : NULL;
}

int fd_store_hand_over(const struct fd_store *store)
{
	int nr = (int) store->nr, *fds = calloc(store->nr + 1, sizeof(*fds));
	char *names = join_names(store), number[16];

	if (!fds || !names)
		return -ENOMEM;
	for (int i = 0; i < nr; i++)
		fds[i] = store->entries[nr - 1 - i].fd;
	for (int i = 0; i < nr; i++) {
		int place = FIRST_FD + i;

		for (int k = i + 1; k < nr; k++)
			if (fds[k] == place)
				fds[k] = fcntl(place, F_DUPFD_CLOEXEC, FIRST_FD + nr);
		if (fds[i] < 0)
			return -EMFILE;
		if (fds[i] == place) {
			(void) fcntl(place, F_SETFD, 0);
		} else {
			(void) dup2(fds[i], place);
			(void) close(fds[i]);
		}
	}
	free(fds);

	(void) snprintf(number, sizeof(number), "%d", (int) getpid());
	(void) setenv("LISTEN_PID", number, 1);
	(void) snprintf(number, sizeof(number), "%d", nr);
	(void) setenv("LISTEN_FDS", number, 1);
	(void) setenv("LISTEN_FDNAMES", names, 1);
	free(names);
	return 0;
}
