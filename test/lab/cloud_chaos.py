# SPDX-License-Identifier: Apache-2.0
"""Chaos on machines that boot, whatever cloud moves them: one job at a time, each meets two of the
cloud's acts. What each chaos.py of a cloud shares. The programs are those of the main line's chaos
(test/e2e/programs/chaos_trainer.py), and so are the checks: kernel locks show that two of one slot
never run at once, a checkpoint checks itself, and every line of the attempt that succeeded is in
the log once."""

import argparse
import os
import pathlib
import random
import signal
import time
import types

from test.e2e.kit import chaos_checks

PROGRAM = pathlib.Path(__file__).resolve().parents[1] / 'e2e' / 'programs' / 'chaos_trainer.py'
LIMIT = 400


class Act:
    """What is done to one job, on time. A cloud adds its own, each as do_NAME, and says its ACTS in
    the order in which jobs meet them, `lead` of a notice among its own numbers; and how all is
    mended: mend()."""

    def __init__(self, lab, world, job, rng, scale):
        self.lab, self.world, self.job, self.rng, self.scale = lab, world, job, rng, scale
        self.away = 60 * scale

    def do(self, what):
        getattr(self, 'do_' + what.replace(' ', '_'))()

    def running(self):
        """One of its machines, or None."""
        found = [each for each in self.world.machines(self.job.id) if self.is_up(each)]
        return self.rng.choice(found) if found else None

    def do_agent(self):
        machine = self.running()
        pid = machine and machine.room.agent()
        if pid:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass

    def stopped_for(self, process, seconds):
        """A server that answers nobody for a while."""
        process.send_signal(signal.SIGSTOP)
        try:
            time.sleep(seconds)
        finally:
            process.send_signal(signal.SIGCONT)


def prepare(world):
    (world.work / PROGRAM.name).write_text(PROGRAM.read_text())
    world.lab.rooms.more = ['-s', str(world.evidence)]


def submit(world, rng, number, acts, scale, spot):
    nodes = rng.choice([1, 1, 2])
    steps = rng.randint(30, 60) * (8 if scale == 1 else 1)  # a notice is over before they are
    style = rng.choice(['overwrite', 'rename', 'folders'])
    job = world.submit(
        '--infra', world.infra, *(['--spot'] if spot else []), '--name', f'chaos-{number}',
        '--num-nodes', str(nodes), '--output', 'output', '--', '/usr/bin/python3', PROGRAM.name,
        '--evidence', '/shared', '--steps', str(steps), '--step-ms', str(rng.randint(200, 500)),
        '--style', style,
    )  # fmt: skip
    return types.SimpleNamespace(id=job, number=number, fate='ends', style=style, nodes=nodes,
                                 steps=steps, done=acts, seconds=0)  # fmt: skip


def beats(world, job):
    return sum(each.stat().st_size for each in world.evidence.glob(f'beat-{job}-*'))


def ended(world, job):
    record = chaos_checks.ledger_view.record(world.store, job.id)
    return record and record['state'] in chaos_checks.ledger_view.FINAL


def play(acts_of, world, results, number, seed, scale):
    rng = random.Random(f'{seed}-{number}')
    acts = [acts_of.ACTS[number % len(acts_of.ACTS)], rng.choice(acts_of.ACTS)]
    begun = time.monotonic()
    acts_of.before(world.lab, acts)
    job = submit(world, rng, number, acts, scale, acts_of.wants_spot(acts))
    act = acts_of(world.lab, world, job, rng, scale)
    try:
        for what in acts:
            enough = beats(world, job.id) + rng.randint(3, 12)
            world.wait_for(
                f'{job.id} trains', lambda: beats(world, job.id) >= enough or ended(world, job),
                240, 0.3,
            )  # fmt: skip
            act.do(what)
        time.sleep(rng.uniform(0, 5))
    except AssertionError:
        print(world.stoker('show', job.id).stdout, flush=True)
        raise
    finally:
        act.mend()
    world.wait_for(f'{job.id} to end', lambda: ended(world, job), LIMIT, 0.5)
    world.over(job.id, LIMIT)
    job.seconds = time.monotonic() - begun
    chaos_checks.check_job(world, job, results)
    return job


def run_all(acts_of, world, results):
    """As the command line says. The jobs."""
    parser = argparse.ArgumentParser()
    parser.add_argument('--jobs', type=int, default=8)
    parser.add_argument('--full', type=int, default=0)
    parser.add_argument('--seed', type=int, default=7)
    parser.add_argument('--first', type=int, default=0, help='number of the first job')
    args = parser.parse_args()
    prepare(world)
    looks = world.start('controller', '--interval', '5s', stdout=-3, stderr=-3)
    jobs = []
    scales = [0.1] * args.jobs + [1] * args.full
    for number, scale in enumerate(scales, args.first):
        results.run(f'chaos-{number}', lambda n=number, s=scale: jobs.append(
            play(acts_of, world, results, n, args.seed, s)))  # fmt: skip
    wrong = world.evidence / 'VIOLATIONS'
    results.check('no program ran twice, no checkpoint was torn', not wrong.exists(),
                  wrong.read_text() if wrong.exists() else '')  # fmt: skip
    looks.terminate()
    looks.wait()
    print(f'{len(jobs)} jobs, {len(list(world.all_machines()))} machines', flush=True)
    return jobs
