#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`stoker ls` of 10,000 jobs in a bucket (versitygw's): requests, counted between stoker and the
server, and time, taken without anything in between. Goal: a handful of requests once this machine
has copies of the index.

LS_JOBS=10000 how many jobs, all of them ended"""

import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import time

sys.path[0] = str(pathlib.Path(__file__).parents[1])

from test import cloud_env

cloud_env.enter()
from test import versity_s3
from test.e2e.kit.harness import World
from test.fault_proxy import FaultProxy

JOBS = int(os.environ.get("LS_JOBS", "10000"))
RUNS = int(os.environ.get("RUNS", "15"))
STORE = f"s3://{versity_s3.BUCKET}/bench"


def milliseconds(world, before=lambda: None, runs=RUNS):
    times = []
    for _ in range(runs):
        before()
        began = time.monotonic()
        world.stoker("ls", check=True)
        times.append((time.monotonic() - began) * 1000)
    return f"{statistics.median(times):6.0f} ms"


def requests(world, server, what):
    with FaultProxy(server.endpoint, seed=1) as proxy:
        world.stoker("ls", env=server.env(proxy.endpoint), check=True)
        kinds = proxy.told()["requests"]
    told = ", ".join(f"{kind} {n}" for kind, n in sorted(kinds.items()))
    print(f"  {what:44} {sum(kinds.values()):4} requests ({told})", flush=True)


def one_more(env):
    fill = [os.environ["BENCH_BIN"] + "/many_jobs", STORE]
    subprocess.run([*fill, "1"], env={**os.environ, **env}, check=True)


def main():
    with versity_s3.VersityS3() as server, World("ls") as world:
        env = {**server.env(), "AWS_EC2_METADATA_DISABLED": "true"}
        world.env.update(env)
        world.stoker("config", "set", "store", STORE, check=True)
        began = time.monotonic()
        fill = [os.environ["BENCH_BIN"] + "/many_jobs", STORE, str(JOBS)]
        subprocess.run(fill, env={**os.environ, **env}, check=True)
        seconds = time.monotonic() - began
        segments = server.keys("bench/index/")
        print(
            f"`stoker ls`: {JOBS} jobs that ended, in a bucket; {len(segments)} segments of the "
            f"index (the jobs were made in {seconds:.0f} s)"
        )
        cache = world.home / ".cache" / "stoker"

        def forget():
            shutil.rmtree(cache, ignore_errors=True)

        cold = milliseconds(world, forget, 5)
        forget()
        requests(world, server, f"first time on this machine      {cold}")
        requests(world, server, f"again                           {milliseconds(world)}")
        one_more(env)
        requests(world, server, "again, after one more job has ended")


if __name__ == "__main__":
    main()
