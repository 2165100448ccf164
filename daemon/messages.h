/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * messages.h - MESSAGE_ID of each event in the journal, see sd_journal_send(3)
 *
 * Layer: top. They never change their meaning; nodeinitd(8) lists them.
 */
#pragma once

#define MESSAGE_SHARE_STARTED    "MESSAGE_ID=5f1ec7a2b9a94d1f8c3c6f0e2d7b4a01"
#define MESSAGE_SHARE_FINISHED   "MESSAGE_ID=5f1ec7a2b9a94d1f8c3c6f0e2d7b4a02"
#define MESSAGE_SHARE_SHORT      "MESSAGE_ID=5f1ec7a2b9a94d1f8c3c6f0e2d7b4a03"
#define MESSAGE_SHARE_RACED      "MESSAGE_ID=5f1ec7a2b9a94d1f8c3c6f0e2d7b4a04"
#define MESSAGE_PAGE_POISONED    "MESSAGE_ID=5f1ec7a2b9a94d1f8c3c6f0e2d7b4a05"
#define MESSAGE_READY            "MESSAGE_ID=5f1ec7a2b9a94d1f8c3c6f0e2d7b4a06"
#define MESSAGE_NOT_READY        "MESSAGE_ID=5f1ec7a2b9a94d1f8c3c6f0e2d7b4a07"
#define MESSAGE_CONFIG           "MESSAGE_ID=5f1ec7a2b9a94d1f8c3c6f0e2d7b4a08"
#define MESSAGE_STALLED          "MESSAGE_ID=5f1ec7a2b9a94d1f8c3c6f0e2d7b4a09"
#define MESSAGE_NODE_HELPED      "MESSAGE_ID=5f1ec7a2b9a94d1f8c3c6f0e2d7b4a0a"
#define MESSAGE_PLAN             "MESSAGE_ID=5f1ec7a2b9a94d1f8c3c6f0e2d7b4a0b"
#define MESSAGE_BUS              "MESSAGE_ID=5f1ec7a2b9a94d1f8c3c6f0e2d7b4a0c"
#define MESSAGE_PAUSE            "MESSAGE_ID=5f1ec7a2b9a94d1f8c3c6f0e2d7b4a0d"
#define MESSAGE_LEASE_GRANTED    "MESSAGE_ID=5f1ec7a2b9a94d1f8c3c6f0e2d7b4a0e"
#define MESSAGE_LEASE_ENDED      "MESSAGE_ID=5f1ec7a2b9a94d1f8c3c6f0e2d7b4a0f"
#define MESSAGE_RESTORED         "MESSAGE_ID=5f1ec7a2b9a94d1f8c3c6f0e2d7b4a10"
#define MESSAGE_NODE_INITIALISED "MESSAGE_ID=5f1ec7a2b9a94d1f8c3c6f0e2d7b4a11"
#define MESSAGE_BLOCKS_WALKED    "MESSAGE_ID=5f1ec7a2b9a94d1f8c3c6f0e2d7b4a12"
#define MESSAGE_BRAKE            "MESSAGE_ID=5f1ec7a2b9a94d1f8c3c6f0e2d7b4a13"
