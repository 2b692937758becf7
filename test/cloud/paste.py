#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/aws.md or docs/gcp.md, every block of commands as it stands, pasted in order into one shell of
an account that is empty, in the lab, by the cloud's own program (aws-cli, gcloud). What the page's
commands have made is all that anybody may do there: policies count as the account's IAM has them.
At the end a job ran, on a machine whose image is as bare as a vendor's (test/lab/base_tree.py).

    paste.py ec2|gcp"""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

sys.path[0] = str(pathlib.Path(__file__).parents[2])

os.environ.setdefault("STOKER_LAB_IMAGE", "vendor")
from test.lab import lab as lab_of

lab_of.enter()
from test.e2e.kit.harness import Results, World, patience
from test.lab.ec2api.world import ACCOUNT

DOCS = pathlib.Path(__file__).parents[2] / "docs"
SEEN = {"yaml", "console"}  # a part of a job file; what a command prints
LONGEST = 300


def blocks_of(page, check):
    """[(number of its line, commands)]"""
    text = (DOCS / page).read_text()
    found = [(text[: each.start()].count("\n") + 1, each[1], each[2]) for each in re.finditer(r"^```(\w*)\n(.*?)^```$", text, re.M | re.S)]
    strange = [(line, kind) for line, kind, _ in found if kind != "sh" and kind not in SEEN]
    check(f"{page}: each block is of commands, or says what it is", not strange, strange)
    return [(line, commands) for line, kind, commands in found if kind == "sh"]


def pasted(world, page, env, check, most=None):
    """All of them, or the first ones, by one shell; what it printed."""
    blocks = blocks_of(page, check)[:most]
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


def project_of(world, identity, make_bucket, host):
    """An empty project of Google, and the variables by which gcloud finds it: its own token is the
    owner's, and who is logged in is who submits."""
    from test.lab.gce_lab import SUBMITTER
    from test.lab.gceapi.identity import CLOUD
    from test.lab.gceapi.project import Project
    from test.lab.gceapi.service import PROJECT
    from test.lab.gceapi.world import number_of
    from test.lab.web import Server

    if not shutil.which("gcloud"):
        print("there is no gcloud here: install google-cloud-cli, whose commands the pages have")
        sys.exit(77)
    project = Project(PROJECT, number_of(PROJECT), "owner@example.com", identity, make_bucket)
    url = f"http://{host}:{Server(project, host=host).port}/"
    (world.root / "token").write_text(identity.issue(project.owner, [CLOUD]).text)
    return project, {
        "CLOUDSDK_CORE_PROJECT": PROJECT,
        "CLOUDSDK_CORE_ACCOUNT": SUBMITTER,
        "CLOUDSDK_CORE_DISABLE_PROMPTS": "1",
        "CLOUDSDK_AUTH_ACCESS_TOKEN_FILE": str(world.root / "token"),
        "CLOUDSDK_API_ENDPOINT_OVERRIDES_IAM": url,
        "CLOUDSDK_API_ENDPOINT_OVERRIDES_CLOUDRESOURCEMANAGER": url,
        "CLOUDSDK_API_ENDPOINT_OVERRIDES_SERVICEUSAGE": url,
        "CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE": f"{url}storage/v1/",
    }


