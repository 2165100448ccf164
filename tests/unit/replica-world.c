/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <pthread.h>
#include <string.h>

#include "replica-world.h"

#define ROUNDS_MAX 1000

static int door_read(struct kernel *kernel, const char *path, char *buffer, size_t buffer_bytes)
{
	struct replica_door *door = (struct replica_door *) kernel;

	if (strstr(path, "/meminfo")) {
		unsigned nr = ++door->nr_chunks;

		if (door->on_chunk)
			door->on_chunk(nr, door->arg);
	}
	return door->inner->ops->read(door->inner, path, buffer, buffer_bytes);
}

static const struct kernel_ops door_ops = { .read = door_read };

void replica_world_open(struct replica_world *world)
{
	char path[128];

	memset(world, 0, sizeof(*world));
	(void) umask(022);
	(void) snprintf(world->directory, sizeof(world->directory), "/tmp/replica-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(world->directory));
	ck_assert_int_eq(chmod(world->directory, 0755), 0);
	(void) snprintf(world->originals, sizeof(world->originals), "%s/o", world->directory);
	(void) snprintf(world->copies, sizeof(world->copies), "%s/c", world->directory);
	ck_assert_int_eq(mkdir(world->originals, 0755), 0);
	ck_assert_int_eq(mkdir(world->copies, 0755), 0);
	(void) snprintf(path, sizeof(path), "%s/node1", world->copies);
	ck_assert_int_eq(mkdir(path, 0755), 0);
	(void) umask(077); /* no directory or copy may depend on it */
	world->node_id = 1;
	world->model = kernel_model_new();
	kernel_model_add_node(world->model, 0, "0", GIB);
	kernel_model_add_node(world->model, 1, "1", GIB);
	world->door.kernel.ops = &door_ops;
	world->door.inner = kernel_model_kernel(world->model);
	ck_assert_int_eq(replica_base_open(world->copies, &world->base), 0);
	replica_base_allow_directories(world->base);
	world->context = (struct kind_context){
		.kernel = &world->door.kernel,
		.chunk_bytes = 64 * KIB,
		.nr_retries = 2,
		.replica_base = world->base,
	};
	world->pool = (struct plan_pool){
		.kind = POOL_REPLICA,
		.page = PLAN_PAGE_BASE,
		.page_bytes = REPLICA_PAGE,
	};
}

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *walk)
{
	(void) status, (void) type, (void) walk;
	return remove(path);
}

void replica_world_close(struct replica_world *world)
{
	replica_forget_names(world);
	world->base = replica_base_free(world->base);
	world->model = kernel_model_free(world->model);
	(void) nftw(world->directory, remove_entry, 32, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}

static char *next_path(void)
{
	static char paths[4][PATH_MAX];
	static unsigned last;

	return paths[last++ % ELEMENTS(paths)];
}

const char *replica_original(const struct replica_world *world, const char *name)
{
	char *path = next_path();

	(void) snprintf(path, PATH_MAX, "%s/%s", world->originals, name);
	return path;
}

const char *replica_copy(const struct replica_world *world, const char *name)
{
	char *path = next_path();

	(void) snprintf(path, PATH_MAX, "%s/node%u%s/%s", world->copies, world->node_id,
	                world->originals, name);
	return path;
}

void replica_make_directories(const char *path)
{
	scoped(freep) char *directory = strdup(path);

	for (char *slash = strchr(directory + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(directory, 0755) == 0)
			ck_assert_int_eq(chmod(directory, 0755), 0);
		*slash = '/';
	}
}

void replica_write(const struct replica_world *world, const char *name, uint64_t bytes,
                   unsigned seed)
{
	const char *path = replica_original(world, name);
	scoped(file_closep) FILE *file = NULL;

	replica_make_directories(path);
	file = fopen(path, "we");
	ck_assert_ptr_nonnull(file);
	for (uint64_t i = 0; i < bytes; i++)
		(void) putc((int) ((seed + i * 7 + i / 251) & 0xff), file);
	ck_assert_int_eq(fchmod(fileno(file), 0644), 0);
}

static struct plan_copy *name_add(struct replica_world *world, const char *name)
{
	struct original *original = &world->files[world->nr_files];
	struct plan_copy *copy = &world->copies_planned[world->nr_files++];

	ck_assert_uint_le(world->nr_files, REPLICA_FILES_MAX);
	*original = (struct original){ .path = strdup(replica_original(world, name)) };
	*copy = (struct plan_copy){ .original = original };
	return copy;
}

struct plan_copy *replica_name(struct replica_world *world, const char *name)
{
	struct plan_copy *copy = name_add(world, name);
	struct original *original = &world->files[world->nr_files - 1];
	struct stat status;

	ck_assert_int_eq(lstat(original->path, &status), 0);
	original_identity_read(&status, &original->identity);
	return copy;
}

struct plan_copy *replica_name_link(struct replica_world *world, const char *name,
                                    const char *target)
{
	struct plan_copy *copy = name_add(world, name);

	world->files[world->nr_files - 1].link_target = strdup(target);
	return copy;
}

void replica_forget_names(struct replica_world *world)
{
	while (world->nr_files > 0) {
		free(world->files[--world->nr_files].path);
		free(world->files[world->nr_files].link_target);
	}
}

struct plan_copy *replica_add(struct replica_world *world, const char *name, uint64_t bytes,
                              unsigned seed)
{
	replica_write(world, name, bytes, seed);
	return replica_name(world, name);
}

struct plan_share *replica_plan(struct replica_world *world, uint64_t early_bytes)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < world->nr_files; i++)
		if (!world->copies_planned[i].is_linked && !world->files[i].link_target)
			bytes += bytes_round_up(world->files[i].identity.bytes, REPLICA_PAGE);
	early_bytes = bytes_min(early_bytes, bytes);
	world->planned = (struct plan_share){
		.pool = &world->pool,
		.node_id = world->node_id,
		.copies = world->copies_planned,
		.nr_copies = world->nr_files,
		.unit_bytes = REPLICA_PAGE,
		.declared_bytes = bytes,
		.early_bytes = early_bytes,
		.deferred_bytes = bytes - early_bytes,
	};
	return &world->planned;
}

