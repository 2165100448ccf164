/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* main: options, the table of verbs, and what to say to a slip of the finger. */
#include <errno.h>
#include <getopt.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client.h"
#include "paint.h"
#include "report.h"
#include "scoped.h"
#include "text.h"

#define MANY 255

/* lease POOL BYTES COMMAND, run COMMAND: what follows is the command's. */
#define LEASE_WORDS 4
#define RUN_WORDS   2

static const struct verb {
	const char *name;
	unsigned char nr_min, nr_max; /* operands */
	const char *operands;
	const char *what;
	client_verb_fn run;
	bool has_json;
} verbs[] = {
	{ "status", 0, 1, "[NODE|POOL]", "How far memory is, with all nodes and pools (default)",
	  verb_status, true },
	{ "nodes", 0, 0, "", "The nodes, one a line", verb_nodes, true },
	{ "pools", 0, MANY, "[POOL...]", "The pools, one a line", verb_pools, true },
	{ "watch", 0, 0, "", "Show progress until everything has settled", verb_watch, true },
	{ "wait", 0, MANY, "[POOL...]", "Wait until the host, or these pools, are ready", verb_wait,
	  false },
	{ "plan", 0, 0, "", "What nodeinitd would do on this machine", verb_plan, true },
	{ "reload", 0, 0, "", "Read the configuration again", verb_reload, false },
	{ "pause", 0, 0, "", "Begin no new chunk until resume", verb_pause, false },
	{ "resume", 0, 0, "", "Go on after pause", verb_resume, false },
	{ "retry", 1, MANY, "POOL...", "Try again for what is missing of these pools", verb_retry,
	  false },
	{ "lease", 3, MANY, "POOL BYTES [--] COMMAND...",
	  "Run a command with memory of a pool at descriptor 3", verb_lease, false },
	{ "leases", 0, 1, "[POOL]", "Who has leased what, one lease a line", verb_leases, true },
	{ "release", 1, MANY, "LEASE...", "End these leases", verb_release, false },
	{ "run", 1, MANY, "[--] COMMAND...",
	  "Run a command on one node, from the node's copy of it", verb_run, false },
};

enum option_key {
	KEY_WORD = 1, /* no option; the "-" in front of the letters asks for these */
	KEY_BUS = 256,
	KEY_CONFIG,
	KEY_JSON,
	KEY_NODE,
	KEY_NOTIFY,
	KEY_NO_LEGEND,
	KEY_ROOT,
	KEY_STRICT,
	KEY_TIMEOUT,
	KEY_VERSION,
};

static const struct option long_options[] = {
	{ "bus", required_argument, NULL, KEY_BUS },
	{ "bytes", no_argument, NULL, 'b' },
	{ "config", required_argument, NULL, KEY_CONFIG },
	{ "help", no_argument, NULL, 'h' },
	{ "host", required_argument, NULL, 'H' },
	{ "json", no_argument, NULL, KEY_JSON },
	{ "machine", required_argument, NULL, 'M' },
	{ "no-legend", no_argument, NULL, KEY_NO_LEGEND },
	{ "node", required_argument, NULL, KEY_NODE },
	{ "notify", no_argument, NULL, KEY_NOTIFY },
	{ "quiet", no_argument, NULL, 'q' },
	{ "root", required_argument, NULL, KEY_ROOT },
	{ "strict", no_argument, NULL, KEY_STRICT },
	{ "timeout", required_argument, NULL, KEY_TIMEOUT },
	{ "version", no_argument, NULL, KEY_VERSION },
	{ NULL, 0, NULL, 0 },
};

