#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The roles that `stoker doctor --iam --infra gcp/…` prints, held against what requests need: all
that a submitter and a node do in these tests needs just what is printed for them, and without any
one permission something fails that did not. Which permission a request needs says
test/lab/gceapi/permissions.py, from "IAM Permissions" of each method in Google's reference. Those
of the bucket are for test/e2e/gcs_over_tls.py, those of secrets for test/cloud/vaults.py.

    permits.py [PART…]      tables, looks, doctor, less
    permits.py less/RIGHT   without that one alone"""

import json
import os
import pathlib
import signal
import sys
import time

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test.cloud.verb_lab import GceLab, enter, play

enter()
from test.e2e.kit.harness import parts_of
from test.lab.gceapi import lifecycle
from test.lab.unbooted_gce import OWN, ROLE

LOOKER = "looker@lab-project.iam.gserviceaccount.com"
INFRA = ("--infra", "gcp/us-central1")
OTHERS = ("storage.", "secretmanager.")


def printed(world):
    told = world.json("doctor", "--iam", *INFRA)
    # On the account of the machines alone, by a role of Google's that has it.
    return {
        who: {"iam.serviceAccounts.actAs", *(each for each in told[who]["includedPermissions"] if not each.startswith(OTHERS))}
        for who in ("submitter", "node")
    }


def needed(lab, since, email):
    return {right for each in lab.log[since:] if each.get("email") == email for right in each.get("permissions", [])}


NEAR = 'resources: {instance_type: c2-standard-8}\ngcp: {placement: cluster}\nrun: "true"\n'


def program(world, words):
    """The end of a command line: a job file, or a program."""
    if "near.yaml" not in words:
        return (*words, "--", "true")
    (world.work / "near.yaml").write_text(NEAR)
    return words


def run(world, *words, infra=INFRA):
    # Who may not list machines hears nothing of them, and stays for a minute.
    words = ("--detach", "--json", *infra, *program(world, words))
    return world.stoker("run", *words, timeout=150)


def until(world, what, holds, verb):
    """Looks until it holds or a right lacks; all that was said."""
    said = ""

    def done():
        nonlocal said
        ran = world.stoker(*verb)
        said += ran.stdout + ran.stderr
        return holds() or "forbidden" in said or "Required" in said

    world.wait_for(what, done, 60, 0.3)
    return said


def tended(lab, world, job):
    """What whoever looks after a job does: a stopped machine is replaced or started, one that came
    to nothing is asked for anew, all end with the job. [(what, how it went)], all words."""
    came, words = [], ""
    first = lab.machines(job)
    if not first:
        return [("no machine", True)], words
    lifecycle.by_hand(lab.api, lifecycle.stop, first[0])
    world.wait_for("it is off", lambda: first[0].state() == "TERMINATED", 20)
    words += until(world, "started or replaced", lambda: any(each.state() == "RUNNING" for each in lab.machines(job)), ("show", job))
    came.append(("it runs again", any(e.state() == "RUNNING" for e in lab.machines(job))))
    done = world.stoker("cancel", "--no-wait", job)
    words += done.stdout + done.stderr
    words += until(world, "all end", lambda: not lab.machines(job), ("show", job))
    came.append(("machines left", len(lab.machines(job))))
    return came, words


def abandoned(lab, world, *words):
    """A job whose sender is dead before Compute Engine says that there is no room."""
    lab.api.settings.operation_delay = 5.0
    lab.api.births.add("ZONE_RESOURCE_POOL_EXHAUSTED")
    since = len(lab.log)
    sender = world.start("run", "--detach", *INFRA, *program(world, words))
    job = sender.stdout.readline().split()[0]
    world.wait_for("the request is sent", lambda: any(each.endswith((".insert", ".bulkInsert")) for each in lab.asked(since)))
    sender.send_signal(signal.SIGKILL)
    sender.wait()
    world.wait_for("the operation ends", lambda: not lab.api.births.waiting)
    lab.api.settings.operation_delay = 0.1
    return job


def looked_after(lab, world, job):
    """By a controller, which hears of what it has asked for itself."""
    lab.api.settings.operation_delay = 2.0
    controller = world.start("controller", "--interval", "300ms", "--verbose")
    world.wait_for("asked for anew", lambda: any(each.state() == "RUNNING" for each in lab.machines(job)), 60, 0.3)
    time.sleep(1)  # a pass, or more
    controller.send_signal(signal.SIGTERM)
    lab.api.settings.operation_delay = 0.1
    return "".join(controller.communicate(timeout=30))


def clear(lab):
    for each in lab.machines():
        lifecycle.by_hand(lab.api, lifecycle.delete, each)


def submits(lab, world):
    """All that a submitter does."""
    came, words = [], ""
    for what, more in (
        ("spot", ("--spot",)),
        ("two", ("--num-nodes", "2")),
        ("stopped", ()),
        ("of a family", ("--image", "debian-cloud/debian-13")),
        ("of an image", ("--image", "lab-project/mine")),
        ("with a GPU", ("--gpus", "T4:1")),
        ("near each other", ("near.yaml",)),
    ):
        if what == "two":  # the first zone has no room, which a part of the request says
            lab.api.births.add("ZONE_RESOURCE_POOL_EXHAUSTED")
        done = run(world, *more)
        lab.api.births.clear()
        words += done.stdout + done.stderr
        came.append((what, done.returncode, len(lab.machines())))
        if done.returncode == 0:
            job = json.loads(done.stdout)["id"]
            words += world.stoker("show", job).stdout  # what became of it later, too
            told = tended(lab, world, job) if what == "stopped" else ([], "")
            came += told[0]
            words += told[1]
            world.stoker("cancel", "--no-wait", job)
        clear(lab)
    words += until(world, "its policy goes", lambda: not lab.api.world.policies, ("gc",))
    for what, more, says in (
        ("a region misspelt", {"infra": ("--infra", "gcp/us-centrl1")}, "Did you mean us-central1"),
        ("an image misspelt", {}, "Did you mean"),
    ):
        flags = ("--image", "debian-cloud/debian-21") if "image" in what else ()
        done = run(world, *flags, **more)
        words += done.stdout + done.stderr
        came.append((what, says in done.stdout + done.stderr))
    world.stoker("config", "set", "gcp.subnetwork", "default", check=True)
    done = run(world)
    words += done.stdout + done.stderr
    came.append(("a subnetwork", done.returncode))
    clear(lab)
    world.stoker("config", "unset", "gcp.subnetwork", check=True)
    told = world.json("doctor", *INFRA, ok=(0, 1))
    came.append(("doctor", not any(each["level"] == "bad" or "not known" in each["text"] for each in told)))
    done = world.stoker("gc")
    words += done.stdout + done.stderr
    came.append(("gc", done.returncode))
    return came, words


def as_other(lab, world, email=ROLE):
    """The same store, with another account: that of the machines, or of whoever only looks."""
    key = os.path.join(lab.below.folder.name, "other.json")
    with open(key, "w", encoding="utf-8") as out:
        out.write(lab.identity.key_file(email, "lab-project"))
    return {**world.env, "GOOGLE_APPLICATION_CREDENTIALS": key}


def test_tables(lab, check):
    with lab.world("tables") as world:
        roles = printed(world)
        since = len(lab.log)
        came, words = submits(lab, world)
        check(
            "a submitter can do all",
            "forbidden" not in words and all(each[1] in (0, True) for each in came if len(each) == 2),
            (came, words),
        )
        asked = needed(lab, since, OWN)
        check(
            f"a submitter needs no more than the {len(roles['submitter'])} that are printed",
            asked <= roles["submitter"],
            asked - roles["submitter"],
        )
        check("and each of them", roles["submitter"] <= asked, roles["submitter"] - asked)
        since = len(lab.log)
        world.env = as_other(lab, world)
        came, words = submits(lab, world)
        lease(lab, world)
        asked = needed(lab, since, ROLE) - needed_to_resolve(lab, since)
        check(f"a node needs no more than its {len(roles['node'])}", asked <= roles["node"], asked - roles["node"])
        check("and each of them", roles["node"] <= asked, roles["node"] - asked)


def needed_to_resolve(lab, since):
    """What only whoever submits asks: nodes resolve nothing."""
    kinds = ("projects.", "firewalls.")
    kinds += ("regions.", "machineTypes.", "acceleratorTypes.", "images.", "networks.", "subnetworks.get", "zones.")
    return {right for each in lab.log[since:] if each.get("method", "").startswith(kinds) for right in each.get("permissions", [])}


def lease(lab, world):
    """What an agent does besides: it moves its lease."""
    import urllib.request

    job = json.loads(run(world, "--instance-type", "e2-standard-2").stdout)["id"]
    machine = lab.machines(job)[0]
    token = lab.identity.issue(ROLE, ["https://www.googleapis.com/auth/cloud-platform"])
    url = f"{lab.below.endpoint}/compute/v1/projects/lab-project/zones/{machine.zone}/instances/{machine.name}"
    told = json.load(urllib.request.urlopen(urllib.request.Request(url, headers={"Authorization": f"Bearer {token.text}"})))
    body = {"labels": told["labels"], "labelFingerprint": told["labelFingerprint"]}
    urllib.request.urlopen(
        urllib.request.Request(
            url + "/setLabels", json.dumps(body).encode(), {"Authorization": f"Bearer {token.text}", "Content-Type": "application/json"}
        )
    )
    world.stoker("cancel", "--no-wait", job)
    clear(lab)


def test_looks(lab, check):
    """Whoever looks after the jobs of others: by a verb, `stoker gc`, or a controller. Its rights
    are a node's, which looks after its own job: there is no third role."""
    with lab.world("looks") as world:
        role = printed(world)["node"]
        owner, looker = dict(world.env), as_other(lab, world, LOOKER)
        since, came, words = len(lab.log), [], ""
        plain = ("--instance-type", "e2-standard-2")
        for more in ((*plain, "--spot"), (*plain, "--num-nodes", "2"), (*plain, "--image", "lab-project/mine"), ("near.yaml",)):
            world.env = owner
            job = abandoned(lab, world, *more)
            world.env = looker
            words += looked_after(lab, world, job)
            told = tended(lab, world, job)
            came += told[0]
            words += told[1]
            clear(lab)
        for verb in (("gc",), ("controller", "--once")):
            done = world.stoker(*verb)
            words += done.stdout + done.stderr
            came.append((verb[0], done.returncode))
        world.env = owner
        check("whoever looks can do all", "forbidden" not in words and all(each[1] in (0, True) for each in came), (came, words))
        asked = needed(lab, since, LOOKER)
        check(f"it needs no more than the {len(role)} of a node", asked <= role, asked - role)
        check("and each of them", role <= asked, role - asked)


