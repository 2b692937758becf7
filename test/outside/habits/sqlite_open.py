# SPDX-License-Identifier: Apache-2.0
"""A database that stays open, with the journal that it has when nobody asks for another."""

import os
import sqlite3

from witness import Torn, agree, body, check, run

PARTS = [f"part-{at}" for at in range(12)]
opened = []


def connection(folder):
    if not opened:
        one = sqlite3.connect(f"{folder}/state.db", isolation_level=None)
        one.execute(f"pragma journal_mode={os.environ.get('OUTSIDE_JOURNAL', 'delete')}")
        opened.append(one)
    return opened[0]


def save(folder, step):
    one = connection(folder)
    one.execute("begin immediate")
    one.execute("create table if not exists state (part text primary key, data blob)")
    for part in PARTS:
        one.execute("insert or replace into state values (?, ?)", (part, body(part, step, 60_000)))
    one.execute("commit")


def load(folder):
    if not os.path.exists(f"{folder}/state.db"):
        return 0
    try:
        one = connection(folder)
        said = one.execute("pragma integrity_check").fetchall()
        known = one.execute("select name from sqlite_master").fetchall()
        rows = one.execute("select part, data from state").fetchall() if known else []
    except sqlite3.DatabaseError as error:
        raise Torn("torn", f"state.db: {error}") from None
    if said != [("ok",)]:
        raise Torn("torn", f"state.db: {said[:3]}")
    if rows and len(rows) != len(PARTS):
        raise Torn("mixed", f"state.db has {len(rows)} rows")
    return agree({part: check(data, part) for part, data in rows})


if __name__ == "__main__":
    run(save, load)
