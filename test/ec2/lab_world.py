# SPDX-License-Identifier: Apache-2.0
"""A World whose jobs run on the lab's machines, and what boots.py asks of them. What happens is
read from the disks of the machines and from what EC2 was asked: no stoker runs outside meanwhile.
"""

import pathlib
import re
import sys
import time

TEST = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TEST / 'e2e'))
from kit.harness import World  # noqa: E402
from kit.job_kit import texts  # noqa: E402
from s3_server import BUCKET  # noqa: E402

STORE = f's3://{BUCKET}/team'

TRAIN = """import os, runpy
runpy.run_path('trainer.py', run_name='__main__')
os.makedirs('result', exist_ok=True)
open('result/value', 'w').write('42')
"""


class LabWorld(World):
    def __init__(self, lab, name):
        super().__init__(name)
        self.lab = lab
        self.env.update(lab.env)
        self.stoker('config', 'set', 'store', STORE, check=True)
        programs = TEST / 'e2e' / 'programs'
        (self.work / 'trainer.py').write_text((programs / 'trainer.py').read_text())
        self.program(TRAIN, 'train.py')

    def train(self, steps, *flags, pause=0.5):
        return self.submit(
            '--infra', 'aws/us-east-1', *flags, '--output', 'result', '--', '/usr/bin/python3',
            'train.py', str(steps), '--pause', str(pause),
        )  # fmt: skip

    def machines(self, job):
        """Its instances, in the order in which they were made."""
        found = [
            each
            for each in self.lab.ec2.world.instances()
            if each.tags.get('stoker-job') == job
        ]
        return sorted(found, key=lambda each: (each.born, each.index))

    def machine(self, job, at, limit=60):
        def there():
            return len(self.machines(job)) > at and self.machines(job)[at]

        return self.wait_for(f'machine {at} of {job}', there, limit, 0.2)

    def step_on(self, machine):
        """What its disk says; 0 before there is any."""
        disk = pathlib.Path(self.lab.folder) / machine.id / 'disk'
        steps = [0]
        for found in disk.glob('**/state.txt'):
            try:
                steps.append(int(found.read_text() or 0))
            except (OSError, ValueError):
                continue  # it is being replaced
        return max(steps)

    def trained(self, machine, steps, limit=120):
        self.wait_for(
            f'step {steps} on {machine.id} ({machine.state()})',
            lambda: self.step_on(machine) >= steps, limit, 0.2,
        )  # fmt: skip

    def over(self, job, limit=240):
        """Until all its machines are terminated, and it got no other one for a while."""

        def all_over():
            states = [each.state() for each in self.machines(job)]
            return states and set(states) == {'terminated'} and states

        self.wait_for(f'machines of {job} to end', all_over, limit, 0.5)
        return self.machines(job)

    def told(self, job):
        """(its state, [(attempt, where it began, its steps)], the reasons of the endings)."""
        record = self.job(job)
        runs = []
        for line in texts(self, job):
            if begun := re.match(r'start (\d+) resume \d attempt (\d+)', line):
                runs.append((int(begun[2]), int(begun[1]), []))
            elif step := re.match(r'step (\d+)$', line):
                runs[-1][2].append(int(step[1]))
        reasons = [each.get('ending', {}).get('reason') for each in record['attempts']]
        return record['state'], runs, reasons

    def result(self, job):
        """What the bucket has of its output."""
        folder = self.root / f'got-{job}'
        self.stoker('get', job, 'result', folder, check=True)
        found = [each.read_text() for each in folder.glob('**/value')]
        return found[0] if found else None

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
