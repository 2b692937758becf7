#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A job whose lines go into its cloud's own log, too, on machines that boot: its agent is killed, the
service is away for a while, its machine is taken, and another goes on. The same with one right less.

    log_boots.py ec2|gcp [told] [less]"""

import json
import os
import pathlib
import signal
import sys
import time

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test.lab import lab as lab_of

lab_of.enter()
from test.e2e.kit.harness import Results, parts_of
from test.ec2 import lab_world as ec2
from test.gcp import gce_world as gcp

AWAY = 120  # seconds
SECRET = "planted-7Qx9-planted"
PROGRAM = """import os, runpy
print("it says", os.environ["HF_TOKEN"])
runpy.run_path("trainer.py", run_name="__main__")
"""
JOB = """workdir: .
secrets: [HF_TOKEN]
setup: echo the set-up speaks
logs: {cloud: true, retention: 30d}
resources: {infra: %s, use_spot: true}
run: python3 train.py %d --pause 0.5
"""


class Ec2:
    module, steps, right = ec2, 400, "logs:PutLogEvents"

    @staticmethod
    def lines(lab, job, attempt):
        client, name = lab.boto3("logs"), f"{job}/{attempt}-0"
        (group,) = client.describe_log_groups(logGroupNamePrefix="/stoker/")["logGroups"]
        assert group["retentionInDays"] == 30, group
        got, token = [], None
        while True:
            more = {"nextToken": token} if token else {}
            page = client.get_log_events(logGroupName=group["logGroupName"], logStreamName=name, startFromHead=True, **more)
            if page["nextForwardToken"] == token:
                return got
            got += [event["message"] for event in page["events"]]
            token = page["nextForwardToken"]

    @staticmethod
    def away(lab, on):
        lab.ec2.faults.clear()
        if on:
            lab.ec2.faults.add("PutLogEvents", "lost_request", 10_000)

    @staticmethod
    def rights(lab, world, without=None):
        """Nodes have what is printed, and not `without`."""
        told = world.work / "iam"
        world.stoker("doctor", "--iam", "--infra", "aws/us-east-1", "--write", str(told), check=True)
        statements = [each for name in ("node", "node-logs") for each in json.loads((told / f"{name}.json").read_text())["Statement"]]
        if without:
            statements.append({"Effect": "Deny", "Action": without, "Resource": "*"})
        own = lab.keyring.own[0]

        class Printed(dict):  # whoever asks and is not the submitter
            def get(self, key, default=None):
                return default if key == own else {"Statement": statements}

        lab.front.rights.policies = Printed()


class Google:
    module, steps, right = gcp, 700, "logging.logEntries.create"

    @staticmethod
    def lines(lab, job, attempt):
        found = lab.logs.entries.listed(**{"stoker-job": job, "stoker-attempt": str(attempt)})
        numbers = {each["resource"]["labels"]["instance_id"] for each in found}
        assert len(numbers) == 1 and numbers.pop().isdigit(), numbers
        return [each["textPayload"] for each in found]

    @staticmethod
    def away(lab, on):
        lab.logs.away = on

    @staticmethod
    def rights(lab, world, without=None):
        told = world.work / "iam"
        world.stoker("doctor", "--iam", "--infra", "gcp/us-central1", "--write", str(told), check=True)
        assert json.loads((told / "node-logs.json").read_text())["includedPermissions"] == [Google.right]
        if without:
            lab.api.denied.add(without)


CLOUD = {"ec2": Ec2, "gcp": Google}[sys.argv[1]]


def submitted(world, steps):
    world.env["HF_TOKEN"] = SECRET
    world.program(PROGRAM, "train.py")
    (world.work / "job.yaml").write_text(JOB % (world.infra, steps))
    return world.submit("job.yaml")


def stored(world, job, attempt):
    lines = [json.loads(line) for line in world.stoker("logs", job, "--json", "--attempt", str(attempt)).stdout.splitlines()]
    return [each["text"] or " " for each in lines]


def test_told(lab, check):
    with CLOUD.module.World(lab, "told") as world:
        CLOUD.rights(lab, world)
        job = submitted(world, CLOUD.steps)
        first = world.machine(job, 0)
        world.trained(first, 5)
        world.wait_for("lines of the program", lambda: any("it says" in line for line in CLOUD.lines(lab, job, 1)), timeout=90)
        os.kill(first.room.agent(), signal.SIGKILL)
        CLOUD.away(lab, True)
        since = time.time()
        world.trained(first, 20)
        time.sleep(max(0, AWAY - (time.time() - since)))
        CLOUD.away(lab, False)
        world.notice(first)
        world.machine(job, 1, limit=180)
        world.over(job, limit=400)
        state, runs, reasons = world.told(job)
        machines = len(world.machines(job))
        good = (state, len(runs), machines) == ("Succeeded", 3, 2)
        check("it succeeds, by the third attempt, on the second machine", good, (state, runs, reasons))
        for attempt in (1, 2, 3):
            want, got = stored(world, job, attempt), CLOUD.lines(lab, job, attempt)
            check(f"attempt {attempt}: each line once, in order", want == got, (len(want), len(got), want[-3:], got[-3:]))
        got = CLOUD.lines(lab, job, 1)
        check("lines of setup, of stoker and of the program", "the set-up speaks" in got and "it says ***" in got, got[:10])
        shown = world.stoker("show", job).stdout
        check("show has the query", "cloud log" in shown and job in shown.partition("cloud log")[2], shown)


def test_less(lab, check):
    with CLOUD.module.World(lab, "less") as world:
        CLOUD.rights(lab, world, CLOUD.right)
        job = submitted(world, 10)
        world.over(job)
        check("it trains all the same", world.job(job)["state"] == "Succeeded", world.job(job)["state"])
        told = [line for line in stored(world, job, 1) if "do not reach" in line]
        check("which right lacks is said once", len(told) == 1 and CLOUD.right in told[0], told)
        check("show says it, too", "lines do not reach" in world.stoker("show", job).stdout)


def main():
    results = Results()
    with CLOUD.module.Lab() as lab:
        for name in sys.argv[2:] or parts_of(globals()):
            results.run(name, parts_of(globals())[name], lab, results.check)
        results.check("the lab has no bug", not lab.bugs, lab.bugs)
    results.finish()


if __name__ == "__main__":
    os.environ.setdefault("STOKER", "build/release/stoker")
    main()
