/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * originals.h - which files the Paths= of a pool of kind replica name, and what they are
 *
 * Layer: config. Threads: main; looks at the file system, never waits (no FIFO and no device is
 * opened).
 *
 * Up to its first wildcard, the directory of a path is the operator's own word: links in it are
 * followed, and the file is known by the path that they lead to. Behind it nothing is followed. A
 * name that is a link itself is copied as a link when it leads to another file that was named (by a
 * path without "..", or with one that stays in the same pool's files); otherwise it is refused.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#define ORIGINALS_MAX 65536

enum original_refusal {
	ORIGINAL_ACCEPTED = 0,
	ORIGINAL_NO_SUCH_FILE, /* also a pattern that matches nothing */
	ORIGINAL_DIRECTORY,
	ORIGINAL_NOT_A_FILE, /* a device, FIFO, socket */
	ORIGINAL_UNREADABLE, /* by this process */
	ORIGINAL_SYMLINK,    /* leads out of what was named, nowhere, or in a circle */
	ORIGINAL_HIDDEN,     /* in a directory that is not open to everybody (o+x and g+x) */
	ORIGINAL_PRIVILEGED, /* set-user-id, set-group-id or with file capabilities: they would be
	                        lost, as the copy lies on a file system without them */
	ORIGINAL_TOO_MANY,   /* beyond ORIGINALS_MAX */
	ORIGINAL_FAILED,     /* another error: original.error */
};

/* "", "no-such-file", "directory", "not-a-file", "unreadable", "symlink", "hidden", "privileged",
 * "too-many", "failed". Static. */
const char *original_refusal_text(enum original_refusal refusal);
/* What it is, and what would be accepted: "is a directory; accepted: regular files". Static. */
const char *original_refusal_sentence(enum original_refusal refusal);

/* What of a file tells that it is the same one, unchanged. */
struct original_identity {
	dev_t device;
	ino_t inode;
	uint64_t bytes;
	struct timespec changed;  /* ctime */
	struct timespec modified; /* mtime */
};

struct original {
	/* Absolute, without links in its directory; as written where nothing was found. A name may
	 * hold anything but NUL: text_visible() before it is shown. */
	char *path;
	char *link_target;    /* it is a link within what was named: its text; else NULL */
	const char *position; /* "file:line" of the Paths= that named it; borrowed */
	enum original_refusal refusal;
	int error; /* ORIGINAL_FAILED: -errno */
	struct original_identity identity;
};

/* One word of Paths=. */
struct original_pattern {
	char *text;     /* absolute, may have the wildcards of glob(7) */
	char *position; /* "file:line" */
};

/* Embedded by value; all zero is none. In order of their paths, each once. */
struct originals {
	struct original *files;
	size_t nr;
	size_t nr_refused; /* of these */
};

/*
 * Look below @root ("" for this machine) for what the patterns name. Positions are borrowed from
 * @patterns, an array in which the earlier one has named what both name. At most ORIGINALS_MAX
 * files, and one refused for each pattern that comes to nothing, or to too much. Return: 0 and
 * *ret, cleared by originals_clear(); -ENOMEM.
 */
int originals_find(const char *root, const struct original_pattern *patterns, size_t nr_patterns,
                   struct originals *ret);
void originals_clear(struct originals *originals);

bool original_identity_equals(const struct original_identity *a, const struct original_identity *b);

/* Fill in what fstat(2) says of an open file. */
struct stat;
void original_identity_read(const struct stat *status, struct original_identity *ret);
