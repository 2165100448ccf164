/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * memory-kernel.h - the real memory on the real kernel, for tests: a few MiB of each kind of page
 *
 * The huge page pool is one for the whole machine: it is used under a lock and left as it was.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "../../daemon/base/size.h"
#include "../../daemon/kinds/memory.h"

#define HUGE       (2 * MIB)
#define POOL_PAGES 16

uint64_t kernel_base_bytes(void);

/* Memory on node 0 that was not made yet. */
struct memory memory_of(enum plan_page page, uint64_t page_bytes, uint64_t bytes);
/* The same, of the pages that @page has here. */
struct memory memory_of_page(enum plan_page page, uint64_t bytes);

/* Whether the kernel gives us transparent huge pages. */
bool have_thp(void);
/* Whether we may change the huge page pool of node 0. */
bool have_pool(void);
/* Whether we may lock @bytes. */
bool may_lock(uint64_t bytes);

/*
 * From now on system call @nr with @value as its third argument answers -@error, as on a kernel
 * that lacks it, or where it fails. For the rest of the process: each test has one of its own.
 */
#define ANY_VALUE UINT32_MAX
void deny(unsigned nr, uint32_t value, int error);

/*
 * Run @run in a child, so that a failed MUST() there ends it alone; with_pool() with POOL_PAGES
 * more in the huge page pool, which is put back afterwards. The test fails if the child does.
 */
void in_child(void (*run)(void));
void with_pool(void (*run)(void));

/* What the pool has free, others' pages included. */
uint64_t pool_free_bytes(void);

/* --- the same for each kind of page --- */

/* The page of this run. */
extern enum plan_page page_here;
#define BYTES_HERE (8 * MIB)

/* Probe the kernel, and leave where it has no such pages for us: "base", "thp", "hugetlb". */
void memory_here_open(const char *page);

/* In a child; with huge pages where it takes some. */
void run_here(void (*run)(void));

/* BYTES_HERE that were made only; filled and finished; that a descriptor is all there is of. */
struct memory memory_made(void);
struct memory memory_finished(void);
struct memory memory_left(int fd);

/* What the service manager's store does. */
int duplicate(int fd);
/* One more description of it. Return: a descriptor; -1. */
int open_path(int fd, int flags);
uint64_t resident_bytes(int fd);

void must(bool is_true, const char *file, int line, const char *what);
#define MUST(condition) must(condition, __FILE__, __LINE__, #condition)
