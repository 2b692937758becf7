#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How much memory it takes to keep metrics: what waits for half a minute at 1,000 points a second,
segments that are packed, and eight of them that become one, twice over.

  metric_memory.py EVENT_FLOOD"""

import json
import pathlib
import subprocess
import sys
import tempfile

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test.e2e.kit.harness import Results

FLUSHES, POINTS = 66, 30_000


def main():
    results = Results()
    # A training, and one that logs each of its layers.
    for series, most in ((20, 10_000), (200, 10_000)):
        with tempfile.TemporaryDirectory(prefix="stoker-memory-") as folder:
            told = json.loads(
                subprocess.run(
                    [sys.argv[1], "keep", f"{folder}/store", str(series), str(FLUSHES), str(POINTS)],
                    check=True,
                    stdout=subprocess.PIPE,
                    timeout=110,
                ).stdout
            )
        print(f"{series} series, {told['points']} points: {told['most_kib']} KiB at most, {told['left_kib']} KiB stay, CPU {told['cpu']} s")
        results.check(
            f"memory: of {series} series at most {most} kB", told["points"] == FLUSHES * POINTS and told["most_kib"] * 1.024 <= most, told
        )
    results.finish()


main()