def role_without_a_policy(lab, world, env, check):
    """As where one block was left out: no machine is asked for."""
    before = len(lab.ec2.world.instances())
    iam = lab.boto3("iam")
    kept = iam.get_role_policy(RoleName="stoker", PolicyName="stoker")["PolicyDocument"]
    iam.delete_role_policy(RoleName="stoker", PolicyName="stoker")
    env = {**env, "AWS_PROFILE": "stoker"}
    shutil.rmtree(world.home / ".cache")  # an hour later
    done = world.stoker("run", "--infra", "aws/us-east-1", "--", "true", env=env, timeout=120)
    check(
        "a role whose policy was never put is refused, with the command",
        done.returncode == 1
        and "no policy of it allows that" in done.stderr
        and "aws iam put-role-policy --role-name stoker" in done.stderr,
        done.stdout + done.stderr,
    )
    check("before any machine is asked for", len(lab.ec2.world.instances()) == before)
    said = {each["what"]: each for each in world.json("doctor", "--infra", "aws/us-east-1", env=env, ok=(0, 1), timeout=120)}
    check("doctor says so, too", said["role of the machines"]["level"] == "bad", said.get("role of the machines"))
    open_to = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": "*", "Action": "s3:*", "Resource": "*"}]}
    lab.s3.client.put_bucket_policy(Bucket=f"stoker-{ACCOUNT}", Policy=json.dumps(open_to))
    said = {each["what"]: each for each in world.json("doctor", "--infra", "aws/us-east-1", env=env, ok=(0, 1), timeout=120)}
    check(
        "where the bucket has a policy that is not known", said["role of the machines"]["level"] == "note", said.get("role of the machines")
    )
    lab.s3.client.delete_bucket_policy(Bucket=f"stoker-{ACCOUNT}")
    iam.put_role_policy(RoleName="stoker", PolicyName="stoker", PolicyDocument=json.dumps(kept))
    said = {each["what"]: each for each in world.json("doctor", "--infra", "aws/us-east-1", env=env, ok=(0, 1), timeout=120)}
    check("and that it is well, once it is put", said["role of the machines"]["level"] == "ok", said.get("role of the machines"))
    lines, topic = "logs: {cloud: true}", f"arn:aws:sns:us-east-1:{ACCOUNT}:t"
    check(
        "which right lacks for lines in the cloud's log",
        "logs:PutLogEvents" in said[lines]["text"] and said[lines]["level"] == "note",
        said,
    )
    world.stoker("config", "set", "notify", f"[{{sns: '{topic}'}}]", env=env, check=True)
    rights = world.json("doctor", "--iam", "--infra", "aws/us-east-1", env=env)
    iam.put_role_policy(RoleName="stoker", PolicyName="stoker-logs", PolicyDocument=json.dumps(rights["node-logs"]))
    said = {each["what"]: each for each in world.json("doctor", "--infra", "aws/us-east-1", env=env, ok=(0, 1), timeout=120)}
    told = (said[lines], said[f"notify {topic}"])
    check("that it is there, and that of a topic is not", told[0]["level"] == "ok" and "sns:Publish" in told[1]["text"], told)
    iam.put_role_policy(RoleName="stoker", PolicyName="stoker-notify", PolicyDocument=json.dumps(rights["notify-sns"]))
    said = {each["what"]: each for each in world.json("doctor", "--infra", "aws/us-east-1", env=env, ok=(0, 1), timeout=120)}
    check("and then that is there, too", said[f"notify {topic}"]["level"] == "ok", said)
    for name in ("stoker-logs", "stoker-notify"):
        iam.delete_role_policy(RoleName="stoker", PolicyName=name)
    world.stoker("config", "unset", "notify", env=env, check=True)


