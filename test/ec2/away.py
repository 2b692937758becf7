#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The function of Lambda that looks after jobs while nobody is at a desk, run as Lambda runs it,
with machines of EC2 that do not boot.

    away.py [PART…]      recovers, bound, foreign, sweeps, newer, install, twice"""

import base64
import io
import json
import pathlib
import sys
import threading
import zipfile

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test.cloud.verb_lab import Ec2Lab, enter, play
from test.lab.policy_lint import lint, python

python()
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
            # What its owner's look asks for is nobody's business here.
            since, there = len(lab.log), {each.id for each in lab.machines(job)}
            told, error = away.call(TICK)
            asked = [each for each in lab.asked(since) if each == "RunInstances"]
            asked += [each.id for each in lab.machines(job) if each.id not in there]
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
                check(f"{word}: nothing is asked for", not asked, (told, error, asked))
                check(f"{word}: the record says why", word in refused, refused[-2000:])
                shown = world.stoker("show", job).stdout
                check(f"{word}: its owner sees it", "beyond what the reconciler away may ask for" in shown, shown)
        lab.write(key, json.dumps(record))
        with function(lab, world, machines=1) as away:
            for each in lab.machines(job):
                each.move((0, "terminated"))
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


def parts(lab, ledger):
    """What the account has of it: by boto3, and whatever is called like it."""
    found = []
    clients = {name: lab.below.client(name) for name in ("iam", "lambda", "events", "logs")}
    found += [each["RoleName"] for each in clients["iam"].list_roles()["Roles"]]
    found += [each["FunctionName"] for each in clients["lambda"].list_functions()["Functions"]]
    found += [each["Name"] for each in clients["events"].list_rules()["Rules"]]
    found += [each["logGroupName"] for each in clients["logs"].describe_log_groups()["logGroups"]]
    return sorted(each for each in found if ledger in each)


def hold_requests(lab, since, check):
    """Each request is one of botocore's model, as far as its members are there and their types."""
    import botocore.session
    from botocore.validate import ParamValidator

    session, count, bad = botocore.session.get_session(), 0, []
    for each in lab.log[since:]:
        if "oto" in each["agent"] or each["service"] not in ("lambda", "events", "logs") or not each.get("body"):
            continue
        model = session.get_service_model(each["service"])
        for name in model.operation_names:
            operation = model.operation_model(name)
            uri = operation.http["requestUri"].split("/")
            path = each["path"].split("/")
            same = len(uri) == len(path) and all(a == b or a.startswith("{") for a, b in zip(uri, path, strict=True))
            if each["service"] == "lambda":
                if not same or operation.http["method"] != each["method"]:
                    continue
            elif name != each["action"]:
                continue
            count += 1
            given = json.loads(each["body"])
            if each["service"] == "lambda" and name != "CreateFunction":
                given.setdefault("FunctionName", path[3])
            for holder in (given, given.get("Code", {})):
                if "ZipFile" in holder:
                    holder["ZipFile"] = base64.b64decode(holder["ZipFile"])
            told = ParamValidator().validate(given, operation.input_shape)
            strange = set(given) - set(operation.input_shape.members)
            if told.has_errors() or strange:
                bad.append((name, told.generate_report(), strange))
    check(f"{count} requests are valid by the model", count >= 8 and not bad, bad)


