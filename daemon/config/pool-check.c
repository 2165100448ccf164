/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "pool-conf.h"

#include <string.h>

#include "pool-kind.h"
#include "text.h"

/* "Size=64G" as it was written, with the node where it is of one. */
struct quote {
	char name[SETTING_NAME_MAX];
	const char *value;
	struct position position;
};

static struct quote quote_of(const struct settings *settings, size_t key,
                             const struct setting *setting)
{
	struct quote quote = { .value = setting->value, .position = setting->position };

	settings_name(settings, key, setting, quote.name);
	return quote;
}

static void check_sections(const struct pool_config *pool, const struct settings *settings)
{
	const struct schema *schema = settings->schema;

	for (size_t i = 0; i < schema->nr_sections; i++) {
		const char *section = schema->sections[i];

		if (!settings->sections[i].path || !strcmp(section, "Pool") ||
		    !strcmp(section, pool_kind_section(pool->kind)))
			continue;
		notes_warn(settings->notes, settings->sections[i],
		           "[%s] has no effect in a pool with Kind=%s", section,
		           pool_kind_text(pool->kind));
	}
}

/* Shrink=, Lock=, Zone= and Paths= may stand in [Pool] too, where the section does not tell their
 * kind. */
static void check_keys_of_kinds(const struct pool_config *pool, const struct settings *settings)
{
	for (size_t key = 0; key < NR_POOL_KEYS; key++) {
		const struct setting *setting = &settings->values[key];
		const char *own_section = settings->schema->keys[key].sections[0];

		if (!setting->value || strcmp(setting->section, "Pool") != 0 ||
		    !strcmp(own_section, "Pool") ||
		    !strcmp(own_section, pool_kind_section(pool->kind)))
			continue;
		notes_warn(settings->notes, setting->position,
		           "%s= has no effect in a pool with Kind=%s",
		           settings->schema->keys[key].name, pool_kind_text(pool->kind));
	}
}

static void check_page(const struct pool_config *pool, const struct settings *settings)
{
	const struct setting *page = &settings->values[KEY_PAGE_SIZE];
	const struct setting *lock = &settings->values[KEY_LOCK];
	bool is_huge = pool->page == POOL_PAGE_HUGE;

	if (page->value && !pool_kind_has_pages(pool->kind))
		notes_warn(settings->notes, page->position,
		           "PageSize= has no effect in a pool with Kind=%s",
		           pool_kind_text(pool->kind));
	if (pool->kind == POOL_HUGETLB &&
	    (pool->page == POOL_PAGE_BASE || pool->page == POOL_PAGE_THP))
		notes_refuse(settings->notes, page->position,
		             "PageSize=%s is not accepted with Kind=hugetlb; accepted: huge, or a "
		             "huge page size as 2M",
		             page->value);
	if (pool->kind == POOL_REGION && pool->is_locked && is_huge)
		notes_warn(settings->notes, lock->position,
		           "Lock=yes has no effect on huge pages, which are never swapped");
}

static void check_region_size(const struct pool_config *pool, const struct settings *settings)
{
	const struct setting *page = &settings->values[KEY_PAGE_SIZE];
	const struct setting *region = &settings->values[KEY_REGION_SIZE];

	if (pool->page != POOL_PAGE_SIZE || pool->region_bytes % pool->page_bytes == 0)
		return;
	notes_refuse(settings->notes, region->position,
	             "RegionSize=%s is not accepted; accepted: a multiple of PageSize=%s",
	             region->value, page->value);
}

/* Whether it is more on any machine; with different units that is for the plan to see. */
static bool is_above(struct amount a, struct amount b, const struct pool_config *pool)
{
	if (!a.value || !b.value)
		return a.value > b.value;
	if (a.unit == b.unit)
		return a.value > b.value;
	if (a.unit == AMOUNT_PERCENT || b.unit == AMOUNT_PERCENT || pool->page != POOL_PAGE_SIZE)
		return false;
	return amount_bytes(a, 0, pool->page_bytes) > amount_bytes(b, 0, pool->page_bytes);
}

/* What says how much it is on @node_id: Key@N= where it is set, else Key=. */
static struct quote quote_for_node(const struct settings *settings, size_t key, unsigned node_id)
{
	for (size_t i = 0; i < settings->nr_of_nodes; i++) {
		const struct node_setting *of_node = &settings->of_nodes[i];

		if (of_node->key == key && of_node->node_id == node_id && of_node->setting.value)
			return quote_of(settings, key, &of_node->setting);
	}
	return quote_of(settings, key, &settings->values[key]);
}

