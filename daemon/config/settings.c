/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "settings.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "text.h"

/* Sections and keys of other programs, as systemd.syntax(7) leaves them alone. */
static bool is_foreign(const char *name)
{
	return !strncmp(name, "X-", 2);
}

static void setting_clear(struct setting *setting)
{
	while (setting->next) {
		struct setting *second = setting->next;

		setting->next = second->next;
		free(second->value);
		free(second);
	}
	free(setting->value);
	*setting = (struct setting){ 0 };
}

void settings_clear(struct settings *settings)
{
	for (size_t i = 0; settings->values && i < settings->schema->nr_keys; i++)
		setting_clear(&settings->values[i]);
	for (size_t i = 0; i < settings->nr_of_nodes; i++)
		setting_clear(&settings->of_nodes[i].setting);
	free(settings->values);
	free(settings->of_nodes);
	free(settings->sections);
	*settings = (struct settings){ 0 };
}

int settings_init(const struct schema *schema, struct notes *notes, struct settings *ret)
{
	scoped(settings_clear) struct settings settings = { .schema = schema, .notes = notes };

	settings.values = calloc(schema->nr_keys, sizeof(*settings.values));
	settings.sections = calloc(schema->nr_sections, sizeof(*settings.sections));
	if (!settings.values || !settings.sections)
		return -ENOMEM;
	*ret = settings;
	settings = (struct settings){ 0 };
	return 0;
}

/* Return: the index, or the number of sections when it is none. */
static size_t find_section(const struct schema *schema, const char *section)
{
	size_t i;

	for (i = 0; i < schema->nr_sections; i++)
		if (!strcmp(schema->sections[i], section))
			break;
	return i;
}

static bool is_key_of(const struct setting_key *key, const char *section)
{
	for (size_t i = 0; i < ELEMENTS(key->sections); i++)
		if (key->sections[i] && !strcmp(key->sections[i], section))
			return true;
	return false;
}

static void on_section(void *user, const char *section, struct position position)
{
	struct settings *settings = user;
	const struct schema *schema = settings->schema;
	size_t i = find_section(schema, section);
	const char *nearest;

	if (i < schema->nr_sections) {
		if (!settings->sections[i].path)
			settings->sections[i] = position;
		return;
	}
	if (is_foreign(section))
		return;
	nearest = text_nearest(section, schema->sections, schema->nr_sections);
	if (nearest)
		notes_warn(settings->notes, position,
		           "unknown section [%s], did you mean [%s]? It is ignored",
		           excerpt(section).text, nearest);
	else
		notes_warn(settings->notes, position, "unknown section [%s]; it is ignored",
		           excerpt(section).text);
}

/* @name may be "Size@1": what is before the "@" counts. */
static const struct setting_key *find_key(const struct schema *schema, const char *name)
{
	size_t name_bytes = strcspn(name, "@");

	for (size_t i = 0; i < schema->nr_keys; i++)
		if (strlen(schema->keys[i].name) == name_bytes &&
		    !strncmp(schema->keys[i].name, name, name_bytes))
			return &schema->keys[i];
	return NULL;
}

static void warn_unknown_key(struct settings *settings, const char *section, const char *name,
                             struct position position)
{
	const struct schema *schema = settings->schema;
	const struct setting_key *elsewhere = find_key(schema, name);
	const char *words[64];
	size_t nr_words = 0;
	const char *nearest;

	if (elsewhere) {
		notes_warn(settings->notes, position,
		           "%s= does not belong into [%s] but into [%s]; it is ignored",
		           excerpt(name).text, section, elsewhere->sections[0]);
		return;
	}
	for (size_t i = 0; i < schema->nr_keys && nr_words < ELEMENTS(words); i++)
		if (is_key_of(&schema->keys[i], section))
			words[nr_words++] = schema->keys[i].name;
	nearest = text_nearest(name, words, nr_words);
	if (nearest)
		notes_warn(settings->notes, position,
		           "unknown key '%s' in [%s], did you mean %s=? It is ignored",
		           excerpt(name).text, section, nearest);
	else
		notes_warn(settings->notes, position, "unknown key '%s' in [%s]; it is ignored",
		           excerpt(name).text, section);
}

/* Put @value in the place of what is there. An empty one takes the setting back. */
static int replace(struct setting *setting, const char *section, const char *value,
                   struct position position)
{
	char *copy = NULL;

	if (*value) {
		copy = strdup(value);
		if (!copy)
			return -ENOMEM;
	}
	setting_clear(setting);
	*setting = (struct setting){ .value = copy, .position = position, .section = section };
	return 0;
}

static int add_to_list(struct settings *settings, struct setting *list, const char *section,
                       const char *value, struct position position)
{
	struct setting *added;
	size_t nr = 1;

	if (!*value || !list->value)
		return replace(list, section, value, position);
	for (; list->next; list = list->next)
		nr++;
	if (nr >= SETTING_LIST_MAX) {
		notes_refuse(settings->notes, position,
		             "more than %d assignments of one key; put several values into one",
		             SETTING_LIST_MAX);
		return 0;
	}
	added = calloc(1, sizeof(*added));
	if (!added || replace(added, section, value, position) < 0) {
		free(added);
		return -ENOMEM;
	}
	list->next = added;
	return 0;
}

