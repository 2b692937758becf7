#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`stoker tensorboard`: what TensorBoard's EventAccumulator reads in its files is what `stoker
metrics` says, over an interruption; and a real TensorBoard shows a run that goes on."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import urllib.parse
import urllib.request

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test import cloud_env
from test.e2e.kit.harness import Results, World
from test.versity_s3 import free_port

ENVIRONMENT = cloud_env.folder(str(pathlib.Path(__file__).parent / "requirements.txt"), debian=True)

# Fails at step 30 the first time, from a checkpoint of step 20; goes on when it is told to.
PROGRAM = r"""
import json, os, pathlib, sys, time
saved = pathlib.Path("checkpoints/step")
begin = int(saved.read_text()) if saved.exists() else 0
def say(step):
    with open(os.environ["STOKER_METRICS"], "a") as file:
        row = {"step": step, "loss": 1 / (step + 1), "val/acc": step * 0.25}
        file.write(json.dumps(row) + "\n")
for step in range(begin, 50):
    say(step)
    if step == 20 and not begin:
        part = pathlib.Path("checkpoints/part")
        part.write_text("20")
        part.rename(saved)
    if step == 30 and not begin:
        while not os.path.exists("go"):
            time.sleep(0.05)
        sys.exit(3)
print("waiting", flush=True)
while not os.path.exists("more"):
    time.sleep(0.05)
for step in range(50, 60):
    say(step)
"""

ORACLE = r"""
import json, sys
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
read = EventAccumulator(sys.argv[1], size_guidance={"scalars": 0})
read.Reload()
json.dump({tag: [[e.step, e.value] for e in read.Scalars(tag)]
           for tag in read.Tags()["scalars"]}, sys.stdout)
"""


def expected(world, job):
    return {name: [[p["step"], p["value"]] for p in points] for name, points in world.json("metrics", job)["series"].items()}


def same(told, wanted):
    """As 32-bit floats, which is what the files have."""
    return told.keys() == wanted.keys() and all(
        [p[0] for p in told[name]] == [p[0] for p in wanted[name]]
        and all(abs(a[1] - b[1]) <= 1e-6 * max(1, abs(b[1])) for a, b in zip(told[name], wanted[name]))
        for name in wanted
    )


def touch(world, name):
    for folder in world.instances():
        if (folder / "work").is_dir():
            (folder / "work" / name).touch()


def test_board(results, world):
    job = world.submit("--name", "board", "--max-restarts", "1", "--", "python3", world.program(PROGRAM))
    world.wait_for("its checkpoint", lambda: "1-" in world.stoker("checkpoints", job).stdout, timeout=60)
    touch(world, "go")
    world.wait_for("its second attempt", lambda: "waiting" in world.stoker("logs", job).stdout, timeout=90)
    port = free_port()
    env = {**world.env, "PATH": f"{ENVIRONMENT}/bin:{world.env['PATH']}"}
    with open(world.evidence / "out", "wb") as out:
        board = subprocess.Popen(
            [*world.command(["tensorboard", job, "--port", str(port)], None)], cwd=world.work, env=env, stdout=out, stderr=out
        )
    world.started.append(board)

    def shown(tag):
        query = urllib.parse.urlencode({"tag": tag, "run": f"board-{job}"})
        url = f"http://127.0.0.1:{port}/data/plugin/scalars/scalars?{query}"
        try:
            with urllib.request.urlopen(url, timeout=5) as answer:
                return [[step, value] for _, step, value in json.load(answer)]
        except OSError:
            return []

    world.wait_for("TensorBoard shows it", lambda: len(shown("loss")) == 50, timeout=120)
    results.check(
        "board: TensorBoard shows what the store has, what was redone once",
        same({"loss": shown("loss"), "val/acc": shown("val/acc")}, expected(world, job)),
        shown("loss")[-3:],
    )
    touch(world, "more")
    world.wait_for("and what comes", lambda: len(shown("loss")) == 60, timeout=60)
    results.check("board: live", same({"loss": shown("loss")}, {"loss": expected(world, job)["loss"]}))
    board.send_signal(signal.SIGINT)
    board.wait(timeout=30)
    left = [name for name in os.listdir("/tmp") if name.startswith("stoker-tensorboard")]
    results.check(
        "board: Ctrl-C ends both, and nothing stays",
        board.returncode in (0, 130) and not shown("loss") and not left,
        (board.returncode, left, (world.evidence / "out").read_text()[-500:]),
    )
    world.stoker("wait", job)
    events = world.evidence / "events"
    done = world.stoker("tensorboard", job, "--once", "--dir", events)
    told = subprocess.run(
        [f"{ENVIRONMENT}/bin/python3", "-c", ORACLE, events / f"board-{job}"], capture_output=True, text=True, check=True
    ).stdout
    results.check(
        "board: files alone are the same",
        done.returncode == 0 and f"tensorboard --logdir {events}" in done.stderr and same(json.loads(told), expected(world, job)),
        (done, told[:300]),
    )
    none = world.stoker("tensorboard", job, env={"PATH": "/usr/bin:/bin"})
    results.check(
        "board: without TensorBoard it says how to have it", none.returncode == 1 and "pip install tensorboard" in none.stderr, none
    )


def main():
    results = Results()
    with World("board") as world:
        results.run("board", test_board, results, world)
    results.finish()


main()
