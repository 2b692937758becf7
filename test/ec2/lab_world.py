# SPDX-License-Identifier: Apache-2.0
"""A World whose jobs run on the lab's machines of EC2, and what EC2 and the bucket say after all
jobs."""

import base64
import time

from test.lab.cloud_world import CloudWorld
from test.lab.lab import Lab  # noqa: F401  # for those who take a cloud by its name
from test.s3_server import BUCKET

TEAM = "team"  # the ledger, unless a world has one of its own
TAGS = {"Name", "stoker-ledger", "stoker-job", "stoker-request", "stoker-launches", "stoker-expires"}
FOREIGN = ("InvalidAction", "SignatureDoesNotMatch", "UnknownParameter", "AuthFailure")


def whole_checkpoint(lab, job):
    """The newest that is committed, by the bucket; '' while there is none."""
    prefix = f"{TEAM}/jobs/{job}/checkpoints/manifests/"
    names = [key.rsplit("/", 1)[1].removesuffix(".json").split("-") for key in lab.s3.keys(prefix)]
    return "-".join(map(str, max((tuple(map(int, name)) for name in names), default=())))


class LabWorld(CloudWorld):
    infra = "aws/us-east-1"

    def __init__(self, lab, name, prefix=TEAM):
        self.bucket = f"s3://{BUCKET}/{prefix}"
        super().__init__(lab, name)

    def all_machines(self):
        return self.lab.ec2.world.instances()

    def machines(self, job):
        found = [each for each in self.all_machines() if each.tags.get("stoker-job") == job]
        return sorted(found, key=lambda each: (each.born, each.index))

    def is_over(self, machine):
        return machine.state() == "terminated"

    def spooled(self, machine):
        """What its disk has of the log."""
        found = self.files_on(machine, "**/spool-*/*.log")
        return "".join(each.read_text(errors="replace") for each in found)

    def lives(self, machine):
        return machine.state() in ("running", "shutting-down")

    def zone(self, machine):
        return machine.asked["Zone"]

    def group(self, machine):
        """The same for machines of one request."""
        return machine.reservation

    def stop(self, machine):
        """By hand."""
        self.lab.client.stop_instances(InstanceIds=[machine.id])

    def is_off(self, machine):
        return machine.state() in ("stopped", "terminated")

    def notice(self, machine, lead=40):
        """As the spot market gives it; at its end the machine is taken away. Returns when."""
        from test.lab.ec2api.machines import reclaim

        with self.lab.ec2.world.lock:
            now = time.time()
            machine.notice = {"action": "terminate", "time": now + lead}
            self.lab.ec2.clock.after(lead, reclaim, self.lab.ec2, machine)
        return now

    def who_asked(self, job):
        """The keys with which its machines were asked for."""
        made = [each for each in self.lab.log if each.get("action") == "RunInstances"]
        return [each["key"] for each in made if f"'{job}'" in str(each.get("asked"))]

    def submitter(self):
        return self.lab.keyring.own[0]

    def is_node(self, who):
        return who in self.lab.keyring.roles


World = LabWorld


def parts(lab):
    """Its API and its bucket."""
    return lab.ec2, lab.s3


def judge(lab, check):
    """By boto3."""
    told = lab.client.describe_instances()["Reservations"]
    instances = [each for one in told for each in one["Instances"]]
    states = {each["InstanceId"]: each["State"]["Name"] for each in instances}
    check("boto3: every instance is terminated", set(states.values()) == {"terminated"}, states)
    jobs = [each for each in instances if each.get("Tags")]  # of a test of the lab there are none
    bad = [each["Tags"] for each in jobs if not TAGS <= {t["Key"] for t in each["Tags"]}]
    check(f"boto3: the tags of {len(jobs)} instances", jobs and not bad, bad)
    loose = [
        each["BlockDeviceMappings"]
        for each in instances
        if not all(disk["Ebs"]["DeleteOnTermination"] for disk in each["BlockDeviceMappings"])
    ]
    volumes = lab.client.describe_volumes()["Volumes"]
    check("boto3: no volume is left", not loose and not volumes, (loose, volumes))
    launches = [e for e in lab.log if e.get("action") == "RunInstances" and "asked" in e]
    secrets = [lab.keyring.own[1], *(secret for _, secret in lab.keyring.pool)]
    leaks = []
    for each in launches:
        text = base64.b64decode(each["asked"]["UserData"]).decode(errors="replace")
        leaks += [s for s in [*secrets, "X-Amz-Signature=", "FwoGZXIv"] if s in text]
    check(f"no secret in user-data of {len(launches)} launches", launches and not leaks, leaks)
    ours = [each for each in lab.log if "oto" not in each["agent"]]
    strange = [(e.get("action"), e["error"]) for e in ours if e.get("error") in FOREIGN]
    check(f"{len(ours)} requests are valid by the model, and signed", not strange, strange)
    check("no multipart upload is left", not lab.s3.uploads(), lab.s3.uploads())
    check("the lab has no bug", not lab.bugs, lab.bugs)
