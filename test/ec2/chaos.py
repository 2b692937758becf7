#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Chaos on instances that boot (test/lab/cloud_chaos.py): jobs of one and two nodes that are given
notices, lose machines, agents and zones, are stopped and started, while EC2's API fails and the
bucket goes away.

    chaos.py [--jobs 8] [--full 0] [--seed 7]

`--full` so many more have the market's two minutes, and a bucket that is away for a minute; for the
others every lead is a tenth of that. One job at a time, so three machines at most."""

import pathlib
import sys
import time

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test.lab import lab as lab_of

lab_of.enter()
from test.e2e.kit.bucket_view import BucketPath
from test.e2e.kit.harness import Results
from test.ec2 import afterwards
from test.ec2.lab_world import LabWorld
from test.lab import cloud_chaos
from test.lab.ec2api import lifecycle

CALLS = ('RunInstances', 'DescribeInstances', 'TerminateInstances', 'CreateTags')


class Act(cloud_chaos.Act):
    # Each job meets the first of its two acts for certain; in the order of the issue.
    ACTS = ('notice', 'taken', 'withdrawn', 'stop and start', 'agent', 'errors', 'lost answers',
            'zone full', 'bucket away')  # fmt: skip

    def __init__(self, lab, world, job, rng, scale):
        super().__init__(lab, world, job, rng, scale)
        self.lead = 120 * scale
        self.zones = []

    @staticmethod
    def wants_spot(acts):
        return 'stop and start' not in acts

    @staticmethod
    def before(lab, acts):
        """Nothing of it comes before the job is there."""

    def is_up(self, machine):
        return machine.state() == 'running'

    def do_notice(self):
        if machine := self.running():
            self.world.notice(machine, self.lead)

    def do_taken(self):
        """Without a word to it."""
        machine = self.running()
        if machine is None:
            return
        with self.lab.ec2.world.lock:
            machine.state_reason = lifecycle.SPOT
            machine.reason = f'Server.SpotInstanceTermination {lifecycle.stamp()}'
            machine.move((0, 'shutting-down'))
        self.lab.rooms.kill(machine)

    def do_withdrawn(self):
        machine = self.running()
        if machine is None:
            return
        machine.notice = {'action': 'terminate', 'time': time.time() + self.lead}
        time.sleep(self.lead / 2)
        machine.notice = None

    def do_stop_and_start(self):
        machine = self.running()
        if machine is None or machine.spot:
            return
        self.lab.client.stop_instances(InstanceIds=[machine.id])
        self.world.wait_for('it is off', lambda: machine.state() not in ('running', 'stopping'),
                            180, 0.2)  # fmt: skip
        try:
            self.lab.client.start_instances(InstanceIds=[machine.id])
        except self.lab.client.exceptions.ClientError:
            return  # somebody has ended it by now

    def do_errors(self):
        for call in CALLS:
            self.lab.ec2.faults.add(call, 'error', self.rng.randint(1, 3), code='InternalError',
                                    status=500)  # fmt: skip
            self.lab.ec2.faults.add(call, 'error', self.rng.randint(1, 2))  # too many requests
        self.do_notice()

    def do_lost_answers(self):
        for call in CALLS:
            self.lab.ec2.faults.add(call, self.rng.choice(['lost_answer', 'lost_request']), 1)
        self.do_notice()

    def do_zone_full(self):
        if machine := self.running():
            self.lab.ec2.capacity.set(0, zone=machine.asked['Zone'])
            self.zones.append(machine.asked['Zone'])
            self.do_notice()

    def do_bucket_away(self):
        self.stopped_for(self.lab.s3.process, self.away)

    def mend(self):
        self.lab.ec2.faults.clear()
        for zone in self.zones:
            self.lab.ec2.capacity.set(None, zone=zone)


def main():
    results = Results()
    with lab_of.Lab() as lab, LabWorld(lab, 'ec2-chaos') as world:
        world.store = BucketPath(lab.s3, 'team')
        cloud_chaos.run_all(Act, world, results)
        afterwards.judge(lab, results.check)
        results.check('the lab has no bug', not lab.bugs, lab.bugs)
    results.finish()


if __name__ == '__main__':
    main()
