# SPDX-License-Identifier: Apache-2.0
"""ministack, which runs what is uploaded to Lambda as a process of its own, in the way of custom
runtimes, and fires EventBridge's rules by its clock and by events that are put. It listens on all
addresses: in a network namespace of the test's own, or not at all (verb_lab.enter())."""

import os
import pathlib
import subprocess
import tempfile
import time
import urllib.request

from test import cloud_env
from test.lab.ec2api.world import ACCOUNT

PORT = 4599
SECRET = "secret-of-functions"
# Only the services of AWS itself may put events of theirs. The lab's EC2 is one.
START = """
from ministack.services import eventbridge
from ministack.app import main
eventbridge._put_events.__defaults__ = (True,)
main()
"""


def python():
    """Of its environment, which is made once, while there is a network."""
    where = os.path.join(os.path.dirname(cloud_env.REQUIREMENTS), "requirements-mini.txt")
    return os.path.join(cloud_env.folder(where), "bin", "python3")


class MiniStack:
    """`endpoint`; `keys`: those that it gives its functions. Of the account of the lab."""

    def __init__(self, address):
        self.endpoint = f"http://{address}:{PORT}"
        self.keys = (ACCOUNT, SECRET)

    def __enter__(self):
        self.home = tempfile.TemporaryDirectory(prefix="stoker-ministack-")
        self.log = pathlib.Path(self.home.name, "log")
        env = {key: value for key, value in os.environ.items() if not key.startswith(("AWS_", "STOKER"))}
        env.update(
            HOME=self.home.name,
            TMPDIR=self.home.name,
            GATEWAY_PORT=str(PORT),
            MINISTACK_ACCOUNT_ID=ACCOUNT,
            IOT_MTLS_ENABLED="0",
            AWS_SECRET_ACCESS_KEY=SECRET,  # of functions
        )
        with open(self.log, "w", encoding="utf-8") as log:
            self.process = subprocess.Popen([python(), "-c", START], env=env, stdout=log, stderr=log, cwd=self.home.name)
        for _ in range(240):
            if self.process.poll() is not None:
                break
            try:
                urllib.request.urlopen(f"{self.endpoint}/_ministack/health", timeout=5).read()
                return self
            except OSError:
                time.sleep(0.25)
        told = self.log.read_text(encoding="utf-8", errors="replace")
        self.__exit__()
        raise RuntimeError(f"ministack did not start: {told[-2000:]}")

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.home.cleanup()
