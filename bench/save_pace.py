#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which pace of saves is kept where: seconds for one commit of a few large, some small and very
many files, and how many of twenty saves of a program that rests so many seconds between two of them
are committed. In a folder, in S3 (versitygw) and in Google Cloud Storage (fake-gcs-server).

RUNS=3 commits each; PACES=1.3 seconds, several with commas"""

import contextlib
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

sys.path[0] = str(pathlib.Path(__file__).parents[1])

from test import cloud_env

cloud_env.enter()
from test.e2e.kit.harness import PYTHON, World
from test.fake_gcs import BUCKET, FakeGcs
from test.versity_s3 import VersityS3

SPEED = os.environ["BENCH_BIN"] + "/checkpoint_speed"
RUNS = int(os.environ.get("RUNS", "3"))
PACES = [float(one) for one in os.environ.get("PACES", "1.3").split(",")]
SAVES = 20
# Name, files, bytes of each.
SHAPES = (("5 files, 200 MB", 5, 40_000_000), ("20 files, 2 MB", 20, 100_000), ("10,000 files, 2 MB", 10_000, 200))
# A new folder each time, as the Trainer of Hugging Face makes it; two stay.
PROGRAM = """
import os, shutil, sys, time
files, size, pause, saves = int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4])
base = os.environ["STOKER_CHECKPOINT_DIR"]
for step in range(1, saves + 1):
    time.sleep(pause)
    at = f"{base}/checkpoint-{step}"
    os.mkdir(at)
    for file in range(files):
        with open(f"{at}/part-{file:05}", "wb") as out:
            out.write(os.urandom(size))
    shutil.rmtree(f"{base}/checkpoint-{step - 2}", ignore_errors=True)
"""


def commit(url, env, files, size, folder):
    """Seconds. The folder stays: after thousands were deleted, ext4 makes files slowly."""
    done = subprocess.run([SPEED, url, folder, str(files), str(size)], text=True, env={**os.environ, **env}, capture_output=True)
    if done.returncode != 0:
        sys.exit(done.stderr)
    return float(re.search(r"commit ([\d.]+) s", done.stdout)[1])


def kept(url, env, files, size, pause):
    """How many of SAVES were committed."""
    with World("pace") as world:
        world.env.update(env)
        if url:
            world.stoker("config", "set", "store", url, check=True)
        (world.work / "program.py").write_text(PROGRAM)
        (world.work / "job.yaml").write_text(
            f"workdir: .\ncheckpoints: {{keep: 0}}\nrun: exec {PYTHON} program.py {files} {size} {pause} {SAVES}\n"
        )
        job = world.submit("job.yaml")
        world.stoker("wait", job, timeout=600, check=True)
        return len(world.json("checkpoints", job))


def main():
    with contextlib.ExitStack() as stack:
        s3, gcs = stack.enter_context(VersityS3()), stack.enter_context(FakeGcs(watched=False))
        local = tempfile.mkdtemp(prefix="stoker-pace-store-")
        stack.callback(shutil.rmtree, local)
        stores = (
            ("a folder", local, {}),
            ("S3", f"s3://{s3.bucket}/pace", s3.env()),
            ("Google Cloud Storage", f"gs://{BUCKET}/pace", gcs.env()),
        )
        heads = "".join(f" each {pace:g} s |" for pace in PACES)
        print(f"| checkpoint | store | a commit |{heads}\n|---|---|---|{'---|' * len(PACES)}")
        for shape, files, size in SHAPES:
            for name, url, env in stores:
                turns = range(RUNS)
                seconds = statistics.median(
                    commit(f"{url}/{files}-{turn}", env, files, size, f"{local}/of-{name}-{files}-{turn}") for turn in turns
                )
                shares = "".join(f" {kept(f'{url}/{files}-{pace:g}', env, files, size, pace)} of {SAVES} |" for pace in PACES)
                print(f"| {shape} | {name} | {seconds:.2f} s |{shares}", flush=True)


if __name__ == "__main__":
    main()
