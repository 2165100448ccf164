/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "pace.h"

#define USEC_PER_SEC UINT64_C(1000000)

static void pay(struct pace *pace, uint64_t now_usec)
{
	unsigned __int128 paid;

	if (now_usec <= pace->at_usec)
		return;
	paid = (unsigned __int128) (now_usec - pace->at_usec) * pace->bytes_per_second;
	pace->owed = pace->owed > paid ? pace->owed - paid : 0;
	pace->at_usec = now_usec;
}

void pace_set_rate(struct pace *pace, uint64_t now_usec, uint64_t bytes_per_second)
{
	pay(pace, now_usec);
	pace->bytes_per_second = bytes_per_second;
	if (bytes_per_second == 0)
		pace->owed = 0;
}

uint64_t pace_due_usec(struct pace *pace, uint64_t now_usec)
{
	unsigned __int128 left_usec;

	pay(pace, now_usec);
	if (pace->owed == 0)
		return now_usec;
	left_usec = (pace->owed + pace->bytes_per_second - 1) / pace->bytes_per_second;
	return left_usec > UINT64_MAX - now_usec ? UINT64_MAX : now_usec + (uint64_t) left_usec;
}

void pace_take(struct pace *pace, uint64_t now_usec, uint64_t bytes)
{
	unsigned __int128 more = (unsigned __int128) bytes * USEC_PER_SEC;

	pay(pace, now_usec);
	if (pace->bytes_per_second == 0)
		return;
	pace->owed = more > ~pace->owed ? ~(unsigned __int128) 0 : pace->owed + more;
}
