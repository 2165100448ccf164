/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdarg.h>
#include <string.h>
#include <sys/syscall.h>

#include "../base/scoped.h"
#include "kernel.h"

/* No kernel has smaller pages, and an attribute is handed out by whole pages. */
#define ATTRIBUTE_CHUNK_BYTES 4096

/* The usual door: files below a directory. Immutable once open, hence free for all threads. */
struct kernel_tree {
	struct kernel kernel;
	int root_fd;
};

static const char *below_root(const char *path)
{
	path += strspn(path, "/");
	return *path ? path : ".";
}

/*
 * On a recorded tree links are followed as if its root were "/": one that was recorded as an
 * absolute link leads to the recorded file and not to one of this machine.
 */
static int tree_open(struct kernel *kernel, const char *path, int flags)
{
	const struct kernel_tree *tree = (const struct kernel_tree *) kernel;
	struct open_how how = {
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	int fd = -1;

	flags |= O_CLOEXEC | O_NOCTTY;
	if (!kernel->is_live) {
		/* A FIFO that somebody put into the tree is empty; nobody waits for a writer. */
		flags |= O_NONBLOCK;
		how.flags = (uint64_t) flags;
		fd = (int) syscall(SYS_openat2, tree->root_fd, below_root(path), &how, sizeof(how));
		/* Before Linux 5.6, or filtered: then as for this machine. */
		if (fd < 0 && errno != ENOSYS && errno != EPERM)
			return -errno;
	}
	if (fd < 0)
		fd = openat(tree->root_fd, below_root(path), flags);
	return fd < 0 ? -errno : fd;
}

/*
 * A sysfs attribute comes whole, or page by page: less than a page is its end. That saves the
 * second read of the 131 072 block states of a large machine. procfs may stop anywhere.
 */
static bool is_whole(const char *path, size_t got_bytes)
{
	return got_bytes < ATTRIBUTE_CHUNK_BYTES && strncmp(path, "/sys/", strlen("/sys/")) == 0;
}

static int tree_read(struct kernel *kernel, const char *path, char *buffer, size_t buffer_bytes)
{
	scoped(fd_closep) int fd = -1;
	size_t nr_bytes = 0;

	fd = tree_open(kernel, path, O_RDONLY);
	if (fd < 0)
		return fd;
	/* One byte is kept for the terminator; to fill it all says nothing of the end. */
	while (nr_bytes < buffer_bytes) {
		ssize_t got = read(fd, buffer + nr_bytes, buffer_bytes - nr_bytes);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		nr_bytes += (size_t) got;
		if (got == 0 || (nr_bytes < buffer_bytes && is_whole(path, (size_t) got))) {
			buffer[nr_bytes] = '\0';
			return (int) nr_bytes;
		}
	}
	return -E2BIG;
}

static int tree_write(struct kernel *kernel, const char *path, const char *text)
{
	scoped(fd_closep) int fd = -1;
	size_t text_bytes = strlen(text);
	ssize_t written;

	/* An attribute has no old content to cut off; a recorded file has. */
	fd = tree_open(kernel, path, O_WRONLY | (kernel->is_live ? 0 : O_TRUNC));
	if (fd < 0)
		return fd;
	written = write(fd, text, text_bytes);
	if (written < 0)
		return -errno;
	return (size_t) written == text_bytes ? 0 : -EIO;
}

static bool is_self_or_parent(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

static int tree_list(struct kernel *kernel, const char *path, kernel_entry_fn entry, void *arg)
{
	scoped(fd_closep) int fd = -1;
	scoped(dir_closep) DIR *dir = NULL;

	fd = tree_open(kernel, path, O_RDONLY | O_DIRECTORY);
	if (fd < 0)
		return fd;
	dir = fdopendir(fd);
	if (!dir)
		return -errno;
	(void) take_fd(fd);
	for (;;) {
		const struct dirent *found;
		int r;

		errno = 0;
		found = readdir(dir);
		if (!found)
			return -errno;
		if (is_self_or_parent(found->d_name))
			continue;
		r = entry(found->d_name, arg);
		if (r)
			return r;
	}
}

static int tree_may_write(struct kernel *kernel, const char *path)
{
	const struct kernel_tree *tree = (const struct kernel_tree *) kernel;

	/* A read-only mount over /sys (ProtectKernelTunables=yes) is told by this, too: EROFS. */
	return faccessat(tree->root_fd, below_root(path), W_OK, AT_EACCESS) < 0 ? -errno : 0;
}

static const struct kernel_ops tree_ops = {
	.read = tree_read,
	.write = tree_write,
	.list = tree_list,
	.may_write = tree_may_write,
};

int kernel_open(const char *root, struct kernel **ret)
{
	scoped(fd_closep) int root_fd = -1;
	bool is_live = !root || !*root;
	struct kernel_tree *tree;

	root_fd = open(is_live ? "/" : root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root_fd < 0)
		return -errno;
	tree = malloc(sizeof(*tree));
	if (!tree)
		return -ENOMEM;
	*tree = (struct kernel_tree){
		.kernel = { .ops = &tree_ops, .is_live = is_live },
		.root_fd = take_fd(root_fd),
	};
	*ret = &tree->kernel;
	return 0;
}

struct kernel *kernel_close(struct kernel *kernel)
{
	struct kernel_tree *tree = (struct kernel_tree *) kernel;

	if (tree) {
		tree->root_fd = fd_close(tree->root_fd);
		free(tree);
	}
	return NULL;
}

__attribute__((format(printf, 2, 0))) static int path_format(char path[PATH_MAX],
                                                             const char *format, va_list arguments)
{
	int nr_chars = vsnprintf(path, PATH_MAX, format, arguments);

	return nr_chars < 0 || nr_chars >= PATH_MAX ? -ENAMETOOLONG : 0;
}

int kernel_read_text(struct kernel *kernel, char *buffer, size_t buffer_bytes, const char *format,
                     ...)
{
	char path[PATH_MAX];
	va_list arguments;
	int r;

	va_start(arguments, format);
	r = path_format(path, format, arguments);
	va_end(arguments);
	return r < 0 ? r : kernel->ops->read(kernel, path, buffer, buffer_bytes);
}

/* strtoull() takes signs and blanks that no attribute has; those are no numbers here. */
static int number_parse(const char *text, uint64_t *ret)
{
	uint64_t value = 0;

	text += strspn(text, " \t");
	if (*text < '0' || *text > '9')
		return -EINVAL;
	for (; *text >= '0' && *text <= '9'; text++)
		if (__builtin_mul_overflow(value, UINT64_C(10), &value) ||
		    __builtin_add_overflow(value, (uint64_t) (*text - '0'), &value))
			return -EINVAL;
	if (text[strspn(text, " \t\n")])
		return -EINVAL;
	*ret = value;
	return 0;
}

int kernel_read_u64(struct kernel *kernel, uint64_t *ret, const char *format, ...)
{
	char path[PATH_MAX], text[64];
	va_list arguments;
	int r;

	va_start(arguments, format);
	r = path_format(path, format, arguments);
	va_end(arguments);
	if (r < 0)
		return r;
	r = kernel->ops->read(kernel, path, text, sizeof(text));
	if (r < 0)
		return r == -E2BIG ? -EINVAL : r;
	return number_parse(text, ret);
}

int kernel_write_u64(struct kernel *kernel, uint64_t value, const char *format, ...)
{
	char path[PATH_MAX], text[32];
	va_list arguments;
	int r;

	va_start(arguments, format);
	r = path_format(path, format, arguments);
	va_end(arguments);
	if (r < 0)
		return r;
	(void) snprintf(text, sizeof(text), "%" PRIu64 "\n", value);
	return kernel->ops->write(kernel, path, text);
}
