#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Machines that boot and cannot reach their bucket: the bucket denies them, as where the role has no
policy, or does not answer them, as in an outage. How many are asked for until the job says why, and
what it says. The time that a machine tries is short here: three tries, a second apart.

    no_way.py ec2|gcp [denied] [outage]"""

import os
import pathlib
import sys
import time

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test.lab import lab as lab_of

lab_of.enter()
from test.door import door_to
from test.e2e.kit.harness import Results, World, parts_of
from test.lab import ec2_rooms, gce_rooms
from test.lab.gce_lab import GceLab


class Ec2:
    lab, gate, infra = lab_of.Lab, ec2_rooms.GATE, ("aws/us-east-1", "--instance-type", "m5.large")
    bucket, variable, fix = "s3", "AWS_ENDPOINT_URL_S3", "aws iam put-role-policy"

    @staticmethod
    def of(lab):
        return lab.ec2

    @staticmethod
    def ended(machine):
        return machine.state() == "terminated"


class Google:
    lab, gate, infra = GceLab, gce_rooms.GATE, ("gcp/us-central1/us-central1-a", "--instance-type", "e2-standard-2")
    bucket, variable, fix = "gs", "STORAGE_EMULATOR_HOST", "doctor --iam --infra gcp"

    @staticmethod
    def of(lab):
        return lab.api

    @staticmethod
    def ended(machine):
        return machine.gone


CLOUD = {"ec2": Ec2, "gcp": Google}[sys.argv[1]]


def machines_of(lab):
    told = CLOUD.of(lab).world.instances
    return list(told() if callable(told) else told)


def consoles(lab):
    """The ends of what the machines have said, for whoever reads of a failure."""
    rooms = [each.room for each in machines_of(lab) if each.room]
    return "\n--\n".join(room.console().decode(errors="replace")[-1500:] for room in rooms)


def goes(lab, world, until, most, seconds):
    """A job on such machines, looked at each second: (its record, machines, seconds)."""
    job = world.json("run", "--detach", "--json", "--infra", *CLOUD.infra, "--", "true")["id"]
    begun = time.time()
    while time.time() - begun < seconds:
        told = world.job(job)
        machines = machines_of(lab)
        if until(told) or len(machines) > most:
            break
        time.sleep(1)
    took = round(time.time() - begun)
    said = world.stoker("show", job).stdout
    world.stoker("cancel", "--no-wait", job)
    return told, len(machines), took, said


def world_of(lab, name, how):
    server = door_to(lab.env[CLOUD.variable], CLOUD.gate, how)
    made = World(name)
    made.env.update(lab.env, **{CLOUD.variable: server.url})
    made.stoker("config", "set", "store", f"{CLOUD.bucket}://stoker-test/{name}", check=True)
    return made


def test_denied(lab, check):
    with world_of(lab, "denied", "denied") as world:
        told, machines, took, said = goes(lab, world, lambda job: job["state"] == "Failed", 3, 300)
        print(f"      denied: {machines} machines, {took} s until the job says why")
        seen = f"{told['state']}, {machines}\n{said}{consoles(lab)}"
        check("two machines, and the job has ended", told["state"] == "Failed" and machines == 2, seen)
        check("it says what the bucket said", "cannot be fetched" in said and "403" in said, said + consoles(lab))
        check("and what to type", CLOUD.fix in said, said)
        world.wait_for("nothing to be left", lambda: world.stoker("ls") and all(map(CLOUD.ended, machines_of(lab))), 60, 1)


def test_outage(lab, check):
    before = len(machines_of(lab))
    with world_of(lab, "outage", "outage") as world:
        told, machines, _, said = goes(lab, world, lambda _: False, before + 3, 300)
        check("an outage does not end the job", told["state"] not in ("Failed", "Succeeded"), told["state"])
        check("others are asked for", machines > before + 3, machines)
        check("and it says why", "cannot be fetched" in said, said)


def main():
    results = Results()
    with CLOUD.lab() as lab:
        CLOUD.of(lab).settings.boot_tries = int(os.environ.get("BOOT_TRIES", "3"))
        parts = parts_of(globals())
        for name in sys.argv[2:] or parts:
            results.run(name, parts[name], lab, results.check)
    results.finish()


main()
