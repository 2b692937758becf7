#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Ten secrets on machines that boot: nine values of the submitter out of the cloud's vault, one that lay
there already by the machine's role; packages of a private index and of a private git repository;
interrupted and resumed. The same with one right less: of the role, of the index, of the repository. Then all
of them are looked for where they must not be.

    secret_boots.py ec2|gcp [resumed] [less] [doors]"""

import base64
import json
import os
import pathlib
import sys

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test.lab import lab as lab_of

lab_of.enter()
from test.e2e.kit import planted
from test.e2e.kit.harness import Results, parts_of
from test.e2e.kit.job_kit import texts
from test.e2e.kit.private_servers import Git, Index, repository, sdist, source, wheel
from test.ec2 import lab_world as ec2
from test.gcp import gce_world as gcp
from test.lab import ec2_rooms, gce_rooms

SECRETS = planted.SECRETS
THERE = "HF_TOKEN"  # lies there already
CONTROL = "seen-by-all-41"  # no secret
PROGRAM = (
    planted.TELLS
    + """
import runpy
print("packages", built.WORD, fromgit.WORD, ready.WORD)
runpy.run_path("trainer.py", run_name="__main__")
"""
)


class Ec2:
    steps = 160  # longer than its notice, 40 s
    module, gate, reference, right = ec2, ec2_rooms.GATE, "ssm:/team/there", "ssm:GetParameter"

    @staticmethod
    def plant(lab):
        lab.boto3("ssm").put_parameter(Name="/team/there", Value=SECRETS[THERE], Type="SecureString", Overwrite=True)

    @staticmethod
    def left(lab):
        return [e["Name"] for e in lab.boto3("ssm").get_parameters_by_path(Path="/stoker", Recursive=True)["Parameters"]]

    @staticmethod
    def deny(lab):
        everything = {"Effect": "Allow", "Action": "*", "Resource": "*"}
        nothing = {"Effect": "Deny", "Action": "ssm:GetParameter", "Resource": "*"}
        own = lab.keyring.own[0]

        class Less(dict):  # whoever asks and is not the submitter
            def get(self, key, default=None):
                return default if key == own else {"Statement": [everything, nothing]}

        lab.front.rights.policies = Less()

    @staticmethod
    def allow(lab):
        lab.front.rights.policies = {}

    @staticmethod
    def asked(lab):
        """Without what puts a value into the vault, which has it, and with user-data as it is read."""
        for each in lab.log:
            if each.get("service") == "ssm" and "PutParameter" in json.dumps(each, default=str):
                continue
            data = (each.get("asked") or {}).get("UserData", "") if isinstance(each.get("asked"), dict) else ""
            yield json.dumps(each, default=str) + base64.b64decode(data).decode(errors="replace")

    @staticmethod
    def bucket(lab):
        return lab.s3


class Google:
    steps = 400  # 120 s
    module, gate, right = gcp, gce_rooms.GATE, "secretmanager.versions.access"
    reference = "gcp-secret:projects/lab-project/secrets/there/versions/1"

    @staticmethod
    def plant(lab):
        told = {"name": f"projects/{lab.vault.number}/secrets/there", "labels": {}}
        held = {"secret": told, "versions": [SECRETS[THERE].encode()], "ends": float("inf")}
        lab.vault.held["lab-project", "there"] = held

    @staticmethod
    def left(lab):
        return [name for _, name in lab.vault.held if name.startswith("stoker-")]

    @staticmethod
    def deny(lab):
        lab.api.denied.add(Google.right)

    @staticmethod
    def allow(lab):
        lab.api.denied.clear()

    @staticmethod
    def asked(lab):
        for each in [*lab.log, *lab.vault.log]:
            yield json.dumps({**each, "text": each.get("text", b"").decode()}, default=str)

    @staticmethod
    def bucket(lab):
        return lab.gcs


CLOUD = {"ec2": Ec2, "gcp": Google}[sys.argv[1]]


def submitted(world, steps, **wrong):
    """`wrong`: of a server, the password that it knows."""
    world.env.update({name: value for name, value in SECRETS.items() if name != THERE})
    world.program(PROGRAM, "train.py")
    (world.work / "forms").write_text(planted.packed_forms())
    files = {"ready-1.0-py3-none-any.whl": wheel("ready"), "built-1.0.tar.gz": sdist("built", "ready")}
    index = Index.serve(CLOUD.gate, password=wrong.get("index", SECRETS["PIP_PASSWORD"]), files=files, slow=0.3)
    repository(world.root / "git", "fromgit", source("fromgit", "ready"))
    git = Git.serve(CLOUD.gate, password=wrong.get("git", SECRETS["GIT_TOKEN"]), root=str(world.root / "git"), slow=0.3)
    (world.work / "requirements.txt").write_text(
        f"--index-url http://me:${{PIP_PASSWORD}}@{CLOUD.gate}:{index.server_port}/simple/\n--trusted-host {CLOUD.gate}\nready\nbuilt\n"
        f"fromgit @ git+http://me:${{GIT_TOKEN}}@{CLOUD.gate}:{git.server_port}/fromgit.git@main\n"
    )
    secrets = [word for name in SECRETS for word in ("--secret", name if name != THERE else f"{name}={CLOUD.reference}")]
    more = ("--spot", "--name", CONTROL, "--env", f"NAMES={' '.join(SECRETS)}", *secrets)
    return world.submit("--infra", world.infra, *more, "--", "python3", "train.py", str(steps), "--pause", "0.5")


def said(world, job):
    return world.stoker("logs", "--stream", "system", job).stdout


def where_not(lab, world, job):
    """All that others can read of it: {place: bytes}."""
    found = {"what was asked": "\n".join(CLOUD.asked(lab)).encode()}
    bucket = CLOUD.bucket(lab)
    found |= {f"bucket {key}": bucket.read(key) for key in bucket.keys() if job in key or "/blobs/" in key or "/env/" in key}
    for machine in world.machines(job):
        found[f"tags and data of {machine.id}"] = repr(vars(machine)).encode()
        for path in (pathlib.Path(lab.folder) / machine.id).glob("*"):
            if path.is_file():  # its console
                found[f"{path.name} of {machine.id}"] = path.read_bytes()
        for path in world.files_on(machine, "var/log/**/*"):
            if path.is_file():
                found[str(path)] = path.read_bytes()
    for verb in (("show", "--json", job), ("show", "--env", job), ("logs", job), ("ls", "--json"), ("gc", "--dry-run")):
        done = world.stoker(*verb)
        found[" ".join(verb)] = (done.stdout + done.stderr).encode()
    return found | {"system's log": said(world, job).encode()}


def test_resumed(lab, check):
    CLOUD.plant(lab)
    with CLOUD.module.World(lab, "secrets") as world, planted.Looker(0.02) as looker:
        job = submitted(world, CLOUD.steps)
        first = world.machine(job, 0)
        world.trained(first, 10, limit=240)
        world.notice(first)
        world.machine(job, 1, limit=240)
        world.over(job, limit=500)
        state, runs, reasons = world.told(job)
        check("it succeeds on the second machine", (state, len(runs)) == ("Succeeded", 2), (state, runs, reasons, said(world, job)))
        log = texts(world, job)
        both = [line for line in log if planted.digest() in line]
        check("each attempt had all ten", len(both) == 2, log[:5])
        forms = [line for line in log if line.startswith("form ")]
        check("and printed them in all forms", len(forms) == 2 * len(planted.marks()), len(forms))
        check("and packages of the private index and repository", log.count("packages built fromgit ready") == 2, log[:5])
        check("and dumped its memory, which is said", "core dump" in said(world, job), said(world, job))
        check("what was put is gone with the job", not CLOUD.left(lab), CLOUD.left(lab))
        there = where_not(lab, world, job)
        control = planted.found_in(there, {CONTROL.encode(): "control"})
        check("what is no secret is found", len(control) > 3, control)
        leaks = planted.found_in(there)
        check(f"no secret in {len(there)} places", not leaks, leaks)
    check(f"another user saw none in {looker.looks} looks at /proc", not looker.seen, looker.seen)


def test_less(lab, check):
    """Of the role."""
    CLOUD.plant(lab)
    CLOUD.deny(lab)
    with CLOUD.module.World(lab, "less") as world:
        job = submitted(world, 10)
        world.over(job)
        told = world.stoker("show", job).stdout + said(world, job)
        check("which right lacks is said, and of which secret", CLOUD.right in told and "the secret " in told, told)
        check("before training", not texts(world, job) and world.job(job)["state"] == "Failed", world.job(job)["state"])
    CLOUD.allow(lab)


def test_doors(lab, check):
    """Of the index, and of the repository."""
    CLOUD.plant(lab)
    for door, word in (("index", "(401)"), ("git", "git")):
        with CLOUD.module.World(lab, door) as world:
            job = submitted(world, 10, **{door: "another"})
            world.over(job)
            told = world.stoker("show", job).stdout
            check(f"{door}: that it does not let in is said", "requirements.txt" in told and word in told, (told, said(world, job)))
            check("  before training", not texts(world, job) and world.job(job)["state"] == "Failed", world.job(job)["state"])
            leaks = planted.found_in({"show": told.encode(), "log": said(world, job).encode()})
            check("  without a secret", not leaks, leaks)


def main():
    results = Results()
    with CLOUD.module.Lab() as lab:
        for name in sys.argv[2:] or parts_of(globals()):
            results.run(name, parts_of(globals())[name], lab, results.check)
        results.check("the lab has no bug", not lab.bugs, lab.bugs)
    results.finish()


if __name__ == "__main__":
    os.environ.setdefault("STOKER", "build/release/stoker")
    main()