def test_install(lab, check):
    """Set up, found there, brought up to date, and taken away."""
    with lab.world("install") as world:
        job = submit(world)
        ledger = json.loads(lab.s3.read("install/ledger.json"))["id"]
        words = ["controller", "--install", "aws", "--type", "m5.large", "--machines", "3"]
        words += ["--region", "us-east-1", "--region", "eu-west-1"]
        asked = world.stoker(*words)
        check(
            "without a yes nothing is made, and all is said",
            asked.returncode == 2 and not parts(lab, ledger) and "$ a month" in asked.stderr and "up to 3 machines" in asked.stderr,
            asked.stderr,
        )
        since = len(lab.log)
        plan = world.stoker(*words, "--json")
        policy = json.loads(plan.stdout.splitlines()[0])["plan"]["policy"] if plan.returncode == 2 else {}
        check(
            "the plan has the policy of the role, and makes nothing",
            policy.get("Statement") and not parts(lab, ledger),
            plan.stdout + plan.stderr,
        )
        made = world.stoker(*words, "--yes", "--json")
        names = parts(lab, ledger)
        check("role, function, log group and two rules are made", made.returncode == 0 and len(names) == 5, (made.stderr, names))
        hold_requests(lab, since, check)
        name = f"stoker-away-{ledger}"
        there = lab.below.client("lambda").get_function(FunctionName=name)
        settings = there["Configuration"]
        alone = there["Concurrency"]["ReservedConcurrentExecutions"] == 1
        check("a custom runtime, one call at a time", settings["Runtime"] == "provided.al2023" and alone, there)
        check("it is tagged", there["Tags"] == {"stoker-ledger": ledger}, there["Tags"])
        events = lab.below.client("events")
        targets = [events.list_targets_by_rule(Rule=f"{name}-{rule}")["Targets"] for rule in ("time", "instances")]
        check("both rules call it", all(each[0]["Arn"] == settings["FunctionArn"] for each in targets), targets)
        rule = events.describe_rule(Name=f"{name}-time")
        check("one of them each five minutes", rule["ScheduleExpression"] == "rate(5 minutes)", rule)
        pattern = events.describe_rule(Name=f"{name}-instances")["EventPattern"]
        check("the other when an instance changes", changed("i-1")["detail-type"] in json.loads(pattern)["detail-type"], pattern)
        kept = lab.below.client("logs").describe_log_groups(logGroupNamePrefix=f"/aws/lambda/{name}")["logGroups"][0]
        check("its log is kept for 30 days", kept["retentionInDays"] == 30, kept)
        policy = json.loads(lab.below.client("lambda").get_policy(FunctionName=name)["Policy"])
        tied = ["SourceArn" in str(each) for each in policy["Statement"]]
        check("only its rules may call it", tied == [True, True], policy)
        rights = lab.below.client("iam").get_role_policy(RoleName=name, PolicyName="stoker-away")["PolicyDocument"]
        # A launch is allowed by two statements together, and the linter looks at each by itself.
        found = [each for each in lint([rights])[0] if not (each.startswith("RESOURCE_MISMATCH") and "ec2:RunInstances" in each)]
        check("the linter finds nothing in its rights", not found, found)
        again = world.stoker(*words, "--yes")
        check("again is harmless", again.returncode == 0 and parts(lab, ledger) == names, again.stderr)
        doctor = world.stoker("doctor").stdout
        check("doctor names it", "recovery away" in doctor and "has not looked yet" in doctor, doctor)
        shown = world.stoker("show", job).stdout
        check("show names it as who looks after the job", "a function at EC2 in us-east-1" in shown, shown)
        run_what_was_made(lab, world, check, job, settings, rights)
        gone = world.stoker("controller", "--uninstall", "aws")
        left = (parts(lab, ledger), lab.s3.keys("install/away/"))
        check("nothing of it is left", gone.returncode == 0 and not any(left), (gone.stderr, left))
        twice = world.stoker("controller", "--uninstall", "aws")
        check("nor is it an error to say it again", twice.returncode == 0 and "nothing to take away" in twice.stderr, twice.stderr)
        check("nobody names it any more", "a function at" not in world.stoker("show", job).stdout)
        world.stoker("cancel", job)


def run_what_was_made(lab, world, check, job, settings, rights):
    """The code as it was uploaded, with the variables and the rights that the function has."""
    created = ("POST", "/2015-03-31/functions")
    made = [json.loads(each["body"]) for each in lab.log if (each.get("method"), each.get("path")) == created]
    archive = zipfile.ZipFile(io.BytesIO(base64.b64decode(made[0]["Code"]["ZipFile"])))
    check("the archive has one program", archive.namelist() == ["bootstrap"] and archive.testzip() is None)
    check("which may be run", archive.getinfo("bootstrap").external_attr >> 16 == 0o100755)
    folder = pathlib.Path(world.work) / "task"
    folder.mkdir()
    (folder / "bootstrap").write_bytes(archive.read("bootstrap"))
    (folder / "bootstrap").chmod(0o755)
    keys = lab.user("lambda", rights)
    variables = {**lab.env(keys), **settings["Environment"]["Variables"], "AWS_REGION": "us-east-1"}
    variables.pop("AWS_ENDPOINT_URL")
    with Function(folder / "bootstrap", variables) as away:
        away.call(TICK)
        (machine,) = lab.machines(job)
        lose(machine)
        told, error = away.call(changed(machine.id))
        check(
            "it brings a job back with the rights that it has",
            error is None and not told["troubles"] and len(lab.machines(job)) == 1,
            (told, error),
        )
        doctor = world.stoker("doctor").stdout
        check("doctor says what it did", "last: job " + job in doctor, doctor)


def test_twice(lab, check):
    """Two who install at once."""
    with lab.world("twice") as world:
        submit(world)
        ledger = json.loads(lab.s3.read("twice/ledger.json"))["id"]
        done = []
        words = ("controller", "--install", "aws", "--type", "m5.large", "--yes")
        threads = [threading.Thread(target=lambda: done.append(world.stoker(*words))) for _ in range(2)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        check("both are done", [each.returncode for each in done] == [0, 0], [each.stderr for each in done])
        check("and there is one of each", len(parts(lab, ledger)) == 5, parts(lab, ledger))
        world.stoker("controller", "--uninstall", "aws", check=True)
        check("which goes", not parts(lab, ledger))
        refused = world.stoker("controller", "--install", "slurm", "--type", "x", "--yes")
        check("where nothing can, that is said", refused.returncode != 0 and "These can: aws, gcp" in refused.stderr, refused.stderr)
        refused = world.stoker("controller", "--install", "gcp", "--type", "x", "--yes")
        check("nor from a bucket of another cloud", refused.returncode != 0 and "bucket of Google's" in refused.stderr, refused.stderr)
        refused = world.stoker("controller", "--install", "aws", "--type", "p9.huge", "--yes")
        check("a type without a known price is refused", refused.returncode != 0 and "--unknown-prices" in refused.stderr, refused.stderr)
        world.stoker("cancel", "-")


if __name__ == "__main__":
    play(Ec2Lab, parts_of(globals()), sys.argv[1:])
