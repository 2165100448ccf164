/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * lease-grant.h - how a call of Lease is answered
 *
 * Layer: top, private to lease-grant.c and lease-waiters.c. Threads: main.
 */
#pragma once

#include "manager-state.h"

/* Whether the caller may have what it asks for at all; where not, the call was answered. */
bool lease_grant_may(struct manager *manager, struct lease_call *call,
                     const struct lease_request *request);

/*
 * Lend a region or say why not. Return: true the call was answered; false there is nothing now, and
 * @may_wait.
 */
bool lease_grant_try(struct manager *manager, struct lease_call *call,
                     const struct lease_request *request, bool may_wait);

/* Answer with an error. */
void lease_grant_refuse(struct manager *manager, struct lease_call *call, int error,
                        const char *format, ...) __attribute__((format(printf, 4, 5)));
