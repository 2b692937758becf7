# SPDX-License-Identifier: Apache-2.0
"""A database that stays open and writes ahead to a log."""

import os

os.environ["OUTSIDE_JOURNAL"] = "wal"

from sqlite_open import load, save
from witness import run

run(save, load)
