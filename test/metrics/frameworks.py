#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Training loops of others, interrupted twice: what stoker has equals what the tool's own reader
has of the same job's files, cut where each attempt began."""

import concurrent.futures
import json
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
sys.path.insert(0, str(HERE.parent / "e2e"))
import cloud_env  # noqa: E402
from kit.harness import Results, World  # noqa: E402

PYTHON = cloud_env.folder(str(HERE / "requirements.txt"), debian=True) + "/bin/python3"


def keras_python():
    return cloud_env.folder(str(HERE / "requirements-keras.txt")) + "/bin/python3"


def submit(world, name, program, *words, python=PYTHON, **more):
    work = world.root / f"work-{name}"
    work.mkdir()
    for path in (HERE / "programs").glob("*.py"):
        shutil.copy(path, work)
    command = [python, program, str(world.evidence / name), *map(str, words)]
    (work / "job.yaml").write_text(
        json.dumps({"name": name, "workdir": ".", "command": command, **more}))
    return world.submit("job.yaml", cwd=work)


def await_step(world, name, attempt, step):
    """Waits until this attempt is at this step."""
    at = world.evidence / name / str(attempt) / "at"

    def reached():
        text = at.read_text() if at.exists() else ""
        return text and int(text) >= step

    world.wait_for(f"{name}: attempt {attempt} is at step {step}", reached, timeout=150)


def told(world, name, kind):
    done = subprocess.run([PYTHON, HERE / "judge.py", world.evidence / name, kind],
                          capture_output=True, text=True, check=True)  # fmt: skip
    return json.loads(done.stdout)


def same(points, expected, digits):
    """Event files hold floats; what is printed is rounded."""
    mine = [[point["step"], float(point["value"])] for point in points]
    return len(mine) == len(expected) and all(
        a[0] == b[0] and abs(a[1] - b[1]) <= 10**-digits * max(1, abs(b[1]))
        for a, b in zip(mine, expected)
    )


def twice(results, world, name, program, words, kind, steps, least, seen=(1, 2, 3), digits=6,
          python=PYTHON, elsewhere=()):  # fmt: skip
    """`steps`: where the first two attempts are interrupted, counted as the program does; `least`:
    series that there are; `seen`: the attempts of which something is left; `elsewhere`: series of
    which the tool prints other numbers than it keeps."""
    job = submit(world, name, program, *words, python=python)
    for attempt, step in enumerate(steps, 1):
        await_step(world, name, attempt, step)
        world.stoker("preempt", job, "--in", "3s", check=True)
    world.stoker("wait", job, "--timeout", "180s", check=True, timeout=200)
    found = world.json("metrics", job)["series"]
    expected = told(world, name, kind)
    attempts = {point["attempt"] for points in found.values() for point in points}
    results.check(f"{name}: it is a curve of attempts {seen}", attempts == set(seen), attempts)
    results.check(f"{name}: these series and no more",
                  sorted(found) == sorted(expected) and set(least) <= set(found),
                  (sorted(found), sorted(expected)))  # fmt: skip
    for tag, points in expected.items():
        if tag in elsewhere:
            epochs = [point["step"] for point in found.get(tag, [])]
            results.check(f"{name}: {tag}: each epoch once",
                          epochs == [step for step, _ in points], epochs)  # fmt: skip
            continue
        results.check(f"{name}: {tag}: {len(points)} points, each as its own reader has it",
                      same(found.get(tag, []), points, digits),
                      (found.get(tag, []), points))  # fmt: skip
    return job


def lightning(loggers, kind):
    def part(results, world):
        name = "lightning-" + loggers.replace("+", "-")
        job = twice(results, world, name, "lightning_both.py", (loggers, 0.1, 0.04), kind,
                    (100, 220), ("train_loss", "val_loss"))  # fmt: skip
        log = world.stoker("logs", job, "--stream", "system").stdout
        results.check(f"{name}: what its bar says is set aside, which is said",
                      "of progress bars in the log" in log, log)  # fmt: skip

    return part


PARTS = {
    "tensorboard": lightning("tensorboard", "tensorboard"),
    "csv": lightning("csv", "csv"),
    "both": lightning("tensorboard+csv", "tensorboard"),
    "trainer": lambda results, world: twice(
        results, world, "trainer", "hf_trainer.py", (0.01, 0.04), "tensorboard", (50, 110),
        ("train/loss", "eval/loss")),  # fmt: skip
    "nanogpt": lambda results, world: twice(
        results, world, "nanogpt", "loop.py", ("nanogpt", 0.1, 0.02), "jsonl", (130, 260),
        ("train loss", "val loss", "loss")),  # fmt: skip
    "makemore": lambda results, world: twice(
        results, world, "makemore", "loop.py", ("makemore", 0.1, 0.02), "jsonl", (130, 260),
        ("train loss", "test loss", "loss")),  # fmt: skip
    # Its bar shows the mean of an epoch's running means; of what was held out it has one number.
    "keras": lambda results, world: twice(
        results, world, "keras", "keras_fit.py", (0.01, 0.6), "jsonl", (4, 8),
        ("loss", "val_loss", "mae"), digits=3, python=keras_python(),
        elsewhere=("loss", "mae")),  # fmt: skip
    # It counts rounds from 0 again where it goes on from a model: each attempt begins there.
    "xgboost": lambda results, world: twice(
        results, world, "xgboost", "boosting.py", (0.1, 0.05), "jsonl", (35, 75),
        ("train-rmse", "eval-rmse"), seen=(3,), digits=5),  # fmt: skip
}


def main():
    results = Results()
    chosen = sys.argv[1:] or list(PARTS)
    with World("frameworks") as world, concurrent.futures.ThreadPoolExecutor(3) as pool:
        for done in [pool.submit(results.run, part, PARTS[part], results, world)
                     for part in chosen]:  # fmt: skip
            done.result()
    results.finish()


if __name__ == "__main__":
    main()
