/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * run-directory.h - where the daemon keeps what lasts until the next boot
 *
 * Layer: top. Threads: main.
 */
#pragma once

/*
 * The first directory of $RUNTIME_DIRECTORY (systemd.exec(5) sets it, separated by colons), as long
 * as it is an absolute path; otherwise /run/nodeinit. Never NULL; lasts as long as the process.
 */
const char *run_directory(void);
