/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * fuzz-config.c - any bytes as nodeinitd.conf and as a pool with a drop-in
 *
 * The input is cut at its first byte 0x01 (which no good file has): what follows is the drop-in.
 * Besides what the sanitizers see, what was read and what was noted has to keep its promises.
 *
 *     fuzz-config -dict=tests/fuzz/config.dict -max_total_time=60 CORPUS examples
 */
#include <assert.h>
#include <fcntl.h>
#include <ftw.h>
#include <string.h>
#include <sys/stat.h>

#include "../../daemon/config/daemon-conf.h"
#include "../../daemon/config/paths.h"
#include "../../daemon/config/pool-conf.h"
#include "../../daemon/config/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t data_bytes);

/*
 * A few files, directories and links, made once: what is called "secret" is never to be copied,
 * whatever names it.
 */
#define NR_FILES 12
static char files_root[] = "/tmp/nodeinit-fuzz-XXXXXX";

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *walk)
{
	(void) status, (void) type, (void) walk;
	return remove(path);
}

static void remove_files(void)
{
	(void) nftw(files_root, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

static void make_files(void)
{
	static const char *const links[][2] = { { "/a", "d" },
		                                { "b", "a/e" },
		                                { "o", "o" },
		                                { "x", "a/l" },
		                                { "../../hidden/secret", "a/b/out-secret" } };
	int root_fd;

	assert(mkdtemp(files_root));
	(void) atexit(remove_files);
	root_fd = open(files_root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert(root_fd >= 0);
	assert(!mkdirat(root_fd, "a", 0755) && !mkdirat(root_fd, "a/b", 0755));
	assert(!mkdirat(root_fd, "hidden", 0700));
	assert(!mknodat(root_fd, "a/x", S_IFREG | 0644, 0));
	assert(!mknodat(root_fd, "a/b/y", S_IFREG | 0644, 0));
	assert(!mknodat(root_fd, "a/secret", S_IFREG | S_ISUID | 0755, 0));
	assert(!mknodat(root_fd, "hidden/secret", S_IFREG | 0644, 0));
	for (size_t i = 0; i < ELEMENTS(links); i++)
		assert(!symlinkat(links[i][0], root_fd, links[i][1]));
	close(root_fd);
}

static void add_source(struct sources *sources, const char *path, const uint8_t *data,
                       size_t data_bytes)
{
	struct conf_file *file = &sources->files[sources->nr++];

	/* Of exactly its size, so that a byte too far is seen. */
	file->path = strdup(path);
	file->text = malloc(data_bytes ? data_bytes : 1);
	file->text_bytes = data_bytes;
	memcpy(file->text, data, data_bytes);
}

static void check_notes(const struct notes *notes)
{
	assert(notes->nr <= NOTES_MAX + 1);
	for (size_t i = 0; i < notes->nr; i++) {
		const struct config_note *note = &notes->entries[i];

		assert(text_is_plain(note->text, strlen(note->text)));
		assert(!strchr(note->text, '\t'));
		assert(strlen(note->text) <= NOTE_BYTES_MAX + strlen("…"));
		assert(!strncmp(note->text, "file", 4) || !strncmp(note->text, "dropin", 6));
		assert(!note->pool || !strcmp(note->pool, "fuzz"));
	}
}

static void check_amount(const struct node_amount *amount, bool has_pages)
{
	assert(has_pages || amount->amount.unit != AMOUNT_PAGES);
	assert(amount->nr_overrides <= CONFIG_NODE_IDS_MAX);
	for (size_t i = 0; i < amount->nr_overrides; i++) {
		struct amount found;

		assert(!i || amount->overrides[i - 1].node_id < amount->overrides[i].node_id);
		assert(node_amount_get(amount, amount->overrides[i].node_id, &found));
		assert(found.value == amount->overrides[i].amount.value);
		assert(has_pages || found.unit != AMOUNT_PAGES);
	}
}

/* A path leads down only, and to nothing that is to stay where it is. */
static void check_paths(const struct pool_config *pool)
{
	scoped(originals_clear) struct originals found = { 0 };

	assert(pool->nr_paths <= PATHS_MAX);
	for (size_t i = 0; i < pool->nr_paths; i++) {
		const char *path = pool->paths[i].text;
		size_t path_bytes = strlen(path);

		assert(*path == '/' && path[path_bytes - 1] != '/');
		assert(!strstr(path, "//") && !strstr(path, "/../") && !strstr(path, "/./"));
		assert(path_bytes < 3 || strcmp(path + path_bytes - 3, "/..") != 0);
		assert(text_is_plain(path, path_bytes));
		assert(!strncmp(pool->paths[i].position, "file:", 5) ||
		       !strncmp(pool->paths[i].position, "dropin:", 7));
	}
	if (pool->kind != POOL_REPLICA)
		return;
	assert(!originals_find(files_root, pool->paths, pool->nr_paths, &found));
	assert(found.nr && found.nr <= NR_FILES + pool->nr_paths);
	for (size_t i = 0; i < found.nr; i++) {
		const struct original *file = &found.files[i];

		assert(!i || strcmp(found.files[i - 1].path, file->path) < 0);
		assert(!file->link_target || !file->refusal);
		assert(file->refusal || !strstr(file->path, "secret"));
	}
}

static void check_pool(const struct pool_config *pool)
{
	bool has_pages = pool->kind == POOL_HUGETLB || pool->kind == POOL_REGION;

	assert(pool->size.is_set || pool->size.nr_overrides || !has_pages);
	assert(has_pages || pool->page == POOL_PAGE_BASE);
	assert((pool->kind == POOL_REPLICA) == (pool->nr_paths > 0));
	check_paths(pool);
	assert(pool->nodes != POOL_NODES_LIST || !idset_is_empty(&pool->node_list));
	if (pool->page == POOL_PAGE_SIZE) {
		assert(pool->page_bytes && !(pool->page_bytes & (pool->page_bytes - 1)));
		assert(pool->region_bytes % pool->page_bytes == 0);
	}
	if (pool->kind == POOL_HUGETLB)
		assert(pool->page == POOL_PAGE_HUGE || pool->page == POOL_PAGE_SIZE);
	check_amount(&pool->size, has_pages);
	check_amount(&pool->minimum, has_pages);
	for (char **user = pool->users; user && *user; user++)
		assert(**user && **user != '-');
}

static void run_daemon(const struct sources *sources)
{
	scoped(notes_clear) struct notes notes = { 0 };
	struct daemon_config config;

	notes_begin(&notes, NULL, "file");
	assert(!daemon_conf_read(sources, &notes, &config));
	notes_finish(&notes);
	check_notes(&notes);
	assert(config.early_shift < 64 && config.stall_timeout_usec);
	assert(config.threads_unit == THREADS_AUTO || config.threads);
}

static void run_pool(const struct sources *sources)
{
	scoped(notes_clear) struct notes notes = { 0 };
	scoped(pool_config_clear) struct pool_config pool = { 0 };
	int r;

	notes_begin(&notes, "fuzz", "file");
	r = pool_conf_read("fuzz", "file", sources, &notes, &pool);
	assert(!r == !notes.is_anything_refused);
	notes_finish(&notes);
	check_notes(&notes);
	if (!r)
		check_pool(&pool);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t data_bytes)
{
	scoped(sources_clear) struct sources sources = { 0 };
	static bool is_made;
	const uint8_t *cut = data_bytes ? memchr(data, 1, data_bytes) : NULL;

	if (!is_made)
		make_files();
	is_made = true;
	sources.files = calloc(2, sizeof(*sources.files));
	add_source(&sources, "file", data, cut ? (size_t) (cut - data) : data_bytes);
	if (cut)
		add_source(&sources, "dropin", cut + 1, data_bytes - (size_t) (cut + 1 - data));
	run_daemon(&sources);
	run_pool(&sources);
	return 0;
}
