# SPDX-License-Identifier: Apache-2.0
"""Keeps the log files of this attempt for who judges: hard links, so that they hold what was
written last, in the folder argv[1]/N, N from 1. An attempt that is to be interrupted does not come
to its end before it is: it waits behind the step that $HOLD names for it ("100 220")."""

import os
import pathlib
import sys
import threading
import time

EVIDENCE = pathlib.Path(sys.argv[1])
_own = []


def at(step):
    """How far this attempt is."""
    (_own[0] / "at").write_text(str(step))
    holds = dict(enumerate(map(int, os.environ.get("HOLD", "").split()), 1))
    while step >= holds.get(int(_own[0].name), step + 1):
        time.sleep(1)


def keep(*patterns, into=None):
    EVIDENCE.mkdir(parents=True, exist_ok=True)
    own = into or EVIDENCE / str(len(list(EVIDENCE.iterdir())) + 1)
    own.mkdir(exist_ok=True)
    _own.append(own)
    lay_there = {path for pattern in patterns for path in pathlib.Path().glob(pattern)}

    def link():
        for pattern in patterns:
            for path in pathlib.Path().glob(pattern):
                there = own / path
                if path in lay_there or there.exists() or not path.is_file():
                    continue
                there.parent.mkdir(parents=True, exist_ok=True)
                os.link(path, there)

    def go_on():
        while True:
            link()
            time.sleep(0.05)

    threading.Thread(target=go_on, daemon=True).start()
    return own
