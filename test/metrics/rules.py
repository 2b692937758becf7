#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Rules that end a run: decided on the node by what the program says, told everywhere, over all
attempts as one curve, and for all nodes by the first."""

import pathlib
import re
import sys

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test.e2e.kit.harness import World, play

# Says its loss for step after step; STEP=VALUE sets it from there on. "wait": until it is stopped.
# "slow": ten steps a second.
PROGRAM = r"""
import json, os, pathlib, sys, time
turns = [word.split("=") for word in sys.argv[3:] if "=" in word]
saved = pathlib.Path("checkpoints/step")
begin = int(saved.read_text()) if saved.exists() else 0
fails_at, steps = int(sys.argv[1]), int(sys.argv[2])
value = "1"
for step in range(begin, steps):
    for at, to in turns:
        if step >= int(at):
            value = to
    with open(os.environ["STOKER_METRICS"], "a") as file:
        file.write(json.dumps({"step": step, "loss": float(value)}) + "\n")
    if step % 5 == 0:
        part = pathlib.Path("checkpoints/step.part")
        part.write_text(str(step))
        part.rename(saved)
    if "slow" in sys.argv:
        time.sleep(0.1)
    if step == fails_at and begin == 0:
        while not os.path.exists("go"):
            time.sleep(0.05)
        sys.exit(3)
if "wait" in sys.argv:
    time.sleep(600)
"""


def run(world, name, rules, *words, program=PROGRAM, more=()):
    path = world.program(program)
    flags = [word for rule in rules for word in ("--stop-when", rule)]
    return world.stoker("run", "--name", name, *flags, *more, "--", "python3", path, *words, timeout=150)


def test_stopped(results, world):
    rules = ["loss is above 9", "loss is not finite"]
    done = run(world, "nan", rules, "-1", "100", "40=nan", "wait")
    why = "loss is not finite: nan at step 40"
    results.check(
        "stopped: run ends with 1 and says what decided",
        done.returncode == 1 and "StoppedByRule" in done.stderr and why in done.stderr,
        done.stderr[-600:],
    )
    job = world.job("nan")
    attempt = job["attempts"][0]
    results.check(
        "stopped: the record has reason and numbers",
        job["result"]["reason"] == "StoppedByRule"
        and job["result"]["why"] == why
        and attempt["ending"]["reason"] == "StoppedByRule"
        and len(job["attempts"]) == 1,
        job["result"],
    )
    results.check("stopped: what it had saved is kept", attempt["newest_checkpoint"].startswith("1-"), attempt)
    listed = world.json("ls")[0]
    table = world.stoker("ls").stdout
    results.check(
        "stopped: ls has both",
        listed["reason"] == "StoppedByRule" and listed["why"] == why and listed["exit_code"] == 1 and f"StoppedByRule: {why}" in table,
        (listed, table),
    )
    shown = world.stoker("show", "nan").stdout
    log = world.stoker("logs", "nan", "--stream", "system").stdout
    results.check("stopped: so do show and the log", why in shown and f"stop_when: this stops the run: {why}" in log, (shown, log))


def test_clean_end(results, world):
    """A program that ends well when it is told to has not done what it was to do."""
    polite = "import signal\nsignal.signal(signal.SIGTERM, lambda *_: sys.exit(0))\n"
    done = run(
        world, "polite", ["loss is not finite"], "-1", "100", "40=nan", "wait", program=PROGRAM.replace("turns =", polite + "turns =", 1)
    )
    listed, shown = world.json("ls")[0], world.json("show", "polite")
    table = world.stoker("show", "polite").stdout
    results.check(
        "clean end: what stoker says of it is 1, everywhere",
        done.returncode == 1
        and listed["exit_code"] == shown["exit_code"] == 1
        and world.stoker("wait", "polite").returncode == 1
        and "StoppedByRule" in table
        and "exit code 0" not in table,
        (done.returncode, listed, shown["exit_code"], table),
    )


def test_warned(results, world):
    path = world.program(PROGRAM)
    (world.work / "job.yaml").write_text(
        "name: warned\nworkdir: .\nstop_when:\n"
        "  - {rule: loss is above 3, action: warn}\n  - los is not finite\n"
        f"command: [python3, {path.name}, '-1', '20', '10=4']\n"
    )
    done = world.stoker("run", "job.yaml")
    shown = world.stoker("show", "warned").stdout
    facts = world.json("show", "warned")
    warning = "loss is above 3: 4 at step 10"
    results.check(
        "warned: the run goes on to its end, and show says it",
        done.returncode == 0 and f"warning     {warning}\n" in shown and facts["metrics_warnings"] == [warning],
        shown,
    )
    log = world.stoker("logs", "warned", "--stream", "system").stdout
    results.check(
        "warned: a rule about no metric is said",
        f"stop_when: warning: {warning}" in log and "no such metric (yet): los is not finite; there are 'loss'" in log,
        log,
    )


def test_one_curve(results, world):
    # It fails at step 20, from a checkpoint of step 15 or 20, and is tried again.
    job = world.submit(
        "--name",
        "twice",
        "--max-restarts",
        "1",
        "--stop-when",
        "loss does not fall for 30 steps",
        "--",
        "python3",
        world.program(PROGRAM),
        "20",
        "100",
        "9=0.5",
        "wait",
    )
    world.wait_for("its checkpoint", lambda: "1-" in world.stoker("checkpoints", job).stdout, timeout=60)
    for folder in world.instances():
        if (folder / "work").is_dir():
            (folder / "work" / "go").touch()
    world.stoker("wait", job, "--timeout", "120s", timeout=150)
    record = world.job(job)
    results.check(
        "one curve: the least of the first attempt counts in the second",
        len(record["attempts"]) == 2
        and record["attempts"][1]["restore"].startswith("1-")
        and record["result"]["why"] == "loss does not fall for 30 steps: 0.5 at step 9, 0.5 at step 39",
        record["result"],
    )


def test_two_nodes(results, world):
    program = PROGRAM.replace('value = "1"', 'value = "1"\nif os.environ["NODE_RANK"] == "1":\n    turns = [("0", "nan")]')
    done = run(world, "pair", ["loss is not finite"], "-1", "100", "40=inf", "wait", program=program, more=("--num-nodes", "2"))
    job = world.job("pair")
    results.check(
        "two nodes: the first decides, for both",
        done.returncode == 1
        and job["result"]["reason"] == "StoppedByRule"
        and job["result"]["why"].endswith("inf at step 40")
        and job["result"]["rank"] == 0,
        job["result"],
    )


def test_median(results, world):
    rule = "loss is above the median of runs of this name"
    for value in ("0.5", "0.6", "0.7"):
        done = run(world, "same", [rule], "-1", "2000", f"9={value}")
        results.check(f"median: one with {value} goes to its end", done.returncode == 0, done)
    done = run(world, "same", [rule], "-1", "2000", "9=0.9", "slow")
    why = world.json("ls")[0]["why"]
    step = re.search(r"at best by step (\d+), the median of 3 runs is 0", why)
    results.check(
        "median: one that is worse is ended before half its time",
        done.returncode == 1 and why.startswith(rule + ": 0.9 at best") and step and int(step[1]) < 1000,
        why,
    )
    other = run(world, "other", [rule], "-1", "50", "9=0.9")
    results.check("median: runs of another name do not count", other.returncode == 0, other.stderr)


# As nvidia-smi answers with -l: GPU 0 always idle, GPU 1 as busy as a file of this test says.
NVIDIA_SMI = r"""#!/bin/sh
while :; do
  for gpu in 0 1; do
    busy=1
    test $gpu = 0 || busy=$(cat @BUSY@)
    echo "$gpu, Fake, $busy, 1, 2, 40, 30.5"
  done
  sleep 1
