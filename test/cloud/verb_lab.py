# SPDX-License-Identifier: Apache-2.0
"""Verbs against EC2 or Compute Engine as the lab plays it, with machines that do not boot, and a
bucket, in a network namespace of their own: stoker refuses endpoints on loopback, which machines
could not reach. Needs root or user namespaces. Call enter() first, in a program of its own."""

import json
import os
import subprocess
import sys

from test import cloud_env

INSIDE = "STOKER_VERB_LAB"
ADDRESS = "192.0.2.1"  # for documentation alone: nobody else's


def enter():
    cloud_env.enter()
    if os.environ.get(INSIDE) == "up":
        return  # by a script that this one takes parts of
    if INSIDE in os.environ:
        os.environ[INSIDE] = "up"
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
        subprocess.run(["ip", "address", "add", f"{ADDRESS}/32", "dev", "lo"], check=True)
        return
    from test import fake_gcs

    fake_gcs.prepare()  # while there is a network
    os.environ[INSIDE] = "1"
    words = ["unshare", "--net", "--kill-child", "--fork"]
    if os.geteuid() != 0:
        words += ["--user", "--map-root-user"]
    os.execvp("unshare", [*words, sys.executable, *sys.argv])


def play(made, parts, names=()):
    """Each of `parts`, or of those that are named, and then what the lab's API has to say. A part is
    called with the lab, check(), and what its name has behind a '/'."""
    from test.e2e.kit.harness import Results

    results = Results()
    with made() as lab:
        for name in names or parts:
            name, *more = name.split("/")
            results.run(name, parts[name], lab, results.check, *more)
            lab.forget()
        lab.judge(results.check)
    results.finish()


class VerbLab:
    """Of both clouds: `log`, `front`: see unbooted.py and unbooted_gce.py. `infra`: what they have."""

    def made(self, name, env, bucket):
        """Who submits."""
        from test.e2e.kit.harness import World

        made = World(name)
        made.env.update(env)
        made.stoker("config", "set", "store", f"{bucket}/{name}", check=True)
        made.program('print("x")\n', "train.py")
        made.name = name
        return made

    def end_told(self, machine, world, job, **more):
        """The node of rank 0 reports that its program failed, and the job ends."""
        end = {"reason": "UserError", "exit_code": 3, "why": "the program ended with exit code 3"}
        told = {
            "format": 1,
            "job": job,
            "attempt": 1,
            "rank": 0,
            "launch": 1,
            "seq": 1,
            "phase": "Ended",
            "incarnation": "test",
            "end": end,
            "end_checked": True,
            **more,
        }
        self.write(f"{world.name}/reports/{job}/1-0.json", json.dumps(told))
        world.wait_for("its end", lambda: world.stoker("show", job).returncode == 0 and world.job(job)["state"] == "Failed")
        return machine


