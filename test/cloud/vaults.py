#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Secrets in a cloud's own vault, with machines that do not boot: moto's SSM and Secrets Manager, and
Secret Manager as the lab plays it. What is put for a job, where it is not to be seen, how it ends;
references, read by a job on this machine; what is said where a right lacks.

    vaults.py ec2|gcp [client] [put] [ends] [away] [less] [refused] [read] [denied]"""

import json
import pathlib
import sys

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test.cloud.verb_lab import Ec2Lab, GceLab, enter, play

enter()
from test.e2e.kit.harness import parts_of

VALUE = "planted-3f9aX-planted"
READS = "import os, sys\nsys.exit(0 if os.environ['A'] + os.environ['B'] == 'one' + 'two' else 9)\n"


class Ec2:
    lab = Ec2Lab
    references = {"A": "ssm:/team/one", "B": "aws-secret:team/two#key"}
    right, removal, where = "ssm:GetParameter", "ssm:DeleteParameter", "us-east-1"
    most, next_step = 8193, "aws-secret:"
    other = ("aws/us-west-2", "us-west-2", "gcp-secret:projects/p/secrets/s")

    @staticmethod
    def held(lab):
        ssm = lab.below.client("ssm")
        pages = ssm.get_paginator("get_parameters_by_path").paginate(Path="/stoker", Recursive=True, WithDecryption=True)
        return {each["Name"]: each["Value"] for page in pages for each in page["Parameters"]}

    @staticmethod
    def tags(lab, name):
        listed = lab.below.client("ssm").list_tags_for_resource(ResourceType="Parameter", ResourceId=name)["TagList"]
        return {each["Key"]: each["Value"] for each in listed}

    @staticmethod
    def put(lab):
        lab.below.client("ssm").put_parameter(Name="/team/one", Value="one", Type="SecureString", Overwrite=True)
        manager = lab.below.client("secretsmanager")
        if not manager.list_secrets()["SecretList"]:
            manager.create_secret(Name="team/two", SecretString='{"key": "two"}')

    @staticmethod
    def deny(lab, world, action="ssm:GetParameter"):
        everything = {"Effect": "Allow", "Action": "*", "Resource": "*"}
        nothing = {"Effect": "Deny", "Action": action, "Resource": "*"}
        world.env.update(lab.env(lab.user("less", {"Statement": [everything, nothing]})))

    @staticmethod
    def printed(told):
        found = {who: next(each for each in told[who]["Statement"] if each["Sid"] == "Secrets") for who in ("submitter", "node")}
        bound = {each["Resource"] for each in found.values()} == {"arn:aws:ssm:*:*:parameter/stoker/*"}
        return {who: set(each["Action"]) for who, each in found.items()}, bound

    @staticmethod
    def deny_removal(lab, world):
        Ec2.deny(lab, world, Ec2.removal)

    @staticmethod
    def allow_all(lab, world):
        world.env.update(lab.env())


class Google:
    lab = GceLab
    references = {"A": "gcp-secret:projects/lab-project/secrets/one", "B": "gcp-secret:projects/lab-project/secrets/two/versions/1"}
    right, removal, where = "secretmanager.versions.access", "secretmanager.secrets.delete", "lab-project"
    most, next_step = 65537, "bucket"
    other = ("gcp/us-central1", "", "ssm:/team/one")

    @staticmethod
    def held(lab):
        found = lab.below.vault.held.items()
        return {name: each["versions"][-1].decode() for (_, name), each in found if name.startswith("stoker-")}

    @staticmethod
    def tags(lab, name):
        told = lab.below.vault.held["lab-project", name]["secret"]
        return {**told["labels"], **({"stoker-expires": told["expireTime"]} if "expireTime" in told else {})}

    @staticmethod
    def put(lab):
        vault = lab.below.vault
        for name, values in (("one", [b"old", b"one"]), ("two", [b"two", b"new"])):
            told = {"name": f"projects/{vault.number}/secrets/{name}", "labels": {}}
            vault.held["lab-project", name] = {"secret": told, "versions": values, "ends": float("inf")}

    @staticmethod
    def printed(told):
        # What the project itself must allow is no value; the rest is bound to names (gce_rights_test.cc).
        found = {
            who: {each for each in told[who]["includedPermissions"] if each.startswith("secretmanager.")} for who in ("submitter", "node")
        }
        bound = found == {"submitter": {"secretmanager.secrets.create", "secretmanager.secrets.list"}, "node": set()}
        return {who: each | set(told[f"{who}-secrets"]["includedPermissions"]) for who, each in found.items()}, bound

    @staticmethod
    def deny(lab, _, right="secretmanager.versions.access"):
        lab.api.denied.add(right)

    @staticmethod
    def deny_removal(lab, _):
        lab.api.denied.add(Google.removal)

    @staticmethod
    def allow_all(lab, _):
        lab.api.denied.clear()


CLOUD = {"ec2": Ec2, "gcp": Google}[sys.argv[1]]


def run(world, *words, infra=None, **more):
    return world.stoker("run", "--detach", "--json", "--infra", infra or CLOUD.lab.infra, *words, "--", "true", **more)


def first(lab, world, job):
    """Its machine, once the cloud has it."""
    return world.wait_for("its machine", lambda: lab.machines(job), 30, 0.2)[0]


def with_secret(world, *words):
    world.env["HF_TOKEN"] = VALUE
    done = run(world, "--secret", "HF_TOKEN", *words)
    return done, json.loads(done.stdout)["id"] if done.returncode == 0 else ""


def test_client(lab, check):
    """Google's own client, with the stand-in."""
    if CLOUD is not Google:
        return
    import base64

    from googleapiclient.discovery import build
    from googleapiclient.errors import HttpError

    vault = lab.below.vault
    from google.oauth2.credentials import Credentials

    token = lab.identity.issue("submitter@lab-project.iam.gserviceaccount.com", ["https://www.googleapis.com/auth/cloud-platform"])
    endpoint = lab.below.env()["CLOUDSDK_API_ENDPOINT_OVERRIDES_SECRETMANAGER"]
    made = build(
        "secretmanager", "v1", credentials=Credentials(token.text), client_options={"api_endpoint": endpoint}, static_discovery=True
    )
    secrets = made.projects().secrets()
    body = {"replication": {"automatic": {}}, "labels": {"stoker-ledger": "x"}}
    secrets.create(parent="projects/lab-project", secretId="tried", body=body).execute()
    secrets.addVersion(parent="projects/lab-project/secrets/tried", body={"payload": {"data": base64.b64encode(b"v").decode()}}).execute()
    got = secrets.versions().access(name="projects/lab-project/secrets/tried/versions/latest").execute()
    check("Google's client reads what it has put", base64.b64decode(got["payload"]["data"]) == b"v", got)
    listed = secrets.list(parent="projects/lab-project", filter="labels.stoker-ledger=x").execute()
    check("and lists it", [each["labels"]["stoker-ledger"] for each in listed["secrets"]] == ["x"], listed)
    secrets.delete(name="projects/lab-project/secrets/tried").execute()
    try:
        secrets.get(name="projects/lab-project/secrets/tried").execute()
        check("what is deleted is gone", False)
    except HttpError as error:
        check("what is deleted is gone", error.status_code == 404, error)
    check("the stand-in has no bug", not vault.bugs, vault.bugs)


