/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "manager-state.h"
#include "messages.h"

#define FIELD_MAX 128

/* One line about a share, with its pool, node and bytes as fields. */
static void share_event(enum log_level level, const char *message_id,
                        const struct managed_pool *pool, const struct managed_share *share,
                        const char *sentence)
{
	char name[FIELD_MAX], node[FIELD_MAX], bytes[FIELD_MAX], missing[FIELD_MAX];
	char reason[FIELD_MAX];
	char by_other[FIELD_MAX];
	const char *fields[] = { message_id, name, node, bytes, missing, reason, by_other };

	(void) snprintf(name, sizeof(name), "NODEINIT_POOL=%s", pool->name);
	(void) snprintf(node, sizeof(node), "NODEINIT_NODE=%u", share->node_id);
	(void) snprintf(bytes, sizeof(bytes), "NODEINIT_BYTES=%" PRIu64, share->done_bytes);
	(void) snprintf(missing, sizeof(missing), "NODEINIT_SHORT=%" PRIu64,
	                managed_share_short_bytes(share));
	(void) snprintf(reason, sizeof(reason), "NODEINIT_REASON=%s", managed_share_reason(share));
	(void) snprintf(by_other, sizeof(by_other), "NODEINIT_BY_OTHER=%u",
	                share->detail.nr_by_other);
	log_event(level, fields, ELEMENTS(fields) - (pool->kind != POOL_BLOCK),
	          "pool %s, node %u: %s", pool->name, share->node_id, sentence);
}

static const char *kind_remedy(const struct managed_share *share)
{
	if (share->is_stalled)
		return "no counter moved for StallTimeout=";
	switch (share->detail.reason) {
	case REASON_FRAGMENTED:
		return "the node has the bytes free, but not in pages of this size; reserve them "
		       "at boot";
	case REASON_NO_MEMORY:
		return "the node has no more free memory; lower Size= or free some, then retry";
	case REASON_EXCEEDS_RESERVE:
		return "more would leave the node less than Reserve=";
	case REASON_CGROUP_LIMIT:
		return "the memory limit of the unit's cgroup is reached; raise MemoryMax=";
	case REASON_NOT_PERMITTED:
		return "the kernel does not permit it to this user";
	case REASON_BUSY:
		return "the kernel had no time for it; retry later";
	case REASON_REFUSED:
		return "the kernel refuses it for good";
	case REASON_ZONE_MISMATCH:
		return "somebody else was first, and chose another zone than Zone=";
	case REASON_UNSUPPORTED_ZONE:
		return "no zone can take it (valid_zones)";
	case REASON_GONE:
		return "it is not there any more";
	case REASON_OFFLINED:
		return "somebody has taken it offline; meminitctl retry brings it back";
	case REASON_CHANGING:
		return "the original does not stand still; it is linked";
	case REASON_UNREADABLE:
		return "the original cannot be read; it is linked";
	case REASON_NO_MOUNT:
		return "the node has no tmpfs for copies: nodeinitd --prepare mounts it, as root";
	case REASON_RACED:
		return "something else keeps rewriting the number of huge pages";
	case REASON_FAILED:
		if (share->detail.error == -EMFILE || share->detail.error == -ENFILE)
			return "too many open files, one a region; raise LimitNOFILE=, or "
			       "RegionSize=";
		__attribute__((fallthrough));
	case REASON_UNSUPPORTED:
		return share->detail.error ? strerror(-share->detail.error)
		                           : "the kernel cannot do it";
	default:
		return share->refusal ? "refused in the plan; see nodeinitd --plan" : "";
	}
}

static void short_sentence(const struct managed_share *share, char *text, size_t text_bytes)
{
	char got[SIZE_TEXT_MAX], want[SIZE_TEXT_MAX], missing[SIZE_TEXT_MAX];
	const char *remedy = kind_remedy(share);
	char attempts[48] = "", name[SHARE_MISSING_MAX + 48] = "";

	if (share->detail.nr_attempts > 0)
		(void) snprintf(attempts, sizeof(attempts), " after %u more attempt%s",
		                share->detail.nr_attempts,
		                share->detail.nr_attempts == 1 ? "" : "s");
	if (share->detail.nr_missing > 0)
		(void) snprintf(name, sizeof(name), " (%u; the first is %s)",
		                share->detail.nr_missing, share->detail.missing);
	(void) snprintf(text, text_bytes, "%s: %s of %s, %s missing%s, %s%s%s%s",
	                share_state_text(share->state), size_text(share->done_bytes, got),
	                size_text(share->declared_bytes, want),
	                size_text(managed_share_short_bytes(share), missing), name,
	                managed_share_reason(share), attempts, *remedy ? ": " : "", remedy);
}

