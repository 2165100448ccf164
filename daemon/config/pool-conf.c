/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "pool-conf.h"

#include <errno.h>
#include <string.h>

#include "paths.h"
#include "pool-kind.h"
#include "text.h"
#include "values.h"

static const struct setting_key keys[NR_POOL_KEYS] = {
	[KEY_KIND] = { "Kind", { "Pool" } },
	[KEY_NODES] = { "Nodes", { "Pool" }, .accepted = "all, cpu, or node ids as 0,2-3" },
	[KEY_PAGE_SIZE] = { "PageSize",
	                    { "Pool" },
	                    .accepted = "base, thp, huge, or a power of two as 2M" },
	[KEY_SIZE] = { "Size",
	               { "Pool" },
	               SETTING_PER_NODE,
	               "bytes as 64G, a part of the node as 75%, or pages as 4096p",
	               .is_in_pages = true },
	[KEY_MINIMUM] = { "Minimum",
	                  { "Pool" },
	                  SETTING_PER_NODE,
	                  "bytes as 64G, a part of the node as 75%, or pages as 4096p",
	                  .is_in_pages = true },
	[KEY_REQUIRED] = { "Required", { "Pool" }, .accepted = "yes, no" },
	[KEY_EARLY] = { "Early", { "Pool" }, .accepted = "auto, none, all, or bytes as 2G" },
	[KEY_SHRINK] = { "Shrink", { "Hugetlb", "Pool" }, .accepted = "yes, no" },
	[KEY_LOCK] = { "Lock", { "Region", "Pool" }, .accepted = "yes, no" },
	[KEY_REGION_SIZE] = { "RegionSize", { "Region" }, .accepted = "bytes above 0 as 16G" },
	[KEY_USERS] = { "Users",
	                { "Region" },
	                SETTING_LIST,
	                "names or ids of users, with blanks between" },
	[KEY_GROUPS] = { "Groups",
	                 { "Region" },
	                 SETTING_LIST,
	                 "names or ids of groups, with blanks between" },
	[KEY_ZONE] = { "Zone", { "Block", "Pool" }, .accepted = "auto, kernel, movable" },
	[KEY_PATHS] = { "Paths", { "Replica", "Pool" }, SETTING_LIST, PATHS_ACCEPTED },
};

/* Size= and Minimum= of a kind that has no pages of its own. */
static const struct setting_key row_without_pages = {
	.accepted = "bytes as 64G, or a part as 75%",
};

static const char *const sections[] = { "Pool", "Block", "Hugetlb", "Region", "Replica" };

static const struct schema schema = {
	.sections = sections,
	.nr_sections = ELEMENTS(sections),
	.keys = keys,
	.nr_keys = NR_POOL_KEYS,
};

static void node_amount_clear(struct node_amount *amount)
{
	free(amount->overrides);
	*amount = (struct node_amount){ 0 };
}

void pool_config_clear(struct pool_config *pool)
{
	free(pool->name);
	free(pool->source);
	idset_clear(&pool->node_list);
	node_amount_clear(&pool->size);
	node_amount_clear(&pool->minimum);
	pool->users = value_free_names(pool->users);
	pool->groups = value_free_names(pool->groups);
	paths_clear(pool);
	originals_clear(&pool->originals);
	*pool = (struct pool_config){ 0 };
}

static int read_nodes(const char *value, struct pool_config *pool)
{
	int r = 0;

	if (!strcmp(value, "all"))
		pool->nodes = POOL_NODES_ALL;
	else if (!strcmp(value, "cpu"))
		pool->nodes = POOL_NODES_CPU;
	else {
		r = idset_parse(value, &pool->node_list);
		if (!r && idset_next(&pool->node_list, CONFIG_NODE_IDS_MAX) >= 0)
			r = -ERANGE;
		if (!r)
			pool->nodes = POOL_NODES_LIST;
	}
	return r;
}

/* Which sizes there are is the machine's to say; no machine has one that is no power of two. */
static int read_page_size(const char *value, struct pool_config *pool)
{
	uint64_t page_bytes;
	int r;

	if (!strcmp(value, "base"))
		pool->page = POOL_PAGE_BASE;
	else if (!strcmp(value, "thp"))
		pool->page = POOL_PAGE_THP;
	else if (!strcmp(value, "huge"))
		pool->page = POOL_PAGE_HUGE;
	else {
		r = value_bytes(value, &page_bytes);
		if (r < 0)
			return r;
		if (!page_bytes || (page_bytes & (page_bytes - 1)))
			return -EINVAL;
		pool->page = POOL_PAGE_SIZE;
		pool->page_bytes = page_bytes;
	}
	return 0;
}

