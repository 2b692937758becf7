# SPDX-License-Identifier: Apache-2.0
"""Chaos: many jobs at once while command lines, agents, machines, programs and controllers are
killed with -9 at random moments and interruption notices of 0-5 s come. Afterwards every job must
have ended with the right result, no start may lie before a committed checkpoint, nothing torn may
have been restored, and no process and no folder may be left.

  chaos.py [--jobs 300] [--seed 1] [--parallel 6] [--store URL]
"""

import argparse
import os
import pathlib
import random
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from harness import Results, World, heartbeats_stop  # noqa: E402

TRAINER = pathlib.Path(__file__).with_name("chaos_trainer.py")
PYTHON = "/usr/bin/python3"


class Job:
    def __init__(self, world, number, rng):
        self.number = number
        self.nodes = rng.choice([1, 1, 1, 2, 3])
        self.style = rng.choice(["overwrite", "rename", "folders"])
        self.steps = rng.randint(10, 40)
        self.step_ms = rng.randint(10, 60)
        self.attached = rng.random() < 0.5
        self.crash = rng.random() < 0.1  # ends with exit code 7, every time: a user error
        self.victims = rng.random() < 0.8  # the others run in peace beside the storm
        self.file = world.work / f"job-{number}.yaml"
        self.file.write_text(f"""\
name: chaos-{number}
num_nodes: {self.nodes}
stop_grace: 2s
checkpoints: {{path: checkpoints, quiet: 100ms}}
outputs: [output]
job_recovery: {{max_restarts_on_errors: {0 if self.crash and not self.victims else 50}, \
recover_on_exit_codes: [137]}}
run: |
  exec {PYTHON} {TRAINER} --evidence {world.evidence} --steps {self.steps} \
    --step-ms {self.step_ms} --style {self.style} --exit-code {7 if self.crash else 0}
""")
        if self.crash:
            text = self.file.read_text().replace("max_restarts_on_errors: 50", "max_restarts_on_errors: 1")
            self.file.write_text(text)
        self.process = None
        self.id = None

    def submit(self, world):
        if self.attached:
            before = set(known_jobs(world, self.name))
            self.process = world.start("run", self.file, stdout=subprocess.DEVNULL,
                                       stderr=subprocess.DEVNULL)
            self.id = world.wait_for(f"{self.name} in the ledger",
                                     lambda: next(iter(set(known_jobs(world, self.name)) - before), None),
                                     timeout=60, every=0.02)
        else:
            self.id = world.submit(self.file)

    @property
    def name(self):
        return f"chaos-{self.number}"


def known_jobs(world, name):
    return [j["id"] for j in world.json("ls", "--all") if j["name"] == name]


