# SPDX-License-Identifier: Apache-2.0
"""Chaos from outside: knows the command line, its --json and the documents, nothing else. Programs
with many habits of saving (habits/) are run by stoker while their processes, those above them and
command lines are killed and stopped, notices come, jobs are cancelled and controllers race. The
programs leave evidence; oracle.py judges by it.

  outside.py [--jobs 200] [--seed 1] [--parallel 5] [--store s3|FOLDER]
  outside.py --calm [--habits a,b] [--intervals 1,3,6,11] [--parallel 6] [--container podman|docker]

--calm saves each habit in peace, gives a notice, and prints what each pace would have lost.
--container: programs run in containers of that engine, whose /usr is this machine's."""

import argparse
import collections
import contextlib
import os
import pathlib
import re
import subprocess
import sys
import time

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test.e2e.kit.harness import Results, World
from test.outside import calm, jobs, oracle, sight
from test.outside.storm import Job


class Storm:
    def __init__(self, args, world):
        self.args, self.world = args, world
        self.acts = open(world.root / "acts.log", "a", buffering=1)
        self.controllers = [self.controller() for _ in range(2)]
        self.all, self.live, self.late = [], [], []
        self.counts = collections.Counter()
        self.breaches = collections.Counter()

    def log(self, text):
        self.acts.write(f"{time.strftime('%H:%M:%S', time.gmtime())} {text}\n")

    def controller(self):
        return self.world.start(
            "controller", "--interval", "300ms", stdout=subprocess.DEVNULL, stderr=open(self.world.root / "controllers.log", "a")
        )

    def replace_controller(self, turn):
        """Each is killed now and then; always two race for the same jobs."""
        at = turn % 2
        self.controllers[at].kill()
        self.controllers[at].wait()
        self.controllers[at] = self.controller()

    def run(self, results):
        begun, asked, states, turn = time.monotonic(), 0.0, {}, 0
        while len(self.all) < self.args.jobs or self.live:
            while len(self.all) < self.args.jobs and len(self.live) < self.args.parallel:
                job = Job(self.world, self.args.seed, len(self.all) + 1)
                self.all.append(job)
                job.submit()
                self.live.append(job)
            everybody = sight.processes(self.world.root)
            for job in self.live:
                job.storm(everybody, self.log)
            now = time.monotonic()
            if now - asked > 0.4:
                asked = now
                states = {one["id"]: one["state"] for one in self.world.json("ls", "--all")}
            if now - begun > 3 * (turn + 1):
                turn += 1
                self.replace_controller(turn)
            for job in [job for job in self.live if job.ended(states)]:
                self.live.remove(job)
                self.judge(job, results)
            time.sleep(0.1)
        print(f"outside: {len(self.all)} jobs, {time.monotonic() - begun:.0f} s", flush=True)

    def judge(self, job, results):
        if job.state not in ("Succeeded", "Failed", "Cancelled"):
            self.breaches["never"] += 1
            results.check(job.text(), False, f"never: it is {job.state or 'in no list'}")
            self.world.stoker("cancel", job.id, "--no-wait")
            return
        breaches, counts = oracle.judge(job.facts())
        self.counts += counts
        self.breaches.update(kind for kind, _ in breaches)
        results.check(job.text(), not breaches, "; ".join(f"{k}: {t}" for k, t in breaches))

    def rest(self, results):
        """What must come to an end by itself, and what `gc` says of the rest."""
        for job in self.all:
            if job.process:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    job.process.wait(timeout=30)
        with contextlib.suppress(AssertionError):
            self.world.wait_for("rest", lambda: not self.machines(), 60, 0.5)
        for controller in self.controllers:
            controller.kill()
            controller.wait()
        # Left-overs of killed launches are a minute old before gc takes them for such.
        with contextlib.suppress(AssertionError):
            self.world.wait_for("a clean home", self.cleaned, 100, 2)
        self.world.wait_for("helpers", lambda: True, 1)
        breaches = oracle.judge_left(map(str, sight.processes(self.world.root).values()), self.world.json("ls", "--all"), self.strangers())
        self.breaches.update(kind for kind, _ in breaches)
        results.check("nothing is left", not breaches, "; ".join(text for _, text in breaches[:9]))

    def machines(self):
        ours = {controller.pid for controller in self.controllers}
        return [one for pid, one in sight.processes(self.world.root).items() if pid not in ours]

    def strangers(self):
        """What could not be kept stays for 30 days, where the job's log or story says so."""
        told = [
            folder
            for folder, job in sight.unsaved(self.world.home).items()
            if any(re.search(re.escape(folder) + r"(?![\w-])", self.world.stoker(verb, job).stdout) for verb in ("logs", "show"))
        ]
        return sight.strangers(self.world.home, told)

    def cleaned(self):
        if self.strangers():
            self.world.stoker("gc", check=True)
        return not self.strangers()

    def summary(self):
        found = ", ".join(
            f"{self.breaches[kind]} {kind}" for kind in ("torn", "double", "lost", "left", "never", "stale", "outputs", "result")
        )
        return f"outside: {found}; counted: {dict(sorted(self.counts.items()))}"


@contextlib.contextmanager
def a_world(args):
    """A private home, its store where `args` say."""
    with contextlib.ExitStack() as stack:
        server = None
        if args.store == "s3":
            from test import cloud_env

            cloud_env.enter()
            from test.versity_s3 import VersityS3

            server = stack.enter_context(VersityS3())
        world = stack.enter_context(World("outside"))
        world.env["OMP_NUM_THREADS"] = "1"
        # docs/logs.md: how soon lines leave their machine, and as long again.
        world.ships = 60.0 if server else 5.0
        jobs.plant_code(world.work / "code")
        if server:
            world.env.update(server.env())
            world.stoker("config", "set", "store", f"s3://{server.bucket}/team", check=True)
        elif args.store:
            world.stoker("config", "set", "store", str(pathlib.Path(args.store).resolve()), check=True)
        if args.container:
            from test.containers.engines import HOST_IMAGE, Engine, host_container

            engine = Engine(args.container, world, HOST_IMAGE)
            stack.callback(engine.close)
            world.env.update(engine.env)
            world.container = host_container(engine.name, [world.evidence])
        yield world


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--jobs", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--parallel", type=int, default=5)
    parser.add_argument("--store", default="")
    parser.add_argument("--calm", action="store_true")
    parser.add_argument("--habits", default=",".join(jobs.HABITS))
    parser.add_argument("--container", default="", choices=["", "podman", "docker"])
    parser.add_argument("--intervals", default="1,3,6,11")
    args = parser.parse_args()
    jobs.python_once()
    results = Results()
    with a_world(args) as world:
        if args.calm:
            calm.run(world, results, args)
        else:
            print(f"outside: seed {args.seed}, {args.jobs} jobs, {args.parallel} at a time", flush=True)
            storm = Storm(args, world)
            storm.run(results)
            storm.rest(results)
            print(storm.summary())
        if results.failed:
            os.environ["STOKER_KEEP"] = "1"  # the world stays, to be looked at
    results.finish()


if __name__ == "__main__":
    main()
