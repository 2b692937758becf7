#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Two hundred healthy trainings, real ones (trainings.py) that are recorded here, each then a job
that says what was recorded: no rule fires that should not. Sixteen that do not learn: rules that
should fire do. A bad learning rate of digits is ended."""

import collections
import concurrent.futures
import json
import pathlib
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).parent
sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test.e2e.kit.harness import PYTHON, World, patience, play

RUNS = 200
AT_ONCE = 4
# Those of docs/metrics.md, with numbers as one would choose them for runs of this length.
RULES = [
    "loss is not finite",
    "val_loss is not finite",
    "loss is above 20 after step 100",
    "val_acc is below 0.3 after step 10",
    "loss does not fall in the first 200 steps",
    "val_loss does not fall in the first 10 steps",
    "val_acc does not rise in the first 10 steps",
    "val_loss does not fall for 20 steps",
    "val_loss grows 10 times over its minimum",
    "gradients explode",
    "gradients vanish",
]
# Early stopping, which is asked for with a patience of 20 of the 24 epochs. Some healthy runs have
# learned what they can after one to three epochs, and overfit from there on: they are to be ended.
# Which they are comes out of the recorded numbers.
STALE = "val_loss does not fall for 20 steps"
PATIENCE = 20
# Held-out values come after an epoch, which does not show how training began: of these, who had
# learned all by then is not judged, and that is said.
RISES = "val_acc does not rise in the first 10 steps"
# What is not learned at all breaks these.
BROKEN_BY_SICK = [RULES[at] for at in (0, 1, 2, 3, 4, 7)]


def record(world, runs, *words):
    folder = world.root / "recorded"
    folder.mkdir()
    subprocess.run([PYTHON, HERE / "trainings.py", str(runs), folder, *words], check=True, timeout=patience(900))
    return sorted(folder.glob("*.jsonl"))


def judge(world, files):
    """Each recorded run as a job; by its file, what fired, as "the rule: by what"."""
    rules = "".join(f"  - {{rule: {rule}, action: warn}}\n" for rule in RULES)
    for file in files:
        (world.work / f"{file.stem}.yaml").write_text(
            f"name: run-{file.stem}\nstop_when:\n{rules}command: [sh, -c, 'cat {file} >> $STOKER_METRICS']\n"
        )

    def run(file):
        world.stoker("run", f"{file.stem}.yaml", check=True, timeout=120)
        return world.json("show", f"run-{file.stem}")["metrics_warnings"]

    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        return dict(zip(files, pool.map(run, files)))


def series(file, name):
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    return [(row["step"], row[name]) for row in rows if name in row]


def staleness(points):
    """The best point, and the first that lies PATIENCE steps behind it while none since was less;
    None where there is none."""
    best = points[0]
    for point in points[1:]:
        if point[1] < best[1]:
            best = point
        elif point[0] - best[0] >= PATIENCE:
            return best, point
    return None


def is_told(warning, best, point):
    """Whether these are the numbers that the rule gives."""
    told = re.fullmatch(rf"{STALE}: (\S+) at step (\d+), (\S+) at step (\d+)", warning)
    return (
        told is not None
        and [int(told[2]), int(told[4])] == [best[0], point[0]]
        and all(abs(float(told[at]) / value - 1) < 1e-3 for at, value in ((1, best[1]), (3, point[1])))
    )


def overfits(file, best, point):
    """What it trains on goes on getting better, held-out data worse, and better than `best` never
    comes, to the end of the recording: to end it lost nothing."""
    held_out, loss = series(file, "val_loss"), series(file, "loss")
    each = len(loss) // len(held_out)

    def trained(epoch):
        return sum(value for _, value in loss[epoch * each : (epoch + 1) * each]) / each

    later = min(value for step, value in held_out if step > best[0])
    return (
        point[1] > best[1] and later > best[1] and trained(point[0]) < trained(best[0]),
        f"{file.stem}: val_loss {best[1]:.4f} at {best[0]}, {point[1]:.4f} at {point[0]} "
        f"({point[1] / best[1] - 1:+.1%}); loss {trained(best[0]):.4f}, "
        f"{trained(point[0]):.4f}",
    )


def test_healthy(results, world):
    files = record(world, RUNS)
    fired = judge(world, files)
    lines = sum(len(file.read_text().splitlines()) for file in files)
    count = collections.Counter(w.split(":")[0] for each in fired.values() for w in each)
    print(f"{len(files)} healthy trainings, {lines} lines: {dict(count)}")
    results.check("healthy: all have been recorded and judged", len(files) == RUNS and len(fired) == RUNS, len(files))
    wrong = [(file.stem, w) for file, each in fired.items() for w in each if not w.startswith(STALE)]
    results.check("healthy: no rule fires that should not", not wrong, wrong)
    stale = {file: staleness(series(file, "val_loss")) for file in files}
    stale = {file: found for file, found in stale.items() if found}
    told = {file: w for file, each in fired.items() for w in each if w.startswith(STALE)}
    results.check(
        f"healthy: '{STALE}' fires where that is so, in {len(stale)} runs, alone",
        stale and told.keys() == stale.keys(),
        (sorted(told), sorted(stale)),
    )
    results.check(
        "healthy: and says where it is so, by the numbers that were recorded",
        all(is_told(told.get(file, ""), *found) for file, found in stale.items()),
        told,
    )
    judged = [overfits(file, *found) for file, found in stale.items()]
    print("\n".join(text for _, text in judged))
    results.check(f"healthy: these {len(stale)} overfit, and never get better than they were", all(does for does, _ in judged), judged)
    accuracies = {file.stem: [value for _, value in series(file, "val_acc")] for file in files}
    flat = [stem for stem, of in accuracies.items() if of[10] <= of[0]]
    logs = {stem: world.stoker("logs", f"run-{stem}", "--stream", "system").stdout for stem in flat}
    results.check(
        f"healthy: what is not judged is said, in {len(flat)} runs",
        flat and all(f"{RISES}: not judged: " in log for log in logs.values()),
        logs,
    )


def test_sick(results, world):
    files = record(world, 16, "sick")
    fired = judge(world, files)
    count = collections.Counter(w.split(":")[0] for each in fired.values() for w in each)
    print(f"{len(files)} that do not learn: {dict(count)}")
    missing = [rule for rule in BROKEN_BY_SICK if rule not in count]
    results.check("sick: rules fire", not missing, (missing, count))
    # Softmax regression is a perceptron at a rate that is far too large, and may learn.
    silent = [file.stem for file, each in fired.items() if not each]
    results.check("sick: of nearly each run one does", len(silent) <= 2, silent)


def test_digits(results, world):
    example = HERE.parent.parent / "examples" / "digits" / "train.py"
    shutil.copy(example, world.work)
    done = world.stoker(
        "run",
        "--name",
        "digits",
        "--stop-when",
        "loss is above 2.5 after step 3",
        "--",
        PYTHON,
        "train.py",
        "--lr",
        "30",
        "--epochs",
        "500",
        "--pause",
        "0.3",
        timeout=600,
    )
    why = world.json("ls")[0]["why"]
    last = max(point["step"] for point in world.json("metrics", "digits", "loss")["series"]["loss"])
    print(f"digits with a bad learning rate: {why}; its last epoch was {last}")
    results.check(
        "digits: a bad learning rate is ended by the epoch that proves it",
        done.returncode == 1 and "at step 4" in why and last < 100,
        (why, last),
    )


if __name__ == "__main__":
    play(globals(), lambda: World("healthy"))
