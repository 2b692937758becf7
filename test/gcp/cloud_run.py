# SPDX-License-Identifier: Apache-2.0
"""The lab of verbs with what `stoker controller --install gcp` needs beside machines: the services
of Google's that it asks, a registry where images are pushed, and podman, which runs a job of Cloud
Run as Cloud Run would: that image, these variables, an account by a metadata server, no disk, and
SIGTERM where it must end. Source: "Container runtime contract" (Cloud Run)."""

import base64
import http.client
import json
import pathlib
import re
import tempfile
import threading
import time
import types
import urllib.parse
import urllib.request
import uuid

from test.cloud.verb_lab import ADDRESS, GceLab
from test.google import storage_rules
from test.lab.gceapi import conditions
from test.lab.gceapi.errors import Refusal
from test.lab.gceapi.identity import CLOUD
from test.lab.gceapi.service import PROJECT

LAUNCHES = ("instances.insert",)
PLACE = f"projects/{PROJECT}/locations/us-central1"


class Metadata:
    """Of a task: who it is. `email`: whose it is now."""

    def __init__(self, identity):
        self.identity, self.email = identity, ""

    def __call__(self, handler):
        base = "/computeMetadata/v1/instance/service-accounts/default/"
        told = {"/": "computeMetadata/\n", base + "email": self.email}
        if handler.path.split("?")[0] == base + "token":
            token = self.identity.issue(self.email, [CLOUD])
            told[handler.path] = json.dumps({"access_token": token.text, "expires_in": 3599, "token_type": "Bearer"})
        known = handler.path in told and (handler.path == "/" or handler.headers.get("Metadata-Flavor") == "Google")
        handler.out(200 if known else 404, told.get(handler.path, ""), {"Metadata-Flavor": "Google", "Content-Type": "application/json"})


class BoundBucket:
    """The lab's bucket as a task finds it, who may there what its account's roles let in. `refused`:
    (right, resource) of each request that they do not."""

    def __init__(self, lab):
        self.lab, self.refused = lab, []

    def needs(self, handler):
        """[(right, type, name)]"""
        call = storage_rules.Call(handler.command, handler.path, handler.headers.items())
        found = re.search(r"/b/([^/?]+)(?:/o/([^/?]+))?", handler.path)
        key = urllib.parse.unquote(found[2] or call.asked.get("name", ""))
        on = conditions.of_storage(call.name, found[1], key)
        return [(right, *each) for right in storage_rules.permissions([call.name]) for each in on]

    def __call__(self, handler):
        text = handler.body()
        for right, *on in self.needs(handler):
            if not self.lab.serverless.may(self.lab.metadata.email, right, (), [on]):
                self.refused.append((right, on[1]))
                told = Refusal(403, f"{self.lab.metadata.email} does not have {right} access to {on[1]}.", "forbidden")
                return handler.out(403, json.dumps(told.body()), {"Content-Type": "application/json"})
        connection = http.client.HTTPConnection(urllib.parse.urlsplit(self.lab.gcs.endpoint).netloc, timeout=60)
        connection.request(handler.command, handler.path, text, {name: value for name, value in handler.headers.items() if name != "Host"})
        answer = connection.getresponse()
        dropped = ("connection", "transfer-encoding", "content-length")
        headers = {name: value for name, value in answer.getheaders() if name.lower() not in dropped}
        return handler.out(answer.status, answer.read(), headers)


