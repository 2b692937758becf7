# SPDX-License-Identifier: Apache-2.0
"""The whole lab: EC2's API, machines that boot, and a bucket, in namespaces of its own which
nothing of it outlives. Needs root, or what user_space.py gives an ordinary user; then its machines
boot without systemd. Needs no network once the disk of rooms (base_tree.py) is made. Call enter()
first, in a program of its own. Google's is in gce_lab.py."""

import os
import pathlib
import signal
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parents[2]))

from test import cloud_env
from test.lab import held, user_space

INSIDE = "STOKER_LAB_INSIDE"  # the folder of who entered
REGION = "us-east-1"
ROLE = "stoker"
ASSUME = '{"Statement": [{"Effect": "Allow", "Action": "sts:AssumeRole", "Principal": {"Service": "ec2.amazonaws.com"}}]}'


def enter():
    """Returns inside. Outside it waits for the end, looks for what is left, and exits."""
    cloud_env.enter()
    if INSIDE in os.environ:
        return
    if why := user_space.lacks():
        sys.exit(f"the lab needs root, or user namespaces with subordinate ids: {why}")
    if os.geteuid() != 0:
        os.environ[held.BARE] = "1"
    from test import fake_gcs
    from test.lab import base_tree

    os.environ["STOKER_LAB_TREE"] = base_tree.tree()  # while there is a network, as what follows
    fake_gcs.prepare()
    folder = tempfile.mkdtemp(prefix="stoker-rooms-")
    before = seen_outside()
    words = "unshare --net --mount --pid --fork --kill-child --mount-proc".split()
    process = user_space.start([*words, sys.executable, *sys.argv], env={**os.environ, INSIDE: folder})
    signal.signal(signal.SIGTERM, lambda *_: process.kill())
    try:
        code = process.wait()
    except KeyboardInterrupt:  # the other end has it too
        code = process.wait()
    let_go(folder)
    left = leftovers(folder, before)
    for each in left:
        print("FAIL the lab left", each)
    if not left:
        print("ok   of the lab nothing is left: no process, mount, wire, cgroup or file")
    sweep(folder)
    sys.exit(code or bool(left))


def cgroup_of(folder):
    """Where the cgroups of its rooms are, if they have any."""
    return [] if held.bare() else [held.cgroups() / os.path.basename(folder)]


def let_go(folder):
    """What the clouds' own were in; where one has left something, it stays."""
    for each in (*cgroup_of(folder), folder):
        try:
            os.rmdir(each)
        except OSError:
            continue


def sweep(folder):
    """After a lab that was killed."""
    for each in cgroup_of(folder):
        held.remove_cgroups(each)
    user_space.run(["rm", "-rf", folder])


def seen_outside():
    """Networks' cards, mounts."""
    with open("/proc/self/mountinfo", encoding="utf-8") as source:
        mounts = {line.split()[4] for line in source}
    return set(os.listdir("/sys/class/net")), mounts


def processes_of(folder):
    """Whose words, folder or files name the lab's folder."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        if int(pid) == os.getpid():
            continue
        try:
            words = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
            variables = pathlib.Path(f"/proc/{pid}/environ").read_bytes()
            groups = pathlib.Path(f"/proc/{pid}/cgroup").read_bytes()
        except OSError:
            continue
        name = os.path.basename(folder).encode()
        if name in words or name in variables or name in groups:
            found.append(f"process {pid}: {words[:80]}")
    return found


def leftovers(folder, before):
    name = os.path.basename(folder)
    end = time.monotonic() + 20
    while (found := processes_of(folder)) and time.monotonic() < end:
        time.sleep(0.1)
    nets, mounts = seen_outside()
    found += [f"card {each}" for each in nets - before[0] if each.startswith(("w-", "lab"))]
    found += [f"mount {each}" for each in mounts - before[1] if name in each]
    found += [f"cgroup {each}" for each in cgroup_of(folder) if each.exists()]
    found += [f"file {each}" for each in [folder] if os.path.exists(each)]
    return found


class Lab:
    """`env`: for a stoker that submits. `log`: what was asked of the API, by whom."""

    def __enter__(self):
        from test.lab.ec2_rooms import GATE, Ec2Rooms
        from test.lab.ec2api.behind import Behind
        from test.lab.ec2api.front import Front
        from test.lab.ec2api.service import Ec2
        from test.lab.keyring import Keyring
        from test.lab.moto_aws import MotoAws
        from test.lab.room import bridge
        from test.lab.web import Server
        from test.moto_s3 import MotoS3

        bridge(GATE)
        self.log = []
        self.keyring = Keyring()
        self.moto = MotoAws().__enter__()
        # Of what signs with a token of ours, versitygw knows nothing; moto lets it in.
        self.s3 = MotoS3(host="0.0.0.0").__enter__()
        self.ec2 = Ec2(Behind(self.moto.endpoint))
        self.ec2.settings.verify = True
        self.rooms = Ec2Rooms(self.ec2.settings, self.keyring, os.environ[INSIDE], os.environ["STOKER_LAB_TREE"])
        self.folder = self.rooms.folder
        self.rooms.ec2, self.ec2.machines = self.ec2, self.rooms
        self.front = self.front_of(Front)
        self.endpoint = f"http://{GATE}:{Server(self.front, host=GATE).port}"
        self.bucket = f"http://{GATE}:{self.s3.endpoint.rsplit(':', 1)[1]}"
        self.env = {
            "AWS_ACCESS_KEY_ID": self.keyring.own[0],
            "AWS_SECRET_ACCESS_KEY": self.keyring.own[1],
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_ENDPOINT_URL_S3": self.bucket,
            "AWS_REGION": REGION,
        }
        self.client = self.boto3("ec2")
        self.make_role()
        return self

    def __exit__(self, *_):
        self.ec2.end()
        self.s3.__exit__()
        self.moto.__exit__()

    def boto3(self, service):
        import boto3

        return boto3.client(
            service,
            endpoint_url=self.endpoint,
            region_name=REGION,
            aws_access_key_id=self.keyring.own[0],
            aws_secret_access_key=self.keyring.own[1],
        )

    def front_of(self, kind):
        return kind(self.ec2, self.keyring, self.log)

    def make_role(self):
        iam = self.boto3("iam")
        iam.create_role(RoleName=ROLE, AssumeRolePolicyDocument=ASSUME)
        iam.create_instance_profile(InstanceProfileName=ROLE)
        iam.add_role_to_instance_profile(InstanceProfileName=ROLE, RoleName=ROLE)

    @property
    def bugs(self):
        return self.front.bugs + self.rooms.bugs
