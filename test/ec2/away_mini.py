#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`stoker controller --install aws` where its function really runs and its rules really fire:
Lambda, EventBridge, IAM and CloudWatch Logs are ministack's, which we did not write; machines are
those of the lab, which do not boot. Minutes: the schedule is waited for.

    away_mini.py [PART…]      looks"""

import contextlib
import json
import pathlib
import sys
import time

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test.cloud.verb_lab import ADDRESS, Ec2Lab, enter, play
from test.lab.ministack import MiniStack, python

python()
enter()
import boto3
from botocore.config import Config

from test.e2e.kit.harness import parts_of
from test.lab.unbooted import ASSUME

HOME, FAR = "us-east-1", "eu-west-1"


class MiniLab(Ec2Lab):
    def __enter__(self):
        super().__enter__()
        self.mini = MiniStack(ADDRESS).__enter__()
        iam = self.service("iam")
        iam.create_role(RoleName="stoker", AssumeRolePolicyDocument=ASSUME)
        allowed = {"Effect": "Allow", "Action": "s3:*", "Resource": "*"}  # a submit asks whether it may use the bucket
        policy = json.dumps({"Version": "2012-10-17", "Statement": [allowed]})
        iam.put_role_policy(RoleName="stoker", PolicyName="stoker", PolicyDocument=policy)
        iam.create_instance_profile(InstanceProfileName="stoker")
        iam.add_role_to_instance_profile(InstanceProfileName="stoker", RoleName="stoker")
        return self

    def __exit__(self, *_):
        self.mini.__exit__()
        super().__exit__()

    def env(self, keys=None):
        """Machines are the lab's and the bucket moto's; all else is ministack's."""
        found = super().env(keys)
        found["AWS_ENDPOINT_URL_EC2"] = found["AWS_ENDPOINT_URL"]
        for service in ("IAM", "LAMBDA", "EVENTBRIDGE", "CLOUDWATCH_LOGS"):
            found["AWS_ENDPOINT_URL_" + service] = self.mini.endpoint
        return found

    def service(self, name, region=HOME):
        return boto3.client(
            name,
            endpoint_url=self.mini.endpoint,
            region_name=region,
            aws_access_key_id=self.mini.keys[0],
            aws_secret_access_key=self.mini.keys[1],
            config=Config(retries={"max_attempts": 0}, read_timeout=60),
        )

    def tell(self, machine, kind, **detail):
        """EC2's own part: the lab's machines are not ministack's."""
        entry = {"Source": "aws.ec2", "DetailType": kind, "Detail": json.dumps({"instance-id": machine, **detail})}
        put = self.service("events").put_events(Entries=[entry])
        assert put["FailedEntryCount"] == 0, put

    def gone(self, machine):
        self.tell(machine, "EC2 Instance State-change Notification", state="terminated")

    def parts(self, ledger):
        """What the account has of it."""
        events, logs = self.service("events"), self.service("logs")
        found = [each["RoleName"] for each in self.service("iam").list_roles()["Roles"]]
        found += [each["FunctionName"] for each in self.service("lambda").list_functions()["Functions"]]
        found += [each["Name"] for each in events.list_rules()["Rules"]]
        found += [each["logGroupName"] for each in logs.describe_log_groups()["logGroups"]]
        return sorted(each for each in found if ledger in each)


def submit(world, *words, infra=f"aws/{HOME}"):
    return world.submit("--infra", infra, "--instance-type", "m5.large", *words, "--", "sleep", "1000")


def lose(machine):
    """Its host dies, and its node could say nothing."""
    machine.state_reason = ("Server.InternalError", "Server.InternalError: Internal error on launch")
    machine.move((0, "terminated"))


def until(condition, seconds):
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.5)
    return condition()


def copied(lab, machine):
    """Somebody else's, with the tags of ours, whose time is over."""
    client = lab.below.client("ec2", region_name=HOME)
    made = client.run_instances(ImageId=machine.asked["ImageId"], InstanceType="m5.large", MinCount=1, MaxCount=1)
    foreign = made["Instances"][0]["InstanceId"]
    tags = {**machine.tags, "stoker-expires": "2020-01-01T00:00:00Z"}
    client.create_tags(Resources=[foreign], Tags=[{"Key": k, "Value": v} for k, v in tags.items() if not k.startswith("aws:")])
    return foreign


