#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""kill -9 in the middle of `stoker sync`: killed_sync.py [--trials 300] [--seed 1]

Half of the trials upload, half download, a folder of one large file and many small ones, and are
killed at a random moment. The same command, given again, completes, and sends nothing again that
was complete: the bytes are counted by a proxy between stoker and versitygw, which also makes
transfers last. At the end what killed uploads left goes with `stoker gc` once it is old."""

import argparse
import os
import pathlib
import random
import shutil
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parent / "e2e")]
import cloud_env  # noqa: E402

cloud_env.enter()
from bucket_view import age_uploads  # noqa: E402
from fault_proxy import FaultProxy  # noqa: E402
from harness import Results, World  # noqa: E402
from s3_server import BUCKET  # noqa: E402
from versity_s3 import VersityS3  # noqa: E402

LARGE = 40 << 20  # several parts
SMALL = 40
SLOW = 12  # milliseconds that a MiB takes on each connection


class Killed:
    def __init__(self, args, world, server, proxy):
        self.rng = random.Random(args.seed)
        self.world = world
        self.server = server
        self.proxy = proxy
        self.source = world.work / "source"
        self.source.mkdir()
        (self.source / "large.bin").write_bytes(self.rng.randbytes(LARGE))
        for i in range(SMALL):
            path = self.source / f"small-{i}"
            path.write_bytes(self.rng.randbytes(self.rng.randrange(200_000)))
        self.sizes = {p.name: p.stat().st_size for p in self.source.iterdir()}
        self.took = {}  # seconds of a run that nobody kills
        self.interrupted = 0
        self.problems = []
        self.saved = 0

    def killed(self, *words):
        """Starts it and kills it at some moment; False = it was faster. Returns when what it had
        sent has arrived."""
        process = self.world.start("sync", *words)
        time.sleep(self.rng.random() * 1.1 * self.took[words[1].startswith("s3:")])
        over = process.poll() is not None
        process.kill()
        process.communicate()
        before, now = None, self.proxy.told()
        while before != now:
            time.sleep(0.25)
            before, now = now, self.proxy.told()
        return not over

    def again(self, what, *words):
        done = self.world.stoker("sync", *words, timeout=120)
        if done.returncode != 0:
            self.problems.append(f"{what}: {done.returncode} {done.stdout} {done.stderr}")

    def moved(self, way):
        """Bytes of objects that have passed the proxy."""
        return sum(
            count
            for kind, count in self.proxy.told()["bytes"].items()
            if kind in (f"{way} PutObject", f"{way} UploadPart", f"{way} GetObject")
        )

    def there(self, prefix):
        """(bytes of objects that are whole, bytes of parts that are)."""
        client = self.server.client
        listed = client.list_objects_v2(Bucket=BUCKET, Prefix=prefix).get("Contents", [])
        parts = 0
        begun = client.list_multipart_uploads(Bucket=BUCKET, Prefix=prefix)
        for upload in begun.get("Uploads", []):
            found = client.list_parts(Bucket=BUCKET, Key=upload["Key"], UploadId=upload["UploadId"])
            parts += sum(part["Size"] for part in found.get("Parts", []))
        return sum(entry["Size"] for entry in listed), parts

    def judge(self, what, way, before, whole):
        """What the second run moved is what was not whole."""
        sent = self.moved(way) - before
        self.saved += whole
        if sent > sum(self.sizes.values()) - whole:
            self.problems.append(
                f"{what}: {sent} bytes again of {sum(self.sizes.values())}, but {whole} were whole"
            )

    def upload(self, number):
        prefix = f"team/sync/{number}/"
        words = [str(self.source), f"s3://{BUCKET}/{prefix}"]
        self.interrupted += self.killed(*words)
        whole, parts = self.there(prefix)
        before = self.moved("up")
        self.again(f"upload {number}", *words)
        self.judge(f"upload {number}", "up", before, whole + parts)
        keys = self.server.keys(prefix)
        wrong = [
            key
            for key in keys
            if self.server.read(key) != (self.source / key.removeprefix(prefix)).read_bytes()
        ]
        if wrong or len(keys) != len(self.sizes):
            self.problems.append(f"upload {number}: {len(keys)} objects, wrong: {wrong}")
        self.server.client.delete_objects(
            Bucket=BUCKET, Delete={"Objects": [{"Key": key} for key in keys]}
        )

    def download(self, number):
        target = self.world.work / f"target-{number}"
        words = [f"s3://{BUCKET}/team/data/", str(target)]
        self.interrupted += self.killed(*words)
        whole = sum(
            path.stat().st_size
            for path in (target.iterdir() if target.is_dir() else [])
            if path.name in self.sizes
        )
        torn = [name for name, size in self.sizes.items()
                if (target / name).exists() and (target / name).stat().st_size != size]  # fmt: skip
        before = self.moved("down")
        self.again(f"download {number}", *words)
        self.judge(f"download {number}", "down", before, whole)
        wrong = [name for name in self.sizes
                 if (target / name).read_bytes() != (self.source / name).read_bytes()]  # fmt: skip
        left = sorted(set(os.listdir(target)) - set(self.sizes))
        if torn or wrong or left:
            self.problems.append(f"download {number}: torn {torn}, wrong {wrong}, left {left}")
        shutil.rmtree(target)

    def measure(self):
        for down, words in (
            (False, (str(self.source), f"s3://{BUCKET}/team/data/")),
            (True, (f"s3://{BUCKET}/team/data/", str(self.world.work / "first"))),
        ):
            begun = time.monotonic()
            self.world.stoker("sync", *words, check=True, timeout=120)
            self.took[not down] = time.monotonic() - begun


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--trials", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    results = Results()
    with (
        VersityS3() as server,
        FaultProxy(server.endpoint, args.seed) as proxy,
        World("killed") as world,
    ):
        world.env.update(server.env(proxy.endpoint))
        world.stoker("config", "set", "store", f"s3://{BUCKET}/team", check=True)
        proxy.set(ms_per_mib=SLOW)
        trial = Killed(args, world, server, proxy)
        trial.measure()
        for number in range(args.trials):
            trial.download(number) if number % 2 else trial.upload(number)
        print(f"killed_sync: {args.trials} trials, {trial.interrupted} killed in the middle, "
              f"{trial.saved >> 20} MiB were whole and not sent again")  # fmt: skip
        results.check("each goes on where it was killed", not trial.problems, trial.problems[:5])
        results.check("most were killed in the middle", trial.interrupted > args.trials // 2)
        # Killed, and never given again.
        for number in range(20):
            trial.killed(str(trial.source), f"s3://{BUCKET}/team/abandoned/{number}/")
            if server.uploads():
                break
        began = len(server.uploads())
        age_uploads(server, time.time() - 100 * 3600)
        world.stoker("gc", check=True)
        left = server.uploads()
        results.check(f"gc leaves none of {began} unfinished uploads", began and not left, left)
    results.finish()


if __name__ == "__main__":
    main()
