# SPDX-License-Identifier: Apache-2.0
"""Whatever a task started ends with it, in time, and its log is whole.

Programs that ignore SIGTERM, fork twice and call setsid, are replaced by exec, leave a child that
holds the pipe, or respawn without end, and torchrun's workers: under each mechanism that works
here, as root and as a user without rights."""

import concurrent.futures
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test.e2e.kit.harness import PYTHON, Results, World, heartbeats_stop, lock_holder, patience

PROGRAM = pathlib.Path(__file__).parent / "programs" / "stubborn.py"
GRACE = 2.0
# Between the request and SIGTERM: the agent looks, on a machine that may be loaded.
NOTICED = 3.0
NOBODY = 65534

# kind -> processes that beat until cancel
CASES = {
    "daemon": ["main", "orphan"],
    "replaced": ["main"],
    "holder": ["main", "child"],
    "respawn": ["main", "chain"],
    "storm": ["main", "chain"],
    "worker": ["worker0", "worker1"],
}


def torch_python():
    """An interpreter that has torch, or None."""
    for python in ("/usr/bin/python3", shutil.which("python3"), os.environ.get("STOKER_TORCH_PYTHON")):
        if python and subprocess.run([python, "-c", "import torch.distributed.run"], capture_output=True).returncode == 0:
            return python
    return None


TORCH = torch_python()


def command(kind):
    if kind != "worker":
        return [PYTHON, "stubborn.py", kind]
    return [
        TORCH,
        "-m",
        "torch.distributed.run",
        "--standalone",
        "--nproc_per_node",
        "2",
        "--log_dir",
        "torchrun-logs",
        "--redirects",
        "9:1",
        "--tee",
        "9:1",
        "stubborn.py",
        "worker",
    ]


def beats(folder, name):
    """[(number, time)] as the process itself noted them; a last line may be cut short."""
    try:
        text = (folder / f"{name}.beats").read_text()
    except FileNotFoundError:
        return []
    return [(int(n), float(t)) for n, t in (line.split() for line in text.split("\n")[:-1])]


def log_problem(world, job, folder, names):
    """What is wrong with the log of an ended job: gaps, or printed lines that are not there."""
    seen = {name: [] for name in names}
    for line in world.stoker("logs", job, "--json", check=True).stdout.splitlines():
        words = json.loads(line)["text"].split()
        if len(words) == 2 and words[0] in seen and words[1].isdigit():
            seen[words[0]].append(int(words[1]))
    for name, numbers in seen.items():
        if numbers != list(range(len(numbers))):
            ends = f"{numbers[:5]} … {numbers[-5:]}"
            return f"{name}: {len(numbers)} lines, not in order or with gaps: {ends}"
        noted = beats(folder, name)
        if not noted or noted[-1][0] >= len(numbers):
            return f"{name}: {len(numbers)} lines in the log, but noted {noted[-1:]}"
    return None


def submit(world, kind, mechanism, label=None):
    label = label or kind
    work = world.root / f"work-{mechanism}-{label}"
    work.mkdir()
    shutil.copy(PROGRAM, work)
    evidence = world.root / f"evidence-{mechanism}-{label}"
    evidence.mkdir()
    world.own(work, evidence)
    job = world.submit(
        "--ending",
        mechanism,
        "--stop-grace",
        f"{int(GRACE)}s",
        "--name",
        f"{mechanism}-{label}",
        "--env",
        f"EVIDENCE={evidence}",
        "--",
        *command(kind),
        cwd=work,
    )
    return job, evidence / "1"


def cancel_case(world, kind, mechanism):
    """One program, from its start to its end by cancel; returns what is wrong."""
    names = CASES[kind]
    job, evidence = submit(world, kind, mechanism)
    try:
        world.wait_for(f"{names} beat", lambda: all(len(beats(evidence, n)) > 25 for n in names), timeout=60)
    except AssertionError as error:
        log, story = world.stoker("logs", job).stdout, world.stoker("show", job).stdout
        return f"{error}: {log[-600:]} {story[-900:]}"
    used = {r["mechanism"] for r in world.json("show", job)["reports"]}
    asked = time.monotonic()
    done = world.stoker("cancel", job)
    took = time.monotonic() - asked
    problems = []
    if used != {mechanism}:
        problems.append(f"ended by {used}")
    if done.returncode != 0 or world.job(job)["state"] != "Cancelled":
        problems.append(f"cancel: {done.returncode} {done.stdout} {done.stderr}")
    alive = heartbeats_stop(evidence, quiet=0.3, timeout=0)
    if alive:
        problems.append(f"still alive after cancel: {alive}")
    last = max(beats(evidence, n)[-1][1] for n in names) - asked
    if last > GRACE + patience(NOTICED):
        problems.append(f"the last sign of life was {last:.1f} s after the request")
    if kind in ("daemon", "respawn", "storm") and not (evidence / "main.term").exists():
        problems.append("main got no SIGTERM")
    for name in names:
        path = evidence / f"{name}.term"
        told = float(path.read_text().split()[0]) if path.exists() else asked + NOTICED
        if beats(evidence, name)[-1][1] - told > GRACE + patience(0.5):
            problems.append(f"{name} lived longer than the grace after its SIGTERM")
    problems.append(log_problem(world, job, evidence, names))
    print(f"      {mechanism}/{kind}: last sign of life {last:.2f} s after the request, cancel took {took:.2f} s", flush=True)
    return "; ".join(p for p in problems if p)


