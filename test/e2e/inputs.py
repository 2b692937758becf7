#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Channels: a job finds its inputs, out of a folder and out of a bucket: of moto's S3, and of
fake-gcs-server."""

import hashlib
import json
import pathlib
import random
import sys

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test import cloud_env

cloud_env.enter()
from test import fake_gcs, moto_s3
from test.e2e.kit.harness import PYTHON, Results, World
from test.e2e.kit.job_kit import lines, running

BIG = 20 << 20  # two parts

# Says what its channels have, then spoils its copy. The first attempt ends as it is told.
PROGRAM = """
import hashlib, json, os, pathlib, sys, time
for name in json.loads(os.environ["STOKER_CHANNELS"]):
    folder = pathlib.Path(os.environ["STOKER_CHANNEL_" + name.upper().replace("-", "_")])
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        digest = hashlib.sha256(path.read_bytes()).hexdigest()[:16]
        print("has", name, path.relative_to(folder), digest, flush=True)
folder = pathlib.Path(os.environ["STOKER_CHANNEL_TRAINING"])
(folder / "a").write_text("spoilt")
(folder / "added").write_text("spoilt")
print("ready", flush=True)
if os.environ["STOKER_ATTEMPT"] == "1":
    if sys.argv[1] == "fail":
        sys.exit(3)
    time.sleep(600)
"""

JOB = """
name: fed
workdir: .
inputs:
  training: {source: ../data, mode: file}
  val-1: BUCKET/val
  labels: BUCKET/one/labels.txt
