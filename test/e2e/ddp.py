# SPDX-License-Identifier: Apache-2.0
"""DistributedDataParallel on two nodes: one is preempted half-way, training goes on where it was.

examples/ddp as it is. Node 0 keeps its machine, both restore the last complete checkpoint, and
the losses go on to the digit: the example seeds every epoch. Then: one failing rank ends all."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test.e2e.kit.harness import Results, World, patience

ROOT = pathlib.Path(__file__).resolve().parents[2]
PYTHON = os.environ.get("STOKER_TORCH_PYTHON", "/usr/bin/python3")
EPOCHS = 24


def records(world, job):
    return [json.loads(line) for line in world.stoker("logs", job, "--json", check=True).stdout.splitlines()]


def epochs(world, job):
    """{attempt: [(epoch, loss)]}"""
    found = {}
    for record in records(world, job):
        match = re.match(r"epoch (\d+)/\d+  loss: ([0-9.]+)", record["text"])
        if match and record["stream"] == "o":
            found.setdefault(record["attempt"], []).append((int(match[1]), float(match[2])))
    return found


def starts(world, job, attempt):
    """{rank: first epoch} as the program said in this attempt."""
    found = {}
    for record in records(world, job):
        match = re.match(r"rank (\d) of 2 starts at epoch (\d+)", record["text"])
        if match and record["attempt"] == attempt:
            found[int(match[1])] = int(match[2])
    return found


def epoch_in(world, job, checkpoint):
    """The epoch that a committed checkpoint holds, read out of the file itself."""
    to = world.root / f"ckpt-{checkpoint}"
    world.stoker("get", job, checkpoint, to, check=True)
    file = next(to.rglob("checkpoint.pt"))
    done = subprocess.run(
        [PYTHON, "-c", f"import torch; print(torch.load({str(file)!r})['epoch'])"], capture_output=True, text=True, check=True
    )
    return int(done.stdout)


def test_preempted(results):
    with World("ddp") as world:
        work = world.root / "ddp"
        shutil.copytree(ROOT / "examples" / "ddp", work)
        job = world.submit("job.yaml", "--env", f"EPOCHS={EPOCHS}", "--env", "PAUSE=0.35", cwd=work)
        world.wait_for("half of the epochs", lambda: len(epochs(world, job).get(1, [])) >= EPOCHS // 2, timeout=90, every=0.5)
        before = world.job(job)
        told = world.json("preempt", job, "--node", "1", "--in", "3s")
        results.check("preempt: node 1 alone was told", [t["node"] for t in told] == [1], told)
        done = world.stoker("wait", job, "--timeout", f"{patience(100):.0f}s", timeout=110)
        check_story(results, world, job, done, before)
        check_curve(results, world, job)
        try:
            world.wait_for("instances cleared away", lambda: not world.instances(), timeout=20)
        except AssertionError as error:
            results.check("preempted: no instance left", False, error)


def check_story(results, world, job, done, before):
    shown = world.json("show", job)
    record = shown["job"]
    text = done.stdout + done.stderr + world.stoker("show", job).stdout
    results.check("preempted: Succeeded", done.returncode == 0 and record["state"] == "Succeeded", text)
    attempts = record["attempts"]
    results.check("preempted: two attempts", shown["attempts_ran"] == 2 and len(attempts) == 2, text)
    first, second = attempts[0], attempts[-1]
    results.check("preempted: the first was Interrupted", first["ending"]["reason"] == "Interrupted", first)
    results.check(
        "preempted: node 0's launch is kept, node 1 has a new one",
        second["launches"][0] == first["launches"][0] == before["launches"][0]["number"]
        and second["launches"][1] not in (first["launches"][1], first["launches"][0]),
        [first["launches"], second["launches"]],
    )
    log = world.stoker("logs", job, "--attempt", "1", "--stream", "system", check=True).stdout
    results.check("preempted: the log says when", log.count("taken in 3s") == 1, log)
    launches = {launch["number"]: launch for launch in record["launches"]}
    results.check("preempted: three machines in all, node 0's not asked for again", len(launches) == 3, record["launches"])
    results.check(
        "preempted: restored from the newest of attempt 1",
        second["restore"] and second["restore"] == first["newest_checkpoint"],
        [first, second],
    )
    restored = {r["rank"]: r["restored"] for r in shown["reports"] if r["attempt"] == second["number"]}
    results.check("preempted: both nodes restored it", restored == {0: second["restore"], 1: second["restore"]}, restored)


def check_curve(results, world, job):
    record = world.job(job)
    checkpoint = record["attempts"][-1]["restore"]
    curve = epochs(world, job)
    second = record["attempts"][-1]["number"]
    old, new = curve.get(1, []), curve.get(second, [])
    began = starts(world, job, second)
    print(f"      attempt 1: epochs 1-{len(old)}; checkpoint {checkpoint}; attempt {second}: from {began}")
    print(f"      losses {[loss for _, loss in old]} then {[loss for _, loss in new]}", flush=True)
    results.check("curve: attempt 1 has every epoch once", [e for e, _ in old] == list(range(1, len(old) + 1)), old)
    saved = epoch_in(world, job, checkpoint) if checkpoint else 0
    results.check("curve: both ranks go on after the checkpoint's epoch", began == {0: saved + 1, 1: saved + 1}, [saved, began])
    results.check("curve: attempt 2 has the rest, once each", [e for e, _ in new] == list(range(saved + 1, EPOCHS + 1)), new)
    results.check("curve: at most two epochs are redone", len(old) - saved <= 2, [len(old), saved])
    both = dict(old)
    again = [(e, both[e], loss) for e, loss in new if e in both and abs(both[e] - loss) > 0.0002]
    results.check("curve: an epoch that is redone has the same loss", not again, again)
    results.check(
        "curve: it goes on where it was",
        bool(new) and saved > 3 and new[0][1] <= both[saved] * 1.1 and new[0][1] < old[2][1],
        [old, new[:1]],
    )


def failing(results, name, world, command, code):
    """Node 1 fails with `code`: that ends the attempt on both, and is the job's exit code."""
    begun = time.monotonic()
    done = world.stoker("run", "--num-nodes", "2", "--stop-grace", "2s", "--", *command, timeout=90)
    record = world.job("-")
    result = record.get("result") or {}
    results.check(
        f"{name}: exit code {code} of node 1",
        done.returncode == code and result["reason"] == "UserError" and result["exit_code"] == code and result["rank"] == 1,
        f"{done.returncode} {result} {done.stderr[-1500:]}",
    )
    results.check(f"{name}: Failed after one attempt", record["state"] == "Failed" and len(record["attempts"]) == 1, record)
    print(f"      {name}: {time.monotonic() - begun:.1f} s in all", flush=True)


def test_failing(results):
    with World("failing") as world:
        beats = world.evidence / "beats"
        failing(
            results,
            "one rank fails",
            world,
            [
                "sh",
                "-c",
                f"""if test $STOKER_NODE_RANK = 1; then sleep 1; exit 7; fi
                 while :; do date >> {beats}; sleep 0.05; done""",
            ],
            7,
        )
        size = beats.stat().st_size
        time.sleep(0.5)
        results.check("one rank fails: the other node's program has ended", size and beats.stat().st_size == size, size)
        shutil.copy(ROOT / "test" / "e2e" / "programs" / "bare_ddp.py", world.work)
        failing(results, "one rank fails, its peer too", world, [PYTHON, "bare_ddp.py"], 9)


def main():
    results = Results()
    if subprocess.run([PYTHON, "-c", "import torch, sklearn"], capture_output=True).returncode != 0:
        print(f"FAIL  {PYTHON} has no torch and scikit-learn: './dev' installs them, STOKER_TORCH_PYTHON names another")
        sys.exit(1)
    test_preempted(results)
    test_failing(results)
    results.finish()


main()