done
"""


def test_idle_gpu(results, world):
    busy = world.evidence / "busy"
    busy.write_text("90")
    tools = world.root / "tools"
    tools.mkdir()
    smi = tools / "nvidia-smi"
    smi.write_text(NVIDIA_SMI.replace("@BUSY@", str(busy)))
    smi.chmod(0o755)
    world.env["PATH"] = f"{tools}:{world.env['PATH']}"
    path = world.program("import time\nprint('it runs', flush=True)\ntime.sleep(600)\n")
    (world.work / "job.yaml").write_text(
        f"name: idle\nworkdir: .\nlimits: {{idle_gpu: {{below: 10%, for: 12s}}}}\ncommand: [python3, {path.name}]\n"
    )
    job = world.stoker("run", "-d", "job.yaml", check=True).stdout.split()[-1]
    world.wait_for("it runs", lambda: "it runs" in world.stoker("logs", job).stdout)
    # It is busy for longer than the limit, and goes on.
    world.stoker("wait", job, "--timeout", "20s", timeout=60)
    results.check("idle_gpu: a busy one goes on", world.job(job)["state"] == "Running")
    busy.write_text("3")
    world.stoker("wait", job, "--timeout", "90s", timeout=120)
    result = world.job(job)["result"]
    log = world.stoker("logs", job, "--stream", "system").stdout
    results.check(
        "idle_gpu: then it is ended, as by any rule",
        result["reason"] == "StoppedByRule"
        and result["why"].startswith("no GPU of this node was busier than 3 % for 1")
        and "limits: this stops the run: no GPU" in log,
        (result, log),
    )


if __name__ == "__main__":
    play(globals(), lambda: World("rules"))
