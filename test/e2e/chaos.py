# SPDX-License-Identifier: Apache-2.0
"""Chaos: many jobs while command lines, agents, machines, programs and controllers are killed with
-9 at random moments and interruption notices of 0-5 s come. Afterwards every job must have ended
with the right result, no start may lie before a committed checkpoint, nothing torn may have been
committed or restored, and no process and no folder may be left.

  chaos.py [--jobs 300] [--seed 1] [--parallel 6] [--limit 3000] [--store s3]

With --store s3 everything durable lies in a bucket of versitygw, and between it and stoker stands
fault_proxy.py; the checks read the bucket past it. Keys come from a credential_process, and the
server takes each for KEY_LASTS_S seconds alone.

Each job meets at most six acts, drawn from the seed (chaos_job.py). The programs leave evidence
through kernel locks and self-checking files (chaos_trainer.py). acts.log in the world's folder,
which is kept after a failure, tells each act with its time."""

import argparse
import collections
import contextlib
import pathlib
import random
import subprocess
import sys
import time

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test.e2e.kit import chaos_checks, ledger_view
from test.e2e.kit.chaos_job import Job
from test.e2e.kit.harness import Results, World, heartbeats_stop

# In a thousand requests: about one in thirteen meets something. Stalls last for stall_s.
HARM = {
    "reset_request": 6,
    "reset_answer": 8,
    "reset_body": 8,
    "stall_request": 1,
    "stall_answer": 1,
    "stall_body": 1,
    "error_500": 6,
    "error_after": 8,
    "gateway_after": 4,
    "early_error": 4,
    "storm": 1,
    "truncate_answer": 6,
    "shorten_answer": 4,
    "shorten_request": 6,
    "flip_request": 6,
    "flip_answer": 6,
    "wrong_etag": 4,
}


# Of each key, in seconds. Stoker takes another one RENEWED_S before what the program that gives it
# calls its end. So the program says so much more, and EARLY_S less or, for every other key, a life
# more: of one stoker learns by its own clock that it is over, of the next by a refusal.
KEY_LASTS_S, RENEWED_S, EARLY_S = 6, 600, 2
GIVE_KEY = """\
number=$((($(date +%s) - {since}) / {lasts}))
end=$(({since} + (number + 1) * {lasts} + {renewed} + (number % 2 ? {lasts} : -{early})))
printf '{{"Version": 1, "AccessKeyId": "USER%d", "SecretAccessKey": "secret%d", ' $number $number
printf '"Expiration": "%s"}}' $(date -u -d @$end +%Y-%m-%dT%H:%M:%SZ)
"""


def users_for(limit):
    """How many keys a storm of `limit` seconds needs, and its checks, on a slow machine too."""
    return 4 * (limit + 600)


class Bucket:
    """The store of `world` is a bucket behind faults, until they are told to be calm."""

    def __init__(self, server, proxy, world):
        from test.e2e.kit.bucket_view import BucketPath

        self.server = server
        self.proxy = proxy
        world.env.update(self.keys(int(time.time())))
        world.stoker("config", "set", "store", f"s3://{server.bucket}/team", check=True)
        world.store = BucketPath(server, "team")
        proxy.set(**HARM, stall_s=4.0, storm_ms=200)

    def keys(self, since):
        """The variables of who gets a new key every few seconds, from `since` on."""
        from test.s3_server import KEYS

        folder = pathlib.Path(self.server.root)
        text = GIVE_KEY.format(since=since, lasts=KEY_LASTS_S, renewed=RENEWED_S, early=EARLY_S)
        (folder / "give_key").write_text(text)
        config = folder / "aws_config"
        config.write_text(f"[default]\ncredential_process = /bin/sh {folder / 'give_key'}\n")
        self.proxy.set(keys_since=since, key_lasts_s=KEY_LASTS_S)
        known = self.server.env(self.proxy.endpoint)
        return {
            **{name: value for name, value in known.items() if name not in KEYS},
            "AWS_CONFIG_FILE": str(config),
            "AWS_EC2_METADATA_DISABLED": "true",
        }

    def calm(self):
        told = self.proxy.calm()
        print(f"chaos: {sum(told['requests'].values())} requests; faults: {told['faults']}")

    def check(self, world, results):
        """Of writers that were killed: what is old goes with gc."""
        from test.e2e.kit.bucket_view import age_uploads

        expired = self.proxy.told()["faults"].get("expired", 0)
        results.check("keys ended, and some were noticed by a refusal", expired > 0)

        began = len(self.server.uploads())
        age_uploads(self.server, time.time() - 100 * 3600)
        world.stoker("gc", check=True)
        left = self.server.uploads()
        results.check(f"gc leaves none of {began} unfinished uploads", not left, left)


