#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""kill -9 in the middle of `stoker sync`: killed_sync.py [--on s3|gs] [--trials 300] [--seed 1]

Half of the trials upload, half download, a folder of one large file and many small ones, and are
killed at a random moment. The same command, given again, completes, and sends nothing again that
was complete: the bytes are counted by a proxy between stoker and versitygw, or fake-gcs-server,
which also makes transfers last. At the end what killed uploads left goes with `stoker gc` once it
is old."""

import argparse
import os
import pathlib
import random
import shutil
import sys
import time

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test import cloud_env

cloud_env.enter()
from test import fake_gcs
from test.e2e.kit.bucket_view import age_uploads
from test.e2e.kit.harness import Results, World
from test.fault_proxy import FaultProxy
from test.s3_server import BUCKET
from test.versity_s3 import VersityS3

LARGE = 40 << 20  # several parts
SMALL = 40
SLOW = 12  # milliseconds that a MiB takes on each connection


class OnS3:
    """versitygw, and what the trial asks of it past the proxy."""

    scheme, bucket = "s3", BUCKET
    store = f"s3://{BUCKET}"  # so that nothing but the names tells whose an upload is
    kinds = {"up": ("PutObject", "UploadPart"), "down": ("GetObject",)}

    def __init__(self):
        self.server = VersityS3()

    def __enter__(self):
        self.server.__enter__()
        return self

    def __exit__(self, *_):
        self.server.__exit__()

    def env(self, endpoint):
        return self.server.env(endpoint)

    def objects(self, prefix):
        """{key: size} of those that are whole."""
        listed = self.server.client.list_objects_v2(Bucket=BUCKET, Prefix=prefix)
        return {entry["Key"]: entry["Size"] for entry in listed.get("Contents", [])}

    def parts(self, prefix):
        """Bytes of parts that are whole, of objects that are not."""
        client, parts = self.server.client, 0
        begun = client.list_multipart_uploads(Bucket=BUCKET, Prefix=prefix)
        for upload in begun.get("Uploads", []):
            found = client.list_parts(Bucket=BUCKET, Key=upload["Key"], UploadId=upload["UploadId"])
            parts += sum(part["Size"] for part in found.get("Parts", []))
        return parts

    def read(self, key):
        return self.server.read(key)

    def delete(self, keys):
        self.server.client.delete_objects(Bucket=BUCKET, Delete={"Objects": [{"Key": key} for key in keys]})

    def unfinished(self):
        return [up for up in self.server.uploads() if not up["Key"].endswith("/anothers")]

    def uploads(self, unfinished):
        return len(unfinished)

    def begin_anothers(self):
        """What some other program uploads is none of gc's business."""
        for key in ("elsewhere/0/anothers", "anywhere/anothers"):
            self.server.client.create_multipart_upload(Bucket=BUCKET, Key=key)

    def anothers(self):
        return len(self.server.uploads()) - len(self.unfinished())

    def age(self, _, seconds):
        age_uploads(self.server, time.time() - seconds)


class OnGcs:
    """fake-gcs-server: parts are objects."""

    scheme, bucket = "gs", fake_gcs.BUCKET
    store = f"gs://{fake_gcs.BUCKET}/team"
    kinds = {"up": ("Insert",), "down": ("Media",)}

    def __init__(self):
        self.server = fake_gcs.FakeGcs()

    def __enter__(self):
        self.server.__enter__()
        self.client = self.server.client().bucket(self.bucket)
        return self

    def __exit__(self, *_):
        self.server.__exit__()

    def env(self, endpoint):
        return {"STORAGE_EMULATOR_HOST": endpoint}

    def objects(self, prefix):
        return {blob.name: blob.size for blob in self.client.list_blobs(prefix=prefix)}

    def parts(self, prefix):
        if any(key.endswith("/large.bin") for key in self.objects(prefix)):
            return 0  # killed before it had deleted them
        return sum(self.objects(".stoker-parts/" + prefix).values())

    def read(self, key):
        return self.server.read(key)

    def delete(self, keys):
        for key in keys:
            self.client.blob(key).delete()

    def unfinished(self):
        return list(self.objects(".stoker-parts/"))

    def uploads(self, unfinished):
        """More than one where a trial before was killed between its object and its parts' end."""
        return len({part.rpartition("/")[0] for part in unfinished})

    def begin_anothers(self):
        pass  # their sessions cannot be seen

    def anothers(self):
        return 2

    def age(self, proxy, seconds):
        proxy.set(ahead_s=seconds)


