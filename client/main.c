/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* main: options, the table of verbs, and what to say to a slip of the finger. */
#include <getopt.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>

#include "client.h"
#include "paint.h"
#include "report.h"
#include "scoped.h"
#include "text.h"

#define MANY 255

static const struct verb {
	const char *name;
	unsigned char nr_min, nr_max; /* operands */
	const char *operands;
	const char *what;
	client_verb_fn run;
} verbs[] = {
	{ "status", 0, 1, "[NODE|POOL]", "How far memory is, with all nodes and pools (default)",
	  verb_status },
	{ "nodes", 0, 0, "", "The nodes, one a line", verb_nodes },
	{ "pools", 0, MANY, "[POOL...]", "The pools, one a line", verb_pools },
	{ "watch", 0, 0, "", "Show progress until everything has settled", verb_watch },
	{ "wait", 0, MANY, "[POOL...]", "Wait until the host, or these pools, are ready",
	  verb_wait },
	{ "plan", 0, 0, "", "What nodeinitd would do on this machine", verb_plan },
	{ "reload", 0, 0, "", "Read the configuration again", verb_reload },
	{ "pause", 0, 0, "", "Begin no new chunk until resume", verb_pause },
	{ "resume", 0, 0, "", "Go on after pause", verb_resume },
	{ "retry", 1, MANY, "POOL...", "Try again for what is missing of these pools", verb_retry },
};

enum option_key {
	KEY_BUS = 256,
	KEY_CONFIG,
	KEY_JSON,
	KEY_NOTIFY,
	KEY_NO_LEGEND,
	KEY_ROOT,
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
	{ "notify", no_argument, NULL, KEY_NOTIFY },
	{ "quiet", no_argument, NULL, 'q' },
	{ "root", required_argument, NULL, KEY_ROOT },
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
		printf("  %-7s %-12s %s\n", verbs[i].name, verbs[i].operands, verbs[i].what);
	puts("\n"
	     "      --json           Data for programs; watch prints one object a line\n"
	     "      --no-legend      Tables without their headings\n"
	     "  -b, --bytes          Bytes instead of KiB, MiB, GiB\n"
	     "  -q, --quiet          Exit status and errors only\n"
	     "      --timeout=SPAN   Wait or watch so long; elsewhere, for an answer\n"
	     "      --notify         wait: progress into the unit's STATUS=\n"
	     "      --root=DIR       plan: of the machine recorded there\n"
	     "      --config=DIR     plan: with nodeinitd.conf and pools.d/ there\n"
	     "  -H, --host=HOST      Ask the daemon of that host, by ssh\n"
	     "  -M, --machine=NAME   Ask the daemon in that container\n"
	     "      --bus=BUS        system (default), session or a D-Bus address\n"
	     "  -h, --help           This text\n"
	     "      --version        Version\n\n"
	     "Exit status: 0 reached, 1 failed, 2 wrong usage, 3 not ready, 4 no such node or\n"
	     "pool, 5 no daemon. More in meminitctl(1).");
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
	if (text_parse_span(text, &client->timeout_usec) == 0)
		return 0;
	(void) refuse("no time span:", text, "30s' or '5min' or 'infinity");
	return CLIENT_USAGE;
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
static int check_options(const struct client *client)
{
	bool is_plan = strcmp(client->verb, "plan") == 0;

	if (!is_plan && client->root)
		return refuse("--root= is for plan, not for", client->verb, NULL);
	if (!is_plan && client->config)
		return refuse("--config= is for plan, not for", client->verb, NULL);
	if (client->is_notify && strcmp(client->verb, "wait") != 0)
		return refuse("--notify is for wait, not for", client->verb, NULL);
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
	if (nr_operands < verb->nr_min)
		return refuse("name at least one pool behind", verb->name, NULL);
	if (nr_operands > verb->nr_max && verb->nr_max != MANY)
		return refuse("too much:", operands[verb->nr_max], NULL);
	return check_options(client) ? CLIENT_USAGE : verb->run(client, operands);
}

int main(int argc, char **argv)
{
	struct client client = {
		.verb = "status",
		.address = "system",
		.timeout_usec = UINT64_MAX,
		.has_legend = true,
	};
	int key;

	(void) setlocale(LC_ALL, "");
	paint_probe(&client);
	opterr = 0;
	while ((key = getopt_long(argc, argv, ":bhqH:M:", long_options, NULL)) >= 0) {
		if (key == 'h')
			return print_help();
		if (key == KEY_VERSION)
			return print_version();
		if (key == '?' || key == ':')
			return refuse_option(key, argv);
		if (take_option(&client, key))
			return CLIENT_USAGE;
	}
	if (optind < argc)
		client.verb = argv[optind++];
	return run_verb(&client, argv + optind, (unsigned) (argc - optind));
}
