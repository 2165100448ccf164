/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * daemon-conf.h - [Daemon] of nodeinitd.conf
 *
 * Layer: config. Threads: one at a time.
 */
#pragma once

#include "sources.h"

/*
 * What @sources say, and the defaults for the rest; a bad value is noted and keeps its default.
 * Return: 0 and *ret; -ENOMEM.
 */
int daemon_conf_read(const struct sources *sources, struct notes *notes, struct daemon_config *ret);
