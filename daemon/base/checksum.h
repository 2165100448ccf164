/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * checksum.h - CRC-32C, to tell what was written from what was half written
 *
 * Layer: base. Threads: any; no state. Source of the polynomial and of the test vectors: RFC 3720,
 * section 12.1 and appendix B.4.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

uint32_t checksum_crc32c(const void *data, size_t nr_bytes);
