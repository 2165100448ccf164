/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../base/size.h"
#include "fields.h"

const char *field_find(const char *text, const char *name)
{
	size_t nr_chars = strlen(name);
	const char *at = text;

	/* As a word of its own: "inactive_file" is not the end of "total_inactive_file". */
	while ((at = strstr(at, name)) != NULL) {
		const char *end = at + nr_chars;

		if ((at == text || at[-1] == '\n' || at[-1] == ' ') &&
		    (*end == ':' || *end == ' ' || *end == '\t')) {
			end += *end == ':';
			return end + strspn(end, " \t");
		}
		at = end;
	}
	return NULL;
}

char *field_text(const char *text, const char *name)
{
	const char *value = field_find(text, name);

	return value ? strndup(value, strcspn(value, "\n")) : NULL;
}

int field_bytes(const char *text, const char *name, uint64_t *ret)
{
	const char *value = field_find(text, name);
	unsigned long long number;
	char *end;

	if (!value)
		return -ENOENT;
	if (*value < '0' || *value > '9')
		return -EINVAL;
	errno = 0;
	number = strtoull(value, &end, 10);
	if (errno)
		return -EINVAL;
	end += strspn(end, " ");
	*ret = strncmp(end, "kB", 2) == 0 ? bytes_mul(number, KIB) : number;
	return 0;
}

uint64_t field_bytes_or_0(const char *text, const char *name)
{
	uint64_t bytes;

	return field_bytes(text, name, &bytes) < 0 ? 0 : bytes;
}
