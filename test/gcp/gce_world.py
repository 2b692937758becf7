# SPDX-License-Identifier: Apache-2.0
"""A World whose jobs run on the lab's machines of Compute Engine."""

from test.fake_gcs import BUCKET
from test.lab.cloud_world import CloudWorld
from test.lab.gceapi import lifecycle

LAUNCHES = ('instances.insert', 'instances.bulkInsert', 'regionInstances.bulkInsert')


class GceWorld(CloudWorld):
    infra = 'gcp/us-central1'
    bucket = f'gs://{BUCKET}/team'

    def all_machines(self):
        return self.lab.api.world.instances

    def machines(self, job):
        # Those for which there was room.
        return [each for each in self.all_machines()
                if each.admitted and each.labels.get('stoker-job') == job]

    def is_over(self, machine):
        return machine.gone

    def preempt(self, machine, lead=None):
        """As the spot market does it; lead: see lifecycle.preempt()."""
        with self.lab.api.world.lock:
            lifecycle.preempt(self.lab.api, machine, lead)

    def launches(self, job):
        """The requests with which its machines were asked for, that were heard."""
        return [each for each in self.lab.log
                if each.get('method') in LAUNCHES and each.get('status') == 200
                and f'"{job}"'.encode() in each['text'].replace(b' ', b'')]  # fmt: skip

    def who_asked(self, job):
        return [each['email'] for each in self.launches(job)]
