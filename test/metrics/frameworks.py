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
sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test import cloud_env
from test.e2e.kit.harness import Results, World

PYTHON = cloud_env.folder(str(HERE / "requirements.txt"), debian=True) + "/bin/python3"


def keras_python():
    return cloud_env.folder(str(HERE / "requirements-keras.txt")) + "/bin/python3"


def trackers_python():
    return cloud_env.folder(str(HERE / "requirements-trackers.txt")) + "/bin/python3"


def submit(world, name, program, *words, python=PYTHON, **more):
    work = world.root / f"work-{name}"
    work.mkdir()
    for path in (HERE / "programs").glob("*.py"):
        shutil.copy(path, work)
    command = [python, program, str(world.evidence / name), *map(str, words)]
    (work / "job.yaml").write_text(json.dumps({"name": name, "workdir": ".", "command": command, **more}))
    return world.submit("job.yaml", cwd=work)


def await_step(world, name, attempt, step):
    """Waits until this attempt is at this step."""
    at = world.evidence / name / str(attempt) / "at"

    def reached():
        text = at.read_text() if at.exists() else ""
        return text and int(text) >= step

    world.wait_for(f"{name}: attempt {attempt} is at step {step}", reached, timeout=150)


def told(world, name, kind, python=PYTHON):
    done = subprocess.run([python, HERE / "judge.py", world.evidence / name, kind], stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)


def same(points, expected, digits):
    """Event files hold floats; what is printed is rounded."""
    mine = [[point["step"], float(point["value"])] for point in points]
    return len(mine) == len(expected) and all(
        a[0] == b[0] and abs(a[1] - b[1]) <= 10**-digits * max(1, abs(b[1])) for a, b in zip(mine, expected)
    )


