#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What calls of the function cost where the ledger has many jobs (test/cloud/away_many.py). What one call
has no time for, the next ones do.

    away_many.py [PART…]      many, or many/ACTIVE/ENDED"""

import collections
import copy
import pathlib
import sys
import time

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test.ec2.away import TICK, function, submit  # which enters the lab's namespace

# isort: split
from test.cloud.away_many import Many, peak_mb
from test.cloud.verb_lab import Ec2Lab, play
from test.e2e.kit.harness import parts_of


def stands(lab, model, record, other):
    """Its machine, as if it had been asked for."""
    for request in record["requests"]:
        asked = copy.deepcopy({key: value for key, value in model.asked.items() if key != "Zone"})
        made = lab.below.client("ec2", region_name="us-east-1").run_instances(
            ImageId=asked["ImageId"], InstanceType=asked["InstanceType"], MinCount=1, MaxCount=1, ClientToken=request["token"]
        )
        tags = {**model.tags, "stoker-job": other, "stoker-request": request["token"]}
        listed = [{"Key": key, "Value": value} for key, value in tags.items() if not key.startswith("aws:")]
        lab.below.client("ec2", region_name="us-east-1").create_tags(Resources=[made["Instances"][0]["InstanceId"]], Tags=listed)
    return record


def test_many(lab, check, active="200", ended="10000"):
    with lab.world("many") as world:
        job = submit(world)
        (model,) = lab.machines(job)

        def read(key):
            text = lab.s3.read(key)
            return text if isinstance(text, str) else text.decode()

        def call():
            since, began = len(lab.log), time.monotonic()
            told, error = away.call(TICK)
            took = time.monotonic() - began
            return told, error, took, peak_mb(away.process.pid), collections.Counter(lab.asked(since))

        many = Many(lab, world, job, read, lab.write, lambda *of: stands(lab, model, *of), call, ["RunInstances"], 200)
        many.fill(int(active), int(ended))
        with function(lab, world, machines=4) as away:
            away.seconds = 120  # as it is installed
            many.look(check, int(active) + 1)
        for each in lab.machines():
            each.move((0, "terminated"))
        lab.lose("many/")


if __name__ == "__main__":
    play(Ec2Lab, parts_of(globals()), sys.argv[1:])
