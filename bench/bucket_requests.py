#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a running job asks of its bucket, and what that costs at list price: requests an hour of a
node that trains, prints a line each 2 s and saves a checkpoint each 30 s; alone, with somebody who
follows its log, and with `stoker controller` beside it. Counted between stoker and moto's S3.

REQUESTS_SECONDS=120 how long each is watched"""

import os
import pathlib
import subprocess
import sys
import time

sys.path[0] = str(pathlib.Path(__file__).parents[1])

from test import cloud_env

cloud_env.enter()
from test import moto_s3
from test.e2e.kit.harness import PYTHON, World
from test.fault_proxy import FaultProxy

SECONDS = int(os.environ.get("REQUESTS_SECONDS", "120"))
# Amazon S3 Standard, us-east-1, November 2026: dollars for one request.
DEAR = 0.005 / 1000  # PUT, COPY, POST, LIST
CHEAP = 0.0004 / 1000  # GET and all others; DELETE costs nothing
PROGRAM = """
import os, time
folder = os.environ["STOKER_CHECKPOINT_DIR"]
os.makedirs(folder, exist_ok=True)
for step in range(100000):
    print("step", step, flush=True)
    if step % 15 == 0:
        with open(os.path.join(folder, "new"), "w") as out: out.write("x" * 100000 + str(step))
        os.replace(os.path.join(folder, "new"), os.path.join(folder, "checkpoint.txt"))
    time.sleep(2)
"""


def price(kind):
    """Of a request, by the proxy's name for it."""
    if kind.startswith(("Delete", "Abort")):
        return 0.0
    return CHEAP if kind in ("GetObject", "HeadObject", "HEAD bucket") else DEAR


def watch(proxy, seconds):
    before = dict(proxy.told()["requests"])
    began = time.monotonic()
    time.sleep(seconds)
    hours = (time.monotonic() - began) / 3600
    after = proxy.told()["requests"]
    return {k: (n - before.get(k, 0)) / hours for k, n in after.items() if n != before.get(k, 0)}


def tell(what, rates):
    dollars = sum(n * price(kind) for kind, n in rates.items())
    kinds = ", ".join(f"{kind} {n:.0f}" for kind, n in sorted(rates.items(), key=lambda x: -x[1]))
    print(f"  {what:42} {sum(rates.values()):7.0f} requests/h  {dollars:.4f} $/h  ({kinds})")


def main():
    with moto_s3.MotoS3() as server, FaultProxy(server.endpoint, seed=1) as proxy:
        world = World("requests")
        world.env.update({**server.env(proxy.endpoint), "AWS_EC2_METADATA_DISABLED": "true"})
        world.stoker("config", "set", "store", f"s3://{moto_s3.BUCKET}/bench", check=True)
        (world.work / "train.py").write_text(PROGRAM)
        job = world.submit("--", PYTHON, "train.py")
        world.wait_for("it runs", lambda: world.job(job)["state"] == "Running")
        print(f"requests to the bucket, one node, over {SECONDS} s each")
        time.sleep(10)
        tell("it trains, nobody looks", watch(proxy, SECONDS))
        for what, words in (("somebody follows its log", ["logs", "-f", job]), ("'stoker controller' runs beside it", ["controller"])):
            other = subprocess.Popen(
                [*world.command(words, world.work)], cwd=world.work, env=world.env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
            time.sleep(5)
            tell(what, watch(proxy, SECONDS))
            other.terminate()
            other.wait()
        if world.job(job)["state"] != "Running":
            sys.exit("the job did not run all the while: nothing was measured")
        world.stoker("cancel", job, check=True)
        world.stoker("wait", job, timeout=60)


if __name__ == "__main__":
    main()
