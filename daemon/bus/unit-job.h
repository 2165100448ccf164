/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * unit-job.h - whether this process's unit is being stopped or started again
 *
 * Layer: bus, private to it. Threads: main. A stop and a restart begin with the same SIGTERM; only
 * the type of the unit's job tells them apart. Three questions, one after the other: which unit,
 * which job, which type. Source: org.freedesktop.systemd1(5).
 */
#pragma once

#include <systemd/sd-bus.h>

/* Embedded by value; all zero is "not asked". */
struct unit_job {
	void (*answered)(void *arg, const char *job_type);
	void *arg;
	sd_bus_slot *question;
};

struct bus_service;

/* Forget the question: the connection is going away. */
void unit_job_clear(struct bus_service *service);
