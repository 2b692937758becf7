# SPDX-License-Identifier: Apache-2.0
"""Compute Engine's API with machines that do not boot, in the process of a test, on loopback. Call
cloud_env.enter() before."""

import os
import tempfile

from test.lab.gceapi.front import Front
from test.lab.gceapi.held_rights import HeldRights
from test.lab.gceapi.identity import CLOUD, Identity
from test.lab.gceapi.mds import Mds
from test.lab.gceapi.service import PROJECT, Compute
from test.lab.gceapi.vault import Vault
from test.lab.web import Server

ZONE = "us-central1-a"
OWN = f"submitter@{PROJECT}.iam.gserviceaccount.com"
ROLE = f"stoker@{PROJECT}.iam.gserviceaccount.com"


class UnbootedGce:
    """`api`: what a test changes. `log`: what was asked. `bugs`: errors of the lab itself."""

    def __init__(self, host="127.0.0.1"):
        """`host`: where the API listens; who issues tokens is on loopback."""
        self.host = host

    def __enter__(self):
        self.identity = Identity(OWN, ROLE)
        self.log = []
        self.api = Compute(self.identity)
        self.identity.add(self.api.default_account(PROJECT))
        self.front = Front(self.api, self.log)
        self.bugs = self.front.bugs
        self.vault = Vault(self.identity, self.api)
        self.held_rights = HeldRights(self.identity, self.api)
        self.servers = [Server(self.front, host=self.host), Server(self.identity), Server(self.vault, host=self.host)]
        self.servers.append(Server(self.held_rights, host=self.host))
        self.endpoint = f"http://{self.host}:{self.servers[0].port}"
        self.identity.endpoint = self.servers[1].url + "/token"
        self.folder = tempfile.TemporaryDirectory()
        self.key_file = os.path.join(self.folder.name, "key.json")
        with open(self.key_file, "w", encoding="utf-8") as out:
            out.write(self.identity.key_file(OWN, PROJECT))
        return self

    def __exit__(self, *_):
        for each in self.servers:
            each.end()
        self.api.end()
        self.folder.cleanup()

    def env(self):
        """gcloud's and Google's own variables."""
        return {
            "CLOUDSDK_API_ENDPOINT_OVERRIDES_COMPUTE": f"{self.endpoint}/compute/v1/",
            "CLOUDSDK_API_ENDPOINT_OVERRIDES_SECRETMANAGER": f"http://{self.host}:{self.servers[2].port}/",
            "CLOUDSDK_API_ENDPOINT_OVERRIDES_CLOUDRESOURCEMANAGER": f"http://{self.host}:{self.servers[3].port}/",
            "CLOUDSDK_API_ENDPOINT_OVERRIDES_IAM": f"http://{self.host}:{self.servers[3].port}/",
            "GOOGLE_APPLICATION_CREDENTIALS": self.key_file,
            "GOOGLE_CLOUD_PROJECT": PROJECT,
            "NO_GCE_CHECK": "true",
        }

    def client(self, name, exchanged=True):
        """google-cloud-compute's client of that name. `exchanged`: its token comes from the token
        endpoint; else the key's own signature is the token."""
        from google.cloud import compute_v1
        from google.oauth2 import service_account

        given = service_account.Credentials.from_service_account_file(self.key_file, scopes=[CLOUD], always_use_jwt_access=not exchanged)
        if exchanged:
            from google.auth.transport.requests import Request
            from google.oauth2.credentials import Credentials

            given.refresh(Request())
            given = Credentials(given.token)  # as of somebody who has a token and no key
        options = {"api_endpoint": self.endpoint}
        return getattr(compute_v1, name)(credentials=given, client_options=options)

    def metadata(self, name):
        """A machine's metadata server on loopback: HOST:PORT, as GCE_METADATA_HOST has it."""
        self.mds = Mds(self.api, self.api.world.named(name))
        self.servers.append(Server(self.mds))
        return f"127.0.0.1:{self.servers[-1].port}"
