#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench/lib/against.py, with a benchmark whose figures are known: both builds run it in turns, each
with its own tools, and what is printed are the medians and their ratio."""

import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = str(pathlib.Path(__file__).parents[2])
BENCHMARK = f"""#!/usr/bin/env python3
import os, sys
sys.path.insert(0, {ROOT!r})
from bench.lib.sandbox import BENCH_BIN, STOKER, figure, versus
side = os.path.basename(os.path.dirname(STOKER))
assert BENCH_BIN == os.path.dirname(STOKER) + "/bench", BENCH_BIN
with open(os.environ["TURNS"], "a") as file:
    file.write(side + " ")
versus("a start", "plain", [2.0], [8.0 if side == "new" else 4.0])
figure("memory", [15.0], "MB")
if side == "new":
    figure("a novelty", [1.0], "ms")
if side == os.environ.get("FAILS"):
    raise SystemExit("it broke")
"""


def main():
    with tempfile.TemporaryDirectory() as root:
        script, turns = root + "/shape.py", root + "/turns"
        with open(script, "w", encoding="utf-8") as file:
            file.write(BENCHMARK)
        os.chmod(script, 0o755)
        words = [sys.executable, ROOT + "/bench/lib/against.py", "v1", root + "/old", root + "/new", script]

        def run(**more):
            env = {**os.environ, "ROUNDS": "2", "TURNS": turns, **more}
            return subprocess.run(words, env=env, text=True, stdout=subprocess.PIPE, check=False, timeout=60)

        done = run()
        print(done.stdout)
        assert done.returncode == 0
        with open(turns, encoding="utf-8") as file:
            assert file.read() == "old new new old "
        lines = [" ".join(line.split()) for line in done.stdout.splitlines()]
        assert lines == [
            "shape.py",
            "a start",
            "v1 4.00 (least 4.00) ms, 2.00 times plain",
            "here 8.00 (least 8.00) ms, 4.00 times plain",
            "ratio 2.00",
            "memory",
            "v1 15.00 (least 15.00) MB",
            "here 15.00 (least 15.00) MB",
            "ratio 1.00",
            "a novelty",
            "here 1.00 (least 1.00) ms",
        ], lines
        # An older build may not be able to do all that is asked; this one must.
        old, new = run(FAILS="old"), run(FAILS="new")
        for done, code, side in ((old, 0, "v1"), (new, 1, "here")):
            assert done.returncode == code, done
            assert f"{side} did not come to its end" in done.stdout, done.stdout
            assert "it broke" in done.stdout and "ratio 2.00" in " ".join(done.stdout.split())


main()
