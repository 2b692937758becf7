# SPDX-License-Identifier: Apache-2.0
"""A database that stays open and writes ahead to a log."""

import os

os.environ["OUTSIDE_JOURNAL"] = "wal"

from sqlite_open import load, save  # noqa: E402
from witness import run  # noqa: E402

run(save, load)
