/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "store.h"

#define NAME_BYTES_MAX 32
#define STATE_NAME     "state"

static const char *const kind_names[] = {
	[STORE_REGION] = "region",
	[STORE_LIFETIME] = "lifetime",
};

struct inherited {
	char *name;
	size_t place; /* in the order in which they were given back */
	int fd;       /* -1: taken, closed */
	/* The first of a name speaks for all of it: */
	bool is_kept;      /* the service manager still has what it gave back under that name */
	bool is_asked_for; /* taken, or put anew, or removed: the name is not for close_rest() */
	int again_fd;      /* of what was taken while others have its name: to be put again */
	dev_t device;      /* of what was taken */
	ino_t inode;
};

struct store {
	const struct store_ops *ops;
	void *arg;
	struct inherited *inherited; /* by name, then place */
	size_t nr_inherited;
};

static int compare_inherited(const void *a, const void *b)
{
	const struct inherited *one = a, *other = b;
	int order = strcmp(one->name, other->name);

	return order ? order : (one->place > other->place) - (one->place < other->place);
}

int store_new(const struct store_ops *ops, void *arg, const int *fds, const char *const *names,
              size_t nr, struct store **ret)
{
	scoped(store_freep) struct store *store = calloc(1, sizeof(*store));

	if (store)
		store->inherited = calloc(nr + 1, sizeof(*store->inherited));
	if (!store || !store->inherited) {
		for (size_t i = 0; i < nr; i++)
			(void) fd_close(fds[i]);
		return -ENOMEM;
	}
	store->ops = ops;
	store->arg = arg;
	store->nr_inherited = nr;
	for (size_t i = 0; i < nr; i++)
		store->inherited[i] = (struct inherited){
			.place = i, .fd = fds[i], .is_kept = true, .again_fd = -1
		};
	for (size_t i = 0; i < nr; i++) {
		store->inherited[i].name = strdup(names[i]);
		if (!store->inherited[i].name)
			return -ENOMEM;
	}
	qsort(store->inherited, nr, sizeof(*store->inherited), compare_inherited);
	*ret = take(store);
	return 0;
}

struct store *store_free(struct store *store)
{
	if (!store)
		return NULL;
	for (size_t i = 0; i < (store->inherited ? store->nr_inherited : 0); i++) {
		(void) fd_close(store->inherited[i].fd);
		(void) fd_close(store->inherited[i].again_fd);
		free(store->inherited[i].name);
	}
	free(store->inherited);
	free(store);
	return NULL;
}

bool store_is_there(const struct store *store)
{
	return store->ops != NULL;
}

/* The first of @name, or NULL. */
static struct inherited *find(const struct store *store, const char *name)
{
	size_t low = 0, high = store->nr_inherited;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (strcmp(store->inherited[middle].name, name) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low < store->nr_inherited && strcmp(store->inherited[low].name, name) == 0
	               ? &store->inherited[low]
	               : NULL;
}

/* Behind the last one that has the name of @first. */
static struct inherited *name_end(const struct store *store, const struct inherited *first)
{
	struct inherited *at = store->inherited + (first - store->inherited);
	const struct inherited *end = store->inherited + store->nr_inherited;

	while (at < end && strcmp(at->name, first->name) == 0)
		at++;
	return at;
}

static int take_name(struct store *store, const char *name)
{
	struct inherited *first = find(store, name);
	struct stat st;

	if (!first || first->fd < 0)
		return -ENOENT;
	first->is_asked_for = true;
	if (fstat(first->fd, &st) == 0) {
		first->device = st.st_dev;
		first->inode = st.st_ino;
	}
	/* Without a duplicate (no descriptor left) all of the name stay where they are. */
	if (name_end(store, first) > first + 1)
		first->again_fd = fcntl(first->fd, F_DUPFD_CLOEXEC, 0);
	return take_fd(first->fd);
}

/* What is kept under @name from now on has nothing to do with what was inherited. */
static void forget_name(struct store *store, const char *name)
{
	struct inherited *first = find(store, name);

	if (!first)
		return;
	first->is_kept = false;
	first->is_asked_for = true;
	first->again_fd = fd_close(first->again_fd);
}

/* Whether @fd is what was taken of this name. */
static bool is_what_was_taken(const struct inherited *first, int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && st.st_ino == first->inode && st.st_dev == first->device;
}

static int put_name(struct store *store, const char *name, int fd)
{
	const struct inherited *first = find(store, name);

	if (!store->ops)
		return -EOPNOTSUPP;
	if (first && first->is_kept) {
		if (is_what_was_taken(first, fd))
			return 0;
		/* Two of a name would make it a matter of luck which of them comes back. */
		store->ops->remove(store->arg, name);
		forget_name(store, name);
	}
	return store->ops->put(store->arg, name, fd);
}

static void remove_name(struct store *store, const char *name)
{
	forget_name(store, name);
	if (store->ops)
		store->ops->remove(store->arg, name);
}

static const char *name_of(enum store_kind kind, uint64_t id, char *buffer)
{
	(void) snprintf(buffer, NAME_BYTES_MAX, "%s-%016" PRIx64, kind_names[kind], id);
	return buffer;
}

int store_take_state(struct store *store)
{
	return take_name(store, STATE_NAME);
}

int store_take(struct store *store, enum store_kind kind, uint64_t id)
{
	char name[NAME_BYTES_MAX];

	return take_name(store, name_of(kind, id, name));
}

int store_look(const struct store *store, enum store_kind kind, uint64_t id)
{
	char name[NAME_BYTES_MAX];
	const struct inherited *first = find(store, name_of(kind, id, name));

	return first && first->fd >= 0 ? first->fd : -ENOENT;
}

int store_put_state(struct store *store, int fd)
{
	return put_name(store, STATE_NAME, fd);
}

int store_put(struct store *store, enum store_kind kind, uint64_t id, int fd)
{
	char name[NAME_BYTES_MAX];

	return put_name(store, name_of(kind, id, name), fd);
}

void store_remove(struct store *store, enum store_kind kind, uint64_t id)
{
	char name[NAME_BYTES_MAX];

	remove_name(store, name_of(kind, id, name));
}

size_t store_close_rest(struct store *store)
{
	size_t nr_closed = 0;
	struct inherited *end;

	for (struct inherited *first = store->inherited;
	     first < store->inherited + store->nr_inherited; first = end) {
		end = name_end(store, first);
		for (struct inherited *at = first; at < end; at++) {
			nr_closed += at->fd >= 0;
			at->fd = fd_close(at->fd);
		}
		if (store->ops && (!first->is_asked_for || first->again_fd >= 0))
			store->ops->remove(store->arg, first->name);
		if (store->ops && first->again_fd >= 0)
			(void) store->ops->put(store->arg, first->name, first->again_fd);
		if (!first->is_asked_for)
			first->is_kept = false;
		first->again_fd = fd_close(first->again_fd);
		first->is_asked_for = true;
	}
	return nr_closed;
}

size_t store_nr_inherited(const struct store *store, enum store_kind kind)
{
	size_t nr = 0, prefix_bytes = strlen(kind_names[kind]);

	for (size_t i = 0; i < store->nr_inherited; i++)
		nr += strncmp(store->inherited[i].name, kind_names[kind], prefix_bytes) == 0 &&
		      store->inherited[i].name[prefix_bytes] == '-';
	return nr;
}
