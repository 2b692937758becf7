#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The function of Lambda that looks after jobs while nobody is at a desk, run as Lambda runs it,
with machines of EC2 that do not boot.

    away.py [PART…]      recovers, bound, foreign, sweeps, newer"""

import json
import pathlib
import sys

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test.cloud.verb_lab import Ec2Lab, enter, play

enter()
from test.e2e.kit.harness import BINARY, parts_of
from test.ec2.lambda_api import Function

TICK = {"version": "0", "source": "aws.events", "detail-type": "Scheduled Event", "detail": {}}
BOUND = {
    "format": 1,
    "regions": ["us-east-1", "eu-west-1"],
    "types": ["m5.large"],
    "machines": 3,
    "price": 200000,
    "disk_gib": 200,
    "identity": "stoker",
}


def changed(machine, state="terminated"):
    return {
        "version": "0",
        "source": "aws.ec2",
        "detail-type": "EC2 Instance State-change Notification",
        "region": "us-east-1",
        "detail": {"instance-id": machine, "state": state},
    }


def function(lab, world, **bound):
    ledger = json.loads(lab.s3.read(f"{world.name}/ledger.json"))["id"]
    variables = {
        **lab.env(),
        "STOKER_AWAY_STORE": f"s3://{lab.s3.bucket}/{world.name}",
        "STOKER_AWAY_LEDGER": ledger,
        "STOKER_AWAY_BOUND": json.dumps({**BOUND, **bound}),
    }
    return Function(BINARY, variables)


def submit(world, *words, infra="aws/us-east-1"):
    return world.submit("--infra", infra, "--instance-type", "m5.large", *words, "--", "sleep", "1000")


def lose(machine):
    """Its host dies, and its node could say nothing."""
    machine.state_reason = ("Server.InternalError", "Server.InternalError: Internal error on launch")
    machine.move((0, "terminated"))


def test_recovers(lab, check):
    """A job of which the only machine dies without notice."""
    with lab.world("recovers") as world:
        job = submit(world)
        (first,) = lab.machines(job)
        with function(lab, world) as away:
            away.call(TICK)  # what its submitter has left to do
            told, error = away.call(TICK)
            check("a tick while all is well changes nothing", error is None and told["active"] == 1 and told["changed"] == 0, (told, error))
            lose(first)
            told, error = away.call(changed(first.id))
            check("the event is a pass over that job alone", error is None and told["what"] == f"job {job}", (told, error))
            second = lab.machines(job)
            check("and the job has another machine", len(second) == 1 and second[0].id != first.id, told)
            lose(second[0])
            told, error = away.call(TICK)
            third = lab.machines(job)
            check("where the event is lost, the schedule does the same", len(third) == 1 and third[0].id != second[0].id, (told, error))
            note = json.loads(lab.s3.read("recovers/away/ec2.json"))
            check("the ledger says what it did last", "1 of 1 looked at" in note["did"] and not note.get("turn"), note)
            check("a line for each call is in its log", len([each for each in away.log if '"what"' in each]) == 4, away.log)
            tags = [m.tags["stoker-expires"] for m in third]
            away.call(TICK)
            check("it renews no lease", tags == [m.tags["stoker-expires"] for m in lab.machines(job)])
        world.stoker("cancel", job)


def test_bound(lab, check):
    """A record that somebody has changed by hand, to ask for what was never submitted."""
    with lab.world("bound") as world:
        job = submit(world)
        (first,) = lab.machines(job)
        lose(first)
        key = f"bound/records/{job}.json"
        record = json.loads(lab.s3.read(key))

        def ask(away, change):
            now = json.loads(json.dumps(record))
            change(now)
            lab.write(key, json.dumps(now))
            since = len(lab.log)
            told, error = away.call(TICK)
            asked = [each for each in lab.asked(since) if each == "RunInstances"]
            return told, error, asked

        def large(now):
            for offer in now["offers"]:
                offer["type"] = "p5.48xlarge"

        def elsewhere(now):
            for offer in now["offers"]:
                offer["region"] = "ap-south-1"

        def many(now):
            for each in ("requests", "launches", "attempts"):
                now.pop(each, None)
            now["num_nodes"] = 64

        def admin(now):
            for offer in now["offers"]:
                options = json.loads(offer["options"])
                options["profile"] = "admin"
                offer["options"] = json.dumps(options)

        def disks(now):
            for offer in now["offers"]:
                options = json.loads(offer["options"])
                options["disks"] = [{"device": "/dev/xvda", "gib": 16000}]
                offer["options"] = json.dumps(options)

        with function(lab, world) as away:
            for change, word in (
                (large, "type p5.48xlarge"),
                (many, "64 more"),
                (elsewhere, "region ap-south-1"),
                (admin, "act as admin"),
                (disks, "16000 GiB"),
            ):
                told, error, asked = ask(away, change)
                refused = json.dumps(json.loads(lab.s3.read(key)).get("requests"))
                check(f"{word}: nothing is asked for", not asked and not lab.machines(job), (told, error))
                check(f"{word}: the record says why", word in refused, refused[-2000:])
                shown = world.stoker("show", job).stdout
                check(f"{word}: its owner sees it", "beyond what the reconciler away may ask for" in shown, shown)
        lab.write(key, json.dumps(record))
        with function(lab, world, machines=1) as away:
            other = submit(world)
            told, error = away.call(TICK)
            check("machines of other jobs count", not lab.machines(job) and len(lab.machines(other)) == 1, (told, error))
            world.stoker("cancel", other)
            told, error = away.call(TICK)
            check("once they are gone it asks", len(lab.machines(job)) == 1, (told, error))
        lab.lose("bound/")  # its record was written by hand: no verb would know what to end


def test_foreign(lab, check):
    """Events of machines that are not ours, and one that carries tags like ours."""
    with lab.world("foreign") as world:
        job = submit(world)
        (mine,) = lab.machines(job)
        client = lab.below.client("ec2", region_name="us-east-1")
        made = client.run_instances(ImageId=mine.asked["ImageId"], InstanceType="m5.large", MinCount=1, MaxCount=1)
        foreign = made["Instances"][0]["InstanceId"]
        tags = {**mine.tags, "stoker-expires": "2020-01-01T00:00:00Z"}
        client.create_tags(Resources=[foreign], Tags=[{"Key": k, "Value": v} for k, v in tags.items() if not k.startswith("aws:")])
        with function(lab, world) as away:
            away.call(TICK)
            told, error = away.call(changed("i-0123456789abcdef0"))
            check("an event of another's machine is no pass", error is None and "not of this ledger" in told["what"], (told, error))
            states = {each.id: each.state() for each in lab.ec2.world.instances()}
            check("a foreign machine with copied tags stays", states[foreign] in ("pending", "running"), states)
        client.terminate_instances(InstanceIds=[foreign])
        world.stoker("cancel", job)


def test_sweeps(lab, check):
    """Machines that no job asks for any more, in two regions."""
    with lab.world("sweeps") as world:
        jobs = [submit(world), submit(world, infra="aws/eu-west-1")]
        orphans = [lab.machines(job)[0] for job in jobs]
        for job, machine in zip(jobs, orphans, strict=True):
            lab.lose("sweeps/", job)
            lab.expire(machine)
        with function(lab, world) as away:
            told, error = away.call(TICK)
            check("a sweep ends them in both regions", error is None and told["swept"] and all(map(lab.ended, orphans)), (told, error))
            check("and says which", all(any(m.id in line for line in told["ended"]) for m in orphans), told)
            told, error = away.call(TICK)
            check("the next is not for every tick", error is None and not told["swept"], (told, error))


def test_newer(lab, check):
    """What a newer stoker wrote, a ledger that is another one, and two runs at once."""
    with lab.world("newer") as world:
        job = submit(world)
        key = f"newer/records/{job}.json"
        record = json.loads(lab.s3.read(key))
        lab.write(key, json.dumps({**record, "format": 99}))
        with function(lab, world) as away:
            told, error = away.call(TICK)
            check(
                "a record of a newer stoker is left alone, and that is said",
                error is None and "newer stoker" in str(told["troubles"]),
                (told, error),
            )
            check("as it was", json.loads(lab.s3.read(key))["format"] == 99)
            lab.write(key, json.dumps(record))
            note = json.loads(lab.s3.read("newer/away/ec2.json"))
            lab.write("newer/away/ec2.json", json.dumps({**note, "turn": "other", "turn_until": "2999-01-01T00:00:00Z"}))
            told, error = away.call(TICK)
            check(
                "while another run is at it, Lambda is told to come again",
                told is None and "another run" in error["errorMessage"],
                (told, error),
            )
            lab.write("newer/away/ec2.json", json.dumps(note))
        with function(lab, world) as away:
            away.environment["STOKER_AWAY_LEDGER"] = "l0000000000000000"
            told, error = away.call(TICK)
            check("another ledger is not looked after", told is None and "another one" in error["errorMessage"], (told, error))
        world.stoker("cancel", job)


if __name__ == "__main__":
    play(Ec2Lab, parts_of(globals()), sys.argv[1:])