struct share *replica_make(struct replica_world *world, uint64_t early_bytes)
{
	struct plan_node node = {
		.node_id = world->node_id,
		.exists = true,
		.reserved_bytes = world->reserve_bytes,
		.shares = replica_plan(world, early_bytes),
		.nr_shares = 1,
	};
	scoped(freep) struct share **shares = NULL;

	ck_assert_int_eq(shares_new(&world->context, &node, NULL, 0, &shares), 0);
	ck_assert_ptr_nonnull(shares[0]);
	return shares[0];
}

void replica_free(struct share *share)
{
	share->ops->share_free(share);
}

struct crew {
	struct part *part;
	_Atomic uint64_t next;
};

static void *crew_main(void *arg)
{
	struct crew *crew = arg;
	uint64_t i;

	while ((i = crew->next++) < crew->part->nr_chunks)
		if (crew->part->share->ops->run_chunk(crew->part, i) < 0)
			crew->next = crew->part->nr_chunks;
	return NULL;
}

int replica_round(struct part *part, unsigned nr_threads)
{
	struct crew crew = { .part = part };
	pthread_t threads[8];
	int r;

	do
		r = part->share->ops->prepare(part);
	while (r == 1);
	if (r == 0 && nr_threads == 1)
		(void) crew_main(&crew);
	for (unsigned i = 0; r == 0 && nr_threads > 1 && i < nr_threads; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, crew_main, &crew), 0);
	for (unsigned i = 0; r == 0 && nr_threads > 1 && i < nr_threads; i++)
		(void) pthread_join(threads[i], NULL);
	return part->share->ops->finish(part, false);
}

unsigned replica_drive(struct part *part)
{
	for (unsigned nr_rounds = 1; nr_rounds <= ROUNDS_MAX; nr_rounds++)
		if (replica_round(part, 1) == 0)
			return nr_rounds;
	ck_abort_msg("the part never settles");
	return 0;
}

void replica_run(struct share *share)
{
	for (unsigned i = 0; i < NR_STAGES; i++)
		if (share->parts[i].want_bytes > 0)
			(void) replica_drive(&share->parts[i]);
}

struct share_status replica_status(const struct share *share)
{
	struct share_status status;

	share->ops->share_read(share, &status);
	return status;
}

bool replica_is_copied(const struct replica_world *world, const char *name)
{
	scoped(file_closep) FILE *original = fopen(replica_original(world, name), "re");
	scoped(fd_closep) int fd = open(replica_copy(world, name), O_RDONLY | O_NOFOLLOW);
	scoped(file_closep) FILE *copy = fd < 0 ? NULL : fdopen(fd, "re");
	struct stat original_status, copy_status;
	int a, b;

	if (copy)
		fd = -1;
	if (!original || !copy || fstat(fileno(original), &original_status) < 0 ||
	    fstat(fileno(copy), &copy_status) < 0 || !S_ISREG(copy_status.st_mode) ||
	    copy_status.st_ino == original_status.st_ino)
		return false;
	do {
		a = getc_unlocked(original);
		b = getc_unlocked(copy);
	} while (a == b && a != EOF);
	return a == b;
}

const char *replica_link(const struct replica_world *world, const char *name)
{
	static char text[PATH_MAX];
	ssize_t n = readlink(replica_copy(world, name), text, sizeof(text) - 1);

	text[n < 0 ? 0 : n] = '\0';
	return text;
}

bool replica_is_absent(const struct replica_world *world, const char *name)
{
	struct stat status;

	return lstat(replica_copy(world, name), &status) < 0 && errno == ENOENT;
}

ino_t replica_inode(const struct replica_world *world, const char *name)
{
	struct stat status;

	ck_assert_int_eq(lstat(replica_copy(world, name), &status), 0);
	return status.st_ino;
}

unsigned replica_nr_descriptors(void)
{
	scoped(dir_closep) DIR *directory = opendir("/proc/self/fd");
	unsigned nr = 0;

	while (readdir(directory))
		nr++;
	return nr;
}
