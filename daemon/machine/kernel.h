/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * kernel.h - the kernel's attribute files (sysfs, procfs), behind one injectable door
 *
 * Layer: machine. Threads: any; an implementation must allow concurrent calls.
 *
 * Paths are absolute as on a live system ("/sys/devices/system/node/node0/meminfo"). The usual
 * door opens files below a root directory: "" is this machine, anything else a recorded tree.
 * Tests put a scripted kernel behind it that grants less than asked, lets a second writer in, and
 * so on: a plain directory cannot do that.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../base/scoped.h"

/* Attribute files are one page; cpulist of a large machine and memory.stat are a few. */
#define KERNEL_TEXT_MAX (64 * 1024)

struct kernel;

/* Called for each entry but "." and ".."; a value other than 0 ends the walk and is returned. */
typedef int (*kernel_entry_fn)(const char *name, void *arg);

struct kernel_ops {
	/*
	 * Read the whole file into @buffer (terminated, trailing newline kept).
	 * Return: bytes read; -ENOENT; -E2BIG does not fit; other -errno of open(2), read(2).
	 */
	int (*read)(struct kernel *kernel, const char *path, char *buffer, size_t buffer_bytes);

	/* Write @text by one write(2). Return: 0; -errno of open(2) or write(2). */
	int (*write)(struct kernel *kernel, const char *path, const char *text);

	/* Walk a directory in no order. Return: 0; -ENOENT; -errno; what @entry returned. */
	int (*list)(struct kernel *kernel, const char *path, kernel_entry_fn entry, void *arg);

	/* Whether a write would be let through. Return: 0; -EACCES, -EROFS, -ENOENT, … */
	int (*may_write)(struct kernel *kernel, const char *path);
};

/* Implementations embed it first. */
struct kernel {
	const struct kernel_ops *ops;
	bool is_live; /* this machine: system calls about it (affinity, capabilities) make sense */
};

/*
 * Files below @root ("" or NULL: this machine). Return: 0 and *ret, which the caller owns;
 * -ENOENT, -ENOTDIR no such directory; -ENOMEM.
 */
int kernel_open(const char *root, struct kernel **ret);

/* NULL is fine. Return: NULL. */
struct kernel *kernel_close(struct kernel *kernel);
DEFINE_SCOPED(struct kernel *, kernel_close)

/* As the operations; @format makes the path. -ENAMETOOLONG where it exceeds PATH_MAX. */
int kernel_read_text(struct kernel *kernel, char *buffer, size_t buffer_bytes, const char *format,
                     ...) __attribute__((format(printf, 4, 5)));

/* Read one decimal number. Return: 0 and *ret; -EINVAL it is none; as kernel_read_text(). */
int kernel_read_u64(struct kernel *kernel, uint64_t *ret, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Write one decimal number and a newline. Return: 0; -ENAMETOOLONG; as kernel_ops.write. */
int kernel_write_u64(struct kernel *kernel, uint64_t value, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
