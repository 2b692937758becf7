# SPDX-License-Identifier: Apache-2.0
"""fake-gcs-server as a server of its own, with one bucket. Call cloud_env.enter() before."""

import json
import os
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

import go_tools

SERVER = 'github.com/fsouza/fake-gcs-server@v1.56.1'
BUCKET = 'stoker-test'


class FakeGcs:
    """A process beside the test, on an address of this machine; it keeps everything in memory."""

    def __init__(self, host='127.0.0.1'):
        self.host = host

    def __enter__(self):
        program = go_tools.tool(SERVER)
        with socket.socket() as free:  # it says no port of its own choice
            free.bind((self.host, 0))
            port = free.getsockname()[1]
        self.endpoint = f'http://{self.host}:{port}'
        self.log = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            [program, '-scheme', 'http', '-host', self.host, '-port', str(port), '-backend',
             'memory', '-log-level', 'error', '-public-host', f'{self.host}:{port}'],
            stdout=self.log, stderr=self.log, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            self._await()
            self.call('POST', '/storage/v1/b', json.dumps({'name': BUCKET}).encode())
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.log.close()

    def _await(self):
        end = time.monotonic() + 30
        while time.monotonic() < end and self.process.poll() is None:
            try:
                return self.call('GET', '/_internal/healthcheck')
            except OSError:
                time.sleep(0.05)
        self.log.seek(0)
        raise RuntimeError(f'fake-gcs-server did not start: {self.log.read()[-2000:]}')

    def call(self, method, target, body=None, headers=None):
        """The body and the headers of the answer, whose status is 2xx or 308."""
        request = urllib.request.Request(self.endpoint + target, body, headers or {}, method=method)
        if body is not None and not request.has_header('Content-type'):
            request.add_header('Content-Type', 'application/json')
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.read(), answer.headers

    def status(self, *arguments):
        try:
            self.call(*arguments)
        except urllib.error.HTTPError as refused:
            return refused.code
        return 200

    def env(self):
        return {'STORAGE_EMULATOR_HOST': self.endpoint}

    def client(self):
        """google-cloud-storage's."""
        from google.auth.credentials import AnonymousCredentials
        from google.cloud import storage

        return storage.Client(
            project='stoker', credentials=AnonymousCredentials(),
            client_options={'api_endpoint': self.endpoint},
        )  # fmt: skip

    def keys(self, prefix=''):
        return [blob.name for blob in self.client().list_blobs(BUCKET, prefix=prefix)]

    def read(self, key):
        return self.client().bucket(BUCKET).blob(key).download_as_bytes()
