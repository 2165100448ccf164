/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * uring.h - as much of io_uring as an attack needs: one operation at a time
 */
#pragma once

#include <linux/io_uring.h>
#include <stdint.h>

struct uring {
	int fd;
	void *submissions;
	void *completions;
	struct io_uring_sqe *entry; /* there is one */
	struct io_uring_params params;
};

/* Why there is no io_uring here; NULL: there is. */
const char *uring_why_not(void);

/* Both end by must(). */
void uring_open(struct uring *uring);
void uring_close(struct uring *uring);

/* Register one buffer, or one file. Return: 0; -errno. */
int uring_register_buffer(struct uring *uring, void *address, uint64_t bytes);
int uring_register_file(struct uring *uring, int fd);

/* Carry it out. Return: what the operation did; -errno. */
int uring_do(struct uring *uring, const struct io_uring_sqe *entry);
