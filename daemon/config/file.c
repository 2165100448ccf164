/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

void conf_file_clear(struct conf_file *file)
{
	free(file->path);
	free(file->text);
	*file = (struct conf_file){ 0 };
}

/* /dev/null is 1:3 (Documentation/admin-guide/devices.txt of the kernel). */
static bool is_mask(const struct stat *status)
{
	if (S_ISCHR(status->st_mode))
		return status->st_rdev == makedev(1, 3);
	return S_ISREG(status->st_mode) && status->st_size == 0;
}

static const char *type_text(mode_t mode)
{
	if (S_ISDIR(mode))
		return "a directory";
	if (S_ISFIFO(mode))
		return "a FIFO";
	if (S_ISSOCK(mode))
		return "a socket";
	return "a device";
}

/* Up to @max_bytes. Return: 0, *ret_bytes and a NUL after them; -errno. */
static int read_all(int fd, char *buffer, size_t max_bytes, size_t *ret_bytes)
{
	size_t used_bytes = 0;

	while (used_bytes < max_bytes) {
		ssize_t r = read(fd, buffer + used_bytes, max_bytes - used_bytes);

		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0)
			return -errno;
		if (!r)
			break;
		used_bytes += (size_t) r;
	}
	buffer[used_bytes] = '\0';
	*ret_bytes = used_bytes;
	return 0;
}

static int refuse_errno(struct notes *notes, const char *path, int error)
{
	notes_refuse(notes, (struct position){ .path = path }, "cannot be read: %s",
	             strerror(error));
	return -EINVAL;
}

static int refuse_too_large(struct notes *notes, const char *path)
{
	notes_refuse(notes, (struct position){ .path = path },
	             "is larger than %d bytes, the most a file may have", CONFIG_FILE_BYTES_MAX);
	return -EINVAL;
}

/* Looks before it opens: opening a device can act on it, and a FIFO waits for a writer. */
static int open_regular(const char *path, struct notes *notes, int *ret_fd, struct stat *ret_status)
{
	scoped(fd_closep) int fd = -1;
	struct stat status;

	if (stat(path, &status) < 0)
		return refuse_errno(notes, path, errno);
	if (is_mask(&status))
		return 0;
	if (S_ISREG(status.st_mode)) {
		fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
		if (fd < 0 || fstat(fd, &status) < 0)
			return refuse_errno(notes, path, errno);
	}
	if (!S_ISREG(status.st_mode)) {
		notes_refuse(notes, (struct position){ .path = path }, "is %s, not a file",
		             type_text(status.st_mode));
		return -EINVAL;
	}
	*ret_fd = take_fd(fd);
	*ret_status = status;
	return 1;
}

int conf_file_read(const char *path, struct notes *notes, struct conf_file *ret)
{
	scoped(conf_file_clear) struct conf_file file = { 0 };
	scoped(fd_closep) int fd = -1;
	struct stat status;
	size_t room_bytes;
	int r;

	r = open_regular(path, notes, &fd, &status);
	if (r <= 0)
		return r;
	if (status.st_size > CONFIG_FILE_BYTES_MAX)
		return refuse_too_large(notes, path);

	/* One more than it had when looked at: a file that grows is seen to. */
	room_bytes = (size_t) status.st_size + 1;
	file.path = strdup(path);
	file.text = malloc(room_bytes + 1);
	if (!file.path || !file.text)
		return -ENOMEM;
	r = read_all(fd, file.text, room_bytes, &file.text_bytes);
	if (r < 0)
		return refuse_errno(notes, path, -r);
	if (file.text_bytes == room_bytes) {
		notes_refuse(notes, (struct position){ .path = path },
		             "was being written while it was read");
		return -EINVAL;
	}
	*ret = file;
	file = (struct conf_file){ 0 };
	return 1;
}
