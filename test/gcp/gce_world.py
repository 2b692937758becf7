# SPDX-License-Identifier: Apache-2.0
"""A World whose jobs run on the lab's machines of Compute Engine, and what Google's client, the API
and the bucket say after all jobs."""

from test.fake_gcs import BUCKET
from test.lab.cloud_world import CloudWorld
from test.lab.gce_lab import NODES, SUBMITTER, GceLab
from test.lab.gceapi import lifecycle
from test.lab.gceapi.service import PROJECT

LAUNCHES = ("instances.insert", "instances.bulkInsert", "regionInstances.bulkInsert")


class GceWorld(CloudWorld):
    infra = "gcp/us-central1"
    bucket = f"gs://{BUCKET}/team"

    def all_machines(self):
        return self.lab.api.world.instances

    def machines(self, job):
        # Those for which there was room.
        return [each for each in self.all_machines() if each.admitted and each.labels.get("stoker-job") == job]

    def is_over(self, machine):
        return machine.gone

    def lives(self, machine):
        return not machine.gone and not machine.room.pressed

    def zone(self, machine):
        return machine.zone

    def group(self, machine):
        """The same for machines of one request."""
        return machine.request.group

    def stop(self, machine):
        """By hand."""
        lifecycle.by_hand(self.lab.api, lifecycle.stop, machine)

    def is_off(self, machine):
        return machine.gone or machine.state() == "TERMINATED"

    def notice(self, machine, lead=None):
        """As the spot market does it; lead: see lifecycle.preempt()."""
        with self.lab.api.world.lock:
            lifecycle.preempt(self.lab.api, machine, lead)

    def launches(self, job):
        """The requests with which its machines were asked for, that were heard."""
        return [
            each
            for each in self.lab.log
            if each.get("method") in LAUNCHES and each.get("status") == 200 and f'"{job}"'.encode() in each["text"].replace(b" ", b"")
        ]

    def who_asked(self, job):
        return [each["email"] for each in self.launches(job)]

    def submitter(self):
        return SUBMITTER

    def is_node(self, who):
        return who == NODES


Lab, World = GceLab, GceWorld


def parts(lab):
    """Its API and its bucket."""
    return lab.api, lab.gcs


def judge(lab, check):
    """What Google's client, the API and the bucket say after all jobs."""
    scopes = lab.client("InstancesClient").aggregated_list(project=PROJECT)
    left = [each.name for _, told in scopes for each in told.instances]
    check("Google: no VM is left", not left, left)
    disks = [each.name for _, told in lab.client("DisksClient").aggregated_list(project=PROJECT) for each in told.disks]
    check("Google: no disk is left", not disks, disks)
    strange = lab.front.strange()
    check(f"{len(lab.log)} requests are in the discovery document", not strange, strange)
    check(f"{lab.front.replies} answers are too, and the lab has no bug", not lab.bugs, lab.bugs)
    secrets = ["PRIVATE KEY", "ya29."]
    made = [each for each in lab.log if each.get("body") and "ert" in each.get("method", "")]
    leaks = [each["path"] for each in made for word in secrets if word.encode() in each["text"]]
    check(f"no secret in {len(made)} requests for machines", made and not leaks, leaks)
