#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/aws.md or docs/gcp.md, every block of commands as it stands, pasted in order into one shell of
an account that is empty, in the lab, by the cloud's own program (aws-cli, gcloud). What the page's
commands have made is all that anybody may do there: policies count as the account's IAM has them.
At the end a job ran, on a machine whose image is as bare as a vendor's (test/lab/base_tree.py).

    paste.py ec2|gcp"""

import os
import pathlib
import re
import subprocess
import sys

sys.path[0] = str(pathlib.Path(__file__).parents[2])

os.environ.setdefault("STOKER_LAB_IMAGE", "vendor")
from test.lab import lab as lab_of

lab_of.enter()
from test.e2e.kit.harness import Results, World, patience

DOCS = pathlib.Path(__file__).parents[2] / "docs"
SEEN = {"yaml", "console", "google"}  # a part of a job file; what a command prints
LONGEST = 300


def blocks_of(page, check):
    """[(number of its line, commands)]"""
    text = (DOCS / page).read_text()
    found = [(text[: each.start()].count("\n") + 1, each[1], each[2]) for each in re.finditer(r"^```(\w*)\n(.*?)^```$", text, re.M | re.S)]
    strange = [(line, kind) for line, kind, _ in found if kind != "sh" and kind not in SEEN]
    check(f"{page}: each block is of commands, or says what it is", not strange, strange)
    return [(line, commands) for line, kind, commands in found if kind == "sh"]


def pasted(world, page, env, check):
    """All of them by one shell; what it printed."""
    blocks = blocks_of(page, check)
    script = "set -eu\n" + "".join(f"echo 'pasted line {line}' >&2\n{commands}" for line, commands in blocks)
    done = subprocess.run(
        ["bash", "-c", script], cwd=world.work, env={**world.env, **env}, capture_output=True, text=True, timeout=patience(LONGEST)
    )
    last = re.findall(r"pasted line (\d+)", done.stderr)[-1:]
    check(
        f"{page}: {len(blocks)} blocks, pasted in order, do what they say",
        done.returncode == 0 and last == [str(blocks[-1][0])],
        f"the block at line {last}: {done.returncode}\n{done.stdout[-1500:]}\n{done.stderr[-2500:]}",
    )
    return done.stdout + done.stderr


def test_ec2(check):
    from test.door import Door
    from test.lab.ec2_rooms import GATE
    from test.lab.ec2api.account import AccountFront, BucketJudge
    from test.lab.ec2api.world import ACCOUNT

    class Empty(lab_of.Lab):
        def front_of(self, kind):
            return AccountFront(self.ec2, self.keyring, self.log)

        def make_role(self):
            """Nothing is there but its owner."""

    with Empty() as lab, World("paste") as world:
        judge = BucketJudge(lab.front.rights)
        folder = pathlib.Path(world.home) / ".aws"
        folder.mkdir()
        (folder / "credentials").write_text("[default]\naws_access_key_id = {}\naws_secret_access_key = {}\n".format(*lab.keyring.own))
        env = {
            "AWS_ENDPOINT_URL": lab.endpoint,
            "AWS_ENDPOINT_URL_S3": Door(GATE, lab.bucket, judge).url,
            "PATH": f"{os.path.dirname(world.binary)}:{os.path.dirname(sys.executable)}:/usr/bin:/bin",
        }
        said = pasted(world, "aws.md", env, check)
        check("a job ran", "trained" in said, said[-800:])
        made = list(lab.ec2.world.instances())
        check("on one machine", len(made) == 1, made)
        users = lab.front.rights.policies.users
        asked = {each["key"] for each in lab.log if each.get("action") == "RunInstances"}
        check("asked for with the written rights of who submits", asked and asked <= set(users), (asked, users))
        refused = sorted(
            {(each.get("action"), each["error"]) for each in lab.log if each.get("error") in ("AccessDenied", "UnauthorizedOperation")}
        )
        check("nothing that was asked of EC2 and IAM was denied", not refused, refused)
        denied = sorted({each for each in judge.seen if not each[2]})
        check("nothing that was asked of the bucket was denied", not denied, denied)
        nodes = {key for key, _, _ in judge.seen} & set(lab.keyring.roles)
        check("the bucket saw the role of the machine", nodes and {lab.keyring.roles[each] for each in nodes} == {"stoker"}, nodes)
        for words, what in (
            (("s3api", "head-object", "--bucket", f"stoker-{ACCOUNT}", "--key", "elsewhere"), "outside the prefix nothing is read"),
            (("iam", "list-users"), "nor is anything else allowed"),
        ):
            done = subprocess.run(["aws", *words, "--profile", "stoker"], env={**world.env, **env}, capture_output=True, text=True)
            check(what, done.returncode != 0 and ("403" in done.stderr or "AccessDenied" in done.stderr), done)
        venv = pathlib.Path(lab.rooms.tree) / "usr/lib/python3.11/ensurepip"
        check("its image has no ensurepip", not venv.exists(), venv)
        check("the lab has no bug", not lab.bugs, lab.bugs)


def main():
    results = Results()
    {"ec2": test_ec2}[sys.argv[1]](results.check)
    results.finish()


main()
