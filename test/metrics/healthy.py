#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Two hundred healthy trainings, real ones (trainings.py), in one job: no rule fires that should
not. Sixteen that do not learn, in another: rules that should fire do. A bad learning rate of digits
is ended."""

import pathlib
import shutil
import sys

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "e2e"))
from kit.harness import PYTHON, Results, World  # noqa: E402

RUNS = 200
# Those of docs/metrics.md, with numbers as one would choose them for runs of this length.
RULES = [
    "'*/loss' is not finite",
    "'*/val_loss' is not finite",
    "'*/loss' is above 20 after step 100",
    "'*/val_acc' is below 0.3 after step 10",
    "'*/loss' does not fall in the first 200 steps",
    "'*/val_loss' does not fall in the first 10 steps",
    "'*/val_acc' does not rise in the first 10 steps",
    "'*/val_loss' does not fall for 20 steps",
    "'*/val_loss' grows 10 times over its minimum",
    "gradients explode",
    "gradients vanish",
]
# Of these, which are about what comes after an epoch, some break on healthy runs, and rightly so:
# they had learned all in the first epoch, or overfit. They are printed.
PLATEAUS = [5, 6, 7]
# What is not learned at all breaks these.
BROKEN_BY_SICK = [0, 1, 2, 3, 4, 5, 6, 7]


def warnings_of(world, name, *words):
    shutil.copy(HERE / "trainings.py", world.work)
    rules = "".join(f"  - {{rule: \"{rule}\", action: warn}}\n" for rule in RULES)
    command = ", ".join(f"'{word}'" for word in (PYTHON, "trainings.py", *words))
    (world.work / "job.yaml").write_text(
        f"name: {name}\nworkdir: .\nstop_when:\n{rules}command: [{command}]\n")
    done = world.stoker("run", "job.yaml", timeout=1500)
    facts = world.json("show", name)
    return done, facts["metrics"], facts["metrics_warnings"]


def test_healthy(results, world):
    done, series, warned = warnings_of(world, "healthy", str(RUNS))
    points = sum(one["count"] for one in series.values())
    print(f"{RUNS} healthy trainings: {len(series)} curves, {points} points, {warned}")
    curves = sum(name.endswith("/loss") for name in series)
    results.check("healthy: all have trained", done.returncode == 0 and curves == RUNS,
                  done.stderr[-500:])  # fmt: skip
    plateaus = tuple(RULES[at].replace("'", "") for at in PLATEAUS)
    wrong = [one for one in warned if not one.startswith(plateaus)]
    results.check("healthy: no rule fires that should not", not wrong, wrong)


def test_sick(results, world):
    done, series, warned = warnings_of(world, "sick", "16", "sick")
    print(f"16 that do not learn: {len(series)} curves; " + "; ".join(warned))
    missing = [RULES[at] for at in BROKEN_BY_SICK
               if not any(one.startswith(RULES[at].replace("'", "")) for one in warned)]
    results.check("sick: rules fire", done.returncode == 0 and not missing, (missing, warned))


def test_digits(results, world):
    example = HERE.parent.parent / "examples" / "digits" / "train.py"
    shutil.copy(example, world.work)
    done = world.stoker("run", "--name", "digits", "--stop-when",
                        "loss is above 2.5 after step 3", "--", PYTHON, "train.py",
                        "--lr", "30", "--epochs", "500", "--pause", "0.3", timeout=600)
    why = world.json("ls")[0]["why"]
    last = max(point["step"] for point in world.json("metrics", "digits", "loss")["series"]["loss"])
    print(f"digits with a bad learning rate: {why}; its last epoch was {last}")
    results.check("digits: a bad learning rate is ended by the epoch that proves it",
                  done.returncode == 1 and "at step 4" in why and last < 100, (why, last))


def main():
    results = Results()
    chosen = sys.argv[1:]
    for name, test in (("healthy", test_healthy), ("sick", test_sick), ("digits", test_digits)):
        if chosen and name not in chosen:
            continue
        with World("healthy") as world:
            results.run(name, test, results, world)
    results.finish()


main()
