/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * book-faults.h - system calls of the book that fail, or come too late
 *
 * Threads: main. For programs linked with --wrap=pwrite64, pipe2, epoll_ctl, calloc and
 * reallocarray. What is written to
 * the record is a fake_step(): a process that has ended writes nothing.
 */
#pragma once

#include <stdbool.h>

struct book_faults {
	int write_error;           /* of pwrite; 0: none */
	unsigned nr_writes_before; /* that still succeed */
	int pipe_error;
	int watch_error;             /* of epoll_ctl */
	bool has_no_memory;          /* for calloc and reallocarray */
	unsigned nr_memory_before;   /* that still succeed */
	unsigned nr_memory_failures; /* after which there is some again; 0: none any more */
};

/* All zero: nothing fails. */
extern struct book_faults book_faults;
