#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Chaos on VMs of Compute Engine that boot (test/lab/cloud_chaos.py): jobs of one and two nodes
that are preempted with notices of 0, 30 and 120 s, find no room in the operation, are rolled back,
are stopped, lose agents, answers and zones, while the metadata server is sick and the bucket goes
away.

    chaos.py [--jobs 8] [--full 0] [--seed 7]

For all but the `--full` ones every lead is a tenth, but for the power button's, which is Google's.
One job at a time."""

import pathlib
import sys
import time

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test.lab import lab as lab_of

lab_of.enter()
from test.e2e.kit.harness import Results
from test.fake_gcs import BUCKET
from test.gcp.boots import by_hand, judge
from test.gcp.gce_world import GceWorld
from test.lab import cloud_chaos
from test.lab.gce_lab import GceLab
from test.lab.gceapi import lifecycle

CALLS = ('instances.insert', 'instances.bulkInsert', 'instances.aggregatedList', 'instances.get',
         'instances.delete', 'zoneOperations.get', 'zoneOperations.list')  # fmt: skip
FULL = 'ZONE_RESOURCE_POOL_EXHAUSTED'


class GcsPath:
    """The bucket as test/e2e/kit/ledger_view.py reads it."""

    def __init__(self, gcs, key=''):
        self.gcs, self.key = gcs, key

    def __truediv__(self, name):
        return GcsPath(self.gcs, f'{self.key}/{name}'.lstrip('/'))

    @property
    def name(self):
        return self.key.rpartition('/')[2]

    def read_bytes(self):
        from google.api_core.exceptions import NotFound

        try:
            return self.gcs.read(self.key)
        except NotFound:
            raise FileNotFoundError(self.key) from None

    def is_dir(self):
        return False

    def names(self):
        before = self.key + '/'
        keys = [each[len(before) :] for each in self.gcs.keys(before)]
        return sorted({each.split('/')[0] for each in keys if each})


class Act(cloud_chaos.Act):
    ACTS = ('notice', 'classic notice', 'taken', 'no room', 'rolled back', 'sender killed',
            'lost answers', 'errors', 'silent zone', 'sick metadata', 'stopped', 'agent',
            'bucket away')  # fmt: skip

    def __init__(self, lab, world, job, rng, scale):
        super().__init__(lab, world, job, rng, scale)
        self.lead = 120 * scale

    @staticmethod
    def wants_spot(acts):
        return 'stopped' not in acts

    @staticmethod
    def before(lab, acts):
        """What its first request for machines meets."""
        lab.api.settings.operation_delay = 2.0
        if acts[0] == 'no room':
            lab.api.births.add(FULL)
        if acts[0] == 'rolled back':
            lab.api.capacity.set(1, zone='us-central1-a', type='*', market='*')

    def is_up(self, machine):
        return machine.state() == 'RUNNING'

    def do_notice(self):
        if machine := self.running():
            self.world.preempt(machine, self.lead)

    def do_classic_notice(self):
        """The metadata turns with the power button, which has its thirty seconds."""
        machine = self.running()
        if machine is None:
            return
        with self.lab.api.world.lock:
            machine.preempted = True
            lifecycle.taken(self.lab.api, machine, False)

    def do_taken(self):
        if machine := self.running():
            self.world.preempt(machine, 0)

    def do_no_room(self):
        self.lab.api.births.add(FULL, count=2)
        self.do_notice()

    def do_rolled_back(self):
        """Both machines are lost at once; there is room for one where they were."""
        mine = [each for each in self.world.machines(self.job.id) if self.is_up(each)]
        if mine:
            self.lab.api.capacity.set(1, zone=mine[0].zone)
        for each in mine:
            self.world.preempt(each, 0)

    def do_sender_killed(self):
        """The agent that asks for the successor dies before the operation ends."""
        machine = self.running()
        if machine is None:
            return
        self.lab.api.births.add(FULL)
        since = len(self.lab.log)
        self.do_notice()
        end = time.monotonic() + 60
        while time.monotonic() < end:
            if any('nsert' in each.get('method', '') for each in self.lab.log[since:]):
                break
            time.sleep(0.02)
        self.do_agent()

    def do_lost_answers(self):
        for call in CALLS:
            self.lab.api.faults.add(call, self.rng.choice(['lost_answer', 'lost_request']), 1)
        self.do_notice()

    def do_errors(self):
        for call in CALLS:
            self.lab.api.faults.add(call, 'error', self.rng.randint(1, 3), status=503,
                                    code='backendError')  # fmt: skip
            self.lab.api.faults.add(call, 'error', self.rng.randint(1, 2), status=403,
                                    code='rateLimitExceeded')  # fmt: skip
        self.do_notice()

    def do_silent_zone(self):
        if machine := self.running():
            self.lab.api.silent_zones.add(machine.zone)
            self.do_notice()
            time.sleep(self.lead)
            self.lab.api.silent_zones.discard(machine.zone)

    def do_sick_metadata(self):
        machine = self.running()
        if machine is None:
            return
        machine.room.metadata.broken = 20  # so many answers of 503
        self.do_notice()

    def do_stopped(self):
        if machine := self.running():
            with self.lab.api.world.lock:
                by_hand(self.lab, lifecycle.stop, machine)

    def do_bucket_away(self):
        self.stopped_for(self.lab.gcs.process, self.away)

    def mend(self):
        self.lab.api.faults.clear()
        self.lab.api.births.clear()
        self.lab.api.capacity.clear()
        self.lab.api.silent_zones.clear()
        self.lab.api.settings.operation_delay = 0.1


def main():
    results = Results()
    with GceLab() as lab, GceWorld(lab, 'gce-chaos') as world:
        world.store = GcsPath(lab.gcs, world.bucket.removeprefix(f'gs://{BUCKET}/'))
        cloud_chaos.run_all(Act, world, results)
        judge(lab, results.check)
    results.finish()


if __name__ == '__main__':
    main()