def test_put(lab, check):
    with lab.world("put") as world:
        done, job = with_secret(world)
        check("a secret is taken along", done.returncode == 0, done.stdout + done.stderr)
        held = {name: value for name, value in CLOUD.held(lab).items() if job in name}
        check("it lies in the vault, by the job's name", list(held.values()) == [VALUE], list(held))
        name = next(iter(held))
        tags = CLOUD.tags(lab, name)
        check("with its ledger, its job and its end", {"stoker-ledger", "stoker-expires"} <= set(tags) and tags["stoker-job"] == job, tags)
        record = world.stoker("show", "--json", job).stdout
        files = [path for path in world.home.rglob("*") if path.is_file() and VALUE.encode() in path.read_bytes()]
        check("and not on this machine", not files, files)
        # The vault itself has it.
        asked = [each for each in lab.log if each.get("service") != "ssm" and VALUE in json.dumps(each, default=str)]
        machine = first(lab, world, job)
        check("nor in what the machine was asked for with", not asked and VALUE not in json.dumps(vars(machine), default=str))
        check("nor in the record", VALUE not in record)
        listed = world.stoker("gc", "--dry-run")
        check("gc tells of it", name in listed.stdout + listed.stderr, listed.stdout + listed.stderr)
        ended(lab, world, job)
        check("it goes with the job", over(lab, world, job))


def ended(lab, world, job):
    """Its node reports that the program failed, and all goes."""
    machine = first(lab, world, job)
    lab.end_told(machine, world, job, instance_id=lab.id(machine), address="10.0.0.9")
    world.wait_for("all of the job to go", lambda: over(lab, world, job), 60, 0.5)


def test_ends(lab, check):
    """A vault that does not let go of a value at the job's end."""
    with lab.world("ends") as world:
        done, job = with_secret(world)
        name = next(each for each in CLOUD.held(lab) if job in each)
        CLOUD.deny_removal(lab, world)
        machine = first(lab, world, job)
        lab.end_told(machine, world, job, instance_id=lab.id(machine), address="10.0.0.9")
        world.wait_for("its machine to go", lambda: world.stoker("show", job) and not lab.machines(job), 60, 0.5)
        check("who may not remove it leaves it", name in CLOUD.held(lab))
        for verb in (("show", job), ("controller", "--once")):
            said = world.stoker(*verb)
            told = said.stdout + said.stderr
            good = "still lie in the vault" in told and CLOUD.removal in told and VALUE not in told
            check(f"{verb[0]} says so, with the right", good, told)
        check("and the job is still looked after", active(lab, world, job))
        told = world.stoker("gc", "--dry-run")
        check("gc says that its job has ended", name in told.stdout and "its job has ended" in told.stdout, told.stdout + told.stderr)
        CLOUD.allow_all(lab, world)
        done = world.stoker("gc")
        check("and removes it", name not in CLOUD.held(lab), done.stdout + done.stderr)
        told = world.stoker("show", job).stderr
        check("then nothing is said of it", "vault" not in told, told)