def twice(
    results,
    world,
    name,
    program,
    words,
    kind,
    steps,
    least,
    seen=(1, 2, 3),
    digits=6,
    python=PYTHON,
    elsewhere=(),
    reader=PYTHON,
    notice="3s",
):
    """`kind`: of the tool's own reader, "" = who calls this judges; `steps`: where the first two
    attempts are interrupted, counted as the program does (which waits behind it,
    programs/kept.py); `least`: series that there are; `seen`: the attempts of which something is
    left; `elsewhere`: series of which the tool prints other numbers than it keeps."""
    hold = " ".join(str(step + (steps[1] - steps[0]) // 4) for step in steps)
    job = submit(world, name, program, *words, python=python, envs={"HOLD": hold})
    for attempt, step in enumerate(steps, 1):
        await_step(world, name, attempt, step)
        world.stoker("preempt", job, "--in", notice, check=True)
    world.stoker("wait", job, "--timeout", "180s", check=True, timeout=200)
    if not kind:
        return job
    found = world.json("metrics", job)["series"]
    expected = told(world, name, kind, reader)
    attempts = {point["attempt"] for points in found.values() for point in points}
    results.check(f"{name}: it is a curve of attempts {seen}", attempts == set(seen), attempts)
    results.check(
        f"{name}: these series and no more",
        sorted(found) == sorted(expected) and set(least) <= set(found),
        (sorted(found), sorted(expected)),
    )
    for tag, points in expected.items():
        if tag in elsewhere:
            epochs = [point["step"] for point in found.get(tag, [])]
            results.check(f"{name}: {tag}: each epoch once", epochs == [step for step, _ in points], epochs)
            continue
        results.check(
            f"{name}: {tag}: {len(points)} points, each as its own reader has it",
            same(found.get(tag, []), points, digits),
            (found.get(tag, []), points),
        )
    return job


def lightning(loggers, kind):
    def part(results, world):
        name = "lightning-" + loggers.replace("+", "-")
        job = twice(results, world, name, "lightning_both.py", (loggers, 0.1, 0.04), kind, (100, 220), ("train_loss", "val_loss"))
        log = world.stoker("logs", job, "--stream", "system").stdout
        results.check(f"{name}: what its bar says is set aside, which is said", "of progress bars in the log" in log, log)

    return part


def tracker(form, kind, least):
    def part(results, world):
        python = trackers_python()
        job = twice(
            results,
            world,
            form,
            "trackers_loop.py",
            (form, 0.1, 0.02),
            kind,
            (90, 190),
            ("loss", least),
            python=python,
            reader=python,
            notice="6s" if form == "counted" else "3s",
        )
        [row] = [row for row in world.json("ls", "--all", "--hyperparameters") if row["id"] == job]
        said = row["hyperparameters"]
        results.check(f"{form}: what it was configured with is known", "rate=0.1" in said, said)
        return job

    return part


def uninterrupted(results, world):
    """A torch loop of ours: the curve is that of a run that nobody interrupted, bit for bit."""
    job = twice(results, world, "own", "torch_loop.py", (0.05, 0.02), "", (90, 190), ())
    other = submit(world, "own-whole", "torch_loop.py", 0.05, 0)
    world.stoker("wait", other, "--timeout", "180s", check=True, timeout=200)
    found, whole = (
        {name: [(point["step"], point["value"]) for point in points] for name, points in world.json("metrics", each)["series"].items()}
        for each in (job, other)
    )
    attempts = {point["attempt"] for point in world.json("metrics", job)["series"]["loss"]}
    results.check("own: it is a curve of three attempts", attempts == {1, 2, 3}, attempts)
    results.check(
        "own: its curves are those of the run that nobody interrupted, bit for bit",
        found == whole and len(found["loss"]) == 300 and len(found["val_loss"]) == 12,
        (found, whole),
    )


def hydra(results, world):
    """A folder of its own date for each process; what it was configured with is known, too."""
    job = twice(
        results,
        world,
        "hydra",
        "hydra_lightning.py",
        ("model.rate=0.1", "+data=small"),
        "tensorboard",
        (100, 220),
        ("train_loss", "val_loss"),
    )
    expected = {"model.rate": "0.1", "model.width": "32", "data": "small", "api_token": "***"}
    row = [row for row in world.json("ls", "--all", "--hyperparameters") if row["id"] == job][0]
    listed = dict(word.split("=", 1) for word in row["hyperparameters"].split() if "=" in word)
    other = world.submit("--name", "other", "--", "true")
    compared = world.json("compare", job, other)[0]
    named = world.submit("--name", "named", "--hp", "model.width=64", "--", "true")
    columns = {
        line.split()[0]: line.split()[1:]
        for line in world.stoker("ls", "--all", "--columns", "job,model.width", check=True).stdout.splitlines()
    }
    results.check(
        "hydra: a column has what was given to one and said by another", (columns[job], columns[named]) == (["32"], ["64"]), columns
    )
    for where, found in (("ls", listed), ("compare", compared["hyperparameters"])):
        results.check(
            f"hydra: {where} has what .hydra/ and hparams.yaml say",
            {name: found.get(name) for name in expected} == expected and found.get("rate") == "0.1",
            found,
        )
    return job


def counted(results, world):
    """W&B's own count begins at 0 again in each process: it goes on where the run was."""
    job = tracker("counted", "wandb-counted", "val/loss")(results, world)
    log = world.stoker("logs", job, "--stream", "system").stdout
    results.check("counted: that is said", "they are taken to go on at 100" in log, log)


PARTS = {
    "tensorboard": lightning("tensorboard", "tensorboard"),
    "csv": lightning("csv", "csv"),
    "both": lightning("tensorboard+csv", "tensorboard"),
    "trainer": lambda results, world: twice(
        results, world, "trainer", "hf_trainer.py", (0.01, 0.04), "tensorboard", (50, 110), ("train/loss", "eval/loss")
    ),
    "nanogpt": lambda results, world: twice(
        results, world, "nanogpt", "loop.py", ("nanogpt", 0.1, 0.02), "jsonl", (130, 260), ("train loss", "val loss", "loss")
    ),
    "makemore": lambda results, world: twice(
        results, world, "makemore", "loop.py", ("makemore", 0.1, 0.02), "jsonl", (130, 260), ("train loss", "test loss", "loss")
    ),
    "own": uninterrupted,
    "hydra": hydra,
    "wandb": tracker("wandb", "wandb", "val/loss"),
    "counted": counted,
    "mlflow": tracker("mlflow", "mlflow", "val/loss"),
    # Its bar shows the mean of an epoch's running means; of what was held out it has one number.
    "keras": lambda results, world: twice(
        results,
        world,
        "keras",
        "keras_fit.py",
        (0.01, 0.6),
        "jsonl",
        (4, 8),
        ("loss", "val_loss", "mae"),
        digits=3,
        python=keras_python(),
        elsewhere=("loss", "mae"),
    ),
    # It counts rounds from 0 again where it goes on from a model: each attempt begins there.
    "xgboost": lambda results, world: twice(
        results, world, "xgboost", "boosting.py", (0.1, 0.05), "jsonl", (35, 75), ("train-rmse", "eval-rmse"), seen=(3,), digits=5
    ),
}


def main():
    results = Results()
    chosen = sys.argv[1:] or list(PARTS)
    with World("frameworks") as world, concurrent.futures.ThreadPoolExecutor(3) as pool:
        for done in [pool.submit(results.run, part, PARTS[part], results, world) for part in chosen]:
            done.result()
    results.finish()


if __name__ == "__main__":
    main()