def processes(world):
    """pid -> kind for every process of this world, by its command line."""
    found = {}
    root = str(world.root)
    for entry in os.listdir("/proc"):
        if not entry.isdigit() or int(entry) == os.getpid():
            continue
        try:
            line = pathlib.Path(f"/proc/{entry}/cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        words = [w.decode(errors="replace") for w in line]
        text = " ".join(words)
        if root not in text:
            continue
        kind = None
        if "__machine" in words:
            kind = "machine"
        elif "__agent" in words:
            kind = "agent"
        elif "__init" in words:
            kind = "init"
        elif "chaos_trainer" in text and words[0] == PYTHON:
            kind = "program"
        if kind:
            found[int(entry)] = kind
    return found


def storm(world, rng, jobs, controllers, counts):
    """One act of violence."""
    act = rng.choice(["agent", "agent", "machine", "program", "cli", "controller", "preempt", "preempt",
                      "init", "verb"])
    if act in ("agent", "machine", "program", "init"):
        pids = [pid for pid, kind in processes(world).items() if kind == act]
        safe = protected_pids(world, jobs)
        pids = [p for p in pids if p not in safe]
        if pids:
            kill(rng.choice(pids), counts, act)
    elif act == "cli":
        attached = [j for j in jobs if j.process and j.process.poll() is None and j.victims]
        if attached:
            kill(rng.choice(attached).process.pid, counts, act)
    elif act == "controller":
        kill(rng.choice(controllers).pid, counts, act)
    elif act == "preempt":
        victims = [j for j in jobs if j.victims and j.id]
        if victims:
            job = rng.choice(victims)
            done = world.stoker("preempt", job.id, "--in", f"{rng.choice([0, 0, 1, 2, 5])}s",
                                "--node", rng.randrange(job.nodes))
            counts["preempt"] = counts.get("preempt", 0) + (done.returncode == 0)
    else:
        world.stoker(rng.choice(["ls", "doctor"]))


def protected_pids(world, jobs):
    """Pids of jobs that this storm leaves alone."""
    quiet = [j.id for j in jobs if not j.victims and j.id]
    safe = set()
    for pid in processes(world):
        try:
            environ = pathlib.Path(f"/proc/{pid}/environ").read_bytes().decode(errors="replace")
            cwd = os.readlink(f"/proc/{pid}/cwd")
        except OSError:
            continue
        if any(f"STOKER_JOB_ID={job}" in environ for job in quiet):
            safe.add(pid)
        for job in quiet:
            boot = instance_job(cwd) or instance_job(pathlib.Path(f"/proc/{pid}/cmdline").read_text()
                                                     .replace("\0", " ") if os.path.exists(f"/proc/{pid}") else "")
            if boot == job:
                safe.add(pid)
    return safe


def instance_job(text):
    """The job of the instance folder named in `text`, or None."""
    at = text.find("/instances/")
    if at < 0:
        return None
    start = text.rfind(" ", 0, at) + 1
    rest = text[at + len("/instances/"):].split("/")[0].split(" ")[0]
    try:
        boot = pathlib.Path(text[start:at] + "/instances/" + rest + "/boot.json").read_text()
    except OSError:
        return None
    import json
    return json.loads(boot).get("job")


def kill(pid, counts, what):
    try:
        os.kill(pid, signal.SIGKILL)
        counts[what] = counts.get(what, 0) + 1
    except ProcessLookupError:
        pass


def start_controller(world):
    return world.start("controller", "--interval", "200ms", stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)


def check_job(world, job, results):
    shown = world.json("show", job.id)["job"]
    state = shown["state"]
    want = "Failed" if job.crash else "Succeeded"
    why = f"{job.id} {job.style} nodes={job.nodes}: {state}, {shown.get('result')}"
    problems = []
    if state != want:
        problems.append(why)
    if job.crash and shown["result"].get("exit_code") not in (7, 137):
        problems.append(f"exit code: {why}")
    newest = (0, 0)
    suspects = set(shown.get("suspects") or [])
    for attempt in shown["attempts"]:
        restore = order(attempt.get("restore"))
        if restore < newest and attempt["state"] == "Ended" and "not needed" not in str(attempt.get("ending")) \
                and not suspects:
            problems.append(f"attempt {attempt['number']} restored {restore} though {newest} was committed")
        newest = max(newest, order(attempt.get("newest_checkpoint")))
    for rank in range(job.nodes):
        starts = world.evidence / f"{job.id}-{rank}.starts"
        if not starts.exists():
            if not job.crash:
                problems.append(f"node {rank} never ran")
            continue
        steps = [tuple(map(int, line.split())) for line in starts.read_text().splitlines()]
        for (a, s), (b, t) in zip(steps, steps[1:]):
            if t < s and not suspects:
                problems.append(f"node {rank}: attempt {b} started at {t}, attempt {a} at {s}")
    if not job.crash and state == "Succeeded":
        log = world.stoker("logs", job.id).stdout
        if f"final {job.steps}" not in log:
            problems.append("its last line is not in the log")
    results.check(f"job {job.number} ({job.style}, {job.nodes} nodes, {len(shown['attempts'])} attempts)",
                  not problems, "; ".join(problems))


def order(checkpoint):
    if not checkpoint:
        return (0, 0)
    attempt, seq = checkpoint.split("-")
    return (int(attempt), int(seq))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--jobs", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--parallel", type=int, default=6)
    parser.add_argument("--pause-ms", type=int, default=150)
    parser.add_argument("--limit", type=int, default=3000, help="seconds for everything")
    args = parser.parse_args()
    rng = random.Random(args.seed)
    results = Results()
    counts = {}
    begun = time.monotonic()
    print(f"chaos: seed {args.seed}, {args.jobs} jobs, {args.parallel} at a time", flush=True)
    world = World("chaos")
    controllers = [start_controller(world), start_controller(world)]
    jobs, live, number = [], [], 0
    while (number < args.jobs or live) and time.monotonic() - begun < args.limit:
        while number < args.jobs and len(live) < args.parallel:
            number += 1
            job = Job(world, number, rng)
            jobs.append(job)
            live.append(job)
            job.submit(world)
        storm(world, rng, live, controllers, counts)
        for i, controller in enumerate(controllers):
            if controller.poll() is not None:
                controllers[i] = start_controller(world)
        time.sleep(rng.random() * args.pause_ms / 1000)
        states = {j["id"]: j["state"] for j in world.json("ls", "--all")}
        for job in list(live):
            if states.get(job.id) in ("Succeeded", "Failed", "Cancelled"):
                live.remove(job)
    results.check("every job ended", not live and number == args.jobs,
                  f"{[(j.number, j.id) for j in live]} after {args.limit} s")
    finish(world, jobs, controllers, results)
    print(f"chaos: {time.monotonic() - begun:.0f} s; acts: {counts}", flush=True)
    world.close(keep=bool(results.failed))
    results.finish()


def finish(world, jobs, controllers, results):
    def quiet():
        return not world.instances() and not processes(world)
    try:
        world.wait_for("no process and no instance folder", quiet, timeout=90, every=0.5)
        results.check("no process and no instance folder is left", True)
    except AssertionError:
        results.check("no process and no instance folder is left", False,
                      f"{processes(world)} {[str(p) for p in world.instances()]}")
    for controller in controllers:
        controller.kill()
        controller.wait()
    for job in jobs:
        if job.process:
            try:
                job.process.wait(timeout=30)
            except subprocess.TimeoutExpired:
                results.check(f"the command line of job {job.number} ended", False)
                job.process.kill()
        check_job(world, job, results)
    results.check("no heartbeat goes on", not (alive := heartbeats_stop(world.evidence)), alive)
    violations = world.evidence / "VIOLATIONS"
    results.check("no violation", not violations.exists(),
                  violations.read_text() if violations.exists() else "")


main()
