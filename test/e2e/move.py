#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""stoker move on this machine: a job goes on with fresh machines, from the checkpoint that it saved
for that. What cannot go there is refused before anything changes; one who dies in the middle leaves
nothing undone. Boxes: ssh.py move.

    move.py [fresh] [killed] [refused] [ended]"""

import pathlib
import re
import signal
import sys

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test.e2e.kit.harness import Results, World, parts_of
from test.e2e.kit.job_kit import MOVABLE, steps_told


def submit(world, steps, *more):
    world.program(MOVABLE, "train.py")
    return world.submit("--name", "train", *more, "--", "/usr/bin/python3", "train.py", str(steps))


def trains(world, job):
    world.wait_for("the first steps", lambda: "step 5\n" in world.stoker("logs", job).stdout)


def whole(results, world, job, steps, attempts):
    world.stoker("wait", job, timeout=120)
    record = world.job(job)
    results.check("it succeeds", record["state"] == "Succeeded", record.get("result"))
    told = steps_told(world.stoker("logs", job).stdout)
    results.check("each step is trained once, in order", told == list(range(1, steps + 1)), told)
    needed = [a for a in record["attempts"] if not a.get("not_needed")]
    results.check(f"in {attempts} attempts", len(needed) == attempts, needed)
    return record


def test_fresh(results):
    """Where it is already nothing happens; --force gives it a fresh machine there."""
    with World("move") as world:
        job = submit(world, 60)
        trains(world, job)
        done = world.stoker("move", job, "--infra", "local")
        results.check("it is there already", done.returncode == 0 and "there already" in done.stderr, done.stderr)
        said = world.json("move", job, "--infra", "local", "--force", "--in", "4s", timeout=60)
        results.check("a fresh machine when told so", said["there"] and said["attempt"] == 2, said)
        record = whole(results, world, job, 60, 2)
        first = record["attempts"][0]
        results.check("the first attempt ended as Moved", first["ending"]["reason"] == "Moved", first)
        results.check("so did its launch", record["launches"][0]["close_reason"] == "moved", record["launches"][0])
        results.check("nothing counts as an error", record.get("error_restarts", 0) == 0, record)
        story = world.stoker("show", job).stdout
        results.check("the story tells it in one line", len(re.findall(r"^  moved +to local \(asked", story, re.M)) == 1, story)


def test_killed(results):
    """Who asks for it dies at any moment: the job's own nodes go on."""
    with World("move") as world:
        job = submit(world, 80)
        trains(world, job)
        asked = world.start("move", job, "--infra", "local", "--force", "--in", "4s")
        world.wait_for("it stands in the record", lambda: world.job(job).get("move"))
        asked.send_signal(signal.SIGKILL)
        record = whole(results, world, job, 80, 2)
        results.check("it has moved", record["move"]["state"] == "Arrived", record["move"])


def test_refused(results):
    """Each with one error, and nothing in the record."""
    with World("move") as world:
        job = submit(world, 600)
        trains(world, job)
        for where, words in {
            "gcp/us-central1": "cannot reach the store",
            "aws/eu-west-1": "cannot reach the store",
            "ssh/nowhere": "pool",
            "locl": "Did you mean 'local'",
            "local/1": "has no regions",
        }.items():
            done = world.stoker("move", job, "--infra", where)
            results.check(
                f"{where} is refused", done.returncode in (1, 2) and words in done.stderr and done.stderr.count("error:") == 1, done.stderr
            )
        results.check("the record knows nothing of it", "move" not in world.job(job))
        world.stoker("cancel", job, check=True, timeout=60)


def test_ended(results):
    with World("move") as world:
        job = submit(world, 1)
        world.stoker("wait", job, timeout=60)
        done = world.stoker("move", job, "--infra", "local", "--force")
        results.check(
            "what has ended does not move", done.returncode == 1 and "has ended" in done.stderr and "run --from" in done.stderr, done.stderr
        )


def main():
    results = Results()
    parts = parts_of(globals())
    for name in sys.argv[1:] or parts:
        results.run(name, parts[name], results)
    results.finish()


main()