static int read_early(const char *value, struct pool_config *pool)
{
	int r = 0;

	if (!strcmp(value, "auto"))
		pool->early = POOL_EARLY_AUTO;
	else if (!strcmp(value, "none"))
		pool->early = POOL_EARLY_NONE;
	else if (!strcmp(value, "all"))
		pool->early = POOL_EARLY_ALL;
	else {
		r = value_bytes(value, &pool->early_amount.value);
		if (!r)
			pool->early = POOL_EARLY_AMOUNT;
	}
	return r;
}

static int read_region_size(const char *value, uint64_t *ret_bytes)
{
	uint64_t bytes;
	int r = value_bytes(value, &bytes);

	if (r < 0)
		return r;
	if (!bytes)
		return -ERANGE;
	*ret_bytes = bytes;
	return 0;
}

static int read_zone(const char *value, enum pool_zone *ret)
{
	static const char *const words[] = {
		[POOL_ZONE_AUTO] = "auto",
		[POOL_ZONE_KERNEL] = "kernel",
		[POOL_ZONE_MOVABLE] = "movable",
	};

	for (size_t i = 0; i < ELEMENTS(words); i++)
		if (!strcmp(value, words[i])) {
			*ret = (enum pool_zone) i;
			return 0;
		}
	return -EINVAL;
}

static int read_amount(const char *value, enum pool_kind kind, struct amount *ret)
{
	struct amount amount;
	int r = amount_parse(value, &amount);

	if (r < 0)
		return r;
	if (amount.unit == AMOUNT_PAGES && !pool_kind_has_pages(kind))
		return -EINVAL;
	*ret = amount;
	return 0;
}

static int read_value(enum pool_key key, const char *value, struct pool_config *pool)
{
	switch (key) {
	case KEY_NODES:
		return read_nodes(value, pool);
	case KEY_PAGE_SIZE:
		return read_page_size(value, pool);
	case KEY_SIZE:
		return read_amount(value, pool->kind, &pool->size.amount);
	case KEY_MINIMUM:
		return read_amount(value, pool->kind, &pool->minimum.amount);
	case KEY_REQUIRED:
		return value_bool(value, &pool->is_required);
	case KEY_EARLY:
		return read_early(value, pool);
	case KEY_SHRINK:
		return value_bool(value, &pool->may_shrink);
	case KEY_LOCK:
		return value_bool(value, &pool->is_locked);
	case KEY_REGION_SIZE:
		return read_region_size(value, &pool->region_bytes);
	case KEY_ZONE:
		return read_zone(value, &pool->zone);
	case KEY_KIND:
	case KEY_USERS:
	case KEY_GROUPS:
	case KEY_PATHS:
	case NR_POOL_KEYS:
		break;
	}
	return -EINVAL;
}

/* Return: true and *ret; false and the pool is refused. */
static bool read_kind(const struct settings *settings, const char *path, enum pool_kind *ret)
{
	const struct setting *setting = &settings->values[KEY_KIND];
	int r;

	if (!setting->value) {
		notes_refuse(settings->notes, (struct position){ .path = path },
		             "Kind= is missing in [Pool]; accepted: %s", pool_kinds_text());
		return false;
	}
	r = pool_kind_parse(setting->value, ret);
	if (r < 0)
		notes_refuse(settings->notes, setting->position,
		             "Kind=%s is not accepted; accepted: %s", excerpt(setting->value).text,
		             pool_kinds_text());
	return !r;
}

/* What has no effect, as all that stands in the section of another kind, is not judged either. */
static bool is_without_effect(enum pool_key key, const struct setting *setting, enum pool_kind kind)
{
	if ((key == KEY_PAGE_SIZE && !pool_kind_has_pages(kind)) ||
	    (key == KEY_PATHS && kind != POOL_REPLICA))
		return true;
	return strcmp(setting->section, "Pool") != 0 &&
	       strcmp(setting->section, pool_kind_section(kind)) != 0;
}

