/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * growth-tree - the sysfs and procfs files of a machine of any size, for nodeinitd --plan --root
 *
 *     growth-tree NODES BLOCKS MIB [mixed|untold]
 *
 * NODES nodes alike, with BLOCKS memory blocks of MIB each. Of a mixed machine the last block of
 * each node is offline; so it is of an untold one, whose zones do not say how much is online, so
 * that every block of it has to be asked. Prints the directory, which is below $TMPDIR and is the
 * caller's to remove.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../daemon/base/size.h"
#include "suite.h"
#include "tree.h"

static unsigned nr_nodes;
static uint64_t nr_blocks, block_bytes;
static bool is_mixed, is_untold;

/* One block of each node is offline, and has no page in a zone. */
static void write_zones(struct tree *tree)
{
	char *text = NULL;
	size_t text_bytes;
	FILE *file = open_memstream(&text, &text_bytes);

	ck_assert_ptr_nonnull(file);
	for (unsigned i = 0; i < nr_nodes; i++)
		(void) fprintf(file, "Node %u, zone   Normal\n        present  %" PRIu64 "\n", i,
		               (nr_blocks - 1) * block_bytes / tree->machine.page_bytes);
	(void) fclose(file);
	tree_write(tree, text, "/proc/zoneinfo");
	free(text);
}

/* The library is made for tests, and wants to be called by one. */
START_TEST(make)
{
	struct tree_machine machine;
	struct tree *tree;

	tree_machine_alike(nr_nodes, nr_blocks, block_bytes, &machine);
	tree = tree_new_of(&machine);
	for (unsigned i = 0; (is_mixed || is_untold) && i < nr_nodes; i++)
		tree_set_block_state(tree, (i + 1) * nr_blocks - 1, "offline");
	if (is_mixed)
		write_zones(tree);
	puts(tree->root);
	tree_machine_clear(&tree->machine);
	free(tree);
}
END_TEST

int main(int argc, char **argv)
{
	Suite *suite = suite_create("growth-tree");
	TCase *cases = tcase_create("make");
	SRunner *runner;
	int nr_failed;

	if (argc < 4 || argc > 5) {
		fputs("usage: growth-tree NODES BLOCKS MIB [mixed|untold]\n", stderr);
		return 2;
	}
	nr_nodes = (unsigned) atoi(argv[1]);
	nr_blocks = strtoull(argv[2], NULL, 10);
	block_bytes = strtoull(argv[3], NULL, 10) * MIB;
	is_mixed = argc == 5 && strcmp(argv[4], "mixed") == 0;
	is_untold = argc == 5 && strcmp(argv[4], "untold") == 0;

	tcase_add_test(cases, make);
	suite_add_tcase(suite, cases);
	runner = srunner_create(suite);
	srunner_set_fork_status(runner, CK_NOFORK);
	srunner_run_all(runner, CK_SILENT);
	nr_failed = srunner_ntests_failed(runner);
	if (nr_failed)
		srunner_print(runner, CK_NORMAL);
	srunner_free(runner);
	return nr_failed ? 1 : 0;
}
