/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * journal.h - log lines with their fields into the journal
 *
 * Layer: top. Threads: main sets it up; the sink may be called by any.
 */
#pragma once

/*
 * Send lines to the journal when standard error is connected to it (JOURNAL_STREAM names its
 * device and inode, systemd.exec(5)); otherwise leave them on standard error.
 */
void journal_start(void);
