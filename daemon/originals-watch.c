/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "originals-watch.h"

#define QUIET_SECONDS  0.25
#define LONGEST_USEC   (5 * UINT64_C(1000000))
#define READS_PER_TURN 16

#define FILE_EVENTS \
	(IN_MODIFY | IN_CLOSE_WRITE | IN_ATTRIB | IN_DELETE_SELF | IN_MOVE_SELF | IN_DONT_FOLLOW)
/* IN_ATTRIB of a directory is also that of what is in it: a file that becomes readable counts. */
#define DIRECTORY_EVENTS                                                                       \
	(IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_DELETE_SELF | IN_MOVE_SELF | \
	 IN_ATTRIB | IN_ONLYDIR)

/*
 * Further up only the directory itself counts: who may pass it, and that it stays where it is. What
 * is in it (/var, /) has events of its own all the time.
 */
#define ABOVE_EVENTS (IN_ATTRIB | IN_MOVE_SELF | IN_DELETE_SELF | IN_ONLYDIR)

struct originals_watch {
	struct ev_loop *loop; /* borrowed */
	originals_watch_fn fn;
	void *arg;
	ev_io io;    /* its descriptor is ours; -1 while nothing is watched */
	ev_io above; /* the same, for ABOVE_EVENTS */
	ev_timer quiet;
	uint64_t first_usec; /* monotonic: of the first event that was not told; 0: none */
};

static void note_event(struct originals_watch *watch)
{
	uint64_t now_usec = clock_monotonic_usec();

	if (watch->first_usec == 0)
		watch->first_usec = now_usec;
	if (ev_is_active(&watch->quiet) && now_usec - watch->first_usec >= LONGEST_USEC)
		return; /* it is told at the end of the quiet time that runs */
	ev_timer_stop(watch->loop, &watch->quiet);
	ev_now_update(watch->loop);
	ev_timer_set(&watch->quiet, QUIET_SECONDS, 0.);
	ev_timer_start(watch->loop, &watch->quiet);
}

static void on_quiet(struct ev_loop *loop, ev_timer *timer, int revents)
{
	struct originals_watch *watch = timer->data;

	(void) loop, (void) revents;
	watch->first_usec = 0;
	watch->fn(watch->arg);
}

/* What the events say is not looked at: who is told looks at everything. */
static void on_readable(struct ev_loop *loop, ev_io *io, int revents)
{
	struct originals_watch *watch = io->data;
	char events[16 * 1024];

	(void) loop, (void) revents;
	for (unsigned i = 0; i < READS_PER_TURN; i++)
		if (read(io->fd, events, sizeof(events)) <= 0)
			break;
	note_event(watch);
}

/* Whether one of them is of a watched directory itself: then it has no name. */
static bool is_of_itself(const char *events, size_t bytes)
{
	struct inotify_event event;

	for (size_t at = 0; at + sizeof(event) <= bytes; at += sizeof(event) + event.len) {
		memcpy(&event, events + at, sizeof(event));
		if (event.len == 0)
			return true;
	}
	return false;
}

static void on_above(struct ev_loop *loop, ev_io *io, int revents)
{
	struct originals_watch *watch = io->data;
	bool is_any = false;
	char events[16 * 1024];

	(void) loop, (void) revents;
	for (unsigned i = 0; i < READS_PER_TURN; i++) {
		ssize_t bytes = read(io->fd, events, sizeof(events));

		if (bytes <= 0)
			break;
		is_any |= is_of_itself(events, (size_t) bytes);
	}
	if (is_any)
		note_event(watch);
}

static void stop_watching(struct originals_watch *watch)
{
	ev_io_stop(watch->loop, &watch->above);
	watch->above.fd = fd_close(watch->above.fd);
	ev_io_stop(watch->loop, &watch->io);
	watch->io.fd = fd_close(watch->io.fd);
}

int originals_watch_new(struct ev_loop *loop, originals_watch_fn fn, void *arg,
                        struct originals_watch **ret)
{
	struct originals_watch *watch = calloc(1, sizeof(*watch));

	if (!watch)
		return -ENOMEM;
	watch->loop = loop;
	watch->fn = fn;
	watch->arg = arg;
	ev_io_init(&watch->io, on_readable, -1, EV_READ);
	ev_io_init(&watch->above, on_above, -1, EV_READ);
	ev_timer_init(&watch->quiet, on_quiet, 0., 0.);
	watch->io.data = watch->above.data = watch->quiet.data = watch;
	*ret = watch;
	return 0;
}