class Ec2Lab(VerbLab):
    """`ec2`, `keyring`: see unbooted.py. `world(name)`: who submits."""

    infra, kind = "aws/us-east-1", "m5.large"

    def __enter__(self):
        from test.lab.unbooted import Unbooted
        from test.moto_s3 import MotoS3

        self.below = Unbooted(ADDRESS).__enter__()
        self.s3 = MotoS3(host="0.0.0.0").__enter__()
        self.bucket = self.s3.endpoint.replace("127.0.0.1", ADDRESS)
        self.ec2, self.log, self.front = self.below.ec2, self.below.log, self.below.front
        self.keyring = self.below.keyring
        self.below.profile("stoker")
        self.ec2.settings.boot_delay = 0.01
        self.ec2.settings.stop_delay = 0.01
        return self

    def __exit__(self, *_):
        self.s3.__exit__()
        self.below.__exit__()

    def env(self, keys=None):
        key, secret = keys or self.keyring.own
        return {
            "AWS_ACCESS_KEY_ID": key,
            "AWS_SECRET_ACCESS_KEY": secret,
            "AWS_ENDPOINT_URL": self.below.endpoint,
            "AWS_ENDPOINT_URL_S3": self.bucket,
            "AWS_REGION": "us-east-1",
        }

    def user(self, name, policy):
        """Keys of somebody who may do what `policy` says."""
        keys = (f"AKIALAB{name.upper():0<13.13}", "secret-of-" + name)
        self.keyring.known[keys[0]] = (keys[1], None, None)
        self.front.rights.policies[keys[0]] = policy
        return keys

    def world(self, name, keys=None):
        return self.made(name, self.env(keys), f"s3://{self.s3.bucket}")

    def write(self, key, text):
        self.s3.client.put_object(Bucket=self.s3.bucket, Key=key, Body=text.encode())

    def lists(self, prefix):
        """What the bucket has there."""
        return self.s3.keys(prefix)

    def lose(self, prefix, word=""):
        """What the bucket has below that, and names the word, is gone."""
        for key in [each for each in self.s3.keys(prefix) if word in each]:
            self.s3.client.delete_object(Bucket=self.s3.bucket, Key=key)

    def fails(self, world, *words, **more):
        """A job of which the node of rank 0 has reported that its program failed; and its machine."""
        job = world.submit("--infra", self.infra, "--instance-type", self.kind, *words, "--", "false")
        machine = self.machines(job)[0]
        return job, self.end_told(machine, world, job, instance_id=machine.id, address="172.31.0.9", **more)

    def id(self, machine):
        return machine.id

    def ended(self, machine):
        return machine.state() in ("shutting-down", "terminated")

    def expire(self, machine):
        """Its time is over."""
        client = self.below.client("ec2", region_name=machine.asked["Zone"][:-1])
        client.create_tags(Resources=[machine.id], Tags=[{"Key": "stoker-expires", "Value": "2020-01-01T00:00:00Z"}])

    def forget(self):
        """Nothing: parts have ledgers of their own."""

    def machines(self, job=None):
        """Those that live, of all ledgers."""
        with self.ec2.world.lock:
            return [each for each in self.ec2.world.instances() if each.takes_room and (job is None or each.tags.get("stoker-job") == job)]

    def asked(self, since=0):
        """Names of the calls that stoker has made, since the log was so long."""
        return [e["action"] for e in self.log[since:] if "oto" not in e["agent"]]

    def raise_again(self, machine):
        """EC2 tells of it only now: a machine of the same request and index, which lives."""
        machine.move((0, "running"))
        machine.state_reason = None
        return machine

    def judge(self, check):
        check("the lab has no bug", not self.front.bugs, self.front.bugs)


class GceLab(VerbLab):
    """`api`, `identity`: see unbooted_gce.py. `world(name)`: who submits."""

    infra, kind = "gcp/us-central1", "e2-standard-2"

    def __enter__(self):
        from test.fake_gcs import FakeGcs
        from test.lab.unbooted_gce import UnbootedGce

        self.below = UnbootedGce(ADDRESS).__enter__()
        self.gcs = FakeGcs(ADDRESS).__enter__()
        self.api, self.log, self.front = self.below.api, self.below.log, self.below.front
        self.identity = self.below.identity
        return self

    def __exit__(self, *_):
        self.below.__exit__()
        self.gcs.__exit__()

    def world(self, name):
        from test.fake_gcs import BUCKET

        return self.made(name, {**self.below.env(), **self.gcs.env()}, f"gs://{BUCKET}")

    def write(self, key, text):
        self.gcs.client().bucket("stoker-test").blob(key).upload_from_string(text)

    def lists(self, prefix):
        return self.gcs.keys(prefix)

    def lose(self, prefix, word=""):
        for key in [each for each in self.gcs.keys(prefix) if word in each]:
            self.gcs.client().bucket("stoker-test").blob(key).delete()

    def fails(self, world, *words):
        job = world.submit("--infra", self.infra, "--instance-type", self.kind, *words, "--", "false")
        machine = self.machines(job)[0]
        return job, self.end_told(machine, world, job, instance_id=machine.name, address="10.128.0.9")

    def id(self, machine):
        return machine.name

    def ended(self, machine):
        return machine.gone

    def expire(self, machine):
        machine.labels["stoker-expires"] = "1577836800"  # 2020

    def forget(self):
        self.api.forget()

    def machines(self, job=None):
        """Those that live and for which there was room, of all ledgers."""
        with self.api.world.lock:
            return [
                each
                for each in self.api.world.instances
                if each.admitted and not each.gone and (job is None or each.labels.get("stoker-job") == job)
            ]

    def asked(self, since=0):
        """Names of the calls since the log was so long."""
        return [each["method"] for each in self.log[since:] if "method" in each]

    def judge(self, check):
        check("every request is in the discovery document", not self.front.strange(), self.front.strange())
        bugs = self.front.bugs + self.below.vault.bugs
        check(f"{self.front.replies} answers are too, and the lab has no bug", not bugs, bugs)
