/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include <errno.h>

#include "../../daemon/base/checksum.h"
#include "../../daemon/base/idmap.h"
#include "../../daemon/base/scoped.h"
#include "suite.h"

START_TEST(test_what_is_put_is_found_until_it_is_removed)
{
	scoped(idmap_clear) struct idmap map = { 0 };
	uint64_t value = 0;

	ck_assert(!idmap_get(&map, 5, &value));
	idmap_remove(&map, 5);
	ck_assert_int_eq(idmap_put(&map, 5, 50), 0);
	ck_assert(idmap_get(&map, 5, &value));
	ck_assert_uint_eq(value, 50);
	ck_assert_int_eq(idmap_put(&map, 5, 51), 0);
	ck_assert(idmap_get(&map, 5, &value));
	ck_assert_uint_eq(value, 51);
	ck_assert_uint_eq(map.nr, 1);
	ck_assert(!idmap_get(&map, 0, NULL));
	ck_assert(!idmap_get(&map, 6, NULL));
	idmap_remove(&map, 5);
	ck_assert(!idmap_get(&map, 5, NULL));
	ck_assert_uint_eq(map.nr, 0);
}
END_TEST

/* Ids of a narrow range, so that they stand in each other's way. */
START_TEST(test_random_puts_and_removes_agree_with_a_plain_array)
{
	enum { NR_IDS = 300 };
	uint64_t expected[NR_IDS + 1] = { 0 };
	scoped(idmap_clear) struct idmap map = { 0 };
	unsigned seed = 1;

	for (unsigned n = 1; n < 200000; n++) {
		uint64_t id, value = 0;

		seed = seed * 1103515245U + 12345U;
		id = 1 + seed / 65536U % NR_IDS;
		if (seed & 0x4000) {
			ck_assert_int_eq(idmap_put(&map, id, n), 0);
			expected[id] = n;
		} else {
			idmap_remove(&map, id);
			expected[id] = 0;
		}
		id = 1 + seed % NR_IDS;
		ck_assert_int_eq(idmap_get(&map, id, &value), expected[id] != 0);
		ck_assert_uint_eq(value, expected[id]);
	}
	for (uint64_t id = 1; id <= NR_IDS; id++)
		ck_assert_int_eq(idmap_get(&map, id, NULL), expected[id] != 0);
	/* At most half of it is used, and it is not larger than that takes. */
	ck_assert_uint_ge(map.nr_places, 2 * map.nr);
	ck_assert_uint_le(map.nr_places, 1024);
}
END_TEST

/* RFC 3720, appendix B.4, and the check value of CRC-32C. */
START_TEST(test_the_checksum_is_crc32c)
{
	unsigned char bytes[32] = { 0 };

	ck_assert_uint_eq(checksum_crc32c("123456789", 9), 0xe3069283);
	ck_assert_uint_eq(checksum_crc32c(bytes, sizeof(bytes)), 0x8a9136aa);
	for (unsigned i = 0; i < sizeof(bytes); i++)
		bytes[i] = (unsigned char) i;
	ck_assert_uint_eq(checksum_crc32c(bytes, sizeof(bytes)), 0x46dd794e);
	ck_assert_uint_eq(checksum_crc32c(NULL, 0), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("idmap");
	TCase *tcase = tcase_create("idmap");

	tcase_add_test(tcase, test_what_is_put_is_found_until_it_is_removed);
	tcase_add_test(tcase, test_random_puts_and_removes_agree_with_a_plain_array);
	tcase_add_test(tcase, test_the_checksum_is_crc32c);
	suite_add_tcase(suite, tcase);
	return suite_main(suite);
}
