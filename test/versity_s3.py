# SPDX-License-Identifier: Apache-2.0
"""versitygw as a server of its own, with one bucket in a folder of its own. Unlike moto it verifies
signatures and checksums, and says truly when an upload was begun. Call cloud_env.enter() before.

Some things of it are those of a folder and not of S3: a key cannot be the folder of another one, a
part of a key between slashes has at most 255 bytes, and a page of a list may promise another one
that is empty."""

import ctypes
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time

from test import go_tools
from test.s3_server import BUCKET, KEYS, S3Server  # noqa: F401  # for those who import this module

# From here on a condition is judged in the same breath as the write that it is for.
MODULE = "github.com/versity/versitygw/cmd/versitygw@v1.8.0"
PATIENCE = 60.0  # seconds for the start


def _end_with_parent():
    """Asks the kernel: whatever becomes of the test, nothing of it goes on."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class VersityS3(S3Server):
    def __init__(self, host="127.0.0.1", users=0):
        """`host`: where it listens, this machine among them. `users`: how many others than that of
        KEYS may do everything: USER0, whose secret is secret0, …"""
        self.host = host
        self.users = users

    def __enter__(self):
        self.root = tempfile.mkdtemp(prefix="stoker-versity-")
        try:
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def start(self):
        data = os.path.join(self.root, "data")
        os.makedirs(data)
        more = ["--iam-dir", self.write_users()] if self.users else []
        port = free_port()
        self.endpoint = f"http://127.0.0.1:{port}"
        self.log = open(os.path.join(self.root, "log"), "wb")
        self.process = subprocess.Popen(
            [go_tools.tool(MODULE), "--port", f"{self.host}:{port}", "--quiet", "--keep-alive", *more, "posix", data],
            env={
                "PATH": os.environ["PATH"],
                "HOME": self.root,
                "ROOT_ACCESS_KEY": KEYS["AWS_ACCESS_KEY_ID"],
                "ROOT_SECRET_KEY": KEYS["AWS_SECRET_ACCESS_KEY"],
            },
            stdin=subprocess.DEVNULL,
            stdout=self.log,
            stderr=self.log,
            cwd=self.root,
            preexec_fn=_end_with_parent,
        )
        end = time.monotonic() + PATIENCE
        while not self.answers():
            if self.process.poll() is not None or time.monotonic() > end:
                with open(self.log.name, encoding="utf-8", errors="replace") as said:
                    raise RuntimeError("versitygw did not start: " + said.read()[-2000:])
            time.sleep(0.05)

    def write_users(self):
        folder = os.path.join(self.root, "iam")
        os.makedirs(folder)
        users = {f"USER{i}": {"access": f"USER{i}", "secret": f"secret{i}", "role": "admin"} for i in range(self.users)}
        with open(os.path.join(folder, "users.json"), "w", encoding="utf-8") as out:
            json.dump({"accessAccounts": users}, out)
        return folder

    def answers(self):
        try:
            self.make_bucket()
        except Exception as error:  # noqa: BLE001  # botocore has one for each way of not answering
            return "BucketAlreadyOwnedByYou" in str(error)
        return True

    def __exit__(self, *_):
        process = getattr(self, "process", None)
        if process:
            process.kill()
            process.wait()
            self.log.close()
        shutil.rmtree(self.root, ignore_errors=True)