@contextlib.contextmanager
def installed(lab, world, check):
    ledger = json.loads(lab.s3.read(f"{world.name}/ledger.json"))["id"]
    words = ["--type", "m5.large", "--machines", "4", "--region", HOME, "--region", FAR, "--yes"]
    made = world.stoker("controller", "--install", "aws", *words)
    names = lab.parts(ledger)
    check("role, function, log group and two rules are made", made.returncode == 0 and len(names) == 5, (made.stderr, names))
    role = lab.service("iam").get_role_policy(RoleName=f"stoker-away-{ledger}", PolicyName="stoker-away")
    lab.keyring.known[lab.mini.keys[0]] = (lab.mini.keys[1], None, None)
    lab.front.rights.policies[lab.mini.keys[0]] = role["PolicyDocument"]
    yield ledger
    gone = world.stoker("controller", "--uninstall", "aws")
    left = lab.parts(ledger)
    check("nothing of it is left, by lists", gone.returncode == 0 and not left, (gone.stderr, left))


def asked_by_it(lab, since):
    return [e["action"] for e in lab.log[since:] if e.get("key") == lab.mini.keys[0]]


def each_minute(lab, ledger):
    """The rule as it was made, but for how often: nobody waits five minutes for a test."""
    name, events = f"stoker-away-{ledger}-time", lab.service("events")
    rule = events.describe_rule(Name=name)
    events.put_rule(Name=name, ScheduleExpression="rate(1 minute)", State=rule["State"])
    return rule["ScheduleExpression"]


def test_looks(lab, check):
    """A job of which machines die without notice, orphans, foreign machines, and a record changed by
    hand."""
    with lab.world("looks") as world:
        job = submit(world)
        (first,) = lab.machines(job)
        orphans = [lab.machines(each)[0] for each in (submit(world), submit(world, infra=f"aws/{FAR}"))]
        foreign = copied(lab, first)
        for machine in orphans:
            lab.lose("looks/", machine.tags["stoker-job"])
            lab.expire(machine)
        with installed(lab, world, check) as ledger:
            lose(first)
            lab.gone(first.id)
            check("by the event the job has another machine", until(lambda: len(lab.machines(job)) == 2, 60), asked_by_it(lab, 0))
            check("orphans in two regions go", until(lambda: all(map(lab.ended, orphans)), 60), [each.state() for each in orphans])
            states = {each.id: each.state() for each in lab.ec2.world.instances()}
            check("a foreign machine with copied tags stays", states[foreign] in ("pending", "running"), states)
            lab.below.client("ec2", region_name=HOME).terminate_instances(InstanceIds=[foreign])
            (second,) = until(lambda: [m for m in lab.machines(job) if m.id != foreign], 10)
            lose(second)
            usual = each_minute(lab, ledger)
            check(
                "where the event is lost, the schedule does the same",
                usual == "rate(5 minutes)" and until(lambda: len(lab.machines(job)) == 1, 150),
                asked_by_it(lab, 0),
            )
            expires = [m.tags["stoker-expires"] for m in lab.machines(job)]
            refuses_sixty_four(lab, world, check, job)
            now = [m.tags["stoker-expires"] for m in lab.machines(job)]
            check("it renews no lease", expires == now, (expires, now))
            doctor = world.stoker("doctor").stdout
            check("doctor says what it did last", "recovery away" in doctor and "looked at" in doctor, doctor)
        world.stoker("cancel", "-")
        lab.lose("looks/")


def refuses_sixty_four(lab, world, check, job):
    key = f"looks/records/{job}.json"
    before = lab.s3.read(key)
    record = json.loads(before)
    for each in ("requests", "launches", "attempts"):
        record.pop(each, None)
    record["num_nodes"] = 64
    for offer in record["offers"]:
        offer["type"] = "p5.48xlarge"
    since = len(lab.log)
    lab.write(key, json.dumps(record))

    def refused():
        return "the type p5.48xlarge" in json.dumps(json.loads(lab.s3.read(key)).get("requests"))

    check("a record that asks for 64 large machines is refused in words", until(refused, 150), lab.s3.read(key)[-1500:])
    check("and nothing is asked for", "RunInstances" not in asked_by_it(lab, since), asked_by_it(lab, since))
    lab.write(key, before if isinstance(before, str) else before.decode())


if __name__ == "__main__":
    play(MiniLab, parts_of(globals()), sys.argv[1:])