static void refuse_minimum(const struct settings *settings, struct quote minimum, struct quote size)
{
	const char *of_node = strchr(size.name, '@');

	if (of_node && !strchr(minimum.name, '@')) {
		notes_refuse(settings->notes, minimum.position,
		             "%s=%s is above %s=%s; accepted: at most as much, or a Minimum%s= "
		             "besides",
		             minimum.name, minimum.value, size.name, size.value, of_node);
		return;
	}
	notes_refuse(settings->notes, minimum.position,
	             "%s=%s is above %s=%s; accepted: at most as much", minimum.name, minimum.value,
	             size.name, size.value);
}

static void check_minimum_of_nodes(const struct pool_config *pool, const struct settings *settings,
                                   const struct node_amount *overridden)
{
	for (size_t i = 0; i < overridden->nr_overrides; i++) {
		unsigned node_id = overridden->overrides[i].node_id;
		struct amount size;
		struct amount minimum;

		if (!node_amount_get(&pool->size, node_id, &size) ||
		    !node_amount_get(&pool->minimum, node_id, &minimum) ||
		    !is_above(minimum, size, pool))
			continue;
		refuse_minimum(settings, quote_for_node(settings, KEY_MINIMUM, node_id),
		               quote_for_node(settings, KEY_SIZE, node_id));
		return;
	}
}

/* One refusal is enough: for all nodes, else for the first node of its own amounts. */
static void check_minimum(const struct pool_config *pool, const struct settings *settings)
{
	const struct setting *size = &settings->values[KEY_SIZE];
	const struct setting *minimum = &settings->values[KEY_MINIMUM];

	if (pool->size.is_set && pool->minimum.is_set &&
	    is_above(pool->minimum.amount, pool->size.amount, pool))
		refuse_minimum(settings, quote_of(settings, KEY_MINIMUM, minimum),
		               quote_of(settings, KEY_SIZE, size));
	else if (pool->minimum.nr_overrides)
		check_minimum_of_nodes(pool, settings, &pool->minimum);
	if (!settings->notes->is_pool_refused)
		check_minimum_of_nodes(pool, settings, &pool->size);
}

static void check_nodes(const struct pool_config *pool, const struct settings *settings)
{
	if (pool->nodes != POOL_NODES_LIST)
		return;
	for (size_t i = 0; i < settings->nr_of_nodes; i++) {
		const struct node_setting *of_node = &settings->of_nodes[i];
		char name[SETTING_NAME_MAX];

		if (!of_node->setting.value || idset_has(&pool->node_list, of_node->node_id))
			continue;
		settings_name(settings, of_node->key, &of_node->setting, name);
		notes_warn(settings->notes, of_node->setting.position,
		           "%s= has no effect: Nodes=%s is without node %u", name,
		           excerpt(settings->values[KEY_NODES].value).text, of_node->node_id);
	}
}

static void refuse_missing(const struct pool_config *pool, const struct settings *settings,
                           size_t key)
{
	const struct setting_key *row = &settings->schema->keys[key];

	notes_refuse(settings->notes, (struct position){ .path = pool->source },
	             settings->values[key].value ? "%s= in [%s] names nothing; accepted: %s"
	                                         : "%s= is missing in [%s]; accepted: %s",
	             row->name, row->sections[0], row->accepted);
}

/* Return: false and the pool is refused, as it does not say what it is to have. */
static bool check_presence(const struct pool_config *pool, const struct settings *settings)
{
	bool is_sized = pool->size.is_set || pool->size.nr_overrides;

	if (pool->kind == POOL_REPLICA && !pool->nr_paths)
		refuse_missing(pool, settings, KEY_PATHS);
	else if (pool_kind_has_pages(pool->kind) && !is_sized)
		refuse_missing(pool, settings, KEY_SIZE);
	return !settings->notes->is_pool_refused;
}

void pool_conf_check(const struct pool_config *pool, const struct settings *settings)
{
	check_sections(pool, settings);
	check_keys_of_kinds(pool, settings);
	check_nodes(pool, settings);
	if (!check_presence(pool, settings))
		return;
	check_page(pool, settings);
	check_region_size(pool, settings);
	check_minimum(pool, settings);
}
