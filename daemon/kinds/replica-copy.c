/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A file from original to copy. Whoever takes its first piece opens both, whoever ends its last one
 * looks at the original once more and switches the copy in, so only files that are being copied are
 * open. The copy has no name until it is equal and has all its attributes.
 */
#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "../base/size.h"
#include "replica-share.h"

/* What went wrong with a file, and the reason that it is. */
static int fault(enum share_reason *ret_reason, enum share_reason reason, int error)
{
	*ret_reason = reason;
	return error;
}

static enum share_reason copy_reason(int error)
{
	switch (error) {
	case -ENOSPC:
	case -EDQUOT:
	case -ENOMEM:
		return REASON_NO_MEMORY;
	case -EPERM:
	case -EACCES:
	case -EROFS:
		return REASON_NOT_PERMITTED;
	case -EXDEV:
	case -ENODATA:
		return REASON_WRONG_NODE;
	default:
		return REASON_FAILED;
	}
}

void replica_count(struct replica_share *share, struct replica_file *file, uint64_t offset_bytes,
                   uint64_t bytes)
{
	uint64_t early_bytes = bytes_min(offset_bytes + bytes, file->early_bytes) -
	                       bytes_min(offset_bytes, file->early_bytes);
	uint64_t more_bytes[NR_STAGES] = { early_bytes, bytes - early_bytes };

	for (unsigned i = 0; i < NR_STAGES; i++) {
		file->counted_bytes[i] += more_bytes[i];
		(void) atomic_fetch_add_explicit(&share->done_bytes[i], more_bytes[i],
		                                 memory_order_relaxed);
	}
}

/* Both ends. An original that has another size by now was not planned for. With the lock. */
static int begin_copy(struct replica_share *share, struct replica_file *file,
                      enum share_reason *reason)
{
	int r;

	file->original_fd = replica_original_open(file->path, &file->found, reason);
	if (file->original_fd < 0)
		return file->original_fd;
	if (bytes_round_up(file->found.bytes, share->share.page_bytes) != file->bytes)
		return fault(reason, REASON_CHANGING, -ESTALE);
	file->copy_fd = replica_node_temporary(share->node);
	if (file->copy_fd < 0)
		return fault(reason, copy_reason(file->copy_fd), file->copy_fd);
	/* Its size first: the file system gives huge pages within the size only. */
	r = ftruncate(file->copy_fd, (off_t) file->found.bytes) < 0 ? -errno : 0;
	return r < 0 ? fault(reason, copy_reason(r), r) : 0;
}

static int begin_check(struct replica_share *share, struct replica_file *file,
                       enum share_reason *reason)
{
	file->copy_fd = replica_node_open(share->node, file->path, &share->share);
	/* Whatever it is, a new copy will do. */
	return file->copy_fd < 0 ? fault(reason, REASON_WRONG_NODE, -EXDEV) : 0;
}

void replica_file_fail(struct replica_file *file, enum share_reason reason, int error)
{
	if (file->state == REPLICA_FAILED)
		return;
	file->state = REPLICA_FAILED;
	file->reason = reason;
	file->error = error;
}

/* Return: 1 there is a piece to do; 0 the file is out of this round; -errno no memory. */
static int file_enter(struct replica_share *share, struct replica_file *file)
{
	enum share_reason reason = REASON_NONE;
	int r = 0;

	(void) pthread_mutex_lock(&file->lock);
	if (file->state == REPLICA_NEW) {
		r = begin_copy(share, file, &reason);
		file->state = REPLICA_COPYING;
	} else if (file->state == REPLICA_CHECKING && file->copy_fd < 0) {
		r = begin_check(share, file, &reason);
	}
	if (r < 0 && reason == REASON_NO_MEMORY) {
		file->state = REPLICA_NEW;
	} else if (r < 0) {
		replica_file_fail(file, reason, r);
		r = 0;
	} else {
		r = file->state == REPLICA_COPYING || file->state == REPLICA_CHECKING;
	}
	if (r == 1) {
		file->nr_users++;
	} else if (file->nr_users == 0) {
		file->original_fd = fd_close(file->original_fd);
		file->copy_fd = fd_close(file->copy_fd);
	}
	(void) pthread_mutex_unlock(&file->lock);
	return r;
}

static void file_leave(struct replica_file *file)
{
	(void) pthread_mutex_lock(&file->lock);
	if (--file->nr_users == 0 && file->state != REPLICA_COPYING &&
	    file->state != REPLICA_CHECKING) {
		file->original_fd = fd_close(file->original_fd);
		file->copy_fd = fd_close(file->copy_fd);
	}
	(void) pthread_mutex_unlock(&file->lock);
}

/* Return: 0; -errno; -ESTALE the file ends before that. */
static int read_all(int fd, char *buffer, uint64_t bytes, uint64_t offset_bytes)
{
	while (bytes > 0) {
		ssize_t n = pread(fd, buffer, bytes, (off_t) offset_bytes);

		if (n < 0)
			return -errno;
		if (n == 0)
			return -ESTALE;
		buffer += n;
		bytes -= (uint64_t) n;
		offset_bytes += (uint64_t) n;
	}
	return 0;
}

static int write_all(int fd, const char *buffer, uint64_t bytes, uint64_t offset_bytes)
{
	while (bytes > 0) {
		ssize_t n = pwrite(fd, buffer, bytes, (off_t) offset_bytes);

		if (n < 0)
			return -errno;
		if (n == 0)
			return -EIO;
		buffer += n;
		bytes -= (uint64_t) n;
		offset_bytes += (uint64_t) n;
	}
	return 0;
}

