/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The XML files in dbus/ against the introspection of the running service, member by member. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../daemon/base/scoped.h"
#include "scene.h"

#define MEMBERS_MAX 256

/* An interface as sorted lines: "method Retry", "method Retry arg 0 in a{sv} options", ... */
struct contract {
	char *lines[MEMBERS_MAX];
	size_t nr_lines;
};

static struct scene scene;

static void setup(void)
{
	struct node_view node = sample_node(0);
	struct pool_view pool = sample_pool("guests");

	scene_begin(&scene);
	ck_assert_int_eq(bus_service_show_node(scene.service, &node), 0);
	ck_assert_int_eq(bus_service_show_pool(scene.service, &pool), 0);
}

static void teardown(void)
{
	scene_end(&scene);
}

/* The value of an attribute in the tag from @tag to @end; "" when it has none. */
static const char *attribute(const char *tag, const char *end, const char *name, char value[128])
{
	char start[64];
	const char *found;

	(void) snprintf(start, sizeof(start), " %s=\"", name);
	found = strstr(tag, start);
	value[0] = '\0';
	if (found && found < end) {
		found += strlen(start);
		(void) snprintf(value, 128, "%.*s", (int) strcspn(found, "\""), found);
	}
	return value;
}

static void add_line(struct contract *contract, const char *line)
{
	ck_assert_uint_lt(contract->nr_lines, MEMBERS_MAX);
	contract->lines[contract->nr_lines] = strdup(line);
	ck_assert_ptr_nonnull(contract->lines[contract->nr_lines++]);
}

static bool is_tag(const char *tag, const char *name)
{
	size_t nr = strlen(name);

	return strncmp(tag, name, nr) == 0 && !isalnum((unsigned char) tag[nr]);
}

/* One tag within the interface; @member and @nr_args follow from the tags before. */
static void read_tag(struct contract *contract, const char *tag, const char *end, char member[160],
                     unsigned *nr_args)
{
	char a[128], b[128], c[128], line[640];

	if (is_tag(tag, "method") || is_tag(tag, "signal")) {
		(void) snprintf(member, 160, "%.6s %s", tag, attribute(tag, end, "name", a));
		*nr_args = 0;
		add_line(contract, member);
	} else if (is_tag(tag, "property")) {
		(void) snprintf(member, 160, "property %s", attribute(tag, end, "name", a));
		(void) snprintf(line, sizeof(line), "%s %s %s", member,
		                attribute(tag, end, "type", b), attribute(tag, end, "access", c));
		add_line(contract, line);
	} else if (is_tag(tag, "arg")) {
		(void) snprintf(line, sizeof(line), "%s arg %u %s %s %s", member, (*nr_args)++,
		                attribute(tag, end, "direction", a), attribute(tag, end, "type", b),
		                attribute(tag, end, "name", c));
		add_line(contract, line);
	} else if (is_tag(tag, "annotation")) {
		(void) snprintf(line, sizeof(line), "%s annotation %s %s", member,
		                attribute(tag, end, "name", a), attribute(tag, end, "value", b));
		add_line(contract, line);
	}
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *) a, *(char *const *) b);
}

static void read_contract(const char *xml, const char *interface, struct contract *ret)
{
	char member[160] = "", name[128];
	bool is_inside = false;
	unsigned nr_args = 0;

	ret->nr_lines = 0;
	for (const char *tag = xml; (tag = strchr(tag, '<'));) {
		const char *end;

		tag++;
		if (strncmp(tag, "!--", 3) == 0) {
			tag = strstr(tag, "-->");
			ck_assert_ptr_nonnull(tag);
			continue;
		}
		end = strchr(tag, '>');
		ck_assert_ptr_nonnull(end);
		if (is_tag(tag, "interface"))
			is_inside = strcmp(attribute(tag, end, "name", name), interface) == 0;
		else if (is_tag(tag, "/interface"))
			is_inside = false;
		else if (is_inside)
			read_tag(ret, tag, end, member, &nr_args);
		tag = end;
	}
	qsort(ret->lines, ret->nr_lines, sizeof(ret->lines[0]), by_text);
}

static void contract_clear(struct contract *contract)
{
	for (size_t i = 0; i < contract->nr_lines; i++)
		free(contract->lines[i]);
	contract->nr_lines = 0;
}

