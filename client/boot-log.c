/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "boot-log.h"
#include "scoped.h"

/* A message of the kernel has at most 1024 bytes or so; this one has less than 64. */
#define MESSAGE_MAX 128

/* These come early, among the first thousands of a large machine; what follows is the day's. */
#define MESSAGES_MAX 16384

int boot_log_parse(const char *message, uint32_t *ret_node_id, uint64_t *ret_usec)
{
	uint32_t node_id;
	uint64_t msec;
	int end = 0, nr;

	nr = sscanf(message,
	            "node %9" SCNu32 " deferred pages initiali%*1[sz]ed in %9" SCNu64 "ms%n",
	            &node_id, &msec, &end);
	if (nr != 2 || !end)
		nr = sscanf(message,
		            "node %9" SCNu32 " initiali%*1[sz]ed, %*u pages in %9" SCNu64 "ms%n",
		            &node_id, &msec, &end);
	/* A number with a sign is none of the kernel's, and sscanf(3) would take it. */
	if (nr != 2 || message[end] || strchr(message, '-'))
		return -ENOMSG;
	*ret_node_id = node_id;
	*ret_usec = msec * 1000;
	return 0;
}

/* The text of the entry that @journal is at. Return: 0; -ENOMSG: none, or none of interest. */
static int read_message(sd_journal *journal, char *ret_message)
{
	static const char field[] = "MESSAGE=";
	size_t data_bytes, field_bytes = sizeof(field) - 1;
	const void *data;

	if (sd_journal_get_data(journal, "MESSAGE", &data, &data_bytes) < 0)
		return -ENOMSG;
	if (data_bytes < field_bytes || data_bytes - field_bytes >= MESSAGE_MAX)
		return -ENOMSG;
	memcpy(ret_message, (const char *) data + field_bytes, data_bytes - field_bytes);
	ret_message[data_bytes - field_bytes] = '\0';
	return 0;
}

/* Only this boot's kernel: of earlier ones the times are of another machine, so to speak. */
static int match_kernel(sd_journal *journal)
{
	char boot[sizeof("_BOOT_ID=") + SD_ID128_STRING_MAX] = "_BOOT_ID=";
	sd_id128_t id;
	int r;

	r = sd_id128_get_boot(&id);
	if (r < 0)
		return r;
	(void) sd_id128_to_string(id, boot + strlen(boot));
	r = sd_journal_add_match(journal, boot, 0);
	return r < 0 ? r : sd_journal_add_match(journal, "_TRANSPORT=kernel", 0);
}

static void read_journal(sd_journal *journal, struct model *model)
{
	size_t nr_messages = 0, nr_known = 0;
	char message[MESSAGE_MAX];
	uint32_t node_id;
	uint64_t usec;

	if (match_kernel(journal) < 0)
		return;
	while (nr_known < model->nr_nodes && nr_messages++ < MESSAGES_MAX &&
	       sd_journal_next(journal) > 0) {
		struct node *node;

		if (read_message(journal, message) < 0 ||
		    boot_log_parse(message, &node_id, &usec) < 0)
			continue;
		node = model_node(model, node_id);
		/* Who may write to the kernel's log can say the same later on. */
		if (!node || node->has_boot)
			continue;
		node->has_boot = true;
		node->boot_usec = usec;
		nr_known++;
	}
}

/* A bus at an address may be that of another machine, or of a container with a boot of its own. */
static bool is_this_host(const struct client *client)
{
	return !client->host && !client->machine &&
	       (strcmp(client->address, "system") == 0 || strcmp(client->address, "session") == 0);
}

void boot_log_join(const struct client *client, struct model *model)
{
	sd_journal *journal = NULL;

	if (!is_this_host(client) || !model->nr_nodes)
		return;
	if (sd_journal_open(&journal, SD_JOURNAL_LOCAL_ONLY | SD_JOURNAL_SYSTEM) < 0)
		return;
	read_journal(journal, model);
	sd_journal_close(journal);
}
