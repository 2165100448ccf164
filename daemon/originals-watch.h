/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * originals-watch.h - whether a file that has copies has changed, or might by now be another one
 *
 * Layer: top. Threads: main. Each original and the directory that it lies in are watched by
 * inotify(7); so are the directories in front of the wildcards of Paths=, and all directories above
 * these, as one of them may be closed to somebody. A directory that comes to
 * match a wildcard is seen, a file in it is from then on.
 */
#pragma once

#include <ev.h>

#include "base/scoped.h"
#include "config/config.h"

struct originals_watch;

/* Something has happened to some of them, a moment ago: see what they are now. */
typedef void (*originals_watch_fn)(void *arg);

/*
 * Watches nothing yet. @fn is called when nothing has happened for a quarter of a second, or for
 * five seconds if it goes on. Return: 0 and *ret, which the caller owns; -ENOMEM.
 */
int originals_watch_new(struct ev_loop *loop, originals_watch_fn fn, void *arg,
                        struct originals_watch **ret);

/*
 * Watch what the pools of kind replica have found (config_find_originals()), and nothing else. What
 * has changed between that look and now is told as an event.
 * Return: 0; -ENOSPC, -EMFILE some of them cannot be watched; -ENOMEM.
 */
int originals_watch_set(struct originals_watch *watch, const struct config *config);

/* NULL is fine. Return: NULL. */
struct originals_watch *originals_watch_free(struct originals_watch *watch);
DEFINE_SCOPED(struct originals_watch *, originals_watch_free)