/* The directory that @path lies in, up to the first wildcard. The caller frees; NULL: no memory. */
static char *directory_of(const char *path)
{
	size_t fixed_bytes = strcspn(path, "*?[\\");
	char *directory = strndup(path, fixed_bytes);
	char *last = directory ? strrchr(directory, '/') : NULL;

	if (last)
		last[last == directory ? 1 : 0] = '\0';
	return directory;
}

static int add_watch(int fd, const char *path, uint32_t events)
{
	if (inotify_add_watch(fd, path, events) < 0 && (errno == ENOSPC || errno == ENOMEM))
		return -errno;
	return 0;
}

/* The directory of @path and all above. *last: the one before, passed over when it is the same. */
static int add_directories(int fd, int above_fd, const char *path, char **last)
{
	char *directory = directory_of(path), *slash;
	scoped(freep) char *above = directory ? strdup(directory) : NULL;
	int r;

	if (!above) {
		free(directory);
		return -ENOMEM;
	}
	if (*last && strcmp(*last, directory) == 0) {
		free(directory);
		return 0;
	}
	free(*last);
	*last = directory;
	r = add_watch(fd, directory, DIRECTORY_EVENTS);
	while (r == 0 && (slash = strrchr(above, '/')) && slash[slash == above] != '\0') {
		slash[slash == above] = '\0';
		r = add_watch(above_fd, above, ABOVE_EVENTS);
	}
	return r;
}

/* Whether it is what it was when it was found. */
static bool is_same(const struct original *original)
{
	struct original_identity identity;
	struct stat status;

	if (lstat(original->path, &status) < 0)
		return original->refusal != ORIGINAL_ACCEPTED;
	if (original->refusal != ORIGINAL_ACCEPTED)
		return original->refusal != ORIGINAL_NO_SUCH_FILE;
	original_identity_read(&status, &identity);
	return original_identity_equals(&identity, &original->identity);
}

static int add_pool(int fd, int above_fd, const struct pool_config *pool, bool *has_changed)
{
	scoped(freep) char *last = NULL;
	int worst = 0;

	for (size_t i = 0; i < pool->nr_paths; i++) {
		int r = add_directories(fd, above_fd, pool->paths[i].text, &last);

		worst = r < 0 ? r : worst;
	}
	for (size_t i = 0; i < pool->originals.nr; i++) {
		const struct original *original = &pool->originals.files[i];
		int r = add_directories(fd, above_fd, original->path, &last);

		worst = r < 0 ? r : worst;
		if (original->refusal != ORIGINAL_ACCEPTED)
			continue;
		r = add_watch(fd, original->path, FILE_EVENTS);
		worst = r < 0 ? r : worst;
	}
	/* when all are watched, so that no change is between the look and the watch */
	for (size_t i = 0; i < pool->originals.nr; i++)
		*has_changed |= !is_same(&pool->originals.files[i]);
	return worst;
}

int originals_watch_set(struct originals_watch *watch, const struct config *config)
{
	bool has_any = false, has_changed = false;
	scoped(fd_closep) int fd = -1, above_fd = -1;
	int worst = 0;

	for (size_t i = 0; i < config->nr_pools; i++)
		has_any |= config->pools[i].kind == POOL_REPLICA;
	stop_watching(watch);
	if (!has_any)
		return 0;
	fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	above_fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	if (fd < 0 || above_fd < 0)
		return -errno;
	for (size_t i = 0; i < config->nr_pools; i++) {
		int r;

		if (config->pools[i].kind != POOL_REPLICA)
			continue;
		r = add_pool(fd, above_fd, &config->pools[i], &has_changed);
		worst = r < 0 ? r : worst;
	}
	ev_io_set(&watch->io, take_fd(fd), EV_READ);
	ev_io_set(&watch->above, take_fd(above_fd), EV_READ);
	ev_io_start(watch->loop, &watch->io);
	ev_io_start(watch->loop, &watch->above);
	if (has_changed)
		note_event(watch);
	return worst;
}

struct originals_watch *originals_watch_free(struct originals_watch *watch)
{
	if (!watch)
		return NULL;
	stop_watching(watch);
	ev_timer_stop(watch->loop, &watch->quiet);
	free(watch);
	return NULL;
}