class Storm:
    def __init__(self, args, world, servers):
        self.args = args
        self.rng = random.Random(args.seed)
        self.world = world
        # Each job has a variable of the shell, and so a private file, which must go with it.
        self.world.env["OMP_NUM_THREADS"] = "1"
        self.bucket = Bucket(*servers, self.world) if servers else None
        self.world.known = set()
        self.processes = ledger_view.Processes(self.world.root)
        self.acts = open(self.world.root / "acts.log", "a", buffering=1)
        self.counts = collections.Counter()
        self.begun = time.monotonic()
        self.controllers = [self.start_controller() for _ in range(2)]
        self.controller_due = 0.0
        self.jobs = []
        self.live = []

    def log(self, job, act, text):
        name = f"{job.name} {job.id}" if job else "-"
        now = time.time()
        stamp = time.strftime("%H:%M:%S", time.gmtime(now)) + f".{int(now * 1000) % 1000:03d}"
        self.acts.write(f"{stamp} {name} {act}: {text}\n")
        self.counts[act if "dropped" not in text else "dropped"] += 1

    def start_controller(self):
        return self.world.start(
            "controller", "--interval", "200ms", stdout=subprocess.DEVNULL, stderr=open(self.world.root / "controllers.log", "a")
        )

    def kill_controller(self):
        """Now and then, as long as there is something to control."""
        if time.monotonic() < self.controller_due:
            return
        self.controller_due = time.monotonic() + 1 + 3 * self.rng.random()
        at = self.rng.randrange(2)
        self.controllers[at].kill()
        self.log(None, "controller", f"-> {self.controllers[at].wait()}")
        self.controllers[at] = self.start_controller()

    def run(self):
        """True when every job ended in time."""
        told = 0
        while len(self.jobs) < self.args.jobs or self.live:
            if time.monotonic() - self.begun > self.args.limit:
                return False
            while len(self.jobs) < self.args.jobs and len(self.live) < self.args.parallel:
                job = Job(self.world, self.processes, self.args.seed, len(self.jobs) + 1)
                self.jobs.append(job)
                self.live.append(job)
                job.submit(self.log)
            running = self.processes.all()
            for job in self.live:
                job.storm(running, self.log)
            self.kill_controller()
            time.sleep(0.1)
            self.live = [job for job in self.live if not job.ended()]
            done = len(self.jobs) - len(self.live)
            if done // 20 > told:
                told = done // 20
                seconds = time.monotonic() - self.begun
                print(f"chaos: {done} jobs ended, {seconds:.0f} s", flush=True)
        return True

    def calm(self, results):
        """What must come to rest by itself; then everything is looked at."""

        if self.bucket:
            self.bucket.calm()

        def quiet():
            running = [p for p in self.processes.all() if p[1] != "tool"]
            folders = [f for f in self.folders() if not f.startswith(".new-")]
            return not (running or folders or ledger_view.active(self.world.store))

        try:
            self.world.wait_for("rest", quiet, timeout=120, every=0.5)
            detail = ""
        except AssertionError:
            detail = f"{self.processes.all()} {self.folders()}"
        results.check("no process of a machine and no instance folder is left", not detail, detail)
        self.collect(results)
        for controller in self.controllers:
            controller.kill()
            controller.wait()
        for job in self.jobs:
            if not job.process:
                continue
            try:
                job.process.wait(timeout=30)
            except subprocess.TimeoutExpired:
                results.check(f"the command line of job {job.number} ended", False)
                job.process.kill()
        # What a killed controller had asked for a key ends by itself.
        end = time.monotonic() + 20
        while (left := self.processes.all()) and time.monotonic() < end:
            time.sleep(0.2)
        results.check("no process at all is left", not left, left)

    def folders(self):
        return ledger_view.listing(self.world.state / "instances")

    def collect(self, results):
        """What a launch left that was killed half-way goes with the next look at the machines, or,
        when no job is left that anybody looks after, with `stoker gc`, once it is a minute old."""

        def collected():
            if self.folders():
                self.world.stoker("gc", check=True)
            return not self.folders()

        try:
            self.world.wait_for("gc", collected, timeout=120, every=1)
        except AssertionError:
            pass
        results.check("gc leaves no folder", not self.folders(), self.folders())

    def judge(self, results):
        for job in self.jobs:
            chaos_checks.check_job(self.world, job, results)
        chaos_checks.check_left_over(self.world, self.jobs, results)
        if self.bucket:
            self.bucket.check(self.world, results)
        alive = heartbeats_stop(self.world.evidence)
        results.check("no heartbeat goes on", not alive, alive)
        violations = self.world.evidence / "VIOLATIONS"
        results.check("no violation seen by a program", not violations.exists(), violations.read_text() if violations.exists() else "")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--jobs", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--parallel", type=int, default=6)
    parser.add_argument("--limit", type=int, default=3000, help="seconds for all jobs")
    parser.add_argument("--store", choices=["folder", "s3"], default="folder")
    args = parser.parse_args()
    if args.store == "s3":
        from test import cloud_env

        cloud_env.enter()
    results = Results()
    print(f"chaos: seed {args.seed}, {args.jobs} jobs, {args.parallel} at a time", flush=True)
    with contextlib.ExitStack() as stack:
        servers = servers_of(args, stack)
        world = World("chaos")
        try:
            weather(args, world, servers, results)
        except BaseException:  # of the test itself, or of who stops it: nothing is left of either
            tell_acts(world)
            world.close()
            raise
        world.close(keep=bool(results.failed))
    results.finish()


def servers_of(args, stack):
    """The server and the faults before it, until the stack is left; None = a local folder."""
    if args.store != "s3":
        return None
    from test.fault_proxy import FaultProxy
    from test.versity_s3 import VersityS3

    server = stack.enter_context(VersityS3(users=users_for(args.limit)))
    return server, stack.enter_context(FaultProxy(server.endpoint, args.seed))


def weather(args, world, servers, results):
    storm = Storm(args, world, servers)
    ended = storm.run()
    print(f"chaos: {time.monotonic() - storm.begun:.0f} s; acts: {dict(storm.counts)}", flush=True)
    results.check("every job ended", ended, [(j.number, j.id) for j in storm.live])
    if ended:
        storm.calm(results)
        storm.judge(results)
    else:
        for controller in storm.controllers:
            controller.kill()


def tell_acts(world):
    """What had happened, of a world that is about to go."""
    log = world.root / "acts.log"
    acts = log.read_text().splitlines() if log.exists() else []
    print("chaos: it broke off; the last acts were:", *acts[-20:], sep="\n  ", file=sys.stderr)


main()