/* The place of (@key, @node_id), or where it would have to be. */
static size_t find_node_setting(const struct settings *settings, size_t key, unsigned node_id)
{
	size_t low = 0;
	size_t high = settings->nr_of_nodes;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct node_setting *candidate = &settings->of_nodes[middle];

		if (candidate->key < key || (candidate->key == key && candidate->node_id < node_id))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static int set_of_node(struct settings *settings, size_t key, unsigned node_id, const char *section,
                       const char *value, struct position position)
{
	size_t at = find_node_setting(settings, key, node_id);
	struct node_setting *grown;

	if (at < settings->nr_of_nodes && settings->of_nodes[at].key == key &&
	    settings->of_nodes[at].node_id == node_id)
		return replace(&settings->of_nodes[at].setting, section, value, position);

	grown = reallocarray(settings->of_nodes, settings->nr_of_nodes + 1, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	settings->of_nodes = grown;
	memmove(grown + at + 1, grown + at, (settings->nr_of_nodes - at) * sizeof(*grown));
	settings->nr_of_nodes++;
	grown[at] = (struct node_setting){ .key = key, .node_id = node_id };
	return replace(&grown[at].setting, section, value, position);
}

/* Return: 0 and *ret; -EINVAL not one node id. */
static int node_id_parse(const char *text, unsigned *ret)
{
	unsigned node_id = 0;

	if (!*text || strspn(text, "0123456789") != strlen(text))
		return -EINVAL;
	for (; *text; text++) {
		node_id = node_id * 10 + (unsigned) (*text - '0');
		if (node_id >= CONFIG_NODE_IDS_MAX)
			return -EINVAL;
	}
	*ret = node_id;
	return 0;
}

static int on_node_assignment(struct settings *settings, size_t key, const char *name,
                              const char *section, const char *value, struct position position)
{
	unsigned node_id;

	if (settings->schema->keys[key].form != SETTING_PER_NODE) {
		notes_warn(settings->notes, position,
		           "%s= is the same on all nodes; '%s=' is ignored",
		           settings->schema->keys[key].name, excerpt(name).text);
		return 0;
	}
	if (node_id_parse(strchr(name, '@') + 1, &node_id) < 0) {
		notes_refuse(settings->notes, position,
		             "'%s=' names no node; accepted: %s@N= with one node id below %d",
		             excerpt(name).text, settings->schema->keys[key].name,
		             CONFIG_NODE_IDS_MAX);
		return 0;
	}
	return set_of_node(settings, key, node_id, section, value, position);
}

static void on_assignment(void *user, const char *section, const char *name, const char *value,
                          struct position position)
{
	struct settings *settings = user;
	const struct schema *schema = settings->schema;
	const struct setting_key *key = find_key(schema, name);
	size_t section_index = find_section(schema, section);
	size_t i;
	int r;

	if (section_index == schema->nr_sections || is_foreign(name))
		return;
	section = schema->sections[section_index];
	if (!key || !is_key_of(key, section)) {
		warn_unknown_key(settings, section, name, position);
		return;
	}
	i = (size_t) (key - schema->keys);
	if (strchr(name, '@'))
		r = on_node_assignment(settings, i, name, section, value, position);
	else if (key->form == SETTING_LIST)
		r = add_to_list(settings, &settings->values[i], section, value, position);
	else
		r = replace(&settings->values[i], section, value, position);
	if (r < 0)
		settings->notes->is_out_of_memory = true;
}

int settings_read(struct settings *settings, const struct conf_file *file)
{
	static const struct reader_ops ops = { .section = on_section, .assignment = on_assignment };

	return reader_run(file, settings->notes, &ops, settings);
}

const char *settings_name(const struct settings *settings, size_t key,
                          const struct setting *setting, char *buffer)
{
	const char *name = settings->schema->keys[key].name;

	for (size_t i = 0; i < settings->nr_of_nodes; i++)
		if (&settings->of_nodes[i].setting == setting) {
			snprintf(buffer, SETTING_NAME_MAX, "%s@%u", name,
			         settings->of_nodes[i].node_id);
			return buffer;
		}
	snprintf(buffer, SETTING_NAME_MAX, "%s", name);
	return buffer;
}

void settings_refuse(const struct settings *settings, size_t key, const struct setting *setting,
                     int error)
{
	settings_refuse_as(settings, &settings->schema->keys[key], key, setting, error);
}

void settings_refuse_as(const struct settings *settings, const struct setting_key *row, size_t key,
                        const struct setting *setting, int error)
{
	struct excerpt value = excerpt(setting->value);
	char name[SETTING_NAME_MAX];

	settings_name(settings, key, setting, name);
	if (error == -EDOM)
		notes_refuse(settings->notes, setting->position,
		             "%s=%s has no unit and two readings: write %sM for megabytes or "
		             "%s%s",
		             name, value.text, value.text, value.text,
		             row->is_in_pages ? "p for pages" : "B for bytes");
	else
		notes_refuse(settings->notes, setting->position, "%s=%s is %s; accepted: %s", name,
		             value.text, error == -ERANGE ? "out of range" : "not accepted",
		             row->accepted);
}
