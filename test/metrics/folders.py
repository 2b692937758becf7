#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Folders are runs: two folds are two, and an attempt goes on with the one where the attempt before
was, whatever date its folder is called by."""

import pathlib
import sys

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test.e2e.kit.harness import Results, World

# Each attempt logs into a folder of its own time, and begins in the fold and step it had saved.
PROGRAM = r"""
import json, os, pathlib, time
saved = pathlib.Path("checkpoints/state.json")
begun = json.loads(saved.read_text()) if saved.exists() else None
fold, step = begun or (0, 0)
logs = pathlib.Path("logs", time.strftime("%b%d_%H-%M-%S_") + os.uname().nodename)
while fold < 2:
    folder = logs / f"fold_{fold}"
    folder.mkdir(parents=True)
    with open(folder / "metrics.csv", "w") as table:
        table.write("step,loss\n")
        while step < 20:
            table.write(f"{step},{10 * fold + 1 / (step + 1)}\n")
            table.flush()
            if step % 10 == 9:
                part = pathlib.Path("checkpoints/state.part")
                part.write_text(json.dumps([fold, step + 1]))
                part.rename(saved)
            if (fold, step) == (1, 12) and not begun:
                print("waiting", flush=True)
                time.sleep(600)
            step += 1
    fold, step = fold + 1, 0
"""


def test_folds(results, world):
    program = world.program(PROGRAM)
    job = world.submit("--name", "folds", "--", "python3", program)

    def series(*more):
        return world.json("metrics", job, *more)["series"]

    world.wait_for("fold 1 waits", lambda: len(series().get("fold_1/loss", [])) == 13, timeout=60)
    world.stoker("preempt", job, "--in", "10s", check=True)
    world.stoker("wait", job, "--timeout", "120s", check=True, timeout=150)
    found = series("--redone")
    results.check("folds: each is a series", sorted(found) == ["fold_1/loss", "loss"], list(found))
    first = [(point["step"], point["attempt"], point.get("redone")) for point in found["loss"]]
    results.check("folds: the first, which had ended, is whole", first == [(step, 1, None) for step in range(20)], first)
    second = [point["step"] for point in series()["fold_1/loss"]]
    redone = [(p["step"], p["attempt"]) for p in found["fold_1/loss"] if p.get("redone")]
    results.check(
        "folds: the second is one curve, out of two folders",
        second == list(range(20)) and redone == [(10, 1), (11, 1), (12, 1)],
        (second, redone),
    )
    least = world.json("ls")[0]["metrics"]
    results.check(
        "folds: and its best is not that of the other", least["loss"]["min"] == 1 / 20 and least["fold_1/loss"]["min"] == 10 + 1 / 20, least
    )


def main():
    results = Results()
    with World("folders") as world:
        results.run("folds", test_folds, results, world)
    results.finish()


main()