static int print_help(void)
{
	size_t i;

	puts("meminitctl [OPTIONS] [VERB]\n\n"
	     "See and steer how nodeinitd brings the memory of every node into service.\n");
	for (i = 0; i < ELEMENTS(verbs); i++)
		printf("  %-7s %-12s%s%s\n", verbs[i].name, verbs[i].operands,
		       strlen(verbs[i].operands) > 12 ? "\n                       " : " ",
		       verbs[i].what);
	puts("\n"
	     "      --json           Data for programs; watch prints one object a line\n"
	     "      --no-legend      Tables without their headings\n"
	     "  -b, --bytes          Bytes instead of KiB, MiB, GiB\n"
	     "  -q, --quiet          Exit status and errors only\n"
	     "      --timeout=SPAN   Wait or watch so long; elsewhere, for an answer\n"
	     "      --node=NODE      lease: on that node, else on one near it; run: on that\n"
	     "                       node, or auto, the one with most memory and CPU free\n"
	     "      --strict         lease: on no other node\n"
	     "      --notify         wait: progress into the unit's STATUS=\n"
	     "      --root=DIR       plan: of the machine recorded there\n"
	     "      --config=DIR     plan: with nodeinitd.conf and pools.d/ there\n"
	     "  -H, --host=HOST      Ask the daemon of that host, by ssh\n"
	     "  -M, --machine=NAME   Ask the daemon in that container\n"
	     "      --bus=BUS        system (default), session or a D-Bus address\n"
	     "  -h, --help           This text\n"
	     "      --version        Version\n\n"
	     "Exit status: 0 reached, 1 failed, 2 wrong usage, 3 not ready, 4 no such node,\n"
	     "pool or lease, 5 no daemon. More in meminitctl(1).");
	return report_flush(CLIENT_REACHED);
}

static int print_version(void)
{
	puts("meminitctl " NODEINIT_VERSION);
	return report_flush(CLIENT_REACHED);
}

/* Say what is wrong with @word, and what it may have been meant to be. */
static int refuse(const char *what, const char *word, const char *meant)
{
	scoped(freep) char *text = text_escape(word);

	fprintf(stderr, "meminitctl: %s '%s'; ", what, text ? text : "?");
	if (meant)
		fprintf(stderr, "did you mean '%s'?\n", meant);
	else
		fprintf(stderr, "see meminitctl --help\n");
	return CLIENT_USAGE;
}

static int refuse_option(int key, char **argv)
{
	const char *words[ELEMENTS(long_options)];
	const char *word = argv[optind - 1], *meant = NULL;
	scoped(freep) char *option = NULL;
	char letter[3] = { '-', (char) optopt, '\0' };
	size_t i;

	if (key == ':')
		return refuse("a value is missing behind", word, NULL);
	/* A letter in the middle of a word of letters leaves optind on that word. */
	if (optopt > 0 && optopt < 256)
		return refuse("no option", letter, NULL);
	if (optopt >= 256)
		return refuse("no value is taken by", word, NULL);
	for (i = 0; i + 1 < ELEMENTS(long_options); i++)
		words[i] = long_options[i].name;
	if (strncmp(word, "--", 2) == 0)
		meant = text_meant(word + 2, words, ELEMENTS(long_options) - 1);
	if (meant && asprintf(&option, "--%s", meant) < 0)
		option = NULL;
	return refuse("no option", word, option);
}

static int take_timeout(struct client *client, const char *text)
{
	client->has_timeout = true;
	if (text_parse_span(text, &client->timeout_usec) == 0)
		return 0;
	(void) refuse("no time span:", text, "30s' or '5min' or 'infinity");
	return CLIENT_USAGE;
}

static int take_node(struct client *client, const char *text)
{
	client->is_auto_node = strcmp(text, "auto") == 0;
	client->has_node = false;
	if (client->is_auto_node)
		return 0;
	if (text_parse_node(text, &client->node_id) < 0)
		return refuse("no node id:", text, NULL);
	client->has_node = true;
	return 0;
}

/* Return: 0; the exit status for a value that is not understood. */
static int take_option(struct client *client, int key)
{
	switch (key) {
	case 'b':
		client->is_bytes = true;
		return 0;
	case 'q':
		client->is_quiet = true;
		return 0;
	case 'H':
		client->host = optarg;
		return 0;
	case 'M':
		client->machine = optarg;
		return 0;
	case KEY_BUS:
		client->address = optarg;
		return 0;
	case KEY_CONFIG:
		client->config = optarg;
		return 0;
	case KEY_ROOT:
		client->root = optarg;
		return 0;
	case KEY_JSON:
		client->is_json = true;
		return 0;
	case KEY_NODE:
		return take_node(client, optarg);
	case KEY_STRICT:
		client->is_strict = true;
		return 0;
	case KEY_NOTIFY:
		client->is_notify = true;
		return 0;
	case KEY_NO_LEGEND:
		client->has_legend = false;
		return 0;
	default:
		return take_timeout(client, optarg);
	}
}