def test_doctor(lab, check):
    """What doctor says of rights: Google answers for who asks, and each other right is named."""
    with lab.world("asks") as world:
        rights = world.json("doctor", "--iam", *INFRA)

        def looked():
            return {each["what"]: each for each in world.json("doctor", *INFRA, ok=(0, 1))}

        told = looked()
        asked = ("rights", "rights of secrets", "rights of an installer", "acting as the account")
        check("who has all is told so", all(told[each]["level"] == "ok" for each in asked), told)
        check("Google is asked as it wants to be", not lab.below.held_rights.bugs, lab.below.held_rights.bugs)
        every = {each for role in rights.values() for each in role["includedPermissions"]}
        lost = [each for each in every if not any(each in row["text"] for row in told.values())]
        check("each printed right is named", not lost, lost)
        for name, what, level in (
            ("submitter", "rights", "bad"),
            ("submitter-secrets", "rights of secrets", "note"),
            ("away-installer", "rights of an installer", "note"),
        ):
            for odd in (0, 1):
                lab.api.denied = set(rights[name]["includedPermissions"][odd::2])
                row = looked().get(what, {"level": "", "text": ""})
                said = row["text"].partition(": ")[2].partition(". ")[0]
                check(f"each second right of {name}.json is said to lack", set(said.split(", ")) == lab.api.denied, row)
                check("  as it counts", row["level"] == level, row)
        lab.api.denied = {"iam.serviceAccounts.actAs"}
        row = looked()["acting as the account"]
        check("that one may not act as the account is said", row["level"] == "bad" and "serviceAccountUser" in row["text"], row)
        lab.api.denied = set()
        lab.below.held_rights.away = True
        row = looked()["rights"]
        lab.below.held_rights.away = False
        named = all(each in row["text"] for each in rights["submitter"]["includedPermissions"])
        check("where Google does not say, each is named", row["level"] == "note" and named, row)


# Without it a wrong name is refused as well, and the nearest one is not known.
FOR_WORDS = {"compute.images.list"}


def test_less(lab, check, only=""):
    """Without any one of them something fails, and names it."""
    with lab.world("less") as world:
        roles = printed(world)
        whole, _ = submits(lab, world)
        for right in [only] if only else sorted(roles["submitter"]):
            lab.api.denied = {right}
            came, words = submits(lab, world)
            lab.api.denied = set()
            clear(lab)
            check(f"without {right} something fails", came != whole or right in words, came)
            check("  which is said", right in words or right in FOR_WORDS, words[-800:])


class Lab(GceLab):
    """With an image of its own, in the form of test/lab/gceapi/catalogue.py."""

    def __enter__(self):
        super().__enter__()
        self.api.own_images.append(("lab-project", "mine", "mine", 10, "X86_64", False))
        return self


if __name__ == "__main__":
    play(Lab, parts_of(globals()), sys.argv[1:])
