#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The demo with everything in a bucket: bucket_demo.py s3|gs. digits is interrupted and resumes;
then what stoker left there is read back without it, by docs/ledger.md alone: with aws-cli from
versitygw, with google-cloud-storage from fake-gcs-server."""

import hashlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test import cloud_env

cloud_env.enter()
from test.e2e.kit.harness import BINARY, PYTHON, Results


class WithAwsCli:
    """Reads a bucket as a person would who has nothing else."""

    def __init__(self, server):
        self.bucket = f"s3://{server.bucket}"
        self.env = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", **server.env()}

    def aws(self, *words):
        program = os.path.join(sys.prefix, "bin", "aws")
        done = subprocess.run([sys.executable, program, "s3", *words], env=self.env,
                              capture_output=True, check=True)
        return done.stdout

    def keys(self, prefix):
        listed = self.aws("ls", "--recursive", f"{self.bucket}/{prefix}").decode()
        return [line.split(None, 3)[3] for line in listed.splitlines()]

    def read(self, key):
        return self.aws("cp", "--quiet", f"{self.bucket}/{key}", "-")


def servers(kind):
    """(server, who reads it back, the store's address)"""
    if kind == "s3":
        from test.versity_s3 import VersityS3

        server = VersityS3()
        return server, lambda: WithAwsCli(server), f"s3://{server.bucket}/team"
    from test import fake_gcs

    server = fake_gcs.FakeGcs()
    return server, lambda: server, f"gs://{fake_gcs.BUCKET}/team"


def check_checkpoints(results, reader, job):
    folder = f"team/jobs/{job}/checkpoints"
    manifests = sorted(reader.keys(f"{folder}/manifests/"))
    newest = json.loads(reader.read(manifests[-1]))
    wrong = []
    for part in newest["parts"]:
        for entry in part["files"]:
            if entry.get("kind", "file") != "file":
                continue
            data = reader.read(f"{folder}/{entry['object']}")
            if hashlib.sha256(data).hexdigest() != entry["sha256"]:
                wrong.append(entry["path"])
    results.check("the newest checkpoint is whole", manifests and not wrong, (manifests, wrong))


def log_of(reader, job, attempt):
    """The segments' records in order, unpacked with zstd."""
    text = b""
    for key in sorted(reader.keys(f"team/jobs/{job}/log/{attempt}-0/")):
        unpacked = subprocess.run(["zstd", "-dc"], input=reader.read(key), capture_output=True,
                                  check=True)
        text += unpacked.stdout
    return text.decode(errors="replace")


def read_back(results, reader):
    records = reader.keys("team/records/")
    results.check("one record", len(records) == 1, records)
    record = json.loads(reader.read(records[0]))
    attempts = record["attempts"]
    results.check(
        "the record: preempted, resumed, succeeded",
        record["state"] == "Succeeded"
        and len(attempts) == 2
        and attempts[0]["ending"]["reason"] == "Interrupted"
        and attempts[1].get("restore"),
        record,
    )
    job = record["id"]
    check_checkpoints(results, reader, job)
    second = log_of(reader, job, 2)
    results.check(
        "the log of the second attempt: it went on, and ended",
        "resumed after epoch" in second and "test accuracy" in second,
        second[-500:],
    )
    spec = reader.read(f"team/jobs/{job}/spec.yaml").decode()
    results.check("the job file", "digits" in spec and "train.py" in spec, spec)


def main(kind):
    results = Results()
    server, reader, store = servers(kind)
    with server, tempfile.TemporaryFile() as said:
        env = {**os.environ, **server.env(), "STOKER": os.path.abspath(BINARY), "PYTHON": PYTHON}
        demo = subprocess.run(["bash", str(ROOT / "examples" / "demo.sh"), "--store", store],
                              env=env, stdout=said, stderr=said)
        said.seek(0)
        text = said.read().decode(errors="replace")
        print(text[-600:] if demo.returncode == 0 else text)
        if results.check("the demo", demo.returncode == 0, demo.returncode):
            read_back(results, reader())
    results.finish()


if __name__ == "__main__":
    main(sys.argv[1])
