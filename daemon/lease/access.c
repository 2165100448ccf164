/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../base/scoped.h"
#include "access.h"

/* Entries of groups with thousands of members are long; longer ones are not looked at. */
#define BUFFER_BYTES_MAX (1U << 20)

static size_t nr_names(char *const *names)
{
	size_t nr = 0;

	while (names && names[nr])
		nr++;
	return nr;
}

/* -1 is the id that means "none" to chown(2) and setresuid(2); nobody has it. */
static bool parse_id(const char *name, uint32_t *ret)
{
	unsigned long long id;
	char *end;

	if (name[0] < '0' || name[0] > '9')
		return false;
	errno = 0;
	id = strtoull(name, &end, 10);
	if (errno != 0 || *end != '\0' || id >= UINT32_MAX)
		return false;
	*ret = (uint32_t) id;
	return true;
}

static int read_user(const char *name, char *buffer, size_t buffer_bytes, uint32_t *ret)
{
	struct passwd entry, *found;
	int r = getpwnam_r(name, &entry, buffer, buffer_bytes, &found);

	if (r == 0 && found)
		*ret = entry.pw_uid;
	return r == 0 && !found ? -ENOENT : -r;
}

static int read_group(const char *name, char *buffer, size_t buffer_bytes, uint32_t *ret)
{
	struct group entry, *found;
	int r = getgrnam_r(name, &entry, buffer, buffer_bytes, &found);

	if (r == 0 && found)
		*ret = entry.gr_gid;
	return r == 0 && !found ? -ENOENT : -r;
}

/* Return: 0 and *ret; -ENOENT; -ENOMEM; -errno the name service failed. */
static int look_up(int (*read)(const char *, char *, size_t, uint32_t *), const char *name,
                   uint32_t *ret)
{
	int r = -ERANGE;

	if (parse_id(name, ret))
		return 0;
	for (size_t bytes = 1024; r == -ERANGE && bytes <= BUFFER_BYTES_MAX; bytes *= 4) {
		scoped(freep) char *buffer = malloc(bytes);

		if (!buffer)
			return -ENOMEM;
		r = read(name, buffer, bytes, ret);
	}
	return r;
}

_Static_assert(sizeof(uid_t) == sizeof(uint32_t) && sizeof(gid_t) == sizeof(uint32_t),
               "ids have 32 bits");

static int make_ids(const char *what, int (*read)(const char *, char *, size_t, uint32_t *),
                    char *const *names,
                    void (*unknown)(void *arg, const char *what, const char *name), void *arg,
                    uint32_t **ret, size_t *ret_nr)
{
	uint32_t *ids = calloc(nr_names(names) + 1, sizeof(*ids));
	size_t nr = 0;

	if (!ids)
		return -ENOMEM;
	for (size_t i = 0; i < nr_names(names); i++) {
		int r = look_up(read, names[i], &ids[nr]);

		if (r == -ENOMEM) {
			free(ids);
			return r;
		}
		if (r == 0)
			nr++;
		else if (unknown)
			unknown(arg, what, names[i]);
	}
	*ret = ids;
	*ret_nr = nr;
	return 0;
}

int access_list_make(char *const *users, char *const *groups,
                     void (*unknown)(void *arg, const char *what, const char *name), void *arg,
                     struct access_list *ret)
{
	struct access_list list = { 0 };
	int r;

	r = make_ids("user", read_user, users, unknown, arg, &list.uids, &list.nr_uids);
	if (r == 0)
		r = make_ids("group", read_group, groups, unknown, arg, &list.gids, &list.nr_gids);
	if (r < 0) {
		access_list_clear(&list);
		return r;
	}
	*ret = list;
	return 0;
}

void access_list_clear(struct access_list *list)
{
	free(list->uids);
	free(list->gids);
	*list = (struct access_list){ 0 };
}

bool access_list_allows(const struct access_list *list, uid_t uid, const gid_t *gids,
                        size_t nr_gids)
{
	if (uid == 0)
		return true;
	for (size_t i = 0; i < list->nr_uids; i++)
		if (list->uids[i] == uid)
			return true;
	for (size_t i = 0; i < list->nr_gids; i++)
		for (size_t j = 0; j < nr_gids; j++)
			if (list->gids[i] == gids[j])
				return true;
	return false;
}
