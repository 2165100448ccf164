/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "config.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "daemon-conf.h"
#include "pool-conf.h"
#include "text.h"

#define POOL_NAME_MAX 63

static const char pool_suffix[] = ".pool";
static const char dropins_suffix[] = ".pool.d";

/* All that is gathered until it becomes a struct config. */
struct load {
	struct places places;
	struct notes notes;
	struct config *config;
};

static void load_clear(struct load *load)
{
	places_clear(&load->places);
	notes_clear(&load->notes);
	load->config = config_free(load->config);
}

bool node_amount_get(const struct node_amount *amount, unsigned node_id, struct amount *ret)
{
	for (size_t i = 0; i < amount->nr_overrides; i++)
		if (amount->overrides[i].node_id == node_id) {
			*ret = amount->overrides[i].amount;
			return true;
		}
	if (amount->is_set)
		*ret = amount->amount;
	return amount->is_set;
}

struct config *config_free(struct config *config)
{
	struct notes notes;

	if (!config)
		return NULL;
	for (size_t i = 0; i < config->nr_pools; i++)
		pool_config_clear(&config->pools[i]);
	free(config->pools);
	notes = (struct notes){
		.entries = config->notes,
		.nr = config->nr_notes,
		.refused = config->refused_pools,
		.nr_refused = config->nr_refused_pools,
	};
	notes_clear(&notes);
	free(config);
	return NULL;
}

static int load_daemon(struct load *load)
{
	scoped(sources_clear) struct sources sources = { 0 };
	scoped(freep) char *path = NULL;
	int r;

	r = search_file(&load->places, "nodeinitd.conf", &path);
	if (r < 0)
		return r;
	notes_begin(&load->notes, NULL, path ? path : "nodeinitd.conf");
	if (path)
		r = sources_add_file(&sources, path, &load->notes);
	if (r >= 0)
		r = sources_add_dropins(&sources, &load->places, "nodeinitd.conf.d", &load->notes);
	if (!r)
		r = daemon_conf_read(&sources, &load->notes, &load->config->daemon);
	load->config->is_daemon_refused = load->notes.is_anything_refused;
	notes_begin(&load->notes, NULL, NULL);
	return r;
}