/* Options that mean nothing to the verb are refused: they would be believed to do something. */
static int check_options(const struct client *client, const struct verb *verb)
{
	bool is_lease = strcmp(client->verb, "lease") == 0;
	bool is_plan = strcmp(client->verb, "plan") == 0;
	bool is_run = strcmp(client->verb, "run") == 0;

	if (!is_plan && client->root)
		return refuse("--root= is for plan, not for", client->verb, NULL);
	if (!is_plan && client->config)
		return refuse("--config= is for plan, not for", client->verb, NULL);
	if (client->is_auto_node && !is_run)
		return refuse("--node=auto is for run, not for", client->verb, NULL);
	if (client->has_node && !is_lease && !is_run)
		return refuse("--node= is for lease and run, not for", client->verb, NULL);
	if (client->is_strict && !is_lease)
		return refuse("--strict is for lease, not for", client->verb, NULL);
	if (client->is_notify && strcmp(client->verb, "wait") != 0)
		return refuse("--notify is for wait, not for", client->verb, NULL);
	if (client->is_json && !verb->has_json)
		return refuse("--json has no data to print with", client->verb, NULL);
	if (client->host && client->machine)
		return refuse("--host= and --machine= name two places, for", client->verb, NULL);
	return 0;
}

static int run_verb(struct client *client, char **operands, unsigned nr_operands)
{
	const char *words[ELEMENTS(verbs)];
	const struct verb *verb = NULL;
	size_t i;

	for (i = 0; i < ELEMENTS(verbs); i++) {
		words[i] = verbs[i].name;
		if (strcmp(verbs[i].name, client->verb) == 0)
			verb = &verbs[i];
	}
	if (!verb)
		return refuse("no verb", client->verb,
		              text_meant(client->verb, words, ELEMENTS(words)));
	if (nr_operands < verb->nr_min) {
		fprintf(stderr, "meminitctl: %s takes %s; see meminitctl --help\n", verb->name,
		        verb->operands);
		return CLIENT_USAGE;
	}
	if (nr_operands > verb->nr_max && verb->nr_max != MANY)
		return refuse("too much:", operands[verb->nr_max], NULL);
	return check_options(client, verb) ? CLIENT_USAGE : verb->run(client, operands);
}

/* Is the command of lease or run reached? */
static bool is_behind_command(char *const *words, int nr_words)
{
	return (nr_words == LEASE_WORDS && strcmp(words[0], "lease") == 0) ||
	       (nr_words == RUN_WORDS && strcmp(words[0], "run") == 0);
}

/* What getopt_long() found. Return: 0; 1: the program is done, with *ret_status. */
static int take_key(struct client *client, int key, char **argv, int *ret_status)
{
	if (key == 'h')
		*ret_status = print_help();
	else if (key == KEY_VERSION)
		*ret_status = print_version();
	else if (key == '?' || key == ':')
		*ret_status = refuse_option(key, argv);
	else
		*ret_status = take_option(client, key);
	return key == 'h' || key == KEY_VERSION || *ret_status != 0;
}

/*
 * Options may stand anywhere in front of "--", and in front of the command of lease and run: from
 * its first word on they are its own, as with env(1) and nice(1). The other words are gathered in
 * argv[1] and on, where getopt_long() has been already. Return: their number; -1: the program is
 * done, with *ret_status.
 */
static int read_words(struct client *client, int argc, char **argv, int *ret_status)
{
	int nr_words = 0, key;

	while (!is_behind_command(argv + 1, nr_words)) {
		key = getopt_long(argc, argv, "-:bhqH:M:", long_options, NULL);
		if (key < 0)
			break;
		if (key == KEY_WORD)
			argv[++nr_words] = optarg;
		else if (take_key(client, key, argv, ret_status))
			return -1;
	}
	while (optind < argc)
		argv[++nr_words] = argv[optind++];
	argv[nr_words + 1] = NULL;
	return nr_words;
}

int main(int argc, char **argv)
{
	struct client client = {
		.verb = "status",
		.address = "system",
		.timeout_usec = UINT64_MAX,
		.has_legend = true,
	};
	int nr_words, status = CLIENT_USAGE;

	(void) setlocale(LC_ALL, "");
	paint_probe(&client);
	opterr = 0;
	nr_words = read_words(&client, argc, argv, &status);
	if (nr_words < 0)
		return status;
	if (nr_words == 0)
		return run_verb(&client, argv + 1, 0);
	client.verb = argv[1];
	return run_verb(&client, argv + 2, (unsigned) nr_words - 1);
}