static char *read_xml_file(const char *interface)
{
	char path[PATH_MAX];
	scoped(file_closep) FILE *file = NULL;
	char *text = calloc(1, 64 * 1024);

	ck_assert_ptr_nonnull(text);
	(void) snprintf(path, sizeof(path), "%s/%s.xml", TEST_DBUS_DIR, interface);
	file = fopen(path, "re");
	ck_assert_msg(file != NULL, "%s cannot be read", path);
	ck_assert_uint_gt(fread(text, 1, 64 * 1024 - 1, file), 0);
	return text;
}

static const struct {
	const char *interface;
	const char *path;
	size_t nr_members;
} faces[] = {
	{ NODEINIT_MANAGER_INTERFACE, NODEINIT_PATH, 10 + 14 },
	{ NODEINIT_NODE_INTERFACE, NODEINIT_NODE_PREFIX "/0", 16 },
	{ NODEINIT_POOL_INTERFACE, NODEINIT_POOL_PREFIX "/guests", 2 + 12 },
};

START_TEST(test_the_xml_says_what_the_service_shows)
{
	scoped(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
	scoped(freep) char *written = read_xml_file(faces[_i].interface);
	struct contract wanted, live;
	const char *xml;

	reply = scene_call(&scene, faces[_i].path, "org.freedesktop.DBus.Introspectable",
	                   "Introspect", "");
	ck_assert_int_gt(sd_bus_message_read(reply, "s", &xml), 0);
	read_contract(written, faces[_i].interface, &wanted);
	read_contract(xml, faces[_i].interface, &live);

	for (size_t i = 0; i < wanted.nr_lines && i < live.nr_lines; i++)
		ck_assert_str_eq(wanted.lines[i], live.lines[i]);
	ck_assert_uint_eq(wanted.nr_lines, live.nr_lines);
	contract_clear(&wanted);
	contract_clear(&live);
}
END_TEST

START_TEST(test_every_member_in_the_xml_has_a_comment_right_above_it)
{
	scoped(freep) char *xml = read_xml_file(faces[_i].interface);
	size_t nr_members = 0;

	for (const char *tag = xml; (tag = strchr(tag, '<')); tag++) {
		const char *before = tag;

		if (strncmp(tag, "<!--", 4) == 0) {
			tag = strstr(tag, "-->");
			ck_assert_ptr_nonnull(tag);
			continue;
		}
		if (!is_tag(tag + 1, "method") && !is_tag(tag + 1, "property"))
			continue;
		nr_members++;
		while (before > xml && isspace((unsigned char) before[-1]))
			before--;
		ck_assert_msg(before - xml > 3 && strncmp(before - 3, "-->", 3) == 0,
		              "no comment above %.60s", tag);
	}
	ck_assert_uint_eq(nr_members, faces[_i].nr_members);
}
END_TEST

/* Every member is in the manual page, and every error that it names is known there. */
START_TEST(test_the_manual_page_has_every_member)
{
	scoped(freep) char *xml = read_xml_file(faces[_i].interface);
	scoped(file_closep) FILE *file = fopen(TEST_DBUS_MANUAL, "re");
	scoped(freep) char *manual = calloc(1, 64 * 1024);
	struct contract wanted;

	ck_assert_ptr_nonnull(file);
	ck_assert_ptr_nonnull(manual);
	ck_assert_uint_gt(fread(manual, 1, 64 * 1024 - 1, file), 0);
	read_contract(xml, faces[_i].interface, &wanted);
	for (size_t i = 0; i < wanted.nr_lines; i++) {
		char kind[16], name[64], marked[80];

		ck_assert_int_eq(sscanf(wanted.lines[i], "%15s %63s", kind, name), 2);
		(void) snprintf(marked, sizeof(marked), "*%s*", name);
		ck_assert_msg(strstr(manual, marked) != NULL, "%s is not in the manual page", name);
	}
	contract_clear(&wanted);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("bus-contract");
	TCase *tcase = tcase_create("XML, manual and introspection");

	bus_fixture_require();
	tcase_set_timeout(tcase, 30);
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_loop_test(tcase, test_the_xml_says_what_the_service_shows, 0,
	                    (int) ELEMENTS(faces));
	tcase_add_loop_test(tcase, test_every_member_in_the_xml_has_a_comment_right_above_it, 0,
	                    (int) ELEMENTS(faces));
	tcase_add_loop_test(tcase, test_the_manual_page_has_every_member, 0, (int) ELEMENTS(faces));
	suite_add_tcase(suite, tcase);
	return suite_main(suite);
}
