#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What calls of the function cost where the ledger has many jobs: requests of EC2, the most memory, and
the time on this machine (printed, not judged). What one call has no time for, the next ones do.

    away_many.py [PART…]      many, or many/ACTIVE/ENDED"""

import collections
import copy
import hashlib
import json
import pathlib
import re
import sys
import time
from concurrent.futures import ThreadPoolExecutor

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test.ec2.away import TICK, function, submit  # which enters the lab's namespace

# isort: split
from test.cloud.verb_lab import Ec2Lab, play
from test.e2e.kit.harness import parts_of


def name_of(number):
    return "m" + hashlib.sha256(str(number).encode()).hexdigest()[:7]


def as_other(text, job, other):
    """The same job under another name: its tokens are others, too."""
    told = text.replace(job, other)
    for token in set(re.findall(r'"token": ?"([^"]+)"', told)):
        told = told.replace(token, hashlib.sha256((other + token).encode()).hexdigest()[: len(token)])
    return told


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


def called(lab, away, which):
    """What it told, the most memory in MB, and what it asked of EC2."""
    since, began = len(lab.log), time.monotonic()
    told, error = away.call(TICK)
    took = time.monotonic() - began
    asked = collections.Counter(lab.asked(since))
    status = pathlib.Path(f"/proc/{away.process.pid}/status").read_text(encoding="utf-8")
    peak = int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) / 1024
    said = {key: told[key] for key in ("passed", "changed", "left", "swept")} if told else error
    print(f"      {which}: {took:.1f} s, {peak:.0f} MB at most, of EC2 {dict(asked)}: {said}", flush=True)
    return told, peak, asked


def test_many(lab, check, active="200", ended="10000"):
    with lab.world("many") as world:
        job = submit(world)
        (model,) = lab.machines(job)
        text = lab.s3.read(f"many/records/{job}.json")
        text = text if isinstance(text, str) else text.decode()
        spec = lab.s3.read(f"many/jobs/{job}/spec.yaml")
        over = json.dumps({**json.loads(text), "state": "Succeeded"})

        def add(number):
            other = name_of(number)
            alive = number < int(active)
            mine = as_other(text if alive else over, job, other)
            lab.write(f"many/records/{other}.json", mine)
            if alive:
                stands(lab, model, json.loads(mine), other)
                lab.write(f"many/jobs/{other}/spec.yaml", spec if isinstance(spec, str) else spec.decode())
                lab.write(f"many/active/{other}", "")

        with ThreadPoolExecutor(8) as several:
            list(several.map(add, range(int(active) + int(ended))))
        with function(lab, world, machines=4) as away:
            away.seconds = 120  # as it is installed
            jobs, passed = int(active) + 1, 0
            for number in range(1, 21):
                told, peak, asked = called(lab, away, f"call {number}")
                check("it asks for no machine", told and "RunInstances" not in asked, (told, asked))
                check("in less memory than a function has", peak < 200, peak)
                passed += told["passed"]
                if told["left"] == 0:
                    break
            check(
                f"{number} calls have looked at each of {jobs} jobs, whatever has ended",
                passed >= jobs and told["left"] == 0,
                (passed, told),
            )
            told, peak, asked = called(lab, away, "the next call")
            whole = told["passed"] == told["active"] == jobs and told["left"] == 0
            check("where nothing is to do, one call looks at all", whole and not told["changed"], told)
        for each in lab.machines():
            each.move((0, "terminated"))
        lab.lose("many/")


if __name__ == "__main__":
    play(Ec2Lab, parts_of(globals()), sys.argv[1:])
