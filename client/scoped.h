/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * scoped.h - ownership that ends with the block, for the client
 *
 * The client shares nothing with the daemon but dbus/names.h, so it has its own few lines.
 */
#pragma once

#include <stdlib.h>

#define scoped(fn)      __attribute__((cleanup(fn)))
#define ELEMENTS(array) (sizeof(array) / sizeof((array)[0]))

static inline void freep(void *slot)
{
	free(*(void **) slot);
}
