#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The main line with a bucket as the store, of two homes that share nothing else: `bucket.py s3` on
moto's S3, which boto3 reads back, `bucket.py gs` on fake-gcs-server, which google-cloud-storage
reads back."""

import hashlib
import json
import pathlib
import sys
import time

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test import cloud_env

cloud_env.enter()
from test import fake_gcs, moto_s3
from test.e2e.kit.harness import PYTHON, Results, World
from test.e2e.kit.job_kit import clock, follows_closely, lags_of, running, texts, trainer
from test.fault_proxy import FaultProxy

LS = 5  # requests: what ledger it is, twice who is active, the names of index and labels
NOTHING = {"STORAGE_EMULATOR_HOST": "", "NO_GCE_CHECK": "true"}

CASES = {
    "s3": [
        ("a wrong bucket", "s3://no-such-bucket-here", {}, ["NoSuchBucket", "Make the bucket"]),
        (
            "no credentials",
            None,
            {"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "", "AWS_EC2_METADATA_DISABLED": "true"},
            ["credentials"],
        ),
        ("nobody there", None, {"AWS_ENDPOINT_URL_S3": "http://127.0.0.1:1"}, ["127.0.0.1:1"]),
    ],
    "gs": [
        ("a wrong bucket", "gs://no-such-bucket-here", {}, ["404", "Make the bucket"]),
        ("no credentials", None, NOTHING, ["no Google credentials", "NO_GCE_CHECK", "gcloud auth application-default login"]),
        (
            "no such key file",
            None,
            {**NOTHING, "GOOGLE_APPLICATION_CREDENTIALS": "/gone.json"},
            ["GOOGLE_APPLICATION_CREDENTIALS", "/gone.json"],
        ),
        ("nobody there", None, {"STORAGE_EMULATOR_HOST": "127.0.0.1:1"}, ["127.0.0.1:1"]),
    ],
}


def machine(name, server, store):
    world = World(name)
    world.env.update(server.env())
    world.stoker("config", "set", "store", store, check=True)
    return world


def preempted(results, here, there):
    job = running(here, trainer(here, 150, "--pause", "0.1", name="moved"))
    there.wait_for("a checkpoint is seen", lambda: there.json("checkpoints", job), timeout=60)
    here.stoker("preempt", job, "--in", "5s", check=True)
    code = there.stoker("wait", job, timeout=120).returncode
    shown = there.json("show", job)
    results.check("preempted and resumed, as another machine sees it", code == 0 and shown["attempts_ran"] == 2, shown["job"]["attempts"])
    second = texts(there, job, "--attempt", "2")
    results.check(
        "its log: the second attempt went on from a checkpoint", "resume 1 attempt 2" in second[0] and second[-1] == "done", second[:3]
    )
    checkpoints = there.json("checkpoints", job)
    results.check("its checkpoints are whole", checkpoints and all(c["whole"] for c in checkpoints), checkpoints)
    there.stoker("get", job, "checkpoint", there.work / "fetched", check=True)
    return job


def layout(results, server, here, job):
    record = json.loads(server.read(f"team/records/{job}.json"))
    results.check("another client reads the record", record["state"] == "Succeeded", record)
    for member in ("code_digest", "binary_digest"):
        copies = server.keys(f"team/blobs/{record[member]}-")
        good = copies and hashlib.sha256(server.read(copies[-1])).hexdigest() == record[member]
        results.check(f"another client reads the blob of {member}", good, copies)
    manifests = server.keys(f"team/jobs/{job}/checkpoints/manifests/")
    newest = json.loads(server.read(manifests[-1]))
    files = newest["parts"][0]["files"]
    wrong = [
        f["path"] for f in files if hashlib.sha256(server.read(f"team/jobs/{job}/checkpoints/{f['object']}")).hexdigest() != f["sha256"]
    ]
    results.check("another client reads the newest checkpoint", files and not wrong, wrong)
    # Whoever may act for the job's machine clears up after it, once that is off.
    until = time.monotonic() + 30
    while server.keys("team/active/") and time.monotonic() < until:
        here.stoker("ls", check=True)
        time.sleep(0.5)
    results.check("nothing is active", not server.keys("team/active/"), server.keys("team/active/"))


def followed(results, here, there):
    clock(here, 20)
    job = here.submit("--name", "followed", "--", PYTHON, "prog.py")
    follows_closely(results, lags_of(there, job), 16)


def cancelled(results, here, there):
    job = running(here, here.submit("--name", "endless", "--", "sh", "-c", "sleep 600"))
    listed = {j["id"]: j["state"] for j in there.json("ls")}
    results.check("another machine lists it", listed.get(job) == "Running", listed)
    there.stoker("cancel", job, check=True)
    here.stoker("wait", job)
    ended = here.job(job)
    results.check("another machine cancels it", ended["state"] == "Cancelled", ended)
    here.wait_for("its machine ends", lambda: not here.instances(), timeout=60)


def trouble(results, here, store, cases):
    """`cases`: a name, another store or None, variables, words of the error."""
    for name, other, env, words in cases:
        if other:
            here.stoker("config", "set", "store", other, check=True)
        done = here.stoker("run", "--detach", "--", "true", env=env, timeout=120)
        good = done.returncode == 1 and all(word in done.stderr for word in words)
        results.check(f"trouble: {name}", good and "secret" not in done.stderr, done.stderr)
        here.stoker("config", "set", "store", store, check=True)


def main_line(results, server, store, cases, name):
    with machine(f"{name}a", server, store) as here, machine(f"{name}b", server, store) as there:
        job = preempted(results, here, there)
        layout(results, server, here, job)
        followed(results, here, there)
        cancelled(results, here, there)
        trouble(results, here, store, cases)
        here.stoker("gc", check=True)


def listed(results, server, store):
    """A list costs no more requests for what this machine has seen before."""
    world = machine("s3ls", server, store)
    with world, FaultProxy(server.endpoint, seed=1) as proxy:
        first = world.stoker("ls", "--ids", check=True).stdout
        again = world.stoker("ls", "--ids", check=True, env=server.env(proxy.endpoint)).stdout
        kinds = proxy.told()["requests"]
    results.check("a machine lists the same again", first == again and "moved" in first, again)
    results.check(f"with {LS} requests", sum(kinds.values()) == LS, kinds)


def main(kind):
    results = Results()
    made = {"s3": moto_s3.MotoS3, "gs": fake_gcs.FakeGcs}[kind]
    store = f"{kind}://{moto_s3.BUCKET if kind == 's3' else fake_gcs.BUCKET}/team"
    with made() as server:
        main_line(results, server, store, CASES[kind], kind)
        if kind == "s3":
            listed(results, server, store)
            results.check("no multipart upload is left", not server.uploads(), server.uploads())
    results.finish()


if __name__ == "__main__":
    main(sys.argv[1])
