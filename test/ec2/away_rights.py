#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The rights of the function that `stoker controller --install aws` makes: all that it does goes
with them, and with any one action less something fails that did not, in words that name it.

    away_rights.py [PART…]      function, or function/RIGHT: only without that one"""

import json
import pathlib
import sys
import time

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test.ec2.away import TICK, function, lose, parts, submit  # which enters the lab's namespace

# isort: split
from test.cloud.verb_lab import Ec2Lab, play
from test.e2e.kit.harness import parts_of
from test.ec2.permits import REGION, fresh, placed, without

# Who lacks these is not refused anything: less is cleared up, or less is said. Held by
# test/cloud/leftovers.py, kept.py, vaults.py and no_way.py.
ELSEWHERE = (
    "ec2:DeleteVolume",
    "ec2:DescribeRouteTables",
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


def acts(lab, world, keys):
    """What comes of all that a function does: [(what, how it went)], and all words."""
    fresh(lab)
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


if __name__ == "__main__":
    play(Ec2Lab, parts_of(globals()), sys.argv[1:])
