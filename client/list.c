/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* nodes and pools: one table each, for eyes and for cut(1); --no-legend leaves nothing else. */
#include <stdio.h>

#include "boot-log.h"
#include "json.h"
#include "model.h"
#include "report.h"
#include "scoped.h"
#include "tables.h"
#include "times.h"

int verb_nodes(const struct client *client, char **operands)
{
	scoped(model_clear) struct model model = { 0 };
	int status = model_look(client, &model), r;

	(void) operands;
	if (status != CLIENT_REACHED)
		return status;
	boot_log_join(client, &model);
	if (client->is_json)
		return report_printed(json_print(json_nodes(&model), false, stdout), status);
	r = tables_nodes(client, &model, true);
	if (r >= 0 && client->has_legend && !client->is_quiet)
		times_print(&model, stdout);
	return report_printed(r, status);
}

int verb_pools(const struct client *client, char **operands)
{
	scoped(model_clear) struct model model = { 0 };
	int status = model_look(client, &model);
	size_t i;

	if (status != CLIENT_REACHED)
		return status;
	for (i = 0; operands[i]; i++)
		if (!model_pool(&model, operands[i]))
			return report_no_such("pool", operands[i]);
	if (client->is_json)
		return report_printed(json_print(json_pools(&model, operands), false, stdout),
		                      status);
	if (!model.nr_pools)
		report_none(client, "no pool is declared");
	return report_printed(tables_pools(client, &model, operands), status);
}
