#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Hooks: scripts of a job's own at a notice and at its program's end, with limits, and nothing that
waits for them."""

import pathlib
import sys
import time

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test.e2e.kit.harness import PYTHON, World, play


def run(world, hooks, program, *more):
    """Submits a job with those hooks. Each hook's text may use $TOLD, a file for what it tells."""
    told = world.root / f"told-{len(list(world.root.glob('work-*')))}"
    work = world.root / f"work-{told.name}"
    work.mkdir()
    (work / "prog.py").write_text(program)
    lines = "".join(f"  {name}: {hook}\n" for name, hook in hooks.items())
    (work / "job.yaml").write_text(f"workdir: .\nenvs: {{TOLD: {told}}}\nhooks:\n{lines}run: {PYTHON} -u prog.py\n")
    return world.submit("job.yaml", *more, cwd=work), told


def said(world, job):
    return world.stoker("logs", job, "--stream", "system").stdout


def test_end(results, world):
    tell = "'echo $STOKER_EVENT $STOKER_EXIT_CODE \"$(pwd -P)\" >> $TOLD'"
    hooks = {"on_end": tell, "on_failure": tell, "on_notice": tell}
    job, told = run(world, hooks, "print('done')")
    world.stoker("wait", job, check=True)
    words = told.read_text().split()
    results.check(
        "end: on_end alone, once, in the work directory",
        words[:2] == ["end", "0"] and len(words) == 3 and words[2].startswith(str(world.state)),
        words,
    )
    results.check("end: the log says its begin and its end", "on_end ended with exit code 0" in said(world, job), said(world, job))
    job, told = run(world, hooks, "raise SystemExit(7)")
    code = world.stoker("wait", job).returncode
    lines = [line.split()[:2] for line in told.read_text().splitlines()]
    results.check("failure: on_failure, then on_end", code == 7 and lines == [["failure", "7"], ["end", "7"]], (code, lines))


def test_limit(results, world):
    beat = "while :; do echo >> $TOLD; sleep 0.05; done"
    hang = f"{{run: '({beat}) & {beat}', limit: 1s}}"
    job, told = run(world, {"on_end": hang}, "print('done')")
    world.stoker("wait", job, check=True)
    results.check("limit: a hook that hangs is ended, and the job succeeds", "on_end was ended" in said(world, job), said(world, job))
    size = told.stat().st_size
    time.sleep(0.5)
    results.check("limit: and so are its processes", size > 1 and told.stat().st_size == size, (size, told.stat().st_size))
    job, _ = run(world, {"on_end": "'exit 3'"}, "print('done')")
    world.stoker("wait", job, check=True)
    results.check(
        "limit: a hook that fails changes nothing but the log", "on_end ended with exit code 3" in said(world, job), said(world, job)
    )


SAVES = """
import os, pathlib, time
folder = pathlib.Path(os.environ["STOKER_CHECKPOINT_DIR"])
start = max([int(p.name[5:]) for p in folder.glob("step-*")], default=0)
for step in range(start + 1, 10_000):
    (folder / f"new-{step}").write_text(str(step))
    (folder / f"new-{step}").rename(folder / f"step-{step}")
    print("step", step, flush=True)
    time.sleep(0.3)
    if start and step > start + 2:
        break
"""


def test_notice(results, world):
    hooks = {
        "on_notice": "{run: 'echo $STOKER_EVENT $STOKER_NOTICE $STOKER_NOTICE_SECONDS >> $TOLD; exec sleep 600', limit: 10m}",
        "on_end": "'echo end >> $TOLD'",
    }
    job, told = run(world, hooks, SAVES)
    world.wait_for("it saves", lambda: world.job(job)["state"] == "Running" and "step 3" in world.stoker("logs", job).stdout)
    world.stoker("preempt", job, "--in", "6s", check=True)
    world.stoker("wait", job, check=True)
    lines = told.read_text().splitlines()
    results.check(
        "notice: on_notice at once, on_end only of the attempt that ended",
        len(lines) == 2 and lines[0].startswith("notice terminate ") and lines[1] == "end",
        lines,
    )
    results.check("notice: it is ended with its attempt", "on_notice was ended" in said(world, job), said(world, job))
    attempts = world.json("show", job)["job"]["attempts"]
    results.check("notice: the attempt is interrupted and the next resumes", len(attempts) == 2, attempts)


def test_late_notice(results, world):
    """A notice that comes while a hook of the end runs takes nothing from what is done."""
    job, told = run(world, {"on_end": "{run: 'echo end >> $TOLD; sleep 120', limit: 3m}"}, "print('done')")
    world.wait_for("on_end runs", told.exists)
    world.stoker("preempt", job, "--in", "8s", check=True)
    world.stoker("wait", job, check=True)
    shown = world.json("show", job)
    good = shown["attempts_ran"] == 1 and shown["job"]["attempts"][0]["ending"]["reason"] == "Completed"
    results.check("late notice: the attempt is Completed, and not run again", good, shown["job"]["attempts"])


def test_secret(results, world):
    env = {**world.env, "MY_TOKEN": "s3cr3t-of-the-hook"}
    work = world.root / "masked"
    work.mkdir()
    (work / "job.yaml").write_text("secrets: [MY_TOKEN]\nhooks: {on_end: 'echo it is $MY_TOKEN'}\nrun: 'true'\n")
    done = world.stoker("run", "job.yaml", cwd=work, env=env)
    log = said(world, "-")
    results.check("secret: a hook has it, and the log masks it", done.returncode == 0 and "it is ***" in log and "s3cr3t" not in log, log)


if __name__ == "__main__":
    play(globals(), World("hooks"))
