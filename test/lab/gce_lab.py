# SPDX-License-Identifier: Apache-2.0
"""The lab with Google's cloud: Compute Engine's API, machines that boot, and a bucket of
fake-gcs-server, inside the namespaces of lab.py. Call lab.enter() first, in a program of its
own."""

import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[2]))

from test.fake_gcs import FakeGcs
from test.lab.gce_rooms import GATE, GceRooms
from test.lab.gceapi.front import Front
from test.lab.gceapi.identity import CLOUD, Identity
from test.lab.gceapi.logs import Logs
from test.lab.gceapi.service import PROJECT, Compute
from test.lab.gceapi.vault import Vault
from test.lab.lab import INSIDE
from test.lab.room import bridge
from test.lab.web import Server

SUBMITTER = f"submitter@{PROJECT}.iam.gserviceaccount.com"
NODES = f"stoker@{PROJECT}.iam.gserviceaccount.com"


class GceLab:
    """`env`: for a stoker that submits. `log`: what was asked of the API, by whom. `api`: what a
    test changes."""

    def __enter__(self):
        bridge(GATE)
        self.log = []
        self.identity = Identity(SUBMITTER, NODES)
        self.gcs = FakeGcs(GATE).__enter__()
        self.api = Compute(self.identity)
        self.identity.add(self.api.default_account(PROJECT))
        tree = os.environ["STOKER_LAB_TREE"]
        self.rooms = GceRooms(self.api.settings, os.environ[INSIDE], tree)
        self.folder = self.rooms.folder
        self.rooms.api, self.api.machines = self.api, self.rooms
        self.front = Front(self.api, self.log)
        self.endpoint = f"http://{GATE}:{Server(self.front, host=GATE).port}"
        self.vault = Vault(self.identity, self.api)
        vault = f"http://{GATE}:{Server(self.vault, host=GATE).port}/"
        self.logs = Logs(self.identity, self.api)
        logs = f"http://{GATE}:{Server(self.logs, host=GATE).port}/"
        # On loopback: a key's token is asked for without TLS nowhere else.
        self.identity.endpoint = Server(self.identity).url + "/token"
        key = os.path.join(self.folder, "key.json")
        with open(key, "w", encoding="utf-8") as out:
            out.write(self.identity.key_file(SUBMITTER, PROJECT))
        self.env = {
            "CLOUDSDK_API_ENDPOINT_OVERRIDES_COMPUTE": f"{self.endpoint}/compute/v1/",
            "CLOUDSDK_API_ENDPOINT_OVERRIDES_SECRETMANAGER": vault,
            "CLOUDSDK_API_ENDPOINT_OVERRIDES_LOGGING": logs,
            "GOOGLE_APPLICATION_CREDENTIALS": key,
            "GOOGLE_CLOUD_PROJECT": PROJECT,
            **self.gcs.env(),
        }
        return self

    def __exit__(self, *_):
        self.api.end()
        self.gcs.__exit__()

    def client(self, name):
        """google-cloud-compute's client of that name, as the submitter."""
        from google.cloud import compute_v1
        from google.oauth2.credentials import Credentials

        token = self.identity.issue(SUBMITTER, [CLOUD])
        return getattr(compute_v1, name)(credentials=Credentials(token.text), client_options={"api_endpoint": self.endpoint})

    @property
    def bugs(self):
        return self.front.bugs + self.rooms.bugs + self.vault.bugs + self.logs.bugs