def test_ec2(check):
    from test.door import Door
    from test.lab.ec2_rooms import GATE
    from test.lab.ec2api.account import AccountFront, BucketJudge
    from test.lab.gceapi.identity import Identity

    class Empty(lab_of.Lab):
        def front_of(self, kind):
            return AccountFront(self.ec2, self.keyring, self.log)

        def make_role(self):
            """Nothing is there but its owner."""

    with Empty() as lab, World("paste") as world, World("google") as other:
        judge = BucketJudge(lab.front.rights)
        folder = pathlib.Path(world.home) / ".aws"
        folder.mkdir()
        (folder / "credentials").write_text("[default]\naws_access_key_id = {}\naws_secret_access_key = {}\n".format(*lab.keyring.own))
        env = {
            "AWS_ENDPOINT_URL": lab.endpoint,
            "AWS_ENDPOINT_URL_S3": Door(GATE, lab.bucket, judge).url,
            "PATH": f"{os.path.dirname(world.binary)}:{os.path.dirname(sys.executable)}:/usr/bin:/bin",
        }
        project, google = project_of(other, Identity(), lambda _: None, GATE)
        pasted(other, "gcp.md", {**env, **google}, check, most=2)  # which its part on Google's buckets needs
        said = pasted(world, "aws.md", {**env, **google}, check)
        check(
            "Google's bucket knows the role",
            any("assumed-role/stoker" in str(each) for each in project.policies.values()),
            project.policies,
        )
        check("all that gcloud asked, and each answer, is in Google's documents", not project.strange, project.strange)
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
        role_without_a_policy(lab, world, env, check)
        for words, what in (
            (("s3api", "head-object", "--bucket", f"stoker-{ACCOUNT}", "--key", "elsewhere"), "outside the prefix nothing is read"),
            (("iam", "list-users"), "nor is anything else allowed"),
        ):
            done = subprocess.run(["aws", *words, "--profile", "stoker"], env={**world.env, **env}, capture_output=True, text=True)
            check(what, done.returncode != 0 and ("403" in done.stderr or "AccessDenied" in done.stderr), done)
        venv = pathlib.Path(lab.rooms.tree) / "usr/lib/python3.11/ensurepip"
        check("its image has no ensurepip", not venv.exists(), venv)
        check("the lab has no bug", not lab.bugs, lab.bugs)


class BoundHere:
    """Whom the page's bucket lets in, as a set."""

    def __init__(self, project):
        self.project = project

    def __contains__(self, email):
        return any(self.project.lets_in(each, email) for each in self.project.buckets)


def test_gcp(check):
    from test.lab import google_names
    from test.lab.gce_lab import NODES, SUBMITTER, GceLab
    from test.lab.gce_rooms import GATE
    from test.lab.gceapi.service import PROJECT
    from test.lab.keyring import Keyring

    def make_bucket(name):
        lab.gcs.call("POST", f"/storage/v1/b?project={PROJECT}", json.dumps({"name": name}).encode())

    with GceLab() as lab, World("paste") as world:
        names = google_names.GoogleNames(GATE, lab.identity, lab.gcs, Keyring(), lab.folder)
        names.join(lab.rooms)
        names.join_here()
        project, google = project_of(world, lab.identity, make_bucket, GATE)
        names.may = BoundHere(project)
        lab.api.may = project.may
        lab.api.networks.clear()
        lab.api.subnetworks.clear()
        env = {
            **{name: value for name, value in lab.env.items() if name != "STORAGE_EMULATOR_HOST"},
            **names.env,
            **google,
            "PATH": f"{os.path.dirname(world.binary)}:/usr/bin:/bin",
        }
        said = pasted(world, "gcp.md", env, check)
        check("a job ran", "trained" in said, said[-800:])
        check("all that gcloud asked, and each answer, is in Google's documents", not project.strange, project.strange)
        check("on one VM", len(lab.api.world.instances) == 1, lab.api.world.instances)
        asked = {each["email"] for each in lab.log if each.get("method") == "instances.insert"}
        check("asked for by who submits", asked == {SUBMITTER}, asked)
        refused = sorted({(e["email"], e["method"], e["error"]) for e in lab.log if e.get("status") == 403})
        check("nothing that was asked of Compute Engine was denied", not refused, refused)
        seen = {(who, status) for name, who, status in names.asked if name == google_names.STORE}
        check(
            "the bucket let in both by its policy, and nobody else asked",
            {who for who, _ in seen} == {SUBMITTER, NODES} and 403 not in {s for _, s in seen},
            seen,
        )
        check(
            "the account may act as itself, and the project's roles say nothing of it",
            not any("actAs" in str(each) for each in project.roles.values()) and project.may(NODES, "iam.serviceAccounts.actAs", [NODES]),
        )
        check("values of secrets are bound to stoker's names alone", project.secrets_are_ours(), project.policies)
        check("neither may do anything else", not any(project.may(each, "compute.firewalls.create") for each in (SUBMITTER, NODES)))
        check("the lab has no bug", not lab.bugs, lab.bugs)


def main():
    results = Results()
    {"ec2": test_ec2, "gcp": test_gcp}[sys.argv[1]](results.check)
    results.finish()


main()
