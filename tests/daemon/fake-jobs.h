/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * fake-jobs.h - org.freedesktop.systemd1 on the fixture's bus, as far as it says what job a
 * process's unit has; a process of its own
 *
 * Needs root, who alone may own the name there.
 */
#pragma once

#include "daemon-fixture.h"

/* Answer that the unit of every process has a job of @job_type ("restart", "stop"), or NULL: none.
 * It has its name on return. The caller ends it by fake_jobs_end(). */
pid_t fake_jobs_start(struct daemon_fixture *fixture, const char *job_type);
void fake_jobs_end(pid_t pid);
