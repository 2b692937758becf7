#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The rights of the function that `stoker controller --install aws` makes, and of who types that: all
that they do goes with them, and with any one action less something fails that did not, in words that
name it.

    away_rights.py [PART…]      function, installer, or function/RIGHT: only without that one"""

import io
import json
import pathlib
import sys
import time
import zipfile

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test.ec2.away import TICK, function, lose, parts, submit  # which enters the lab's namespace

# isort: split
from test.cloud.verb_lab import Ec2Lab, play
from test.e2e.kit.harness import parts_of
from test.ec2.permits import REGION, TOLERATED, actions, fresh, placed, without
from test.lab.policy_lint import lint

# Who lacks these is not refused anything: less is cleared up, or less is said. Held by
# test/cloud/leftovers.py, kept.py, vaults.py and no_way.py.
ELSEWHERE = (
    "ec2:DeleteVolume",
    "ec2:DescribeRouteTables",
    "ec2:DescribeSpotPriceHistory",
    "ec2:DescribeVpcEndpoints",
    "ec2:GetConsoleOutput",
    "ec2:RevokeSecurityGroupIngress",
    "ssm:DeleteParameter",
)


def printed(lab, world):
    """The policy of the role that is made, and nothing stays."""
    submit(world)
    ledger = json.loads(lab.s3.read(f"{world.name}/ledger.json"))["id"]
    world.stoker("controller", "--install", "aws", "--type", "m5.large", "--yes", check=True)
    role = lab.below.client("iam").get_role_policy(RoleName=f"stoker-away-{ledger}", PolicyName="stoker-away")
    world.stoker("controller", "--uninstall", "aws", check=True)
    assert not parts(lab, ledger)
    return role["PolicyDocument"]


def keeps_a_secret(world):
    """From then on the ledger knows a vault, which sweeps list."""
    resources = f"resources: {{infra: aws/{REGION}, instance_type: m5.large}}"
    (world.work / "secret.yaml").write_text(f'{resources}\nsecrets: [HF_TOKEN]\nrun: "true"\n')
    world.stoker("cancel", "--no-wait", world.submit("secret.yaml", env={**world.env, "HF_TOKEN": "planted"}), check=True)


def acts(lab, world, keys):
    """What comes of all that a function does: [(what, how it went)], and all words."""
    fresh(lab, groups=False)
    lab.lose("rights/active/")
    lab.lose("rights/away/")
    words, came = "", []
    asked = placed(lab, world, "m5.large", "")
    job = json.loads(asked.stdout)["id"]
    world.wait_for(f"a machine: {asked.stderr}", lambda: lab.machines(job) or world.stoker("show", job) is None, 30, 1)
    (first,) = lab.machines(job)
    orphan = lab.machines(submit(world))[0]
    lab.lose("rights/", orphan.tags["stoker-job"])
    lab.expire(orphan)
    with function(lab, world, machines=4) as away:
        away.environment.update(lab.env(keys))

        def ticks(done):
            """Who looks asks again some seconds after the last time."""
            nonlocal words
            for _ in range(12):
                told, error = away.call(TICK)
                words += json.dumps(told or error)
                if done() or "not authorized" in words:
                    break
                time.sleep(2)
            return done()

        came.append(("an orphan goes", ticks(lambda: lab.ended(orphan))))
        lab.below.client("ec2").stop_instances(InstanceIds=[first.id])
        first.move((0, "stopped"))
        came.append(("what was stopped comes up", ticks(lambda: first.state() in ("pending", "running"))))
        lose(first)
        lab.ec2.world.region(REGION).groups.clear()
        came.append(("another machine is asked for", ticks(lambda: any(m.id != first.id for m in lab.machines(job)))))
        key = f"rights/records/{job}.json"
        record = json.loads(lab.s3.read(key))
        lab.write(key, json.dumps({**record, "cancel": {"at": record["created"], "by": "ann"}}))
        came.append(("a cancelled job has none", ticks(lambda: not lab.machines(job))))
        lab.lose("rights/away/")
        came.append(("its placement goes", ticks(lambda: not lab.ec2.world.region(REGION).groups)))
    return came, words


def test_function(lab, check, only=""):
    with lab.world("rights") as world:
        policy = printed(lab, world)
        keeps_a_secret(world)
        whole, words = acts(lab, world, lab.user("all", policy))
        check("the rights of the role are enough", all(went for _, went in whole) and "not authorized" not in words, (whole, words[-2000:]))
        number = 0
        for at, statement in enumerate(policy["Statement"]):
            listed = statement["Action"] if isinstance(statement["Action"], list) else [statement["Action"]]
            for action in listed:
                number += 1
                if action.startswith(("s3:", "logs:")) or action in ELSEWHERE or only not in action:
                    continue
                came, words = acts(lab, world, lab.user(f"less{number}", without(policy, at, action)))
                told = action in words or action.split(":")[1] in words
                check(f"without {action} ({statement['Sid']}): it fails or is said, and that in words", told, (came, words[-1500:]))
        fresh(lab)
        lab.lose("rights/")


def other_code():
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        archive.writestr("bootstrap", "of another day")
    return held.getvalue()


def installs(lab, world, owner, ledger):
    """What comes of all that an installer types: [(what, how it went)], and all words."""
    words, came = ("controller", "--install", "aws", "--type", "m5.large", "--yes"), []
    made = world.stoker(*words)
    came.append(("it is made", made.returncode == 0 and len(parts(lab, ledger)) == 5))
    if made.returncode == 0:
        lab.below.client("lambda").update_function_code(FunctionName=f"stoker-away-{ledger}", ZipFile=other_code())
    again = world.stoker(*words)
    came.append(("it is brought up to date", again.returncode == 0))
    gone = world.stoker("controller", "--uninstall", "aws", "--json")
    came.append(("it is taken away", gone.returncode == 0 and not parts(lab, ledger)))
    came.append(("what is left is in its JSON", (gone.returncode == 0) != ("left" in json.loads(gone.stdout.splitlines()[0]))))
    owner.stoker("controller", "--uninstall", "aws", check=True)
    return came, made.stderr + again.stderr + gone.stderr + gone.stdout


def test_installer(lab, check, only=""):
    with lab.world("setup") as owner:
        submit(owner)
        ledger = json.loads(lab.s3.read("setup/ledger.json"))["id"]
        rights = owner.json("doctor", "--iam", "--infra", f"aws/{REGION}")
        found = [each for each in lint([rights["installer"]])[0] if not each.startswith(TOLERATED)]
        check("the linter finds nothing in what is printed for the installer", not found, found)
        submits = rights["submitter"]["Statement"]
        policy = {**rights["installer"], "Statement": rights["installer"]["Statement"] + submits}
        with lab.world("setup", lab.user("installs", policy)) as world:
            whole, words = installs(lab, world, owner, ledger)
            check(
                "the rights of the installer are enough", all(went for _, went in whole) and "not authorized" not in words, (whole, words)
            )
            for number, (at, action) in enumerate(each for each in actions(rights["installer"]) if only in each[1]):
                less = without(rights["installer"], at, action)
                if action != "iam:GetInstanceProfile":  # which the submitter has, too
                    less = {**less, "Statement": less["Statement"] + submits}
                world.env.update(lab.env(lab.user(f"iless{number}", less)))
                came, words = installs(lab, world, owner, ledger)
                check(f"installer without {action}: that is said", action in words and came[-1][1], (came, words))
        owner.stoker("cancel", "-")
        lab.lose("setup/")


if __name__ == "__main__":
    play(Ec2Lab, parts_of(globals()), sys.argv[1:])
