/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* All of a copy that is not its content. */
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include "replica-share.h"

#define ACCESS_LIST "system.posix_acl_access"
#define CAPABILITY  "security.capability"

/* XATTR_LIST_MAX and XATTR_SIZE_MAX of the kernel. */
#define LIST_BYTES_MAX  65536
#define VALUE_BYTES_MAX 65536

static bool is_copied(const char *name)
{
	return (strncmp(name, "security.", 9) == 0 && strcmp(name, CAPABILITY) != 0) ||
	       strncmp(name, "trusted.", 8) == 0 || strncmp(name, "user.", 5) == 0 ||
	       strcmp(name, ACCESS_LIST) == 0;
}

/*
 * What the copy's file system does not take is left out, and so is what we may not set. But for
 * the access list: who reads the original by it, or is kept out by it, is decided there.
 *
 * Return: 0 and *ret_has_list; -EPERM the access list cannot be kept; -errno.
 */
static int copy_extended(int original, int copy, bool *ret_has_list)
{
	scoped(freep) char *names = malloc(LIST_BYTES_MAX);
	scoped(freep) char *value = malloc(VALUE_BYTES_MAX);
	ssize_t list_bytes;

	*ret_has_list = false;
	if (!names || !value)
		return -ENOMEM;
	list_bytes = flistxattr(original, names, LIST_BYTES_MAX);
	if (list_bytes < 0)
		return errno == ENOTSUP || errno == ENOSYS ? 0 : -errno;
	for (char *name = names; name < names + list_bytes; name += strlen(name) + 1) {
		bool is_list = strcmp(name, ACCESS_LIST) == 0;
		ssize_t value_bytes;

		if (!is_copied(name))
			continue;
		value_bytes = fgetxattr(original, name, value, VALUE_BYTES_MAX);
		if (value_bytes >= 0 &&
		    fsetxattr(copy, name, value, (size_t) value_bytes, 0) == 0) {
			*ret_has_list |= is_list;
			continue;
		}
		if (is_list)
			return -EPERM;
	}
	return 0;
}

/*
 * Whether everybody has the same rights, whoever they are: then nothing depends on whose the file
 * is. Otherwise a copy that belongs to us would let in our group, which may be kept out.
 */
static bool is_same_for_all(mode_t mode)
{
	mode_t others = mode & S_IRWXO;

	return (others & S_IROTH) != 0 && ((mode >> 3) & 5) == (others & 5) &&
	       ((mode >> 6) & 5) == (others & 5);
}

int replica_attributes_copy(int original, int copy)
{
	struct stat status, own;
	struct timespec times[2];
	bool has_list;
	int r;

	if (fstat(original, &status) < 0 || fstat(copy, &own) < 0)
		return -errno;
	r = copy_extended(original, copy, &has_list);
	if (r < 0)
		return r;
	/* After the access list, whose mask it is: nobody who is named in it may write, either. */
	if (fchmod(copy, status.st_mode & 0555) < 0)
		return -errno;
	times[0] = status.st_atim;
	times[1] = status.st_mtim;
	if (futimens(copy, times) < 0)
		return -errno;
	if (own.st_uid == status.st_uid && own.st_gid == status.st_gid)
		return 0;
	/* Last: once it is another's, there is nothing more that we may change. */
	if (fchown(copy, status.st_uid, status.st_gid) == 0)
		return 0;
	return !has_list && is_same_for_all(status.st_mode) ? 0 : -EPERM;
}
