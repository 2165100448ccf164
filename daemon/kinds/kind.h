/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * kind.h - what the engine asks of a kind of pool
 *
 * Layer: kinds. A share is brought into service in two *parts*, early and deferred; the engine
 * drives each part through its kind's operations:
 *
 *     prepare (again while it returns 1) -> run_chunk for chunk 0 … nr_chunks - 1 -> finish
 *
 * and over again when finish returns 1 (something has to be built anew) or -EAGAIN (short: once
 * more after a back-off, as long as attempts are left).
 *
 * Threads: prepare and finish run on the node's worker thread, alone. run_chunk runs on the worker
 * and its crew, several at once, each with another chunk. share_new runs on the main
 * thread, before the engine has the share; share_free after the engine gave it back: on the main
 * thread, and when the daemon ends on one thread for each node, several nodes at once. share_read
 * runs on the main thread at any time.
 *
 * No operation raises or relies on a signal, and none logs above debug.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../base/scoped.h"
#include "../machine/kernel.h"
#include "../plan/plan.h"
#include "memory.h"

struct block_record;
struct replica_base;

enum stage { STAGE_EARLY, STAGE_DEFERRED, NR_STAGES };

/* "early", "deferred". Static. */
const char *stage_text(enum stage stage);

/* Why a share is short. share_reason_text() gives the word for bus and people. */
enum share_reason {
	REASON_NONE = 0,
	REASON_FRAGMENTED,      /* the node has the bytes free, but not as pages of that size */
	REASON_NO_MEMORY,       /* the node has not enough free memory */
	REASON_UNSUPPORTED,     /* the kernel or the system call said it cannot */
	REASON_INTERRUPTED,     /* cancelled */
	REASON_RACED,           /* somebody else rewrote what we had set */
	REASON_EXCEEDS_RESERVE, /* taking more would leave the node less than Reserve= */
	REASON_CGROUP_LIMIT,
	REASON_NOT_PERMITTED,
	REASON_WRONG_NODE,       /* pages turned up on another node */
	REASON_NOT_HUGE,         /* small pages where huge ones were asked for */
	REASON_POISONED,         /* hardware poison, again and again */
	REASON_STALLED,          /* no counter moved for StallTimeout= */
	REASON_FAILED,           /* another error; share_status.error has it */
	REASON_BUSY,             /* block: the kernel had no time for it, again and again */
	REASON_REFUSED,          /* block: the kernel refused it for good (EINVAL) */
	REASON_ZONE_MISMATCH,    /* block: somebody brought it online in another zone */
	REASON_UNSUPPORTED_ZONE, /* block: no zone can take it */
	REASON_GONE,             /* unplugged; or the original of a replica was removed */
	REASON_OFFLINED,         /* block: was online, and somebody has taken it offline */
	REASON_CHANGING,         /* replica: the original did not stand still */
	REASON_UNREADABLE,       /* replica: the original could not be read */
	REASON_NO_MOUNT,         /* replica: the node has no tmpfs for its copies */
};

const char *share_reason_text(enum share_reason reason);

#define SHARE_MISSING_MAX 128

/* A consistent look at a share; taken by share_read. */
struct share_status {
	/* In service: resident, zeroed, on its node. Grows while chunks finish. */
	uint64_t done_bytes;
	uint64_t early_done_bytes; /* of these, by the early part */
	/* Of done_bytes: regions that came back, and are in service no more (region.h). */
	uint64_t spent_bytes;
	enum share_reason reason; /* of what is missing; REASON_NONE while nothing is known to be */
	int error;                /* -errno behind REASON_FAILED, REASON_UNSUPPORTED; else 0 */
	unsigned nr_attempts;     /* rounds that were started after the first came back short */
	unsigned nr_poisoned;     /* regions built anew because of hardware poison */
	unsigned nr_raced;        /* times that somebody else changed what we had set */
	/* The last time: the value we had set, and the one found instead. */
	uint64_t raced_from_pages;
	uint64_t raced_to_pages;
	/* Kinds block and replica: how many blocks, files are missing, and the name of the first.
	 */
	unsigned nr_missing;
	char missing[SHARE_MISSING_MAX]; /* "memory57", "/usr/lib/x.so" (cut at the front); "" */
	/* Kind block: who brought them online. */
	unsigned nr_by_us;    /* this daemon, also an earlier process of it */
	unsigned nr_by_other; /* the kernel, udev or somebody else */
};