def self_ending_case(world, mechanism):
    """Main ends with 0 while its child holds the pipe: the job has succeeded, the child is gone."""
    job, evidence = submit(world, "holder_ends", mechanism)
    done = world.stoker("wait", job, "--timeout", f"{patience(40):.0f}s")
    if done.returncode != 0 or world.job(job)["state"] != "Succeeded":
        return f"{done.returncode}: {done.stdout}{done.stderr}"
    alive = heartbeats_stop(evidence, quiet=0.3, timeout=0)
    if alive:
        return f"still alive after the end: {alive}"
    return log_problem(world, job, evidence, ["main", "child"])


def killed_case(world, mechanism):
    """The machine's processes die of kill -9: so does everything that the task started, and before
    the next attempt begins."""
    job, evidence = submit(world, "daemon", mechanism, label="killed")
    names = CASES["daemon"]
    world.wait_for(f"{names} beat", lambda: all(len(beats(evidence, n)) > 25 for n in names), timeout=60)
    folder = world.state / "instances" / world.job(job)["launches"][0]["instance_id"]
    machine = lock_holder(folder / "lock")
    agents = [int(pid) for pid in pathlib.Path(f"/proc/{machine}/task/{machine}/children").read_text().split()]
    killed = time.monotonic()
    for pid in (machine, *agents):
        os.kill(pid, signal.SIGKILL)
    second = evidence.parent / "2"
    controller = world.start("wait", job)
    try:
        world.wait_for("the next attempt", lambda: second.is_dir() and all(beats(second, n) for n in names), timeout=60)
    finally:
        world.stoker("cancel", job, check=True)
        controller.communicate(timeout=patience(30))
    last = max(beats(evidence, n)[-1][1] for n in names)
    first = min(beats(second, n)[0][1] for n in names)
    print(
        f"      {mechanism}/killed: last sign of life {last - killed:.2f} s after the kill, "
        "the next attempt's first "
        f"{first - last:.2f} s later",
        flush=True,
    )
    problems = [f"lived on for {last - killed:.1f} s"] if last - killed > 2 else []
    problems += ["two attempts at the same time"] if first < last else []
    alive = heartbeats_stop(evidence, quiet=0.3, timeout=0) + heartbeats_stop(second, quiet=0.3, timeout=0)
    problems += [f"still alive: {alive}"] if alive else []
    return "; ".join(problems)


def test_mechanism(results, world, mechanism, who):
    """All programs at once: they mostly sleep."""
    kinds = [k for k in CASES if k != "worker" or TORCH]
    with concurrent.futures.ThreadPoolExecutor(len(kinds) + 2) as pool:
        runs = {kind: pool.submit(cancel_case, world, kind, mechanism) for kind in kinds}
        runs["holder_ends"] = pool.submit(self_ending_case, world, mechanism)
        runs["killed"] = pool.submit(killed_case, world, mechanism)
        for kind, run in runs.items():
            try:
                problem = run.result()
            except Exception as error:  # noqa: BLE001  # a test that breaks has failed
                problem = f"{type(error).__name__}: {error}"
            results.check(f"{who}, {mechanism}: {kind}", not problem, problem)
    try:
        world.wait_for("instances cleared away", lambda: not world.instances(), timeout=20)
    except AssertionError as error:
        results.check(f"{who}, {mechanism}: nothing left", False, error)


def test_user(results, who, uid):
    with World(f"endings-{who}", uid=uid) as world:
        found = next(f for f in world.json("doctor", ok=(0, 1)) if f["what"] == "ending tasks")
        print(f"{who}: {found['text']}", flush=True)
        for mechanism in ("pidns", "cgroup", "subreaper"):
            if mechanism in found["text"].split(" work here")[0].split(" is all")[0].split(", "):
                test_mechanism(results, world, mechanism, who)
            else:
                job = world.submit("--ending", mechanism, "--", "true")
                world.stoker("wait", job, "--timeout", f"{patience(30):.0f}s")
                why = (world.job(job).get("result") or {}).get("why", "")
                print(f"skipped: {who}, {mechanism} does not work here: {why}", flush=True)
                results.check(f"{who}, {mechanism}: refused with its name", mechanism in why, why)


def main():
    results = Results()
    if not TORCH:
        print("skipped: torchrun's workers: no python3 with torch (STOKER_TORCH_PYTHON names one)")
    test_user(results, "root" if os.geteuid() == 0 else "user", None)
    if os.geteuid() == 0:
        test_user(results, "nobody", NOBODY)
    else:
        print("skipped: another user needs root")
    results.finish()


main()