static bool is_pool_name(const char *name)
{
	static const char inside[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				     "0123456789-_.";
	size_t name_bytes = strlen(name);

	return name_bytes <= POOL_NAME_MAX && strspn(name, inside) == name_bytes;
}

/* Read the pool @name, and keep it when it is good. */
static int load_pool(struct load *load, const char *name, const char *path)
{
	scoped(sources_clear) struct sources sources = { 0 };
	scoped(freep) char *dropins = NULL;
	struct config *config = load->config;
	int r;

	if (asprintf(&dropins, "pools.d/%s%s", name, dropins_suffix) < 0) {
		dropins = NULL;
		return -ENOMEM;
	}
	r = sources_add_file(&sources, path, &load->notes);
	if (r < 0 || !sources.nr)
		return r; /* masked, or cannot be used, which is noted */
	if (config->nr_pools >= CONFIG_POOLS_MAX) {
		notes_refuse(&load->notes, (struct position){ .path = path },
		             "is not used: there are %d pools without it, the most there may be",
		             CONFIG_POOLS_MAX);
		return 0;
	}
	r = sources_add_dropins(&sources, &load->places, dropins, &load->notes);
	if (!r)
		r = pool_conf_read(name, path, &sources, &load->notes,
		                   &config->pools[config->nr_pools]);
	if (!r)
		config->nr_pools++;
	return r == -EINVAL ? 0 : r;
}

/* What is in pools.d and is neither a pool nor the drop-ins of one. */
static void warn_of_name(struct load *load, const struct found *found,
                         const struct found_file *file)
{
	scoped(freep) char *name = NULL;
	struct position position = { .path = file->path };

	if (!name_has_suffix(file->name, dropins_suffix)) {
		notes_warn(&load->notes, position, "is ignored: a pool is a file NAME.pool");
		return;
	}
	name = strndup(file->name, strlen(file->name) - strlen(".d"));
	if (!name) {
		load->notes.is_out_of_memory = true;
		return;
	}
	for (size_t i = 0; i < found->nr; i++)
		if (!strcmp(found->files[i].name, name))
			return;
	notes_warn(&load->notes, position, "is ignored: there is no %s for these drop-ins",
	           excerpt(name).text);
}

static int load_found(struct load *load, const struct found *found)
{
	for (size_t i = 0; i < found->nr; i++) {
		const struct found_file *file = &found->files[i];
		scoped(freep) char *name = NULL;
		int r;

		if (!name_has_suffix(file->name, pool_suffix)) {
			warn_of_name(load, found, file);
			continue;
		}
		name = strndup(file->name, strlen(file->name) - strlen(pool_suffix));
		if (!name)
			return -ENOMEM;
		if (!is_pool_name(name)) {
			notes_warn(&load->notes, (struct position){ .path = file->path },
			           "is ignored: the name of a pool is made of letters, digits, "
			           "'-', '_' and '.', at most %d of them",
			           POOL_NAME_MAX);
			continue;
		}
		notes_begin(&load->notes, name, file->path);
		r = load_pool(load, name, file->path);
		notes_begin(&load->notes, NULL, "pools.d");
		if (r < 0)
			return r;
	}
	return 0;
}

static int compare_pools(const void *a, const void *b)
{
	return strcmp(((const struct pool_config *) a)->name,
	              ((const struct pool_config *) b)->name);
}

static int compare_texts(const void *a, const void *b)
{
	return strcmp(*(char *const *) a, *(char *const *) b);
}

/* Two words for one thing on the phone, and one file on some file systems. */
static void warn_of_case(struct load *load)
{
	const struct config *config = load->config;

	for (size_t i = 0; i < config->nr_pools; i++)
		for (size_t j = i + 1; j < config->nr_pools; j++)
			if (!strcasecmp(config->pools[i].name, config->pools[j].name))
				notes_warn(&load->notes,
				           (struct position){ .path = config->pools[j].source },
				           "differs only by upper and lower case from %s",
				           config->pools[i].source);
}

static int load_pools(struct load *load)
{
	scoped(found_clear) struct found found = { 0 };
	struct config *config = load->config;
	int r;

	config->pools = calloc(CONFIG_POOLS_MAX, sizeof(*config->pools));
	if (!config->pools)
		return -ENOMEM;
	notes_begin(&load->notes, NULL, "pools.d");
	r = search_names(&load->places, "pools.d", &load->notes, &found);
	config->is_pools_unread = found.is_incomplete;
	if (!r)
		r = load_found(load, &found);
	if (r < 0)
		return r;
	qsort(config->pools, config->nr_pools, sizeof(*config->pools), compare_pools);
	warn_of_case(load);
	return 0;
}

/* A directory that was asked for by name has to be there; one of the search path has not. */
static int check_directory(const char *directory)
{
	scoped(dir_closep) DIR *dir = opendir(directory);

	return dir ? 0 : -errno;
}

/* Hand over what was noted. */
static void take_notes(struct load *load)
{
	struct config *config = load->config;
	struct notes *notes = &load->notes;

	notes_finish(notes);
	config->notes = take(notes->entries);
	config->nr_notes = notes->nr;
	config->refused_pools = take(notes->refused);
	config->nr_refused_pools = notes->nr_refused;
	config->is_anything_refused = notes->is_anything_refused;
	notes->nr = 0;
	notes->nr_refused = 0;
	if (config->nr_refused_pools)
		qsort(config->refused_pools, config->nr_refused_pools,
		      sizeof(*config->refused_pools), compare_texts);
}

int config_load(const char *directory, const char *search_root, struct config **ret)
{
	scoped(load_clear) struct load load = { 0 };
	int r;

	r = directory ? check_directory(directory) : 0;
	if (!r)
		r = places_init(directory, search_root, &load.places);
	if (r < 0)
		return r;
	load.config = calloc(1, sizeof(*load.config));
	if (!load.config)
		return -ENOMEM;
	r = load_daemon(&load);
	if (!r)
		r = load_pools(&load);
	if (r < 0)
		return r;
	take_notes(&load);
	if (load.notes.is_out_of_memory)
		return -ENOMEM;
	*ret = take(load.config);
	return 0;
}

const struct pool_config *config_pool(const struct config *config, const char *name)
{
	struct pool_config key = { .name = (char *) name };

	if (!config->nr_pools)
		return NULL;
	return bsearch(&key, config->pools, config->nr_pools, sizeof(key), compare_pools);
}

bool config_is_pool_refused(const struct config *config, const char *name)
{
	if (!config->nr_refused_pools)
		return false;
	return bsearch(&name, config->refused_pools, config->nr_refused_pools, sizeof(name),
	               compare_texts);
}
