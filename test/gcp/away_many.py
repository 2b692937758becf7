#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What runs of the job of Cloud Run cost where the ledger has many jobs (test/cloud/away_many.py). What
one run has no time for, the next ones do.

    away_many.py [PART…]      many, or many/ACTIVE/ENDED"""

import collections
import hashlib
import http.client
import pathlib
import sys
import threading
import time
import urllib.parse

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test.gcp.away import install, lose, settled, submit, uninstall  # which enters the lab's namespace

# isort: split
from test.cloud.away_many import Many, peak_mb
from test.cloud.verb_lab import play
from test.e2e.kit.harness import parts_of
from test.fake_gcs import BUCKET
from test.gcp.cloud_run import AwayLab

PART = 32  # of a token, in one label


def stands(lab, model, record, other):
    """Its machine, as if it had been asked for; the record does not know it yet."""
    (request,) = record["requests"]
    name = f"stoker-{other}-{hashlib.sha256(request['token'].encode()).hexdigest()[:16]}-0"
    token = {"stoker-request": request["token"][:PART], "stoker-request-rest": request["token"][PART:]}
    lab.copied(model, name, {**model.labels, "stoker-job": other, **{key: each for key, each in token.items() if each}})
    for each in record["launches"]:
        for known in ("instance_id", "own_id"):
            each.pop(known, None)
    for each in record["attempts"]:
        each["state"] = "Provisioning"
    return record


class Straight:
    """Writes objects by one connection a thread, with nobody between who reads them: ten thousand."""

    def __init__(self, gcs):
        self.host, self.own = urllib.parse.urlsplit(gcs.behind).netloc, threading.local()

    def __call__(self, key, text):
        if not hasattr(self.own, "connection"):
            self.own.connection = http.client.HTTPConnection(self.host, timeout=60)
        name = urllib.parse.quote(key, safe="")
        self.own.connection.request("POST", f"/upload/storage/v1/b/{BUCKET}/o?uploadType=media&name={name}", text.encode())
        answer = self.own.connection.getresponse()
        assert answer.status == 200, answer.read()
        answer.read()


def test_many(lab, check, active="200", ended="10000"):
    with lab.world("many") as world:
        job = submit(world)
        install(world)
        settled(lab, world, job)
        (model,) = lab.machines(job)

        def call():
            peaks = [0]

            def watch(pid):
                while now := peak_mb(pid):
                    peaks.append(now)
                    time.sleep(0.02)

            since = len(lab.log)
            # Straight: what holds the bucket against conditions would be most of it.
            _, told, said = lab.tick(world, watch=watch, STORAGE_EMULATOR_HOST=lab.gcs.endpoint)
            return told, said, lab.took, max(peaks), collections.Counter(lab.asked(since))

        read = lambda key: lab.gcs.read(key).decode()
        place = lambda *of: stands(lab, model, *of)
        many = Many(lab, world, job, read, Straight(lab.gcs), place, call, ["instances.insert"], 400)
        many.fill(int(active), int(ended))
        many.look(check, int(active) + 1)
        for each in lab.machines():
            lose(lab, each)
        lab.lose("many/records/")
        lab.lose("many/active/")
        uninstall(lab, world)


if __name__ == "__main__":
    play(AwayLab, parts_of(globals()), sys.argv[1:])
