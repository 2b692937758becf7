# SPDX-License-Identifier: Apache-2.0
"""A World whose jobs run on the lab's machines of EC2."""

import time

from cloud_world import CloudWorld
from s3_server import BUCKET


class LabWorld(CloudWorld):
    infra = 'aws/us-east-1'
    bucket = f's3://{BUCKET}/team'

    def all_machines(self):
        return self.lab.ec2.world.instances()

    def machines(self, job):
        found = [each for each in self.all_machines() if each.tags.get('stoker-job') == job]
        return sorted(found, key=lambda each: (each.born, each.index))

    def is_over(self, machine):
        return machine.state() == 'terminated'

    def notice(self, machine, lead):
        """As the spot market gives it; at its end the machine is taken away."""
        from ec2api.machines import reclaim

        with self.lab.ec2.world.lock:
            machine.notice = {'action': 'terminate', 'time': time.time() + lead}
            self.lab.ec2.clock.after(lead, reclaim, self.lab.ec2, machine)

    def who_asked(self, job):
        """The keys with which its machines were asked for."""
        made = [each for each in self.lab.log if each.get('action') == 'RunInstances']
        return [each['key'] for each in made if f"'{job}'" in str(each.get('asked'))]
