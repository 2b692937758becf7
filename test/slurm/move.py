#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""stoker move from this machine to a real Slurm (kit/lab.py) and back: no step is trained twice,
one story, one summary, nothing left in the queue or running. What Slurm refuses costs the job
nothing; a Slurm that does not answer is waited for, which is said.

    move.py [there] [refused] [silent]"""

import pathlib
import sys

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test.e2e.kit.harness import Results, parts_of
from test.e2e.kit.job_kit import MOVABLE, steps_told, told_as_moves
from test.slurm.kit.lab import Lab
from test.slurm.kit.slurm_world import SlurmWorld


def begun(world, steps):
    """A job that trains on this machine."""
    world.program(MOVABLE, "train.py")
    job = world.submit("--infra", "local", "--name", "moves", "--", "/usr/bin/python3", "train.py", str(steps))
    trains(world, job, 5)
    return job


def trains(world, job, step):
    world.wait_for(f"step {step}", lambda: f"step {step}\n" in world.stoker("logs", job).stdout, 60, 0.2)


def newest_step(world, job):
    return steps_told(world.stoker("logs", job).stdout)[-1]


def whole(results, world, job, steps):
    told = steps_told(world.stoker("logs", job).stdout)
    results.check("each step is trained once, in order", told == list(range(1, steps + 1)), told)


def test_there(results, lab):
    steps = 150
    with SlurmWorld(lab, "slurm-move") as world:
        job = begun(world, steps)
        for where, partition in (("slurm/two", "two"), ("local", "")):
            moved = world.stoker("move", job, "--infra", where, "--in", "4s", timeout=120)
            results.check(f"it moves to {where}", moved.returncode == 0 and f"runs at {where}, from " in moved.stderr, moved.stderr)
            live = [state for state in world.slurm_jobs(job).values() if state not in lab.OVER]
            results.check("where Slurm runs it", live == ["RUNNING"] or not partition, live)
            trains(world, job, newest_step(world, job) + 5)
        done = world.stoker("wait", job, timeout=120)
        results.check("it ends here", done.returncode == 0, done.stdout + done.stderr)
        results.check("one summary", done.stdout.count("Succeeded") == 1 and "3 attempts" in done.stdout, done.stdout)
        whole(results, world, job, steps)
        told_as_moves(results, world, job, "local", "slurm", "local")
        results.check("Slurm was asked for one job", len(world.slurm_jobs(job)) == 1, world.slurm_jobs(job))
        world.nothing_left(job)
        results.check("it is one job", [each["id"] for each in world.json("ls", "--all")] == [job])
        print(done.stdout, flush=True)


def test_refused(results, lab):
    """The job trains on, and ends where it was."""
    steps = 60
    with SlurmWorld(lab, "slurm-move") as world:
        job = begun(world, steps)
        no = world.stoker("move", job, "--infra", "slurm/mian")
        results.check(
            "a partition that does not exist is refused, once, with those that do",
            no.returncode == 1
            and no.stderr.count("error:") == 1
            and "does not move: Slurm: Invalid partition name specified" in no.stderr
            and "main" in no.stderr
            and "goes on where it was" in no.stderr,
            no.stderr,
        )
        record = world.job(job)
        results.check(
            "which the record says", record["move"]["state"] == "GivenUp" and "partition" in record["move"]["why"], record["move"]
        )
        done = world.stoker("wait", job, timeout=60)
        results.check(
            "it ends where it was, in the attempt that it had",
            done.returncode == 0 and "1 attempt" in done.stdout and not world.slurm_jobs(job),
            done.stdout,
        )
        whole(results, world, job, steps)


def test_silent(results, lab):
    steps, words = 600, "Unable to contact slurm controller"
    with SlurmWorld(lab, "slurm-move") as world:
        job, short = begun(world, steps), begun(world, 100)
        lab.stop_controller()
        late = world.start("move", short, "--infra", "slurm")
        moves = world.start("move", job, "--infra", "slurm", "--in", "4s")
        runs = world.start("run", "--infra", "slurm", "--", "true", stderr=(world.root / "run.err").open("w"))
        shown = world.wait_for("show to say it", lambda: (lambda done: words in done.stderr and done)(world.stoker("show", job)), 60, 1)
        results.check(
            "it trains on while Slurm does not answer",
            "it trains on until" in shown.stdout and world.job(job)["state"] == "Running",
            shown.stdout,
        )
        world.wait_for("run to say it", lambda: words in (world.root / "run.err").read_text(), 60)
        left = world.stoker("run", "--detach", "--infra", "slurm", "--name", "left", "--", "true")
        results.check(
            "what is left alone is taken, which is said, with why it waits",
            left.returncode == 0 and "no machine yet" in left.stderr and words in left.stderr,
            left.stderr,
        )
        _, said = late.communicate(timeout=180)
        results.check(
            "one that ends meanwhile has not moved, as its mover says",
            late.returncode == 0 and "the job has ended meanwhile: Succeeded" in said,
            said,
        )
        at = newest_step(world, job)
        lab.start_controller()
        _, said = moves.communicate(timeout=180)
        results.check(
            "it moves when Slurm answers, and said why it did not",
            moves.returncode == 0 and words in said and "runs at slurm, from " in said,
            said,
        )
        results.check("until then it trained", at > 20, at)
        runs.wait(120)
        said = (world.root / "run.err").read_text()
        results.check("run waited, too, and said why, once", runs.returncode == 0 and 1 <= said.count(words) <= 2, said)
        world.stoker("wait", "left", timeout=60, check=True)
        story = world.stoker("show", short).stdout
        results.check("and its story", "it ended before it moved to slurm (asked" in story, story)
        world.stoker("cancel", job, timeout=60, check=True)
        told = steps_told(world.stoker("logs", job).stdout)
        results.check("no step is trained twice", told == list(range(1, len(told) + 1)), told)
        world.nothing_left(job)


def main():
    results = Results()
    parts = parts_of(globals())
    with Lab() as lab:
        for name in sys.argv[1:] or parts:
            results.run(name, parts[name], results, lab)
        left = lab.left()
        results.check("nothing is left", not left, left)
    results.finish()


if __name__ == "__main__":
    main()