def test_away(lab, check):
    """The same where it does not answer; whoever looks once it does removes the value."""
    if CLOUD is not Google:
        return
    with lab.world("away") as world:
        done, job = with_secret(world)
        name = next(each for each in CLOUD.held(lab) if job in each)
        machine = first(lab, world, job)
        lab.below.vault.away = True
        lab.end_told(machine, world, job, instance_id=lab.id(machine), address="10.0.0.9")
        told = world.stoker("show", job).stderr
        check("that it is away is said", "still lie in the vault" in told and "unavailable" in told and VALUE not in told, told)
        check("the value is there, and the job looked after", name in CLOUD.held(lab) and active(lab, world, job))
        lab.below.vault.away = False
        told = world.stoker("show", job).stderr
        check("it goes with the next look", name not in CLOUD.held(lab) and "vault" not in told, told)


def active(lab, world, job):
    return lab.lists(f"{world.name}/active/{job}")


def over(lab, world, job):
    world.stoker("show", job)
    return not lab.machines(job) and not [name for name in CLOUD.held(lab) if job in name]


def test_less(lab, check):
    """What `doctor --iam` prints of secrets, and each of it taken away from who submits."""
    with lab.world("less") as world:
        printed, bound = CLOUD.printed(world.json("doctor", "--iam", "--infra", CLOUD.lab.infra))
        check("the rights are bound to the prefix", bound)
        check("a node may read, a submitter may not", CLOUD.right in printed["node"] - printed["submitter"], printed)
        check("and both may remove", len(printed["node"] & printed["submitter"]) == 1, printed)
        removal = next(iter(printed["node"] & printed["submitter"]))  # test_ends
        for right in sorted(printed["submitter"] - {removal}):
            CLOUD.deny(lab, world, right)
            done, job = with_secret(world)
            said = done.stdout + done.stderr
            if job:
                listed = world.stoker("gc", "--dry-run")
                said = listed.stdout + listed.stderr
            check(f"without {right} that is said", right in said, said)
            check("  without the value", VALUE not in said)
            CLOUD.allow_all(lab, world)
            if job:
                ended(lab, world, job)


def test_refused(lab, check):
    with lab.world("refused") as world:
        world.env["HF_TOKEN"] = "v" * CLOUD.most
        done = run(world, "--secret", "HF_TOKEN")
        check(
            "what the vault cannot hold is refused, with what to do", done.returncode != 0 and CLOUD.next_step in done.stdout, done.stdout
        )
        infra, region, reference = CLOUD.other
        done = run(world, "--secret", f"HF_TOKEN={reference}")
        check(
            "a reference that the machines have no role for, too",
            done.returncode != 0 and reference in done.stdout and "HF_TOKEN" in done.stdout,
            done.stdout,
        )
        check("and no machine is asked for", not lab.machines())
        if not region:
            return
        done, job = with_secret(world)
        moved = world.stoker("move", job, "--infra", infra)
        check(
            "a move to where its secrets do not lie is refused by name",
            moved.returncode != 0 and "HF_TOKEN" in moved.stderr and region in moved.stderr,
            moved.stderr,
        )
        world.stoker("cancel", job)


def test_read(lab, check):
    CLOUD.put(lab)
    with lab.world("read") as world:
        world.program(READS, "train.py")
        words = [word for name, reference in CLOUD.references.items() for word in ("--secret", f"{name}={reference}")]
        done = world.stoker("run", "--json", "--infra", "local", *words, "--", "python3", "train.py")
        check("a job here reads what lies there already", done.returncode == 0, done.stdout + done.stderr)


def test_denied(lab, check):
    CLOUD.put(lab)
    with lab.world("denied") as world:
        CLOUD.deny(lab, world)
        world.program("print('trained')\n", "train.py")
        done = world.stoker("run", "--infra", "local", "--secret", f"A={CLOUD.references['A']}", "--", "python3", "train.py")
        said = done.stdout + done.stderr
        check("with one right less it says which, and on what", CLOUD.right in said and "the secret A" in said and "one" in said, said)
        check("before the program runs", done.returncode != 0 and "trained" not in said, said)
        CLOUD.allow_all(lab, world)


if __name__ == "__main__":
    play(CLOUD.lab, parts_of(globals()), sys.argv[2:])
