#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Secrets on machines that boot: a value of the submitter out of the cloud's vault, one that lay there
already by the machine's role, and the password of a private index for pip; interrupted and resumed.
The same with one right less. Then all planted values are looked for where they must not be.

    secret_boots.py ec2|gcp [resumed] [less]"""

import base64
import http.server
import io
import json
import os
import pathlib
import socketserver
import sys
import threading
import zipfile

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test.lab import lab as lab_of

lab_of.enter()
from test.e2e.kit.harness import Results, parts_of
from test.e2e.kit.job_kit import texts
from test.ec2 import lab_world as ec2
from test.gcp import gce_world as gcp
from test.lab import ec2_rooms, gce_rooms

MARK = "planted"
TOKEN, PASSWORD, THERE = (f"{MARK}-{word}-7Qx9" for word in ("token", "password", "there"))
PROGRAM = """import hashlib, os, runpy
import tinypkg
told = os.environ["HF_TOKEN"] + os.environ["THERE"]
assert hashlib.sha256(told.encode()).hexdigest() == "SUM", "another value"
print("both are there, and", tinypkg.WORD, os.environ["HF_TOKEN"])
runpy.run_path("trainer.py", run_name="__main__")
"""


def wheel():
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as out:
        out.writestr("tinypkg/__init__.py", "WORD = 'tiny'\n")
        info = "tinypkg-1.0.dist-info/"
        out.writestr(info + "METADATA", "Metadata-Version: 2.1\nName: tinypkg\nVersion: 1.0\n")
        out.writestr(info + "WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        out.writestr(info + "RECORD", "")
    return held.getvalue()


class Index(http.server.BaseHTTPRequestHandler):
    """A simple index (PEP 503) for who has the password."""

    whole = wheel()
    let_in = 0

    def log_message(self, *_):
        pass

    def do_GET(self):
        good = "Basic " + base64.b64encode(f"me:{PASSWORD}".encode()).decode()
        if self.headers.get("Authorization") != good:
            return self.out(401, b"", "text/plain")
        Index.let_in += 1
        name = "tinypkg-1.0-py3-none-any.whl"
        if self.path.endswith(".whl"):
            return self.out(200, self.whole, "application/octet-stream")
        if self.path.rstrip("/").endswith("/tinypkg"):
            return self.out(200, f'<a href="/files/{name}">{name}</a>'.encode(), "text/html")
        return self.out(404, b"", "text/plain")

    def out(self, status, body, kind):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        if status == 401:
            self.send_header("WWW-Authenticate", 'Basic realm="x"')
        self.end_headers()
        self.wfile.write(body)


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True


class Ec2:
    steps = 160  # longer than its notice, 40 s
    module, gate, reference, right = ec2, ec2_rooms.GATE, "ssm:/team/there", "ssm:GetParameter"

    @staticmethod
    def plant(lab):
        lab.boto3("ssm").put_parameter(Name="/team/there", Value=THERE, Type="SecureString", Overwrite=True)

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


class Google:
    steps = 400  # 120 s
    module, gate, right = gcp, gce_rooms.GATE, "secretmanager.versions.access"
    reference = "gcp-secret:projects/lab-project/secrets/there/versions/1"

    @staticmethod
    def plant(lab):
        told = {"name": f"projects/{lab.vault.number}/secrets/there", "labels": {}}
        lab.vault.held["lab-project", "there"] = {"secret": told, "versions": [THERE.encode()], "ends": float("inf")}

    @staticmethod
    def left(lab):
        return [name for _, name in lab.vault.held if name.startswith("stoker-")]

    @staticmethod
    def deny(lab):
        lab.api.denied.add(Google.right)


CLOUD = {"ec2": Ec2, "gcp": Google}[sys.argv[1]]


def submitted(world, steps):
    import hashlib

    world.env.update(HF_TOKEN=TOKEN, PIP_PASSWORD=PASSWORD)
    world.program(PROGRAM.replace("SUM", hashlib.sha256((TOKEN + THERE).encode()).hexdigest()), "train.py")
    index = Server((CLOUD.gate, 0), Index)
    threading.Thread(target=index.serve_forever, daemon=True).start()
    host = f"{CLOUD.gate}:{index.server_address[1]}"
    (world.work / "requirements.txt").write_text(
        f"--index-url http://me:${{PIP_PASSWORD}}@{host}/simple/\n--trusted-host {host}\ntinypkg==1.0\n"
    )
    secrets = ("--secret", "HF_TOKEN", "--secret", "PIP_PASSWORD", "--secret", f"THERE={CLOUD.reference}")
    program = ("python3", "train.py", str(steps), "--pause", "0.5")
    return world.submit("--infra", world.infra, "--spot", *secrets, "--", *program)


def where_not(lab, world, job):
    """All that others can read of it: {place: bytes}."""
    found = {"what was asked": json.dumps(lab.log, default=str).encode()}
    for machine in world.machines(job):
        found[f"tags and data of {machine.id}"] = repr(vars(machine)).encode()
        for path in (pathlib.Path(lab.folder) / machine.id).glob("*"):
            if path.is_file():  # its console
                found[f"{path.name} of {machine.id}"] = path.read_bytes()
        for path in world.files_on(machine, "var/log/**/*"):
            if path.is_file():
                found[str(path)] = path.read_bytes()
    for verb in (("show", "--json", job), ("logs", "--stream", "system", job), ("logs", job), ("ls", "--json"), ("gc", "--dry-run")):
        done = world.stoker(*verb)
        found[" ".join(verb)] = (done.stdout + done.stderr).encode()
    return found


def command_lines():
    """As every user sees them, of this kernel: machines are rooms on it."""
    lines = []
    for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        try:
            lines.append(path.read_bytes())
        except OSError:
            continue
    return b"\n".join(lines)


def test_resumed(lab, check):
    CLOUD.plant(lab)
    with CLOUD.module.World(lab, "secrets") as world:
        job = submitted(world, CLOUD.steps)
        first = world.machine(job, 0)
        world.trained(first, 10)
        check("no secret is in a command line", MARK.encode() not in command_lines())
        check("pip was let in by the password", Index.let_in > 0)
        world.notice(first)
        world.machine(job, 1, limit=180)
        world.over(job, limit=400)
        state, runs, reasons = world.told(job)
        check("it succeeds on the second machine", (state, len(runs)) == ("Succeeded", 2), (state, runs, reasons))
        said = texts(world, job)
        masked = [line for line in said if "both are there" in line]
        check("the program had both, and its log has neither", len(masked) == 2 and all("***" in line for line in masked), said[:5])
        check("what was put is gone with the job", not CLOUD.left(lab), CLOUD.left(lab))
        there = where_not(lab, world, job)
        leaks = [name for name, held in there.items() if MARK.encode() in held]
        check(f"no secret in {len(there)} places", not leaks, leaks)


def test_less(lab, check):
    CLOUD.plant(lab)
    CLOUD.deny(lab)
    with CLOUD.module.World(lab, "less") as world:
        job = submitted(world, 10)
        world.over(job)
        told = world.stoker("show", job).stdout + world.stoker("logs", "--stream", "system", job).stdout
        check("which right lacks is said, and of which secret", CLOUD.right in told and "HF_TOKEN" in told, told)
        ran = [line for line in texts(world, job) if "both are there" in line]
        check("before training", not ran and world.job(job)["state"] == "Failed", world.job(job)["state"])


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
