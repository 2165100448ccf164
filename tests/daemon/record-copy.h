/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * record-copy.h - the record that a killed daemon left in the store, for tests to read and spoil
 */
#pragma once

#include "../../daemon/lease/record.h"
#include "daemon-fixture.h"

/* A copy of it; the store's is not touched. Return: NULL: there is none. */
struct record *record_copy(struct daemon_fixture *fixture);

/* All bytes of the store's. The caller frees. */
unsigned char *record_bytes(struct daemon_fixture *fixture, size_t *ret_nr);

/* Write over them from the begin on; it may become longer. */
void record_overwrite(struct daemon_fixture *fixture, const unsigned char *bytes, size_t nr);
