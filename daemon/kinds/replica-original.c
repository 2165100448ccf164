/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The file that is copied: opened without waiting and without links, and known again. */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "../config/original-tree.h"
#include "../config/original.h"
#include "replica-share.h"

/* No device is opened for reading and no FIFO waits; the path is the canonical one. */
static int open_path(const char *path, uint64_t flags)
{
	struct open_how how = {
		.flags = flags | O_NOFOLLOW | O_CLOEXEC,
		.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS,
	};
	int fd = (int) syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));

	return fd < 0 ? -errno : fd;
}

static enum share_reason reason_of(int error)
{
	switch (error) {
	case -ENOENT:
	case -ENOTDIR:
		return REASON_GONE;
	case -ELOOP: /* it is a link by now, or one is on the way: another look decides */
	case -EAGAIN:
		return REASON_CHANGING;
	case -EACCES:
	case -EPERM:
	case -EIO:
	case -ENXIO:
		return REASON_UNREADABLE;
	case -ENOSYS:
		return REASON_UNSUPPORTED;
	case -ENOMEM:
		return REASON_NO_MEMORY;
	default:
		return REASON_FAILED;
	}
}

/* What the descriptor is. Return: 0; -errno; -ESTALE it is no regular file any more. */
static int identify(int fd, struct original_identity *ret)
{
	struct stat status;

	if (fstat(fd, &status) < 0)
		return -errno;
	if (!S_ISREG(status.st_mode) || (status.st_mode & (S_ISUID | S_ISGID)) != 0)
		return -ESTALE;
	original_identity_read(&status, ret);
	return 0;
}

int replica_original_open(const char *path, struct original_identity *ret,
                          enum share_reason *ret_reason)
{
	scoped(fd_closep) int probe = -1;
	scoped(fd_closep) int fd = -1;
	int r;

	/* Opening a device may do something; so that it is none is seen before. */
	probe = open_path(path, O_PATH);
	r = probe < 0 ? probe : identify(probe, ret);
	if (r == 0) {
		fd = open_path(path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
		r = fd < 0 ? fd : identify(fd, ret);
	}
	if (r < 0) {
		*ret_reason = r == -ESTALE ? REASON_CHANGING : reason_of(r);
		return r;
	}
	return take_fd(fd);
}

/*
 * The rules by which the plan accepted it hold now as well: who may not pass one of its directories
 * could read a copy.
 */
static int judge(const char *path, enum share_reason *ret_reason)
{
	scoped(original_tree_close) struct original_tree tree = { .root_fd = -1 };
	scoped(original_place_close) struct original_place place = { .fd = -1 };
	const char *name = strrchr(path, '/') + 1;
	scoped(freep) char *directory = strndup(path, (size_t) (name - path));
	struct original original = { 0 };
	int r;

	r = directory ? original_tree_open("", &tree) : -ENOMEM;
	if (r == 0)
		r = original_tree_directory(&tree, directory, &place);
	if (r == 0)
		r = original_look(&place, name, &original);
	free(original.link_target);
	if (r < 0) {
		*ret_reason = reason_of(r);
		return r;
	}
	if (original.refusal == ORIGINAL_ACCEPTED)
		return 0;
	/* Of others the next plan tells. */
	*ret_reason = original.refusal == ORIGINAL_HIDDEN ? REASON_NOT_PERMITTED : REASON_CHANGING;
	return -EPERM;
}

int replica_original_check(const char *path, const struct original_identity *identity,
                           enum share_reason *ret_reason)
{
	struct original_identity named;
	scoped(fd_closep) int fd = open_path(path, O_PATH);
	int r = fd < 0 ? fd : identify(fd, &named);

	if (r == 0 && !original_identity_equals(&named, identity))
		r = -ESTALE;
	if (r == 0)
		return judge(path, ret_reason);
	*ret_reason = r == -ESTALE ? REASON_CHANGING : reason_of(r);
	return r;
}
