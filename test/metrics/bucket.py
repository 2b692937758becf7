#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Metrics in a bucket: however much a run has said by then, a segment is written each ten seconds
or less often, and all is there in the end."""

import pathlib
import re
import sys
import time

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test import cloud_env

cloud_env.enter()
from test import versity_s3
from test.e2e.kit.harness import Results, World

MANY = 250_000  # more than a batch that goes at once
THEN = 40  # seconds, each with a point
PROGRAM = f"""
import json, os, time
with open(os.environ["STOKER_METRICS"], "a", buffering=1 << 20) as file:
    for step in range({MANY}):
        file.write('{{"step": %d, "loss": 0.5}}\\n' % step)
with open(os.environ["STOKER_METRICS"], "a", buffering=1) as file:
    for step in range({MANY}, {MANY + THEN}):
        file.write('{{"step": %d, "loss": 0.25}}\\n' % step)
        time.sleep(1)
"""


def flushes(server, job):
    """How many its segments hold."""
    client = server.client
    listed = client.list_objects_v2(Bucket=versity_s3.BUCKET, Prefix=f"t/jobs/{job}/metrics/")
    ends = [re.search(r"/(\d{12})-(\d+)\.zst$", one["Key"]) for one in listed["Contents"]]
    return max(int(end[1]) + int(end[2]) - 1 for end in ends)


def test_pace(results, world, server):
    began = time.monotonic()
    done = world.stoker("run", "--name", "many", "--", "python3", world.program(PROGRAM), timeout=300)
    took = time.monotonic() - began
    job = world.json("ls")[0]["id"]
    points = world.json("metrics", job)["series"]["loss"]
    results.check(
        "bucket: all points are there",
        done.returncode == 0 and sum(p.get("points", 1) for p in points) == MANY + THEN and points[-1]["step"] == MANY + THEN - 1,
        len(points),
    )
    count = flushes(server, job)
    # The first, one for what came at once, and the last come besides.
    results.check("bucket: one write in ten seconds, not each second", count <= took / 10 + 4, (count, took))


def main():
    results = Results()
    with versity_s3.VersityS3() as server, World("bucket") as world:
        world.env.update({**server.env(), "AWS_EC2_METADATA_DISABLED": "true"})
        world.stoker("config", "set", "store", f"s3://{versity_s3.BUCKET}/t", check=True)
        results.run("pace", test_pace, results, world, server)
    results.finish()


main()