struct kind_ops;
struct share;

/* One stage of one share. Owned by the share; the engine borrows it while it runs. */
struct part {
	struct share *share;
	enum stage stage;
	uint64_t want_bytes;  /* what this stage adds; 0: nothing to do */
	uint64_t nr_chunks;   /* set by prepare */
	uint64_t chunk_bytes; /* set by prepare: what a chunk covers (the last may be smaller) */
	uint64_t step_bytes;  /* set by prepare: what this step itself brought into service, or 0 */
};

/* Everything kinds need from outside; owned by the manager, one for all shares. */
struct kind_context {
	struct kernel *kernel;
	const struct memory_ops *memory;
	/* At most this in one chunk, or one page where that is larger; the daemon takes 64 MiB. */
	uint64_t chunk_bytes;
	unsigned nr_retries; /* attempts after a short round */
	bool is_cpuset_restricted;
	/* The number of the last region made, for ids that stay unique; NULL: regions have none. */
	_Atomic uint64_t *last_region_id;
	/* What has become of memory blocks; NULL: there are no shares of kind block. */
	struct block_record *block_record;
	/* Where replicas lie (replica.h); NULL: there are no shares of kind replica. */
	struct replica_base *replica_base;
};

/* The pages of one size that all shares of one node want: one target for all of them. */
struct page_account;

struct share {
	const struct kind_ops *ops;
	const struct kind_context *context; /* borrowed */
	unsigned node_id;
	enum plan_page page;
	uint64_t page_bytes;
	uint64_t region_bytes;  /* kind region, else 0 */
	uint64_t reserve_bytes; /* of the node, to be left available */
	bool may_shrink;
	bool is_locked;
	struct part parts[NR_STAGES];
	/*
	 * hugetlb pages: the node's account of this page size, shared by the shares that want it,
	 * and where the pages of each part end in it (cumulative, in pages; parts run in that
	 * order: all early ones first; what joined in a later batch comes behind all of an earlier
	 * one). NULL for other pages. One reference.
	 */
	struct page_account *account;
	unsigned account_batch;
	uint64_t account_start_pages[NR_STAGES];
	uint64_t account_end_pages[NR_STAGES];
	/* What is in use beyond the parts, until it comes back; counted before all parts. */
	uint64_t account_aside_bytes;
};

struct kind_ops {
	const char *name;

	/*
	 * Allocate a share's state. Takes no memory from the node yet. Embeds struct share first.
	 * Return: 0 and *ret, which the caller owns; -ENOMEM.
	 */
	int (*share_new)(struct share **ret);

	/*
	 * The other shares of the node begin when those of this kind have settled: it brings the
	 * memory that they are made of.
	 */
	bool comes_first;

	/*
	 * Take over from the plan what the share is about (blocks, files; copied). Right after
	 * share_new, when the plain fields of struct share are set. NULL: nothing beyond them.
	 * Return: 0; -ENOMEM. On error the share is freed by share_free.
	 */
	int (*share_take)(struct share *share, const struct plan_share *planned);

	/*
	 * Whether @planned is what the share is about already; otherwise a new share takes its
	 * place, and what both are about stays in service. Main thread, at any time. NULL: shares
	 * of this kind grow and shrink by bytes.
	 */
	bool (*share_is_same)(const struct share *share, const struct plan_share *planned);

	/*
	 * Memory of the node has gone offline, or pages were moved: see what is still as promised.
	 * Main thread, while the share is with no worker. Bounded: 10 µs a block, region or file.
	 * Return: 0 and share_read tells what is left; 1 the same, and the share is to be given to
	 * the worker once more (run_refill() for regions, run_retry() for others). NULL: nothing to
	 * see.
	 */
	int (*share_recheck)(struct share *share);