class AwayLab(GceLab):
    """`serverless`, `registry`: see test/lab. `job(world)`: the job of Cloud Run of its ledger.
    `tick(world)`: what a run of it came to. `bound`: see BoundBucket."""

    def __enter__(self):
        super().__enter__()
        from test.gcp.artifact_registry import ArtifactRegistry
        from test.lab.gceapi.serverless import Serverless
        from test.lab.web import Server

        self.registry = ArtifactRegistry(ADDRESS, self.identity)
        self.serverless = Serverless(self.identity, self.api, self.registry.host)
        self.serverless.forget = self.registry.forget
        self.metadata = Metadata(self.identity)
        self.bound = BoundBucket(self)
        self.servers = [Server(each, host=ADDRESS) for each in (self.serverless, self.metadata, self.bound)]
        self.api.may = self.below.vault.may = self.serverless.may
        self.holder = tempfile.TemporaryDirectory(prefix="stoker-run-")
        self.engine = None
        return self

    def __exit__(self, *_):
        if self.engine:
            self.engine.close()
        for each in self.servers:
            each.end()
        self.registry.end()
        self.holder.cleanup()
        super().__exit__(*_)

    def env(self):
        return {
            **self.below.env(),
            **self.gcs.env(),
            **self.serverless.env(f"http://{ADDRESS}:{self.servers[0].port}"),
            "CLOUDSDK_CORE_CUSTOM_CA_CERTS_FILE": str(self.registry.ca),
        }

    def world(self, name):
        return self.made(name, self.env(), f"gs://{self.gcs_bucket}")

    @property
    def gcs_bucket(self):
        from test.fake_gcs import BUCKET

        return BUCKET

    def ledger(self, world):
        return json.loads(self.gcs.read(f"{world.name}/ledger.json"))["id"]

    def note(self, world):
        return json.loads(self.gcs.read(f"{world.name}/away/gce.json"))

    def job(self, world):
        return self.serverless.held["jobs"][f"{PROJECT}/us-central1/stoker-away-{self.ledger(world)}"]

    def podman(self):
        if self.engine is None:
            from test.containers.engines import Engine

            class Bare(Engine):
                def load(self):
                    """No image: it pulls its own."""

            root = pathlib.Path(self.holder.name)
            (root / "home").mkdir()
            world = types.SimpleNamespace(root=root, home=root / "home", user={}, own=lambda *_: None)
            self.engine = Bare("podman", world)
        return self.engine

    def pull(self, image):
        """As the service agent of Cloud Run, who may."""
        from test.lab.unbooted_gce import OWN

        certificates = pathlib.Path(self.holder.name) / "certs"
        certificates.mkdir(exist_ok=True)
        (certificates / "ca.crt").write_bytes(self.registry.ca.read_bytes())
        token = self.identity.issue(OWN, [CLOUD]).text
        self.podman().run("pull", "--quiet", f"--cert-dir={certificates}", f"--creds=oauth2accesstoken:{token}", image)

    def fire(self, world):
        """As Cloud Scheduler does it: by a token of the account that the schedule names. Cloud Run must
        let it in."""
        target = self.serverless.held["schedules"][f"{PROJECT}/us-central1/stoker-away-{self.ledger(world)}"]["httpTarget"]
        token = self.identity.issue(target["oauthToken"]["serviceAccountEmail"], [target["oauthToken"]["scope"]]).text
        headers = {**target["headers"], "Authorization": f"Bearer {token}"}
        body = base64.b64decode(target["body"])
        urllib.request.urlopen(urllib.request.Request(target["uri"], body, headers, method=target["httpMethod"])).close()

    def tick(self, world, ends_after=None, ends_by="TERM", watch=None, **more):
        """(exit code, what it told or None, all that it said). `ends_after`: seconds from its begin until
        it gets the signal `ends_by`; `lasted`: how long it lived after that. `watch(pid)`: called
        meanwhile, in a thread. `more`: variables in place of the job's."""
        self.fire(world)
        execution = self.job(world)["template"]
        task = execution["template"]
        container = task["containers"][0]
        assert execution["taskCount"] == execution["parallelism"] == 1 and task["maxRetries"] == 0
        if self.podman().run("image", "exists", container["image"], check=False).returncode != 0:
            self.pull(container["image"])
        self.metadata.email = task["serviceAccount"]
        name = f"stoker-away-{uuid.uuid4().hex[:12]}"
        variables = {
            "CLOUD_RUN_JOB": "stoker-away",
            "CLOUD_RUN_EXECUTION": name,
            "CLOUD_RUN_TASK_INDEX": "0",
            "CLOUD_RUN_TASK_ATTEMPT": "0",
            "CLOUD_RUN_TASK_COUNT": "1",
            "GCE_METADATA_HOST": f"{ADDRESS}:{self.servers[1].port}",
            **{each["name"]: each["value"] for each in container["env"]},
            "STORAGE_EMULATOR_HOST": f"http://{ADDRESS}:{self.servers[2].port}",
            **more,
        }
        words = [f"--env={key}={value}" for key, value in variables.items()]
        told_to_end = []

        def meanwhile():
            pid = self.pid(name)
            if watch:
                watch(pid)
            if pid and ends_after is not None:
                time.sleep(ends_after)
                told_to_end.append(time.monotonic())
                self.podman().run("kill", f"--signal={ends_by}", name, check=False)

        beside = threading.Thread(target=meanwhile)
        if watch or ends_after is not None:
            beside.start()
        begun = time.monotonic()
        done = self.podman().run(
            "run",
            "--rm",
            f"--name={name}",
            "--network=host",
            "--read-only",
            "--read-only-tmpfs=false",
            *words,
            container["image"],
            check=False,
        )
        self.took = time.monotonic() - begun
        self.lasted = time.monotonic() - told_to_end[0] if told_to_end else 0
        if beside.is_alive():
            beside.join()
        told = json.loads(done.stdout) if done.stdout.startswith("{") else None
        return done.returncode, told, done.stdout + done.stderr

    def pid(self, name):
        """Of what a container runs, once it does; 0 = it never did."""
        end = time.monotonic() + 60
        while time.monotonic() < end:
            done = self.podman().run("inspect", "--format={{.State.Pid}} {{.State.Status}}", name, check=False)
            number, _, state = done.stdout.strip().partition(" ")
            if done.returncode == 0 and state in ("running", "exited"):
                return int(number)
            time.sleep(0.02)
        return 0

    def copied(self, machine, name, labels):
        """A machine like it, which somebody else has made."""
        from google.cloud import compute_v1

        (made,) = [each for each in self.log if each.get("method") in LAUNCHES and machine.name.encode() in each["text"]][-1:]
        body = {**json.loads(made["text"]), "name": name, "labels": labels}
        told = compute_v1.Instance.from_json(json.dumps(body), ignore_unknown_fields=True)
        client = self.below.client("InstancesClient")
        client.insert(project=PROJECT, zone=machine.zone, instance_resource=told)
        end = time.monotonic() + 30
        while time.monotonic() < end and not any(each.name == name and each.state() == "RUNNING" for each in self.api.world.instances):
            time.sleep(0.05)
        return self.api.world.named(name)

    def judge(self, check):
        super().judge(check)
        asked = [each for each in self.serverless.log if "method" in each]
        bugs = self.serverless.bugs
        check(f"{len(asked)} requests of services are in their documents, and the lab has no bug", not bugs, bugs)
