#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Transfers through faults: transfers.py PROGRAM [--on s3|gs] [--transfers 1000] [--seed 1]
[--threads 12]

PROGRAM (transfers.cc) moves objects, and small trees, through fault_proxy.py to versitygw, which
verifies signatures and checksums, or to fake-gcs-server, and looks past the proxy at what became of
them. While it does, the service's name
stops resolving now and then (in a mount namespace with a hosts file of its own), the credentials
expire and are renewed by a credential_process, and in two of four parts the client's clock is 20
minutes wrong."""

import argparse
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import threading
import time

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test import cloud_env

cloud_env.enter()
from test.fake_gcs import BUCKET as GCS_BUCKET
from test.fake_gcs import FakeGcs
from test.fault_proxy import FaultProxy
from test.s3_server import BUCKET, KEYS
from test.versity_s3 import VersityS3

BUCKETS = {"s3": BUCKET, "gs": GCS_BUCKET}
ENDPOINTS = {"s3": "AWS_ENDPOINT_URL_S3", "gs": "STORAGE_EMULATOR_HOST"}
CLOCKS = (0, 20, -20, 0)  # minutes
USERS = 400
NAME = "s3.faults.test"
# In a thousand requests: about one in six meets something.
HARM = {
    "reset_request": 12,
    "reset_answer": 16,
    "reset_body": 16,
    "stall_request": 2,
    "stall_answer": 2,
    "stall_body": 3,
    "error_500": 10,
    "error_after": 16,
    "gateway_after": 12,
    "early_error": 8,
    "storm": 2,
    "truncate_answer": 8,
    "shorten_answer": 8,
    "shorten_request": 12,
    "flip_request": 20,
    "flip_answer": 20,
    "wrong_etag": 12,
    "expired": 6,
}
# Enters namespaces where /etc/hosts and /etc/resolv.conf are files of ours, and nobody is asked.
ALONE = 'mount --bind "$1" /etc/hosts && mount --bind "$2" /etc/resolv.conf && shift 2 && exec "$@"'
ISSUE = """\
import fcntl, json, sys, time
with open(sys.argv[1], 'a+') as count:
    fcntl.flock(count, fcntl.LOCK_EX)
    count.seek(0)
    number = len(count.read())
    count.write('x')
good_until = time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime(time.time() + 7200))
print(json.dumps({'Version': 1, 'AccessKeyId': f'USER{number}',
                  'SecretAccessKey': f'secret{number}', 'Expiration': good_until}))
"""


class Trial:
    def __init__(self, args, folder, server, proxy):
        self.args = args
        self.server = server
        self.proxy = proxy
        self.rng = random.Random(args.seed)
        self.hosts = folder / "hosts"
        self.resolv = folder / "resolv.conf"
        self.issued = folder / "issued"
        self.config = folder / "config"
        self.resolv.write_text("nameserver 127.0.0.1\noptions timeout:1 attempts:1\n")
        (folder / "issue.py").write_text(ISSUE)
        self.config.write_text(
            f"[default]\nregion = us-east-1\ncredential_process = /usr/bin/python3 {folder / 'issue.py'} {self.issued}\n"
        )
        self.issued.touch()
        self.nameless = 0

    def name(self, known):
        self.hosts.write_text("127.0.0.1 localhost\n" + (f"127.0.0.1 {NAME}\n" if known else ""))

    def lose_the_name(self, over):
        while not over.wait(self.rng.uniform(0.5, 2.0)):
            self.name(False)
            self.nameless += 1
            over.wait(self.rng.uniform(0.05, 0.4))
            self.name(True)

    def run(self, part, clock, count):
        """What the program printed, and its exit code."""
        port = self.proxy.endpoint.rsplit(":", 1)[1]
        enter = ["unshare", "-m"] if os.geteuid() == 0 else ["unshare", "-Urm"]
        seed = self.args.seed * 100 + part
        words = [
            *enter,
            "sh",
            "-ec",
            ALONE,
            "sh",
            self.hosts,
            self.resolv,
            self.args.program,
            count,
            seed,
            self.args.threads,
            clock,
            f"{self.args.on}://{BUCKETS[self.args.on]}/part-{part}",
            self.server.endpoint,
        ]
        env = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.config.parent),
            "LANG": "C.UTF-8",
            "AWS_CONFIG_FILE": str(self.config),
            "AWS_EC2_METADATA_DISABLED": "true",
            ENDPOINTS[self.args.on]: f"http://{NAME}:{port}",
            "STOKER_TEST_KEY": KEYS["AWS_ACCESS_KEY_ID"],
            "STOKER_TEST_SECRET": KEYS["AWS_SECRET_ACCESS_KEY"],
        }
        self.name(True)
        over = threading.Event()
        loser = threading.Thread(target=self.lose_the_name, args=(over,))
        loser.start()
        try:
            ran = subprocess.run([*map(str, words)], env=env, stdout=subprocess.PIPE, text=True, timeout=120 + 3 * count)
        finally:
            over.set()
            loser.join()
        return ran.stdout, ran.returncode


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--on", choices=("s3", "gs"), default="s3")
    parser.add_argument("--transfers", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=12)
    args = parser.parse_args()
    sums = [0, 0, 0, 0.0]
    good = True
    begun = time.monotonic()
    with (
        tempfile.TemporaryDirectory(prefix="stoker-faults-") as folder,
        VersityS3(users=USERS) if args.on == "s3" else FakeGcs() as server,
        FaultProxy(server.endpoint, args.seed) as proxy,
    ):
        trial = Trial(args, pathlib.Path(folder), server, proxy)
        proxy.set(**HARM, stall_s=4.0, storm_ms=300)
        if args.on == "gs":
            proxy.set(expired=0)  # nobody signs what goes to an emulator
        for part, clock in enumerate(CLOCKS):
            count = args.transfers // len(CLOCKS)
            out, code = trial.run(part, clock, count)
            print(f"part {part}: {count} transfers, the clock {clock:+d} minutes wrong\n{out}", end="", flush=True)
            last = out.strip().rsplit("\n", 1)[-1].split()
            ended = len(last) == 5 and last[0] == "sum"
            good = good and code == 0 and ended
            if ended:
                sums = [sums[0] + int(last[1]), sums[1] + int(last[2]), sums[2] + int(last[3]), max(sums[3], float(last[4]))]
        told = proxy.told()
        left = server.uploads() if args.on == "s3" else server.keys(".stoker-parts/")
        issued = trial.issued.stat().st_size
    print(
        f"faults: {json.dumps(told['faults'], sort_keys=True)}; the name was lost "
        f"{trial.nameless} times, credentials were issued {issued} times"
    )
    print(
        f"{sums[0] + sums[1]} transfers in {time.monotonic() - begun:.0f} s, seed {args.seed}: "
        f"{sums[0]} right, {sums[1]} said why, {sums[2]} wrong; the longest took "
        f"{sums[3]:.1f} s; {len(left)} unfinished uploads left"
    )
    return 0 if good and not left and sums[0] + sums[1] == args.transfers else 1


if __name__ == "__main__":
    sys.exit(main())