/* From when the work at hand was given to the worker until its last part had settled. */
static uint64_t spent_usec(const struct managed_share *share)
{
	return bytes_left(bytes_max(share->stages[STAGE_EARLY].finished_usec,
	                            share->stages[STAGE_DEFERRED].finished_usec),
	                  share->began_usec);
}

/* How many were changed, and how many somebody else had been faster with. */
static void block_sentence(const struct managed_share *share, char *text, size_t text_bytes)
{
	char bytes[SIZE_TEXT_MAX], spent[SIZE_TEXT_MAX];

	(void) snprintf(text, text_bytes, "ready, %s in %s: %u memory blocks by us, %u by=other",
	                size_text(share->done_bytes, bytes),
	                duration_text(spent_usec(share), spent), share->detail.nr_by_us,
	                share->detail.nr_by_other);
}

static void report_finished(const struct managed_pool *pool, struct managed_share *share)
{
	char text[384], bytes[SIZE_TEXT_MAX], spent[SIZE_TEXT_MAX];
	uint64_t filled_bytes = bytes_left(share->done_bytes, share->began_bytes);
	enum log_level level = share->state == SHARE_FAILED && pool->is_required
	                               ? LOG_LEVEL_ERR
	                               : LOG_LEVEL_WARNING;

	if (share->state == SHARE_READY) {
		if (pool->kind == POOL_BLOCK)
			block_sentence(share, text, sizeof(text));
		else if (filled_bytes > 0)
			(void) snprintf(text, sizeof(text), "ready, %s in %s",
			                size_text(filled_bytes, bytes),
			                duration_text(spent_usec(share), spent));
		else
			(void) snprintf(text, sizeof(text), "ready, %s in service",
			                size_text(share->done_bytes, bytes));
		share_event(LOG_LEVEL_INFO, MESSAGE_SHARE_FINISHED, pool, share, text);
	} else {
		short_sentence(share, text, sizeof(text));
		share_event(level, share->is_stalled ? MESSAGE_STALLED : MESSAGE_SHARE_FINISHED,
		            pool, share, text);
	}
	share->began_bytes = share->done_bytes;
}

static void report_trouble(const struct managed_pool *pool, struct managed_share *share)
{
	char text[192];

	if (share->detail.nr_raced > share->logged_raced) {
		(void) snprintf(text, sizeof(text),
		                "raced: something else changed the number of huge pages from "
		                "%" PRIu64 " to %" PRIu64,
		                share->detail.raced_from_pages, share->detail.raced_to_pages);
		share_event(LOG_LEVEL_WARNING, MESSAGE_SHARE_RACED, pool, share, text);
		share->logged_raced = share->detail.nr_raced;
	}
	if (share->detail.nr_poisoned > share->logged_poisoned) {
		(void) snprintf(text, sizeof(text),
		                "hardware poison in a region; it is built anew (%u so far)",
		                share->detail.nr_poisoned);
		share_event(LOG_LEVEL_WARNING, MESSAGE_PAGE_POISONED, pool, share, text);
		share->logged_poisoned = share->detail.nr_poisoned;
	}
	/* the first short round is said once; the attempts that follow are in the status */
	if (!share_state_is_settled(share->state) && share->detail.reason != REASON_NONE &&
	    !share->is_short_logged) {
		(void) snprintf(text, sizeof(text), "short for now (%s); trying again",
		                share_reason_text(share->detail.reason));
		share_event(LOG_LEVEL_INFO, MESSAGE_SHARE_SHORT, pool, share, text);
		share->is_short_logged = true;
	}
}

void report_share(const struct managed_pool *pool, struct managed_share *share)
{
	char text[128], bytes[SIZE_TEXT_MAX];
	uint64_t want_bytes = bytes_left(share->declared_bytes, share->refused_bytes);

	report_trouble(pool, share);
	if (share->state == share->logged_state) {
		if (share_state_is_settled(share->state))
			share->began_bytes = share->done_bytes;
		return;
	}
	if (share_state_is_settled(share->state)) {
		/* what never had a chance was said by the plan */
		if (share->nr_pieces > 0 || share->refused_bytes == 0)
			report_finished(pool, share);
		share->is_short_logged = false;
	} else if (want_bytes > share->began_bytes &&
	           (share->state == SHARE_EARLY ||
	            (share->state == SHARE_DEFERRED && share->logged_state != SHARE_EARLY))) {
		(void) snprintf(text, sizeof(text), "started, %s to do",
		                size_text(want_bytes - share->began_bytes, bytes));
		share_event(LOG_LEVEL_INFO, MESSAGE_SHARE_STARTED, pool, share, text);
	}
	share->logged_state = share->state;
}

