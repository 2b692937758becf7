# SPDX-License-Identifier: Apache-2.0
"""fake-gcs-server as a server of its own, with one bucket, behind what holds each request and each
answer against Google's discovery document (test/google/gcs_relay.py). Call cloud_env.enter()
before."""

import json
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

from test import go_tools
from test.google.gcs_relay import GcsRelay

SERVER = "github.com/fsouza/fake-gcs-server@v1.56.1"
BUCKET = "stoker-test"


def prepare():
    """Makes the server, once: where there will be no network, before."""
    return go_tools.tool(SERVER)


def free_port(host):
    with socket.socket() as free:  # the server says no port of its own choice
        free.bind((host, 0))
        return free.getsockname()[1]


class Undocumented(AssertionError):
    """Something was asked or answered that Google's document does not have."""


class FakeGcs:
    """A process beside the test, on an address of this machine; it keeps everything in memory.
    `endpoint`: where it is asked, by Google's document; who leaves it without an error hears of
    what was not. `behind`: the server itself. watched=False: for what measures, both are one."""

    def __init__(self, host="127.0.0.1", watched=True):
        self.host = host
        self.watched = watched
        self.relay = None

    def __enter__(self):
        program = prepare()
        port = free_port(self.host)
        self.endpoint = self.behind = f"http://{self.host}:{port}"
        front = port
        if self.watched:
            front = free_port(self.host)
            self.endpoint = f"http://{self.host}:{front}"
        self.log = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            [
                program,
                "-scheme",
                "http",
                "-host",
                self.host,
                "-port",
                str(port),
                "-backend",
                "memory",
                "-log-level",
                "error",
                "-public-host",
                f"{self.host}:{port}",
                "-external-url",
                self.endpoint,
            ],
            stdout=self.log,
            stderr=self.log,
            stdin=subprocess.DEVNULL,
        )
        try:
            self._await()
            if self.watched:
                self.relay = GcsRelay(self.host, front, self.behind).__enter__()
            made = json.dumps({"name": BUCKET}).encode()
            self.call("POST", "/storage/v1/b?project=stoker", made)
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(self, kind=None, *_):
        try:
            told = self.told()
        finally:
            self._end()
        for each in told["wrong"]:
            print(f"not as Google's document has it: {each}", file=sys.stderr, flush=True)
        if told["wrong"] and kind in (None, SystemExit):
            raise Undocumented(told["wrong"][0])

    def _end(self):
        if self.relay:
            self.relay.__exit__()
        self.process.kill()
        self.process.wait()
        self.log.close()

    def told(self):
        """Of the requests so far: see GcsRelay."""
        return self.relay.told() if self.relay else {"requests": 0, "answers": 0, "wrong": []}

    def _await(self):
        end = time.monotonic() + 30
        while time.monotonic() < end and self.process.poll() is None:
            try:
                with urllib.request.urlopen(f"{self.behind}/_internal/healthcheck", timeout=30):
                    return
            except OSError:
                time.sleep(0.05)
        self.log.seek(0)
        raise RuntimeError(f"fake-gcs-server did not start: {self.log.read()[-2000:]}")

    def call(self, method, target, body=None, headers=None):
        """The body and the headers of the answer, whose status is 2xx or 308."""
        request = urllib.request.Request(self.endpoint + target, body, headers or {}, method=method)
        if body is not None and not request.has_header("Content-type"):
            request.add_header("Content-Type", "application/json")
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.read(), answer.headers

    def status(self, *arguments):
        try:
            self.call(*arguments)
        except urllib.error.HTTPError as refused:
            return refused.code
        return 200

    def env(self):
        return {"STORAGE_EMULATOR_HOST": self.endpoint}

    def client(self):
        """google-cloud-storage's."""
        from google.auth.credentials import AnonymousCredentials
        from google.cloud import storage

        return storage.Client(project="stoker", credentials=AnonymousCredentials(), client_options={"api_endpoint": self.endpoint})

    def keys(self, prefix=""):
        return [blob.name for blob in self.client().list_blobs(BUCKET, prefix=prefix)]

    def read(self, key):
        return self.client().bucket(BUCKET).blob(key).download_as_bytes()
