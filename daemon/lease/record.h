/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * record.h - what exists and who has it, written down before it is so, for the next process
 *
 * Layer: lease. Threads: main. One memfd, which the service manager keeps in its store under the
 * name "state", and of which every process in turn is the one writer. A header (magic, version,
 * bytes of an entry, checksum) and entries of a fixed size, each with a number, a checksum and two
 * places that are written in turn: whatever moment the process is killed at, an entry is its former
 * or its new value, and never neither. Numbers are little endian. The layout is in docs/state.md.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../base/scoped.h"

#define RECORD_VERSION        2 /* 1: before leases had a unit; read, never written */
#define RECORD_NAME_BYTES_MAX 64
#define RECORD_UNIT_BYTES_MAX 128
#define RECORD_ENTRIES_MAX    (1U << 20)

enum record_state {
	RECORD_FILLING = 1,
	RECORD_READY,
	RECORD_LEASED,
	RECORD_DRAINING, /* the lease is over, somebody may still have the memory */
	RECORD_SPENT,    /* to be destroyed: never to be handed out again */
};

/* One region, and its lease where it has one. Texts are empty or end with a zero. */
struct record_entry {
	uint64_t id; /* of the region, above 0; of its lease as well */
	enum record_state state;
	char pool[RECORD_NAME_BYTES_MAX];
	uint32_t node_id;
	uint32_t page; /* enum plan_page */
	uint64_t page_bytes;
	uint64_t bytes;
	bool is_locked;

	/* RECORD_LEASED and RECORD_DRAINING */
	uint32_t uid;
	uint32_t pid;
	uint64_t since_realtime_usec;
	uint64_t since_monotonic_usec; /* of the same boot: the memory does not outlive it */
	char unit[RECORD_UNIT_BYTES_MAX];
};

struct record;

/* A new, empty one. Return: 0 and *ret, which the caller owns; -ENOMEM, -EMFILE, -errno. */
int record_new(struct record **ret);

/*
 * Take over @fd (the caller's until success), which an earlier process wrote. Entries that are
 * damaged in both places are left out and counted in *ret_nr_damaged.
 * Return: 0 and *ret; -EPROTONOSUPPORT a newer version, *ret_version (nothing was written to it);
 * -EBADMSG no such record; -ENOMEM, -errno.
 */
int record_open(int fd, struct record **ret, size_t *ret_nr_damaged, uint32_t *ret_version);

/* Closes its descriptor; the memory stays with whoever else has it. NULL is fine. Return: NULL. */
struct record *record_free(struct record *record);
DEFINE_SCOPED(struct record *, record_free)

/* Its memfd, for the store; borrowed. */
int record_fd(const struct record *record);

/* Write down the entry of this id, new or changed. Return: 0; -ENOSPC RECORD_ENTRIES_MAX;
 * -ENOMEM, -errno, and the former value stands. */
int record_put(struct record *record, const struct record_entry *entry);

/* Return: the entry, borrowed until the next put or remove; NULL for none. */
const struct record_entry *record_get(const struct record *record, uint64_t id);

/* Strike it out. Harmless for what is not there. */
void record_remove(struct record *record, uint64_t id);

size_t record_nr(const struct record *record);

/* Entry @i of record_nr(), in no order that means anything; borrowed as of record_get(). */
const struct record_entry *record_at(const struct record *record, size_t i);

/* The highest id that any entry ever had, also those that were struck out. */
uint64_t record_last_id(const struct record *record);