static int read_original(const struct replica_file *file, char *buffer, uint64_t bytes,
                         uint64_t offset_bytes, enum share_reason *reason)
{
	int r = read_all(file->original_fd, buffer, bytes, offset_bytes);

	if (r < 0)
		*reason = r == -ESTALE ? REASON_CHANGING : REASON_UNREADABLE;
	return r;
}

/* Write as much as a buffer holds, then read both again: they are to be equal as they lie there. */
static int copy_buffer(const struct replica_file *file, uint64_t offset_bytes, uint64_t bytes,
                       const struct replica_buffers *buffers, enum share_reason *reason)
{
	int r;

	r = read_original(file, buffers->first, bytes, offset_bytes, reason);
	if (r < 0)
		return r;
	r = write_all(file->copy_fd, buffers->first, bytes, offset_bytes);
	if (r < 0)
		return fault(reason, copy_reason(r), r);
	r = read_all(file->copy_fd, buffers->second, bytes, offset_bytes);
	if (r < 0)
		return fault(reason, REASON_FAILED, r);
	r = read_original(file, buffers->first, bytes, offset_bytes, reason);
	if (r < 0)
		return r;
	return memcmp(buffers->first, buffers->second, bytes) != 0
	               ? fault(reason, REASON_CHANGING, -ESTALE)
	               : 0;
}

static int do_piece(struct replica_share *share, struct replica_file *file, bool is_check,
                    uint64_t offset_bytes, uint64_t bytes, const struct replica_buffers *buffers,
                    enum share_reason *reason)
{
	uint64_t end_bytes = bytes_min(offset_bytes + bytes,
	                               is_check ? file->identity.bytes : file->found.bytes);
	int r = 0;

	for (uint64_t at_bytes = offset_bytes; !is_check && at_bytes < end_bytes && r == 0;) {
		uint64_t now_bytes = bytes_min(end_bytes - at_bytes, buffers->bytes);

		r = copy_buffer(file, at_bytes, now_bytes, buffers, reason);
		at_bytes += now_bytes;
	}
	if (r == 0 && share->node->is_bound) {
		r = replica_pages_check(file->copy_fd, offset_bytes,
		                        bytes_left(end_bytes, offset_bytes), share->share.node_id);
		if (r < 0)
			*reason = copy_reason(r);
	}
	return r;
}

/* Files of procfs say that they are empty, and are not. Return: 0; -errno; -ESTALE there is more.
 */
static int check_end(const struct replica_file *file, enum share_reason *reason)
{
	char more;
	ssize_t n = pread(file->original_fd, &more, 1, (off_t) file->found.bytes);

	if (n < 0)
		return fault(reason, REASON_UNREADABLE, -errno);
	return n > 0 ? fault(reason, REASON_CHANGING, -ESTALE) : 0;
}

/* All of it is equal and on its node, unless it has changed meanwhile. */
static int complete(struct replica_share *share, struct replica_file *file,
                    enum share_reason *reason)
{
	int r = check_end(file, reason);

	if (r < 0)
		return r;
	r = replica_attributes_copy(file->original_fd, file->copy_fd);
	if (r < 0)
		return fault(reason, copy_reason(r), r);
	/* After the attributes, which may have changed as well. */
	r = replica_original_check(file->path, &file->found, reason);
	if (r < 0)
		return r;
	r = replica_node_put_file(share->node, file->path, &share->share, file->copy_fd,
	                          &file->found);
	return r < 0 ? fault(reason, copy_reason(r), r) : 0;
}

/* Return: whether it was the last one. */
static bool count_piece(struct replica_share *share, struct replica_file *file, bool is_check,
                        uint64_t offset_bytes, uint64_t bytes)
{
	bool is_last = false;

	(void) pthread_mutex_lock(&file->lock);
	/* Otherwise another piece has failed meanwhile. */
	if (file->state == REPLICA_COPYING || file->state == REPLICA_CHECKING) {
		if (!is_check)
			replica_count(share, file, offset_bytes, bytes);
		assert(file->bytes_left >= bytes);
		file->bytes_left -= bytes;
		is_last = file->bytes_left == 0;
	}
	(void) pthread_mutex_unlock(&file->lock);
	return is_last;
}

static void file_settle(struct replica_file *file, bool is_check, int error,
                        enum share_reason reason)
{
	(void) pthread_mutex_lock(&file->lock);
	if (error < 0) {
		replica_file_fail(file, reason, error);
	} else {
		file->state = REPLICA_READY;
		file->reason = REASON_NONE;
		file->error = 0;
		file->nr_changed = file->nr_elsewhere = 0;
		if (!is_check)
			file->identity = file->found;
	}
	(void) pthread_mutex_unlock(&file->lock);
}

int replica_copy_piece(struct replica_share *share, struct replica_file *file,
                       uint64_t offset_bytes, uint64_t bytes, const struct replica_buffers *buffers)
{
	enum share_reason reason = REASON_NONE;
	bool is_check, is_last = false;
	int r = file_enter(share, file);

	if (r <= 0)
		return r;
	/* Only the copying of a file sets this, and we are at it. */
	is_check = file->original_fd < 0;
	r = do_piece(share, file, is_check, offset_bytes, bytes, buffers, &reason);
	if (r == 0)
		is_last = count_piece(share, file, is_check, offset_bytes, bytes);
	if (is_last && !is_check)
		r = complete(share, file, &reason);
	if (is_last || (r < 0 && reason != REASON_NO_MEMORY)) {
		file_settle(file, is_check, r, reason);
		r = 0;
	}
	file_leave(file);
	return r;
}
