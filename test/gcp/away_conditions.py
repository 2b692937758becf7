#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The conditions under which `stoker controller --install gcp` binds its roles: a library of CEL that
others wrote evaluates them (test/lab/gceapi/conditions.py), in all tests with that account. Here: what
they let in and what they do not, also where what runs would ask for it.

    away_conditions.py [PART…]      told, beyond"""

import json
import pathlib
import sys
import urllib.error
import urllib.request

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test.gcp.away import install, lose, settled, submit, uninstall  # which enters the lab's namespace

# isort: split
from test.cloud.verb_lab import play
from test.e2e.kit.harness import parts_of
from test.gcp.cloud_run import AwayLab
from test.lab.gceapi.conditions import BUCKET, INSTANCE, OBJECT, PROJECT, SECRET
from test.lab.gceapi.identity import CLOUD

DISK = "compute.googleapis.com/Disk"
ZONES = "projects/lab-project/zones"


def email(lab, world):
    return f"stoker-away-{lab.ledger(world)}@lab-project.iam.gserviceaccount.com"


def test_told(lab, check):
    """By the roles alone."""
    with lab.world("told") as world:
        submit(world)
        install(world)
        who, bucket = email(lab, world), f"projects/_/buckets/{lab.gcs_bucket}"
        for right, kind, name, good in (
            ("compute.instances.create", INSTANCE, f"{ZONES}/us-central1-a/instances/stoker-j-0", True),
            ("compute.instances.delete", INSTANCE, f"{ZONES}/us-east1-b/instances/stoker-j-0", True),
            ("compute.instances.delete", INSTANCE, f"{ZONES}/us-central1-a/instances/web", False),
            ("compute.instances.delete", INSTANCE, f"{ZONES}/us-central1-a/instances/not-stoker-j-0", False),
            ("compute.instances.create", INSTANCE, f"{ZONES}/europe-west4-a/instances/stoker-j-0", False),
            ("compute.instances.create", INSTANCE, f"{ZONES}/us-east10-a/instances/stoker-j-0", False),
            ("compute.instances.list", PROJECT, "projects/lab-project", True),
            ("compute.disks.create", DISK, f"{ZONES}/us-central1-a/disks/stoker-j-0", True),
            ("compute.firewalls.create", PROJECT, "projects/lab-project", False),
            ("secretmanager.secrets.list", PROJECT, "projects/lab-project", True),
            ("secretmanager.secrets.delete", SECRET, "projects/1234/secrets/stoker-l-x", True),
            ("secretmanager.secrets.delete", SECRET, "projects/1234/secrets/database", False),
            ("secretmanager.versions.access", SECRET, "projects/1234/secrets/stoker-l-x", False),
            ("storage.objects.create", OBJECT, f"{bucket}/objects/told/records/j.json", True),
            ("storage.objects.get", OBJECT, f"{bucket}/objects/told-else/records/j.json", False),
            ("storage.objects.get", OBJECT, f"{bucket}/objects/elsewhere/told/j.json", False),
            ("storage.objects.delete", OBJECT, f"{bucket}-2/objects/told/records/j.json", False),
            ("storage.objects.list", BUCKET, bucket, True),
            ("storage.objects.list", BUCKET, f"{bucket}-2", False),
            ("storage.buckets.delete", BUCKET, bucket, False),
        ):
            said = lab.serverless.may(who, right, (), [(kind, name)])
            check(f"{right} on {name}: {'let in' if good else 'refused'}", said is good)
        world.stoker("cancel", "-")
        uninstall(lab, world)


def deleted(lab, who, machine):
    """The status of the API's answer."""
    url = f"{lab.below.endpoint}/compute/v1/projects/lab-project/zones/{machine.zone}/instances/{machine.name}"
    headers = {"Authorization": f"Bearer {lab.identity.issue(who, [CLOUD]).text}"}
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers, method="DELETE")) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code


def test_beyond(lab, check):
    """What runs is told of a wider bound and of another place in the bucket than its roles have."""
    with lab.world("beyond") as world:
        job = submit(world)
        install(world)
        settled(lab, world, job)
        (first,) = lab.machines(job)
        other = lab.copied(first, "web", first.labels)
        who = email(lab, world)
        check("a machine that is not called so cannot be ended with its token", deleted(lab, who, other) == 403 and not other.gone)
        lose(lab, first)
        key = f"beyond/records/{job}.json"
        record = json.loads(lab.gcs.read(key))
        for offer in record["offers"]:
            offer["zone"], offer["region"] = "europe-west4-a", "europe-west4"
        lab.write(key, json.dumps(record))
        env = {each["name"]: each["value"] for each in lab.job(world)["template"]["template"]["containers"][0]["env"]}
        bound = json.loads(env["STOKER_AWAY_BOUND"])
        wider = json.dumps({**bound, "regions": [*bound["regions"], "europe-west4"]})
        places = env["STOKER_AWAY_PLACES"] + " lab-project.europe-west4-a"
        since = len(lab.log)
        _, _, said = lab.tick(world, STOKER_AWAY_BOUND=wider, STOKER_AWAY_PLACES=places)
        told = said + lab.gcs.read(key).decode()
        asked = [each.get("status") for each in lab.log[since:] if each.get("method") == "instances.insert"]
        good = asked and set(asked) == {403} and lab.machines(job) == [other] and "compute.instances.create" in told
        check("a region that is not in its role is refused by IAM, and that is said", good, (asked, told[-2000:]))
        check("the bucket has refused it nothing of its store", not lab.bound.refused, lab.bound.refused)
        lab.write("beyond-2/ledger.json", lab.gcs.read("beyond/ledger.json").decode())
        code, _, said = lab.tick(world, STOKER_AWAY_STORE=env["STOKER_AWAY_STORE"] + "-2")
        refused = [each for each in lab.bound.refused if "/objects/beyond-2/" in each[1]]
        check("nor does it get at another place in the bucket, in words", code == 1 and refused and "storage.objects" in said, said)
        lab.lose("beyond-2/")
        lose(lab, other)
        lab.lose("beyond/records/")
        lab.lose("beyond/active/")
        uninstall(lab, world)


if __name__ == "__main__":
    play(AwayLab, parts_of(globals()), sys.argv[1:])
