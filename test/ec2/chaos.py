#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Chaos on instances that boot: jobs of one and two nodes that are given notices, lose machines,
agents and zones, are stopped and started, while EC2's API fails and the bucket goes away.

    chaos.py [--jobs 8] [--full 0] [--seed 7]

`--full` so many more have the market's two minutes, and a bucket that is away for a minute; for the
others every lead is a tenth of that. One job at a time, so three machines at most. The programs are
those of the main line's chaos (test/e2e/programs/chaos_trainer.py), and so are the checks: kernel
locks show that two of one slot never run at once, a checkpoint checks itself, and every line of the
attempt that succeeded is in the log once. Needs root."""

import argparse
import os
import pathlib
import random
import signal
import sys
import time
import types

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / each) for each in ('ec2', 'lab', 'e2e', '')]
import lab as lab_of  # noqa: E402

lab_of.enter()
import afterwards  # noqa: E402
from ec2api import lifecycle  # noqa: E402
from kit import chaos_checks  # noqa: E402
from kit.bucket_view import BucketPath  # noqa: E402
from kit.harness import Results  # noqa: E402
from lab_world import LabWorld  # noqa: E402

# Each job meets the first of its two acts for certain; in the order of the issue.
ACTS = ('notice', 'taken', 'withdrawn', 'stop and start', 'agent', 'errors', 'lost answers',
        'zone full', 'bucket away')  # fmt: skip
CALLS = ('RunInstances', 'DescribeInstances', 'TerminateInstances', 'CreateTags')
LIMIT = 400


class Act:
    """What is done to one job, on time."""

    def __init__(self, lab, world, job, rng, scale):
        self.lab, self.world, self.job, self.rng = lab, world, job, rng
        self.lead = 120 * scale
        self.away = 60 * scale
        self.zones = []

    def do(self, what):
        getattr(self, 'do_' + what.replace(' ', '_'))()

    def running(self):
        found = [each for each in self.world.machines(self.job.id) if each.state() == 'running']
        return self.rng.choice(found) if found else None

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

    def do_agent(self):
        machine = self.running()
        pid = machine and machine.room.agent()
        if pid:
            self.world.kill(pid)

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
        process = self.lab.s3.process
        process.send_signal(signal.SIGSTOP)
        try:
            time.sleep(self.away)
        finally:
            process.send_signal(signal.SIGCONT)

    def mend(self):
        self.lab.ec2.faults.clear()
        for zone in self.zones:
            self.lab.ec2.capacity.set(None, zone=zone)


class ChaosWorld(LabWorld):
    def __init__(self, lab):
        super().__init__(lab, 'ec2-chaos')
        self.store = BucketPath(lab.s3, 'team')
        program = HERE.parent / 'e2e' / 'programs' / 'chaos_trainer.py'
        (self.work / 'chaos_trainer.py').write_text(program.read_text())
        lab.rooms.more = ['-s', str(self.evidence)]

    def kill(self, pid):
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass

    def beats(self, job):
        return sum(each.stat().st_size for each in self.evidence.glob(f'beat-{job}-*'))


def submit(world, rng, number, acts, scale):
    nodes = rng.choice([1, 1, 2])
    steps = rng.randint(30, 60) * (8 if scale == 1 else 1)  # a notice is over before they are
    style = rng.choice(['overwrite', 'rename', 'folders'])
    spot = [] if 'stop and start' in acts else ['--spot']
    job = world.submit(
        '--infra', 'aws/us-east-1', *spot, '--name', f'chaos-{number}', '--num-nodes', str(nodes),
        '--output', 'output', '--', '/usr/bin/python3', 'chaos_trainer.py', '--evidence',
        '/shared', '--steps', str(steps), '--step-ms', str(rng.randint(200, 500)), '--style', style,
    )  # fmt: skip
    return types.SimpleNamespace(id=job, number=number, fate='ends', style=style, nodes=nodes,
                                 steps=steps, done=acts, seconds=0)  # fmt: skip


def play(lab, world, results, number, seed, scale):
    rng = random.Random(f'{seed}-{number}')
    acts = [ACTS[number % len(ACTS)], rng.choice(ACTS)]
    begun = time.monotonic()
    job = submit(world, rng, number, acts, scale)
    act = Act(lab, world, job, rng, scale)
    try:
        for what in acts:
            beats = world.beats(job.id) + rng.randint(3, 12)
            world.wait_for(
                f'{job.id} trains', lambda: world.beats(job.id) >= beats or ended(world, job), 240,
                0.3,
            )  # fmt: skip
            act.do(what)
        time.sleep(rng.uniform(0, 5))
    finally:
        act.mend()
    world.wait_for(f'{job.id} to end', lambda: ended(world, job), LIMIT, 0.5)
    world.over(job.id, LIMIT)
    job.seconds = time.monotonic() - begun
    chaos_checks.check_job(world, job, results)
    return job


def ended(world, job):
    record = chaos_checks.ledger_view.record(world.store, job.id)
    return record and record['state'] in chaos_checks.ledger_view.FINAL


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--jobs', type=int, default=8)
    parser.add_argument('--full', type=int, default=0)
    parser.add_argument('--seed', type=int, default=7)
    parser.add_argument('--first', type=int, default=0, help='number of the first job')
    args = parser.parse_args()
    results = Results()
    with lab_of.Lab() as lab, ChaosWorld(lab) as world:
        looks = world.start('controller', '--interval', '5s', stdout=-3, stderr=-3)
        jobs = []
        scales = [0.1] * args.jobs + [1] * args.full
        for number, scale in enumerate(scales, args.first):
            results.run(f'chaos-{number}', lambda n=number, s=scale: jobs.append(
                play(lab, world, results, n, args.seed, s)))  # fmt: skip
        wrong = world.evidence / 'VIOLATIONS'
        results.check('no program ran twice, no checkpoint was torn', not wrong.exists(),
                      wrong.read_text() if wrong.exists() else '')  # fmt: skip
        looks.terminate()
        looks.wait()
        made = len(lab.ec2.world.instances())
        print(f'{len(jobs)} jobs, {made} machines', flush=True)
        afterwards.judge(lab, results.check)
        results.check('the lab has no bug', not lab.bugs, lab.bugs)
    results.finish()


if __name__ == '__main__':
    main()
