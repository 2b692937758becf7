#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What people get wrong, what is hostile, and what is secret, with machines of EC2 that do not
boot: bad input is one error and nothing is made; values go where they belong and nowhere else; of
secrets nothing is found in any place that others can read.

    hostile.py [PART…]      secrets, values, input, clock"""

import datetime
import json
import pathlib
import sys
import threading
import time
import types

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test.cloud.verb_lab import Ec2Lab, enter, play

enter()
from test.e2e.kit.harness import parts_of

MARK = "planted"  # what is searched for


def run(world, *words, infra="aws/us-east-1", **more):
    return world.stoker("run", "--detach", "--infra", infra, *words, "--", "true", **more)


def labelled(world, labels):
    """A job file with these labels: what JSON says, YAML says too."""
    text = {"resources": {"infra": "aws/us-east-1", "instance_type": "m5.large", "labels": labels}, "run": "true"}
    path = world.work / "job.yaml"
    path.write_text(json.dumps(text, ensure_ascii=False))
    return path


class Watch:
    """All words of processes that ran meanwhile."""

    def __enter__(self):
        self.words, self.over = set(), False
        self.thread = threading.Thread(target=self.look)
        self.thread.start()
        return self

    def look(self):
        while not self.over:
            for folder in pathlib.Path("/proc").glob("[0-9]*"):
                try:
                    self.words.add((folder / "cmdline").read_bytes())
                except OSError:
                    continue

    def __exit__(self, *_):
        self.over = True
        self.thread.join()


def places(lab, world, job, watch):
    """Where others can read: name -> bytes."""
    found = {"process lists": b"\n".join(watch.words)}
    for machine in lab.machines(job):
        found["user-data"] = machine.user_data
        found["tags"] = str(machine.tags).encode()
    ours = [e for e in lab.log if "oto" not in e["agent"]]
    found["requests"] = str([(e.get("given"), e.get("asked")) for e in ours]).encode()
    for key in lab.s3.keys():
        found[f"bucket {key}"] = lab.s3.read(key)
    for verb in (
        ("show", job),
        ("show", job, "--json"),
        ("logs", job),
        ("ls", "--json"),
        ("gc", "--dry-run", "--json"),
        ("doctor", "--json"),
    ):
        done = world.stoker(*verb)
        found[" ".join(verb)] = (done.stdout + done.stderr).encode()
    return found


def test_secrets(lab, check):
    secret = f"{MARK}-in-the-shell-3f9aX"
    keys = ("AKIALABPLANTED000000", f"{MARK}-key-8Qz")
    lab.keyring.known[keys[0]] = (keys[1], f"{MARK}-token-77", None)
    with lab.world("secret", keys) as world:
        world.env.update({"AWS_SESSION_TOKEN": f"{MARK}-token-77", "HF_TOKEN": secret})
        with Watch() as watch:
            job = world.submit(labelled(world, {"seen": "by-all-41"}), "--name", "seen-by-all", "--secret", "HF_TOKEN")
        there = places(lab, world, job, watch)
        control = [name for name, text in there.items() if b"by-all-41" in text]
        listed = b"seen-by-all" in there["process lists"]
        check("what is no secret is found where it should be", listed and {"tags", "requests"} <= set(control), (listed, control))
        leaks = [name for name, text in there.items() if MARK.encode() in text]
        check(f"no secret in {len(there)} places", not leaks, leaks)
        world.stoker("cancel", job)


def test_values(lab, check):
    wild = {
        "quotes": "\"'`; touch /tmp/stoker-hostile; #",
        "command": "$(touch /tmp/stoker-hostile)",
        "markup": '</UserData><a b="&amp;c">',
        "letters": "ä 漢 🚀",
        "form": "a&Action=TerminateInstances&b=%00+ c",
    }
    with lab.world("wild") as world:
        job = world.submit(labelled(world, wild))
        machine = lab.machines(job)[0]
        got = {key: machine.tags.get(key) for key in wild}
        check("labels are tags, letter by letter", got == wild, got)
        volume = machine.region.volumes[machine.volumes[0]]
        check("of the disk, too", {k: volume["tags"].get(k) for k in wild} == wild)
        text = machine.user_data.decode()
        check("and nothing of them is in user-data", not [value for value in wild.values() if value in text])
        world.stoker("gc", "--dry-run", check=True)
        world.stoker("show", job, check=True)
        world.stoker("cancel", job, check=True)
        check("one machine was asked for, by one request, and ended", not lab.machines(job))
        check("nothing was run", not pathlib.Path("/tmp/stoker-hostile").exists())
        many = {f"k{at}": "v" for at in range(50)}
        for bad in ({"stoker-job": "x"}, {"aws:x": "y"}, {"k": "v" * 300}, {"k" * 200: "v"}, many):
            done = world.stoker("run", "--detach", labelled(world, bad))
            check(f"labels {str(bad)[:18]}… are refused", done.returncode != 0 and not lab.machines(), done.stderr)


def refused(lab, world, check, what, done, *words):
    told = done.stdout + done.stderr
    lines = [line for line in done.stderr.split("\n") if "error" in line.lower()]
    check(f"{what}: one error that says what to do", done.returncode != 0 and len(lines) <= 1 and all(word in told for word in words), told)
    made = [a for a in lab.asked() if a in ("RunInstances", "CreateSecurityGroup")]
    check("  nothing is made", not made and not world.json("ls"), made)


def test_input(lab, check):
    with lab.world("wrong") as world:
        lab.log.clear()

        def bad(what, words, *flags, **more):
            refused(lab, world, check, what, run(world, *flags, **more), *words)

        bad("a region misspelt", ["us-east-11", "Did you mean us-east-1"], infra="aws/us-east-11")
        bad("a zone misspelt", ["us-east-1q", "Did you mean us-east-1"], infra="aws/us-east-1/us-east-1q")
        bad("a type misspelt", ["m5.larg ", "Did you mean m5.large"], "--instance-type", "m5.larg")
        bad("an image that is not there", ["no image"], "--image", "ami-0123456789abcdef0")
        bad("nothing fits", ["as much as is asked for", "Ask for less"], "--cpus", "5000")
        bad("a GPU misspelt", ["H1O0", "Did you mean"], "--gpus", "H1O0:1")
        client = lab.below.client("ec2", region_name="eu-west-2")
        vpc = client.describe_vpcs(Filters=[{"Name": "is-default", "Values": ["true"]}])["Vpcs"][0]
        for subnet in client.describe_subnets()["Subnets"]:
            client.delete_subnet(SubnetId=subnet["SubnetId"])
        client.delete_vpc(VpcId=vpc["VpcId"])
        bad("no default VPC", ["no default VPC", "create-default-vpc"], "--instance-type", "m5.large", infra="aws/eu-west-2")
        world.stoker("config", "set", "aws.instance_profile", "nobody", check=True)
        bad("a profile that is not there", ["no instance profile 'nobody'", "docs/aws.md"], "--instance-type", "m5.large")
        world.stoker("config", "set", "aws.instance_profile", "stoker", check=True)
        lab.keyring.known["AKIALABOLD"] = ("old", None, time.time() - 60)
        wrong = (("AKIALABOLD", "keys that are expired", ["Log in again"]), ("AKIALABNOBODY", "keys of nobody", ["get-caller-identity"]))
        for key, what, words in wrong:
            world.env.update(lab.env((key, "old")))
            bad(what, words, "--instance-type", "m5.large")
        world.env.update(lab.env())


class Late(datetime.datetime):
    """A service whose clock is 20 minutes behind ours."""

    @classmethod
    def now(cls, tz=None):
        return datetime.datetime.now(tz) - datetime.timedelta(minutes=20)


def test_clock(lab, check):
    import email.utils

    from test.lab import web
    from test.lab.ec2api import signature

    kept = signature.datetime, web.Handler.date_time_string
    names = {**vars(datetime), "datetime": Late}
    signature.datetime = types.SimpleNamespace(**names)
    web.Handler.date_time_string = lambda _, at=None: email.utils.formatdate(time.time() - 1200, usegmt=True)
    try:
        with lab.world("late") as world:
            done = run(world, "--instance-type", "m5.large")
            refused_once = [e for e in lab.log if e.get("error") == "RequestExpired"]
            check(
                "a clock that is 20 minutes off is the service's to tell: the job is submitted",
                done.returncode == 0 and len(lab.machines()) == 1 and refused_once,
                done.stderr,
            )
            world.stoker("cancel", "-", check=True)
            world.wait_for("its end", lambda: world.stoker("show", "-") and not lab.machines())
    finally:
        signature.datetime, web.Handler.date_time_string = kept


if __name__ == "__main__":
    play(Ec2Lab, parts_of(globals()), sys.argv[1:])