setup: echo "setup has $(cat "$STOKER_CHANNEL_LABELS/labels.txt")"
stop_grace: 1s
job_recovery: {max_restarts_on_errors: 1}
run: PYTHON prog.py MODE
"""


class S3Bucket:
    url = f"s3://{moto_s3.BUCKET}"
    server = moto_s3.MotoS3
    missing = "NoSuchBucket"
    away = {"AWS_ENDPOINT_URL_S3": "http://127.0.0.1:1"}

    @staticmethod
    def put(server, key, content):
        server.client.put_object(Bucket=moto_s3.BUCKET, Key=key, Body=content)


class GcsBucket:
    url = f"gs://{fake_gcs.BUCKET}"
    server = fake_gcs.FakeGcs
    missing = "404"
    away = {"STORAGE_EMULATOR_HOST": "http://127.0.0.1:1"}

    @staticmethod
    def put(server, key, content):
        server.client().bucket(fake_gcs.BUCKET).blob(key).upload_from_string(content)


def told(world, job, attempt):
    """What stoker, setup and the program wrote in an attempt."""
    done = world.stoker("logs", job, "--json", "--attempt", str(attempt))
    return [json.loads(line).get("text", "") for line in lines(done.stdout)]


def make_data(world, bucket, server):
    """Files of the three sources; returns the lines that the program is to print of them."""
    rng = random.Random(4)
    data = world.work / "data"
    (data / "deep").mkdir(parents=True)
    files = {
        "training": {"a": b"a", "deep/b": rng.randbytes(100_000), "empty": b""},
        "val-1": {"big": rng.randbytes(BIG), "x/y z\u00e9": rng.randbytes(1000)},
        "labels": {"labels.txt": b"cat dog"},
    }
    for name, content in files["training"].items():
        (data / name).write_bytes(content)
    for name, content in files["val-1"].items():
        bucket.put(server, f"val/{name}", content)
    for marker in ("val/", "val/x/", "val/nothing/"):  # as consoles make folders
        bucket.put(server, marker, b"")
    for key, content in (("one/labels.txt", b"cat dog"), ("one/labels.txt2", b"no")):
        bucket.put(server, key, content)
    return sorted(
        f"has {channel} {name} {hashlib.sha256(content).hexdigest()[:16]}"
        for channel, held in files.items()
        for name, content in held.items()
    )


def submit(world, bucket, mode):
    work = world.work / mode
    work.mkdir()
    (work / "prog.py").write_text(PROGRAM)
    job = JOB.replace("BUCKET", bucket.url).replace("PYTHON", str(PYTHON)).replace("MODE", mode)
    (work / "job.yaml").write_text(job)
    return world.submit("job.yaml", cwd=work)


def has(texts):
    return sorted(t for t in texts if t.startswith("has "))


def inputs_said(texts):
    return [t for t in texts if t.startswith("stoker: input ")]


def test_kept_launch(results, world, bucket, expected):
    job = submit(world, bucket, "fail")
    code = world.stoker("wait", job, timeout=120).returncode
    first, second = told(world, job, 1), told(world, job, 2)
    results.check("the program finds its inputs", code == 0 and has(first) == expected, first)
    results.check("so does setup", "setup has cat dog" in first, first)
    said = inputs_said(first)
    results.check(
        "the log says how much came, and how fast", any(t.startswith("stoker: input val-1: 2 files, 21") and "/s)" in t for t in said), said
    )
    results.check("a second attempt finds them as they were", has(second) == expected, second)
    said = inputs_said(second)
    results.check(
        "and copies nothing that is there and the same",
        [t for t in said if "val-1" in t or "labels" in t]
        == ["stoker: input val-1: 2 files, 21.0 MB were there already", "stoker: input labels: 1 file, 7 B were there already"]
        and any("training: 1 file, 1 B in " in t and "; removed 1" in t for t in said),
        said,
    )
    data = world.work / "data"
    results.check("the source is only read", (data / "a").read_bytes() == b"a" and not (data / "added").exists(), sorted(data.iterdir()))
    record = world.stoker("run", "--dry-run", "job.yaml", cwd=world.work / "fail", check=True)
    results.check("the record names the whole path", f'"{data}"' in record.stdout.replace("/fail/..", ""), record.stdout)
    world.wait_for("the copies go with their machine", lambda: not world.instances(), timeout=60)


def test_preempted(results, world, bucket, expected):
    job = submit(world, bucket, "stay")
    running(world, job, "ready")
    world.stoker("preempt", job, "--in", "2s", check=True)
    code = world.stoker("wait", job, timeout=120).returncode
    second = told(world, job, 2)
    results.check("preempted and resumed, it finds them again", code == 0 and has(second) == expected, second)


def test_wrong(results, world, bucket):
    for name, source, words in (
        ("a missing bucket", f"{bucket.url[:5]}no-such-bucket-here/x", ["input training", bucket.missing]),
        ("nothing there", f"{bucket.url}/nothing/here", ["input training", "there is no file"]),
    ):
        args = ("--input", f"training={source}", "--", "true")
        job = world.submit(*args)
        code = world.stoker("wait", job, timeout=120).returncode
        shown = json.dumps(world.json("show", job))
        ended = world.job(job)
        good = code != 0 and ended["state"] == "Failed" and len(ended["attempts"]) == 1
        results.check(
            f"{name}: one clear error ends the job", good and all(w in shown for w in [*words, source]), [code, ended["state"], shown]
        )


def test_away(results, world, bucket):
    """A service that is away is waited for, as long as nobody says stop."""
    job = world.submit("--input", f"training={bucket.url}/val", "--", "true", env=bucket.away)
    world.wait_for("it is said that it is tried again", lambda: any("trying again" in t for t in told(world, job, 1)), timeout=90)
    world.stoker("cancel", job, check=True)
    world.stoker("wait", job, timeout=90)
    results.check("an input that is away: cancelled while it waits", world.job(job)["state"] == "Cancelled", world.job(job)["state"])


def main():
    results = Results()
    for bucket in (S3Bucket, GcsBucket):
        with bucket.server() as server, World("inputs") as world:
            world.env.update(server.env())
            expected = make_data(world, bucket, server)
            for test in (test_kept_launch, test_preempted):
                results.run(f"{test.__name__} {bucket.url}", test, results, world, bucket, expected)
            for test in (test_wrong, test_away):
                results.run(f"{test.__name__} {bucket.url}", test, results, world, bucket)
            for instance in world.instances():
                world.wait_for("machines end", lambda i=instance: not i.exists(), timeout=60)
    results.finish()


if __name__ == "__main__":
    main()
