/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* nodes and pools: one table each, and nothing else, for eyes and for cut(1). */
#include <stdio.h>

#include "json.h"
#include "model.h"
#include "report.h"
#include "scoped.h"
#include "tables.h"

int verb_nodes(const struct client *client, char **operands)
{
	scoped(model_clear) struct model model = { 0 };
	int status = model_look(client, &model);

	(void) operands;
	if (status != CLIENT_REACHED)
		return status;
	if (client->is_json)
		return report_printed(json_print(json_nodes(&model), false, stdout), status);
	return report_printed(tables_nodes(client, &model), status);
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
