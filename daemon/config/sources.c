/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sources.h"

#include <errno.h>

void sources_clear(struct sources *sources)
{
	for (size_t i = 0; i < sources->nr; i++)
		conf_file_clear(&sources->files[i]);
	free(sources->files);
	*sources = (struct sources){ 0 };
}

int sources_add_file(struct sources *sources, const char *path, struct notes *notes)
{
	struct conf_file *grown;
	int r;

	grown = reallocarray(sources->files, sources->nr + 1, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	sources->files = grown;
	r = conf_file_read(path, notes, &grown[sources->nr]);
	if (r == -ENOMEM)
		return r;
	if (r > 0)
		sources->nr++;
	return 0;
}

int sources_add_dropins(struct sources *sources, const struct places *places, const char *relative,
                        struct notes *notes)
{
	scoped(found_clear) struct found found = { 0 };
	int r;

	r = search_names(places, relative, notes, &found);
	for (size_t i = 0; !r && i < found.nr; i++)
		if (name_has_suffix(found.files[i].name, ".conf"))
			r = sources_add_file(sources, found.files[i].path, notes);
	return r;
}