void report_completion(const struct manager *manager)
{
	char generation[FIELD_MAX], bytes[FIELD_MAX], done[SIZE_TEXT_MAX], spent[SIZE_TEXT_MAX];
	const char *fields[] = { manager->is_ready ? MESSAGE_READY : MESSAGE_NOT_READY, generation,
		                 bytes };
	const struct inventory *inventory = &manager->inventory;

	(void) snprintf(generation, sizeof(generation), "NODEINIT_GENERATION=%" PRIu64,
	                manager->completion.generation);
	(void) snprintf(bytes, sizeof(bytes), "NODEINIT_BYTES=%" PRIu64, inventory->done_bytes);
	if (inventory->is_idle && manager->is_ready)
		log_event(LOG_LEVEL_INFO, fields, ELEMENTS(fields),
		          "ready: no pool is declared, nothing is taken");
	else if (manager->is_ready)
		log_event(LOG_LEVEL_INFO, fields, ELEMENTS(fields), "%s: %s in service after %s",
		          manager_state_text(manager), size_text(inventory->done_bytes, done),
		          duration_text(clock_monotonic_usec() - manager->armed_usec, spent));
	else
		log_event(LOG_LEVEL_ERR, fields, ELEMENTS(fields),
		          "not ready, %s: what orders itself after nodeinit-ready.target is not "
		          "started",
		          manager_state_text(manager));
}

void report_notes(const struct config *config)
{
	static const char *const fields[] = { MESSAGE_CONFIG };

	for (size_t i = 0; i < config->nr_notes; i++)
		log_event(config->notes[i].severity == CONFIG_REFUSED ? LOG_LEVEL_ERR
		                                                      : LOG_LEVEL_WARNING,
		          fields, ELEMENTS(fields), "%s", config->notes[i].text);
}

static bool is_said(const struct manager *manager, const char *warning)
{
	for (size_t i = 0; i < manager->nr_plan_warnings; i++)
		if (strcmp(manager->plan_warnings[i], warning) == 0)
			return true;
	return false;
}

void report_plan(struct manager *manager, struct plan *plan, size_t nr_notes)
{
	char **said = manager->plan_warnings;
	size_t nr_said = manager->nr_plan_warnings;

	for (size_t i = nr_notes; i < plan->nr_warnings; i++)
		if (!is_said(manager, plan->warnings[i]))
			report_event(LOG_LEVEL_WARNING, MESSAGE_PLAN, "%s", plan->warnings[i]);

	manager->plan_warnings = take(plan->warnings);
	manager->nr_plan_warnings = plan->nr_warnings;
	plan->nr_warnings = 0;
	for (size_t i = 0; i < nr_said; i++)
		free(said[i]);
	free(said);
}

void report_event(enum log_level level, const char *message_id, const char *format, ...)
{
	char text[1024];
	va_list args;

	va_start(args, format);
	(void) vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	log_event(level, &message_id, 1, "%s", text);
}

void report_lease(const char *message_id, const struct lease *lease, const char *sentence)
{
	char id[FIELD_MAX], pool[FIELD_MAX], node[FIELD_MAX], bytes[FIELD_MAX], uid[FIELD_MAX];
	char pid[FIELD_MAX];
	const char *fields[] = { message_id, id, pool, node, bytes, uid, pid };

	(void) snprintf(id, sizeof(id), "NODEINIT_LEASE=%" PRIu64, lease->id);
	(void) snprintf(pool, sizeof(pool), "NODEINIT_POOL=%s", lease->pool);
	(void) snprintf(node, sizeof(node), "NODEINIT_NODE=%u", lease->node_id);
	(void) snprintf(bytes, sizeof(bytes), "NODEINIT_BYTES=%" PRIu64, lease->bytes);
	(void) snprintf(uid, sizeof(uid), "NODEINIT_UID=%u", lease->uid);
	(void) snprintf(pid, sizeof(pid), "NODEINIT_PID=%d", (int) lease->pid);
	log_event(LOG_LEVEL_INFO, fields, ELEMENTS(fields), "lease %" PRIu64 ": %s", lease->id,
	          sentence);
}

char *report_pool_sentence(const struct managed_pool *pool)
{
	char text[384];
	char *sentence = NULL;

	for (size_t i = 0; i < pool->nr_shares; i++) {
		const struct managed_share *share = &pool->shares[i];

		if (managed_share_short_bytes(share) == 0 && share->detail.nr_missing == 0)
			continue;
		short_sentence(share, text, sizeof(text));
		if (asprintf(&sentence, "pool %s, node %u: %s", pool->name, share->node_id, text) <
		    0)
			return NULL;
		return sentence;
	}
	return NULL;
}
