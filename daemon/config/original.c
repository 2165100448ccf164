/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "original.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/xattr.h>

#include "../base/scoped.h"

static const struct refusal_row {
	const char *text;
	const char *sentence;
} rows[] = {
	[ORIGINAL_ACCEPTED] = { "", "is accepted" },
	[ORIGINAL_NO_SUCH_FILE] = { "no-such-file",
	                            "names no file; accepted: files that are there" },
	[ORIGINAL_DIRECTORY] = { "directory", "is a directory; accepted: regular files" },
	[ORIGINAL_NOT_A_FILE] = { "not-a-file",
	                          "is a device, FIFO, socket or made by the kernel as it is read; "
	                          "accepted: regular files" },
	[ORIGINAL_UNREADABLE] = { "unreadable",
	                          "cannot be read by nodeinitd; accepted: files that it may read" },
	[ORIGINAL_SYMLINK] = { "symlink",
	                       "is a link that does not lead to another file of the pool; "
	                       "accepted: regular files, and links between them" },
	[ORIGINAL_HIDDEN] = { "hidden",
	                      "is in a directory that not everybody may pass; accepted: files "
	                      "below directories with the mode o+x and g+x" },
	[ORIGINAL_PRIVILEGED] = { "privileged",
	                          "is set-user-id, set-group-id or has capabilities, which a copy "
	                          "would lose; accepted: files without them" },
	[ORIGINAL_TOO_MANY] = { "too-many",
	                        "names more files than one pool can have; accepted: at most 65536 "
	                        "files, out of at most 1048576 names" },
	[ORIGINAL_FAILED] = { "failed", "cannot be looked at" },
};

_Static_assert(ORIGINALS_MAX == 65536, "the sentence says so");

const char *original_refusal_text(enum original_refusal refusal)
{
	return rows[refusal].text;
}

const char *original_refusal_sentence(enum original_refusal refusal)
{
	return rows[refusal].sentence;
}

enum original_refusal original_refusal_of_error(int error)
{
	switch (error) {
	case -ENOENT:
	case -ENOTDIR:
	case -ENAMETOOLONG:
		return ORIGINAL_NO_SUCH_FILE;
	case -ELOOP:
		return ORIGINAL_SYMLINK;
	case -EACCES:
	case -EPERM:
		return ORIGINAL_UNREADABLE;
	case -E2BIG:
		return ORIGINAL_TOO_MANY;
	default:
		return ORIGINAL_FAILED;
	}
}

void original_identity_read(const struct stat *status, struct original_identity *ret)
{
	*ret = (struct original_identity){
		.device = status->st_dev,
		.inode = status->st_ino,
		.bytes = (uint64_t) status->st_size,
		.changed = status->st_ctim,
		.modified = status->st_mtim,
	};
}

static bool is_same_time(struct timespec a, struct timespec b)
{
	return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

bool original_identity_equals(const struct original_identity *a, const struct original_identity *b)
{
	return a->device == b->device && a->inode == b->inode && a->bytes == b->bytes &&
	       is_same_time(a->changed, b->changed) && is_same_time(a->modified, b->modified);
}

static void refuse_error(struct original *original, int error)
{
	original->refusal = original_refusal_of_error(error);
	original->error = original->refusal == ORIGINAL_FAILED ? error : 0;
}

/* By way of the descriptor: nobody can put another file into its place meanwhile. */
static void judge_file(int fd, const struct stat *status, struct original *original)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (faccessat(AT_FDCWD, path, R_OK, AT_EACCESS) < 0)
		refuse_error(original, -errno);
	else if (status->st_mode & (S_ISUID | S_ISGID) ||
	         getxattr(path, "security.capability", NULL, 0) >= 0)
		original->refusal = ORIGINAL_PRIVILEGED;
	else if (errno != ENODATA && errno != ENOTSUP)
		refuse_error(original, -errno);
}

/*
 * Some of these show more to us than their mode says that everybody sees: the configuration of a
 * PCI device, say, to CAP_SYS_ADMIN.
 */
static bool is_of_kernel(int fd)
{
	struct statfs system;

	if (fstatfs(fd, &system) < 0)
		return true;
	switch ((unsigned long) system.f_type) {
	case SYSFS_MAGIC:
	case PROC_SUPER_MAGIC:
	case DEBUGFS_MAGIC:
	case TRACEFS_MAGIC:
	case SECURITYFS_MAGIC:
	case SELINUX_MAGIC:
	case SMACK_MAGIC:
	case CGROUP_SUPER_MAGIC:
	case CGROUP2_SUPER_MAGIC:
	case EFIVARFS_MAGIC:
	case BPF_FS_MAGIC:
	case PSTOREFS_MAGIC:
		return true;
	default:
		return false;
	}
}

static int read_link(int fd, struct original *original)
{
	char text[PATH_MAX];
	ssize_t text_bytes = readlinkat(fd, "", text, sizeof(text));

	original->refusal = ORIGINAL_SYMLINK;
	if (text_bytes < 0 || (size_t) text_bytes >= sizeof(text))
		return 0;
	original->link_target = strndup(text, (size_t) text_bytes);
	return original->link_target ? 0 : -ENOMEM;
}

int original_look(const struct original_place *place, const char *name, struct original *original)
{
	scoped(fd_closep) int fd = openat(place->fd, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct stat status;

	original->refusal = ORIGINAL_ACCEPTED;
	if (fd < 0 || fstat(fd, &status) < 0) {
		if (errno == ENOENT)
			return -ENOENT;
		refuse_error(original, -errno);
		return 0;
	}
	original_identity_read(&status, &original->identity);
	if (S_ISDIR(status.st_mode))
		original->refusal = ORIGINAL_DIRECTORY;
	else if ((!S_ISREG(status.st_mode) && !S_ISLNK(status.st_mode)) || is_of_kernel(fd))
		original->refusal = ORIGINAL_NOT_A_FILE;
	else if (place->is_hidden)
		original->refusal = ORIGINAL_HIDDEN;
	else if (S_ISLNK(status.st_mode))
		return read_link(fd, original);
	else
		judge_file(fd, &status, original);
	return 0;
}
