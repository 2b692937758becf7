#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The rights that `stoker doctor --iam --infra aws/…` prints: a linter knows all that is in them,
jobs run under them, and with any one action less something fails that did not. The lab's API judges
each request by the policy of who signed it (ec2api/rights.py).

    permits.py [PART…]      lint, submitter, node, doctor, role
    permits.py submitter/RIGHT      only without that one"""

import copy
import json
import pathlib
import sys

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test.cloud.verb_lab import Ec2Lab, enter, play
from test.lab.policy_lint import lint, python

python()
enter()
from test.e2e.kit.harness import parts_of
from test.lab.ec2api import groups

REGION = "us-east-1"
# What lists and launches touch has no name before.
TOLERATED = ("RESOURCE_STAR",)


def printed(lab):
    with lab.world("printed") as world:
        return world.json("doctor", "--iam", "--infra", f"aws/{REGION}")


def actions(policy):
    """Those of EC2, IAM and SSM: (statement, action). The bucket's are for test/e2e/rights.py, those of
    secrets for test/cloud/vaults.py."""
    found = []
    for at, statement in enumerate(policy["Statement"]):
        if statement["Sid"] == "Secrets":
            continue
        listed = statement["Action"]
        for action in listed if isinstance(listed, list) else [listed]:
            if not action.startswith("s3:"):
                found.append((at, action))
    return found


def without(policy, at, action):
    less = copy.deepcopy(policy)
    listed = less["Statement"][at]["Action"]
    rest = [each for each in (listed if isinstance(listed, list) else [listed]) if each != action]
    if rest:
        less["Statement"][at]["Action"] = rest
    else:
        del less["Statement"][at]
    return less


def test_lint(lab, check):
    rights = printed(lab)
    broken = copy.deepcopy(rights["node"])
    broken["Statement"][-1]["Action"] = "iam:PasRole"
    mixed = copy.deepcopy(rights["node"])
    mixed["Statement"][-1]["Resource"] = "arn:aws:ec2:*:*:instance/*"
    strange = copy.deepcopy(rights["node"])
    strange["Statement"][-1]["Condition"] = {"StringEquals": {"iam:PassedTo": "x"}}
    own = ("submitter", "node", "installer")
    found = lint([*(rights[who] for who in own), broken, mixed, strange])
    for who, told in zip(own, found):
        bad = [each for each in told if not each.startswith(TOLERATED)]
        check(f"parliament finds nothing in what is printed for the {who}", not bad, bad)
    for each, words in zip(found[len(own) :], ("UNKNOWN_ACTION", "RESOURCE_MISMATCH", "UNKNOWN_CONDITION")):
        check(f"and would find {words}", any(words in one for one in each), each)


def run(world, *words, infra=f"aws/{REGION}"):
    return world.stoker("run", "--detach", "--json", "--infra", infra, *words, "--", "true")


def fresh(lab, groups=True):
    """No machine, no group of the ledger: but those that its submitter remembers, without `groups`."""
    client = lab.below.client("ec2")
    for each in lab.ec2.world.instances():
        if each.state() != "terminated":
            client.terminate_instances(InstanceIds=[each.id])
            each.move((0, "terminated"))
    lab.ec2.world.region(REGION).groups.clear()
    lab.ec2.world.spot_role = False
    if not groups:
        return
    for group in client.describe_security_groups()["SecurityGroups"]:
        if group["GroupName"].startswith("stoker-"):
            client.delete_security_group(GroupId=group["GroupId"])


def until_started(world, machine, verb):
    """Who looks asks again some seconds after the last time."""
    said = ""

    def done():
        nonlocal said
        ran = world.stoker(*verb)
        said += ran.stdout + ran.stderr
        return machine.state() in ("pending", "running") or "not authorized" in said

    world.wait_for(f"{machine.id} to be started, or a word", done, 30, 0.5)
    return machine.state() in ("pending", "running"), said


def cancelled(lab, world, job):
    """(how many machines are left, all words): as soon as there is none, or a word of rights."""
    done = world.stoker("cancel", "--no-wait", job)
    said = done.stdout + done.stderr

    def over():
        nonlocal said
        if not lab.machines(job) or "not authorized" in said:
            return True
        looked = world.stoker("show", job)  # which looks after it
        said += looked.stdout + looked.stderr
        return False

    world.wait_for(f"an end of {job}, or a word", over, 30, 0.2)
    return len(lab.machines(job)), said


def placed(lab, world, kind, more):
    """A job whose machines are near each other: what came of asking for it."""
    (world.work / "near.yaml").write_text(
        f'resources: {{infra: aws/{REGION}, instance_type: {kind}}}\naws: {{placement: cluster{more}}}\nrun: "true"\n'
    )
    return world.stoker("run", "--detach", "--json", "near.yaml")


def let_go(lab, world, job):
    """Whether its placement group goes, as somebody looks; all words."""
    said = ""

    def gone():
        nonlocal said
        looked = world.stoker("show", job)
        said += looked.stdout + looked.stderr
        return not lab.ec2.world.region(REGION).groups or "not authorized" in said

    world.wait_for(f"the placement group of {job} to go, or a word", gone, 30, 0.2)
    return not lab.ec2.world.region(REGION).groups, said


def submits(lab, world):
    """What comes of all that a submitter does: [(what, how it went)], and all words."""
    fresh(lab)
    words, came = "", []

    def note(what, done, told=None):
        nonlocal words
        words += done.stdout + done.stderr
        came.append((what, done.returncode if told is None else told))

    done = run(world, "--spot", "--instance-type", "m5.large")
    words += done.stdout + done.stderr  # what is refused for good is told here
    if done.returncode == 0:
        spot = json.loads(done.stdout)["id"]
        price = world.job(spot)["launches"][0]["price_micros"]
        came.append(("spot has a price", bool(price)))
        came.append(("spot is given", len(lab.machines(spot))))
        words += world.stoker("show", spot).stdout
        fresh(lab)
        cancelled(lab, world, spot)
    done = run(world)
    job = json.loads(done.stdout)["id"] if done.returncode == 0 else None
    machines = lab.machines(job) if job else []
    note("a machine is asked for", done, len(machines))
    if job:
        told = world.stoker("show", job)
        words += told.stdout + told.stderr
        if machines:  # somebody turned it off before it began anything
            lab.below.client("ec2").stop_instances(InstanceIds=[machines[0].id])
            machines[0].move((0, "stopped"))
            started, said = until_started(world, machines[0], ("show", job))
            words += said
            came.append(("it is started again", started))
        note("gc", world.stoker("gc"))
        left, said = cancelled(lab, world, job)
        words += said
        came.append(("it is ended", left))
    bought = groups.reserve(lab.ec2, REGION, "c5n.18xlarge", "us-east-1a", 1)
    done = placed(lab, world, "c5n.18xlarge", f", efa: true, capacity_reservation: {bought}")
    job = json.loads(done.stdout)["id"] if done.returncode == 0 else None
    note("one near others is asked for", done, len(lab.machines(job)) if job else 0)
    if job:
        told = world.stoker("show", job)
        words += told.stdout + told.stderr + cancelled(lab, world, job)[1]
        gone, said = let_go(lab, world, job)
        words += said
        came.append(("its group goes", gone))
    world.stoker("config", "set", "aws.instance_profile", "nobody", check=True)
    done = run(world, "--instance-type", "m5.large")
    note("a profile that is not there", done, "no instance profile" in done.stdout + done.stderr)
    world.stoker("config", "set", "aws.instance_profile", "stoker", check=True)
    done = run(world, infra="aws/us-east-11")
    told = done.stdout + done.stderr
    note("a region misspelt", done, "Did you mean us-east-1" in told)
    return came, words


# leftovers.py, kept.py
SWEEPS = ("ec2:DeleteVolume", "ec2-instance-connect:SendSSHPublicKey", "ec2:RevokeSecurityGroupIngress", "ec2:DeleteSecurityGroup")

# Who lacks these is not refused anything: less is said. Held by ec2_resolve_test.cc, no_way.py and
# test/cloud/paste.py.
TOLD = ("ec2:DescribeRouteTables", "ec2:DescribeVpcEndpoints", "ec2:GetConsoleOutput", "iam:SimulatePrincipalPolicy")


def test_submitter(lab, check, only=""):
    policy = printed(lab)["submitter"]
    with lab.world("team", lab.user("all", policy)) as world:
        whole, words = submits(lab, world)
        wanted = {
            "spot has a price": True,
            "spot is given": 1,
            "a machine is asked for": 1,
            "it is started again": True,
            "gc": 0,
            "it is ended": 0,
            "one near others is asked for": 1,
            "its group goes": True,
        }
        check("the printed rights are enough", wanted.items() <= dict(whole).items() and "not authorized" not in words, (whole, words))
        for number, (at, action) in enumerate(actions(policy)):
            if action in SWEEPS or action in TOLD or only not in action:
                continue
            keys = lab.user(f"less{number}", without(policy, at, action))
            world.env.update(lab.env(keys))
            came, words = submits(lab, world)
            check(f"submitter without {action}: something fails", came != whole, came)
            told = action in words or action.split(":")[1] in words or "create-service-linked-role" in words
            silent = ("DescribeSpotPriceHistory", "DescribeRegions", "GetInstanceProfile")
            check("  which is said", told or action.endswith(silent), words[-1500:])


def looks(lab, world, owner):
    """What comes of all that a node does for its job, by a pass with its keys."""
    fresh(lab)
    words, came = "", []
    job = json.loads(placed(lab, owner, "m5.large", "").stdout)["id"]
    first = lab.machines(job)[0]
    client = lab.below.client("ec2")
    client.stop_instances(InstanceIds=[first.id])
    first.move((0, "stopped"))
    started, said = until_started(world, first, ("show", job))
    words += said
    came.append(("a stopped machine is started", started))
    # Its own doing: where nobody can say whose, another is asked for a minute later.
    first.state_reason = ("Client.InstanceInitiatedShutdown", "Client.InstanceInitiatedShutdown: Instance initiated shutdown")
    first.move((0, "terminated"))
    for _ in range(4):
        done = world.stoker("show", job)
        words += done.stdout + done.stderr
    again = [each for each in lab.machines(job) if each.id != first.id]
    came.append(("another is asked for", len(again)))
    left, said = cancelled(lab, world, job)
    words += said
    came.append(("it is ended", left))
    gone, said = let_go(lab, world, job)
    words += said
    came.append(("its group goes", gone))
    fresh(lab)
    owner.stoker("cancel", "--no-wait", job)
    return came, words


def test_node(lab, check, only=""):
    policy = printed(lab)["node"]
    with lab.world("crew") as owner, lab.world("crew", lab.user("node", policy)) as world:
        whole, words = looks(lab, world, owner)
        check(
            "the printed rights are enough for a node",
            whole == [("a stopped machine is started", True), ("another is asked for", 1), ("it is ended", 0), ("its group goes", True)]
            and "not authorized" not in words,
            (whole, words),
        )
        for number, (at, action) in enumerate(actions(policy)):
            if (policy["Statement"][at]["Sid"], action) == ("Own", "ec2:CreateTags"):
                continue  # below
            if only not in action:
                continue
            keys = lab.user(f"nless{number}", without(policy, at, action))
            world.env.update(lab.env(keys))
            came, words = looks(lab, world, owner)
            check(f"node without {action}: something fails", came != whole, (came, words))
            check("  which is said", action in words or action.split(":")[1] in words, words[-1500:])
        lease(lab, check, policy, owner)


def lease(lab, check, policy, owner):
    """A node moves the lease of its ledger's machines, and touches nobody else's."""
    from botocore.exceptions import ClientError

    job = json.loads(run(owner, "--instance-type", "m5.large").stdout)["id"]
    mine = lab.machines(job)[0].id
    other = lab.below.client("ec2").run_instances(ImageId="ami-0a120230000000064", InstanceType="m5.large", MinCount=1, MaxCount=1)[
        "Instances"
    ][0]["InstanceId"]

    def may(keys, name, key="stoker-expires"):
        client = lab.below.client("ec2", aws_access_key_id=keys[0], aws_secret_access_key=keys[1])
        try:
            client.create_tags(Resources=[name], Tags=[{"Key": key, "Value": "x"}])
        except ClientError as error:
            return error.response["Error"]["Code"]
        return "ok"

    keys = lab.user("leaser", policy)
    at = [i for i, action in actions(policy) if action == "ec2:CreateTags"][-1]
    less = lab.user("nolease", without(policy, at, "ec2:CreateTags"))
    said = [may(keys, mine), may(keys, other), may(less, mine)]
    check(
        "a node may tag its ledger's machines alone, by the right that is for it",
        said == ["ok", "UnauthorizedOperation", "UnauthorizedOperation"],
        said,
    )
    owner.stoker("cancel", "--no-wait", job)
    lab.below.client("ec2").terminate_instances(InstanceIds=[other])


def looked(world):
    """What doctor says, by what it is of."""
    return {each["what"]: each for each in world.json("doctor", "--infra", f"aws/{REGION}", ok=(0, 1))}


MAKES = ("SendSSHPublicKey", "PutParameter", "DeleteParameter")  # with no key; and what is put is removed


def test_doctor(lab, check):
    fresh(lab)
    policy = printed(lab)["submitter"]
    with lab.world("checkup", lab.user("fit", policy)) as world:
        since = len(lab.log)
        told = looked(world)
        bad = [each for each in told.values() if each["level"] == "bad"]
        check("with the printed rights nothing lacks", not bad and told["ec2:RunInstances"]["level"] == "ok", told)
        made = [e for e in lab.log[since:] if e.get("asked") and not e["asked"].get("DryRun") and not e["action"].startswith("Describe")]
        check("nothing is made to find that out", not made and not lab.machines(), made)
        check("what needs a machine is said to be unknown", told["ec2:TerminateInstances"]["level"] == "note", told)
        job = json.loads(run(world, "--instance-type", "m5.large").stdout)["id"]
        since = len(lab.log)
        told = looked(world)
        unknown = [action for _, action in actions(policy) if told.get(action, {"level": "ok"})["level"] != "ok"]
        check("with a machine that is known, too, but for who may not simulate", unknown == ["iam:SimulatePrincipalPolicy"], told)
        check("and the machine lives", len(lab.machines(job)) == 1 and not lab.ec2.sent_keys, lab.ec2.sent_keys)
        changed = [e for e in lab.log[since:] if not e["action"].startswith(("Describe", "Get", "List", *MAKES))]
        changed = [e["action"] for e in changed if not (e.get("asked") or {}).get("DryRun")]
        check("nothing is changed to find that out", set(changed) <= {"SimulatePrincipalPolicy"}, changed)
        check("installer's are named, and why they are not tried", "lambda:CreateFunction" in told["installer.json"]["text"], told)
        check("so are the bucket's", "s3:PutObject" in told["bucket"]["text"], told)
        for number, (at, action) in enumerate(actions(policy)):
            if action.startswith("iam:Simulate"):  # without it less is known: below
                continue
            world.env.update(lab.env(lab.user(f"dless{number}", without(policy, at, action))))
            done = world.stoker("doctor", "--infra", f"aws/{REGION}")
            check(
                f"without {action} doctor says so, and the command",
                done.returncode == 1 and f"these lack: {action}" in done.stdout and "stoker doctor --iam" in done.stdout,
                done.stdout + done.stderr,
            )
        world.env.update(lab.env())
        world.stoker("cancel", "--no-wait", job)


ROLE_FILES = {"node": "node.json", "node-logs": "logs: {cloud: true}", "images": "images of ECR"}


def half(policy, odd):
    """(with each second action taken away, these)."""
    less, gone = copy.deepcopy(policy), []
    for number, statement in enumerate(less["Statement"]):
        listed = statement["Action"] if isinstance(statement["Action"], list) else [statement["Action"]]
        gone += [each for at, each in enumerate(listed) if (number + at) % 2 == odd]
        statement["Action"] = [each for at, each in enumerate(listed) if (number + at) % 2 != odd]
    return less, sorted(set(gone))


def test_role(lab, check):
    """What doctor says of the role of the machines, by IAM's simulator."""
    with lab.world("roles") as world:
        rights = world.json("doctor", "--iam", "--infra", f"aws/{REGION}")
        world.env.update(lab.env(lab.user("asks", rights["submitter"])))
        told = looked(world)
        for name, what in ROLE_FILES.items():
            named = half(rights[name], 0)[1] + half(rights[name], 1)[1]
            row = told[what]
            check(f"where nobody may simulate, each right of {name}.json is named", all(each in row["text"] for each in named), row)
            check("  as not known", row["level"] == "note" and "not known" in row["text"], row)
        lab.front.roles["stoker"] = {"Statement": [each for name in ROLE_FILES for each in rights[name]["Statement"]]}
        told = looked(world)
        bad = {what: told[what] for what in ("role of the machines", *ROLE_FILES.values()) if told[what]["level"] != "ok"}
        asks = told["iam:SimulatePrincipalPolicy"]["level"]
        check("a role with the printed rights has all, and may be asked about", not bad and asks == "ok", (bad, asks))
        for odd in (0, 1):
            less = {name: half(rights[name], odd) for name in ROLE_FILES}
            lab.front.roles["stoker"] = {"Statement": [each for policy, _ in less.values() for each in policy["Statement"]]}
            told = looked(world)
            for name, what in ROLE_FILES.items():
                said = told[what]["text"].partition("may not ")[2].partition(": ")[0]
                gone = less[name][1]
                check(f"each second right of {name}.json is said to lack", sorted(said.split(", ")) == gone, (gone, told[what]))
        decides = {"Effect": "Allow", "Action": "ec2:StartInstances", "Resource": "*"}
        decides["Condition"] = {"StringEquals": {"aws:SourceVpc": "vpc-1"}}
        lab.front.roles["stoker"]["Statement"] = [decides]
        said = looked(world)["node.json"]["text"]
        check("one that a request decides is said to be open", "may or may not, as a request is, ec2:StartInstances" in said, said)
        del lab.front.roles["stoker"]


if __name__ == "__main__":
    play(Ec2Lab, parts_of(globals()), sys.argv[1:])
