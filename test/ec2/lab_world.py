# SPDX-License-Identifier: Apache-2.0
"""A World whose jobs run on the lab's machines of EC2."""

import time

from test.lab.cloud_world import CloudWorld
from test.s3_server import BUCKET

TEAM = 'team'  # the ledger, unless a world has one of its own


def whole_checkpoint(lab, job):
    """The newest that is committed, by the bucket; '' while there is none."""
    prefix = f'{TEAM}/jobs/{job}/checkpoints/manifests/'
    names = [key.rsplit('/', 1)[1].removesuffix('.json').split('-') for key in lab.s3.keys(prefix)]
    return '-'.join(map(str, max((tuple(map(int, name)) for name in names), default=())))


class LabWorld(CloudWorld):
    infra = 'aws/us-east-1'

    def __init__(self, lab, name, prefix=TEAM):
        self.bucket = f's3://{BUCKET}/{prefix}'
        super().__init__(lab, name)

    def all_machines(self):
        return self.lab.ec2.world.instances()

    def machines(self, job):
        found = [each for each in self.all_machines() if each.tags.get('stoker-job') == job]
        return sorted(found, key=lambda each: (each.born, each.index))

    def is_over(self, machine):
        return machine.state() == 'terminated'

    def spooled(self, machine):
        """What its disk has of the log."""
        found = self.files_on(machine, '**/spool-*/*.log')
        return ''.join(each.read_text(errors='replace') for each in found)

    def notice(self, machine, lead):
        """As the spot market gives it; at its end the machine is taken away. Returns when."""
        from test.lab.ec2api.machines import reclaim

        with self.lab.ec2.world.lock:
            now = time.time()
            machine.notice = {'action': 'terminate', 'time': now + lead}
            self.lab.ec2.clock.after(lead, reclaim, self.lab.ec2, machine)
        return now

    def who_asked(self, job):
        """The keys with which its machines were asked for."""
        made = [each for each in self.lab.log if each.get('action') == 'RunInstances']
        return [each['key'] for each in made if f"'{job}'" in str(each.get('asked'))]
