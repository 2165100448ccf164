/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * scoped.h - ownership that ends with the block it was declared in
 *
 * Layer: base. Threads: any; everything here works on the caller's own variables.
 */
#pragma once

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Run @fn on the address of the variable when it leaves its block. */
#define scoped(fn) __attribute__((cleanup(fn)))

/*
 * Make fn##p() for scoped() out of a destructor. @fn takes the object, accepts NULL and returns
 * NULL, so that "p = thing_free(p)" leaves no stale pointer behind.
 */
#define DEFINE_SCOPED(type, fn)              \
	static inline void fn##p(type *slot) \
	{                                    \
		*slot = fn(*slot);           \
	}

/* Hand the object on; the variable is NULL afterwards. */
#define take(pointer)                                   \
	({                                              \
		__typeof__(pointer) given_ = (pointer); \
		(pointer) = NULL;                       \
		given_;                                 \
	})

/* Hand the descriptor on; the variable is -1 afterwards. */
#define take_fd(fd)                \
	({                         \
		int given_ = (fd); \
		(fd) = -1;         \
		given_;            \
	})

#define ELEMENTS(array) (sizeof(array) / sizeof((array)[0]))

static inline void freep(void *slot)
{
	free(*(void **) slot);
}

/* Close @fd unless it is -1. Return: -1, for "fd = fd_close(fd)". */
static inline int fd_close(int fd)
{
	if (fd >= 0)
		(void) close(fd);
	return -1;
}

static inline void fd_closep(int *fd)
{
	*fd = fd_close(*fd);
}

static inline void file_closep(FILE **file)
{
	if (*file)
		(void) fclose(*file);
	*file = NULL;
}

static inline void dir_closep(DIR **dir)
{
	if (*dir)
		(void) closedir(*dir);
	*dir = NULL;
}
