/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "checksum.h"

#define POLYNOMIAL_REVERSED UINT32_C(0x82f63b78)

uint32_t checksum_crc32c(const void *data, size_t nr_bytes)
{
	const unsigned char *bytes = data;
	uint32_t by_nibble[16], crc = ~UINT32_C(0);

	/* Made anew each time: it costs as much as 16 of the bytes, of which there are hundreds. */
	for (uint32_t i = 0; i < 16; i++) {
		by_nibble[i] = i;
		for (unsigned bit = 0; bit < 4; bit++)
			by_nibble[i] =
				by_nibble[i] >> 1 ^ (by_nibble[i] & 1 ? POLYNOMIAL_REVERSED : 0);
	}
	for (size_t i = 0; i < nr_bytes; i++) {
		crc ^= bytes[i];
		crc = crc >> 4 ^ by_nibble[crc & 15];
		crc = crc >> 4 ^ by_nibble[crc & 15];
	}
	return ~crc;
}