	/*
	 * One bounded step towards chunks: add huge pages, make and bind the regions, cut chunks.
	 * Return: 1 call again; 0 nr_chunks are ready to run; negative: this round brings no more
	 * (finish is called next and decides what becomes of it).
	 */
	int (*prepare)(struct part *part);

	/*
	 * Initialise chunk @index. Return: 0, and its bytes are counted, or will be in the next
	 * round (its region has hardware poison and is built anew; finish returns 1); -errno: its
	 * bytes are missing; the engine takes no further chunk of this part and calls finish.
	 */
	int (*run_chunk)(struct part *part, uint64_t index);

	/*
	 * The round is over; @is_cancelled: nothing more will run. Verify, seal, give back what is
	 * of no use. Return: 0 settled; 1 again at once; -EAGAIN again after a back-off.
	 */
	int (*finish)(struct part *part, bool is_cancelled);

	void (*share_read)(const struct share *share, struct share_status *ret);

	/*
	 * Give back what exceeds @keep_bytes, as far as it is ours and unused. On the worker
	 * thread, between rounds. want_bytes of the parts becomes what is kept: whole pages, or
	 * whole regions (rounded up), early ones first. May block for as long as freeing takes.
	 * Return: 0; -errno, and what could not be given back stays in done_bytes.
	 */
	int (*share_shrink)(struct share *share, uint64_t keep_bytes);

	/*
	 * Give everything back to the kernel, regions together with the huge pages that were added
	 * for them. May block for as long as freeing the memory takes. Pages of kind hugetlb stay
	 * in the kernel's pool: they are for whoever maps them; to take them away, share_shrink to
	 * 0 first.
	 */
	void (*share_free)(struct share *share);
};

extern const struct kind_ops hugetlb_ops;
extern const struct kind_ops region_ops;
extern const struct kind_ops block_ops;
extern const struct kind_ops replica_ops;

/*
 * A node's account of one huge page size. Its functions may be called by any thread.
 *
 * Growing is shared by the kinds that need pages: absolute targets, bounded steps, read back after
 * each, compaction of the node once, never lower than what others hold.
 */
struct page_account *page_account_new(const struct kind_context *context, unsigned node_id,
                                      uint64_t page_bytes, uint64_t reserve_bytes);
struct page_account *page_account_ref(struct page_account *account);
struct page_account *page_account_unref(struct page_account *account);

struct page_account_result {
	/* In the node's pool after this step, without surplus pages, which do not last. */
	uint64_t nr_pages;
	uint64_t nr_added_pages; /* by this step */
	enum share_reason reason;
	int error;
	bool was_raced;
	uint64_t raced_from_pages;
	uint64_t raced_to_pages;
};

/*
 * One bounded step of the node's pool towards @target_pages (absolute). Makes no write when the
 * pool has them. Surplus that made the write overshoot is lowered to max(target, in use).
 *
 * Return: 1 progress, call again; 0 the target is reached; -EAGAIN nothing came (result.reason);
 * -EACCES, -EROFS, -EINVAL, … the kernel refused. *result is written in every case.
 */
int page_account_grow(struct page_account *account, uint64_t target_pages,
                      struct page_account_result *result);

/*
 * Lower the node's pool to max(@target_pages, pages in use, pages that were there before our first
 * write), if it is above; the last does not count where a member has Shrink=yes.
 * Return: 0 and *ret_pages left in the pool; -errno.
 */
int page_account_shrink(struct page_account *account, uint64_t target_pages, uint64_t *ret_pages);

/*
 * Make the shares of one node from its plan, in run order. Entries that have nothing to do (refused
 * as a whole, and without files to link) are NULL. Pages of one size have one account: that of the
 * @nr_present shares which the node has already (borrowed for the call), or a new one; the new
 * shares are one batch in it. Return: 0 and *ret, an array of node->nr_shares, which the caller
 * owns, entries too; -ENOMEM; -EOPNOTSUPP a kind this version does not have.
 */
int shares_new(const struct kind_context *context, const struct plan_node *node,
               struct share *const *present, size_t nr_present, struct share ***ret);