static void refuse(const struct settings *settings, enum pool_key key, enum pool_kind kind,
                   const struct setting *setting, int error)
{
	bool is_amount = key == KEY_SIZE || key == KEY_MINIMUM;

	if (is_amount && !pool_kind_has_pages(kind))
		settings_refuse_as(settings, &row_without_pages, key, setting, error);
	else
		settings_refuse(settings, key, setting, error);
}

static int read_list(const struct settings *settings, enum pool_key key, char ***ret)
{
	size_t nr = 0;

	for (const struct setting *item = &settings->values[key]; item; item = item->next) {
		int r = value_append_names(item->value, ret, &nr);

		if (r == -ENOMEM)
			return r;
		if (r < 0)
			settings_refuse(settings, key, item, r);
	}
	return 0;
}

static int read_plain(const struct settings *settings, struct pool_config *pool)
{
	for (size_t key = 0; key < NR_POOL_KEYS; key++) {
		const struct setting *setting = &settings->values[key];
		int r;

		if (!setting->value || key == KEY_KIND ||
		    is_without_effect((enum pool_key) key, setting, pool->kind))
			continue;
		if (key == KEY_PATHS) {
			r = paths_read(settings->notes, setting, pool);
			if (r < 0)
				return r;
			continue;
		}
		if (key == KEY_USERS || key == KEY_GROUPS) {
			r = read_list(settings, (enum pool_key) key,
			              key == KEY_USERS ? &pool->users : &pool->groups);
			if (r < 0)
				return r;
			continue;
		}
		r = read_value((enum pool_key) key, setting->value, pool);
		if (r == -ENOMEM)
			return r;
		if (r < 0)
			refuse(settings, (enum pool_key) key, pool->kind, setting, r);
	}
	pool->size.is_set = settings->values[KEY_SIZE].value;
	pool->minimum.is_set = settings->values[KEY_MINIMUM].value;
	return 0;
}

/* Key@N= of Size= or Minimum=, which the settings keep in order of their nodes. */
static int read_overrides(const struct settings *settings, enum pool_key key, enum pool_kind kind,
                          struct node_amount *amount)
{
	for (size_t i = 0; i < settings->nr_of_nodes; i++) {
		const struct node_setting *of_node = &settings->of_nodes[i];
		struct node_amount_override override = { .node_id = of_node->node_id };
		struct node_amount_override *grown;
		int r;

		if (of_node->key != key || !of_node->setting.value)
			continue;
		r = read_amount(of_node->setting.value, kind, &override.amount);
		if (r < 0) {
			refuse(settings, key, kind, &of_node->setting, r);
			continue;
		}
		grown = reallocarray(amount->overrides, amount->nr_overrides + 1, sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		amount->overrides = grown;
		amount->overrides[amount->nr_overrides++] = override;
	}
	return 0;
}

static int read_settings(const struct settings *settings, const char *path,
                         struct pool_config *pool)
{
	bool is_kind_known = read_kind(settings, path, &pool->kind);
	int r;

	if (is_kind_known) {
		if (!pool_kind_has_pages(pool->kind))
			pool->page = POOL_PAGE_BASE;
		r = read_plain(settings, pool);
		if (!r)
			r = read_overrides(settings, KEY_SIZE, pool->kind, &pool->size);
		if (!r)
			r = read_overrides(settings, KEY_MINIMUM, pool->kind, &pool->minimum);
		if (r < 0)
			return r;
	}
	if (settings->notes->is_pool_refused)
		return -EINVAL;
	pool_conf_check(pool, settings);
	return settings->notes->is_pool_refused ? -EINVAL : 0;
}

int pool_conf_read(const char *name, const char *path, const struct sources *sources,
                   struct notes *notes, struct pool_config *ret)
{
	scoped(settings_clear) struct settings settings = { 0 };
	scoped(pool_config_clear) struct pool_config pool = {
		.name = strdup(name),
		.source = strdup(path),
		.page = POOL_PAGE_HUGE,
		.is_required = true,
	};
	int r;

	if (!pool.name || !pool.source)
		return -ENOMEM;
	r = settings_init(&schema, notes, &settings);
	for (size_t i = 0; !r && i < sources->nr; i++)
		r = settings_read(&settings, &sources->files[i]);
	if (!r)
		r = read_settings(&settings, path, &pool);
	if (r < 0)
		return r;
	*ret = pool;
	pool = (struct pool_config){ 0 };
	return 0;
}