class Killed:
    def __init__(self, args, world, service, proxy):
        self.rng = random.Random(args.seed)
        self.world = world
        self.service = service
        self.url = f"{service.scheme}://{service.bucket}/"
        self.proxy = proxy
        self.source = world.work / "source"
        self.source.mkdir()
        (self.source / "large.bin").write_bytes(self.rng.randbytes(LARGE))
        for i in range(SMALL):
            path = self.source / f"small-{i}"
            path.write_bytes(self.rng.randbytes(self.rng.randrange(200_000)))
        self.sizes = {p.name: p.stat().st_size for p in self.source.iterdir()}
        self.took = {}  # seconds of a run that nobody kills
        self.besides = {"up": 0, "down": 0}  # bytes of a request that are none of the object's
        self.interrupted = 0
        self.problems = []
        self.saved = 0

    def killed(self, *words):
        """Starts it and kills it at some moment; False = it was faster. Returns when what it had
        sent has arrived."""
        process = self.world.start("sync", *words)
        up = words[1].startswith(self.url)
        time.sleep(self.rng.random() * 1.1 * self.took[up])
        over = process.poll() is not None
        if over:  # the machine was busier when it was measured
            self.took[up] *= 0.9
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
        """(bytes of objects, requests) that have passed the proxy."""
        told = self.proxy.told()
        return (
            sum(told["bytes"].get(f"{way} {kind}", 0) for kind in self.service.kinds[way]),
            sum(told["requests"].get(kind, 0) for kind in self.service.kinds[way]),
        )

    def judge(self, what, way, before, whole):
        """What the second run moved is what was not whole."""
        sent, requests = (now - then for now, then in zip(self.moved(way), before))
        sent -= requests * self.besides[way]
        self.saved += whole
        if sent > sum(self.sizes.values()) - whole:
            self.problems.append(f"{what}: {sent} bytes again of {sum(self.sizes.values())}, but {whole} were whole")

    def upload(self, number):
        prefix = f"team/sync/{number}/"
        words = [str(self.source), self.url + prefix]
        self.interrupted += self.killed(*words)
        whole = sum(self.service.objects(prefix).values()) + self.service.parts(prefix)
        before = self.moved("up")
        self.again(f"upload {number}", *words)
        self.judge(f"upload {number}", "up", before, whole)
        keys = self.service.objects(prefix)
        wrong = [key for key in keys if self.service.read(key) != (self.source / key.removeprefix(prefix)).read_bytes()]
        if wrong or len(keys) != len(self.sizes):
            self.problems.append(f"upload {number}: {len(keys)} objects, wrong: {wrong}")
        self.service.delete(keys)

    def download(self, number):
        target = self.world.work / f"target-{number}"
        words = [self.url + "team/data/", str(target)]
        self.interrupted += self.killed(*words)
        whole = sum(path.stat().st_size for path in (target.iterdir() if target.is_dir() else []) if path.name in self.sizes)
        torn = [name for name, size in self.sizes.items() if (target / name).exists() and (target / name).stat().st_size != size]
        before = self.moved("down")
        self.again(f"download {number}", *words)
        self.judge(f"download {number}", "down", before, whole)
        wrong = [name for name in self.sizes if (target / name).read_bytes() != (self.source / name).read_bytes()]
        left = sorted(set(os.listdir(target)) - set(self.sizes))
        if torn or wrong or left:
            self.problems.append(f"download {number}: torn {torn}, wrong {wrong}, left {left}")
        shutil.rmtree(target)

    def measure(self):
        for down, words in (
            (False, (str(self.source), self.url + "team/data/")),
            (True, (self.url + "team/data/", str(self.world.work / "first"))),
        ):
            begun = time.monotonic()
            self.world.stoker("sync", *words, check=True, timeout=120)
            self.took[not down] = time.monotonic() - begun
            way = "down" if down else "up"
            sent, requests = self.moved(way)
            more = sent - sum(self.sizes.values())
            if not down:
                self.besides[way] = more // requests
            if more != self.besides[way] * requests or self.besides[way] > 500:
                self.problems.append(f"{way}: {more} bytes more than there are, nobody killed it")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--on", choices=("s3", "gs"), default="s3")
    parser.add_argument("--trials", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    results = Results()
    with (
        (OnS3 if args.on == "s3" else OnGcs)() as service,
        FaultProxy(service.server.endpoint, args.seed) as proxy,
        World("killed") as world,
    ):
        world.env.update(service.env(proxy.endpoint))
        world.stoker("config", "set", "store", service.store, check=True)
        proxy.set(ms_per_mib=SLOW)
        trial = Killed(args, world, service, proxy)
        trial.measure()
        for number in range(args.trials):
            trial.download(number) if number % 2 else trial.upload(number)
        print(
            f"killed_sync: {args.on}: {args.trials} trials, {trial.interrupted} killed in the "
            f"middle, {trial.saved >> 20} MiB were whole and not sent again"
        )
        results.check("each goes on where it was killed", not trial.problems, trial.problems[:5])
        results.check("most were killed in the middle", trial.interrupted > args.trials // 2)
        # Killed, and never given again.
        for number in range(20):
            trial.killed(str(trial.source), f"{trial.url}elsewhere/{number}/")
            if service.unfinished():
                break
        unfinished = service.unfinished()
        began, uploads = len(unfinished), service.uploads(unfinished)
        service.begin_anothers()
        service.age(proxy, 100 * 3600)
        would = world.json("gc", "--dry-run")["unfinished_uploads"]
        results.check("gc --dry-run counts each", would == uploads > 0, (would, unfinished))
        results.check("and keeps it", len(service.unfinished()) == began, service.unfinished())
        world.stoker("gc", check=True)
        left = service.unfinished()
        results.check(f"gc leaves nothing of {began} unfinished uploads or parts", began and not left, left)
        results.check("but what another program began", service.anothers() == 2)
    results.finish()


if __name__ == "__main__":
    main()
