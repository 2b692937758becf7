#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Jobs on VMs of Compute Engine that boot: systemd, the scripts of Google's guest agent, the
metadata server, a disk, a power button, in the lab (test/lab), with the binary as it is. By who is
not root: without systemd.

    boots.py [NAME…]     only these parts

Once a job is submitted no stoker runs outside. Judged by the disks of the machines, by what Compute
Engine was asked, by the bucket, and by Google's own client."""

import concurrent.futures
import os
import pathlib
import re
import signal
import sys
import threading
import time

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test.lab import lab as lab_of

lab_of.enter()
from test.e2e.kit.harness import Results
from test.e2e.kit.job_kit import texts
from test.fake_gcs import BUCKET
from test.gcp.gce_world import GceWorld
from test.lab.cloud_world import MEET, whole
from test.lab.gce_lab import NODES, SUBMITTER, GceLab
from test.lab.gceapi import lifecycle
from test.lab.gceapi.service import CHANGES, PROJECT

LABELS = {'stoker-ledger', 'stoker-job', 'stoker-request', 'stoker-launches', 'stoker-expires'}


def seen_by_google(lab, machine, check):
    """What google-cloud-compute says of it."""
    told = lab.client('InstancesClient').get(project=PROJECT, zone=machine.zone,
                                             instance=machine.name)  # fmt: skip
    check('Google: it is a spot VM', told.scheduling.provisioning_model == 'SPOT')
    check('Google: which ends by itself', told.scheduling.instance_termination_action in
          ('DELETE', 'STOP') and told.scheduling.termination_time, told.scheduling)  # fmt: skip
    check('Google: its labels', LABELS <= set(told.labels), told.labels)
    keys = {each.key for each in told.metadata.items}
    check('Google: its scripts', {'startup-script', 'shutdown-script'} <= keys, keys)
    check('Google: its disk ends with it', told.disks[0].auto_delete)


def test_spot(lab, check):
    """A notice by the metadata server, 120 s ahead."""
    with GceWorld(lab, 'spot') as world:
        job = world.train(400, '--spot')
        first = world.machine(job, 0)
        world.trained(first, 10)
        check('nothing of stoker runs outside', not world.outside(), world.outside())
        seen_by_google(lab, first, check)
        before = len(lab.log)
        world.preempt(first)
        second = world.machine(job, 1, limit=120)
        check('spot: a successor is asked for while the first one lives',
              not first.gone and not first.room.pressed)  # fmt: skip
        changes = [each['method'] for each in lab.log[before:] if each.get('method') in CHANGES]
        check('spot: nothing else was changed before', changes[:1] == ['instances.insert'], changes)
        world.over(job, limit=400)
        state, runs, reasons = world.told(job)
        check('spot: succeeds on the second machine', (state, len(runs)) == ('Succeeded', 2),
              (state, runs, reasons))  # fmt: skip
        check('spot: goes on where it was', not whole(runs, 400, 1) and runs[1][1] >= 10, runs)
        check('spot: told ahead', reasons[0] == 'Interrupted', reasons)
        said = world.noticed(job)
        told = {each[0] for each in said} == {1}  # once more, where it is still there at its end
        check('spot: its log has that notice, and none of an end of its own', told, said)
        check('spot: its output is in the bucket', world.result(job) == '42')
        who = world.who_asked(job)
        check('spot: the first machine asked for the second, with its account',
              who[:1] == [SUBMITTER] and who[-1] == NODES, (who, second.id))  # fmt: skip


class Watch(threading.Thread):
    """When what the bucket has of a job came there, by its own clock: {what: [seconds]}."""

    KINDS = {'record': 'records/{}.json', 'checkpoint': 'jobs/{}/checkpoints/manifests/',
             'log': 'jobs/{}/log/'}  # fmt: skip

    def __init__(self, lab, job):
        super().__init__(daemon=True)
        self.client, self.over = lab.gcs.client(), threading.Event()
        self.prefixes = {kind: f'team/{path.format(job)}' for kind, path in self.KINDS.items()}
        self.seen = {kind: {} for kind in self.KINDS}
        self.look()  # what is there already
        self.start()

    def look(self):
        for kind, prefix in self.prefixes.items():
            for each in self.client.list_blobs(BUCKET, prefix=prefix):
                self.seen[kind].setdefault((each.name, each.generation), each.updated.timestamp())

    def run(self):
        while not self.over.wait(0.02):
            self.look()

    def after(self, kind, moment):
        self.over.set()
        return sorted(at - moment for at in self.seen[kind].values() if at > moment)


def test_classic(lab, check):
    """Thirty seconds, and the power button at once: the successor is asked for first."""
    with GceWorld(lab, 'classic') as world:
        lab.api.settings.notices = ()  # Google refuses the longer one
        lab.api.settings.refuse_notice = True
        job = world.train(150, '--spot')
        first = world.machine(job, 0)
        world.trained(first, 10)
        watch = Watch(lab, job)
        since = len(lab.log)
        moment = time.time()
        world.preempt(first)
        world.machine(job, 1, limit=60)
        world.wait_for('the first one is gone', lambda: first.gone, 60, 0.1)
        gone = time.time() - moment
        calls = [(each['method'], each['time'] - moment) for each in lab.log[since:]]
        asked = [at for name, at in calls if name == 'instances.insert'][0]
        before = [name for name, at in calls if at < asked]
        record = watch.after('record', moment)
        kept, log = watch.after('checkpoint', moment), watch.after('log', moment)
        print(f'classic: after the notice, in seconds: record {record[0]:.2f}, insert {asked:.2f}, '
              f'checkpoint {kept[0] if kept else -1:.2f}, log {log[0] if log else -1:.2f} to '
              f'{log[-1] if log else -1:.2f}, gone {gone:.1f}; before the insert: {before}',
              flush=True)  # fmt: skip
        print(f'classic: from the write to the insert: {(asked - record[0]) * 1000:.0f} ms')
        check('classic: the insert is the first request to Compute after the notice', not before,
              before)  # fmt: skip
        check('classic: the record is written before the successor is asked for',
              record[0] <= asked + 0.1, (record, asked))  # fmt: skip
        # One that its program had begun before may be committed at any moment.
        between = [at for at in kept if record[0] <= at < asked]
        check('classic: the checkpoint comes after it', kept and kept[-1] >= asked and not between,
              (kept, record, asked))  # fmt: skip
        check('classic: the last lines come last', log and log[-1] >= kept[0], (log, kept))
        world.over(job, limit=400)
        state, runs, reasons = world.told(job)
        check('classic: succeeds', (state, len(runs)) == ('Succeeded', 2), (state, runs, reasons))
        check('classic: goes on where it was', not whole(runs, 150, 1), runs)
        check('classic: told ahead', reasons[0] == 'Interrupted', reasons)
        lab.api.settings.refuse_notice = False
        lab.api.settings.notices = (120.0,)


def test_gang(lab, check):
    with GceWorld(lab, 'gang') as world:
        world.program(MEET, 'meet.py')
        job = world.submit('--infra', world.infra, '--num-nodes', '2', '--', '/usr/bin/python3',
                           'meet.py')  # fmt: skip
        world.machine(job, 1)
        two = world.over(job)
        check('gang: two machines in one zone', len(two) == 2 and two[0].zone == two[1].zone)
        groups = {each.request.group for each in two}
        check('gang: by one request', len(groups) == 1 and groups != {None}, groups)
        said = sorted(texts(world, job))
        check('gang: the two met', said == ['hello', 'met rank 1'], said)
        check('gang: succeeds', world.job(job)['state'] == 'Succeeded', world.job(job))


def test_killed(lab, check):
    """kill -9 of the agent: the machine stays, and goes on in its place."""
    with GceWorld(lab, 'killed') as world:
        job = world.train(100)
        first = world.machine(job, 0)
        world.trained(first, 10)
        killed = first.room.agent()
        check('killed: there is an agent to kill', killed is not None)
        os.kill(killed, signal.SIGKILL)
        world.over(job)
        state, runs, reasons = world.told(job)
        check('killed: succeeds', state == 'Succeeded', (state, runs, reasons))
        check('killed: on the same machine', len(world.machines(job)) == 1, world.machines(job))
        check('killed: with each step made, from a checkpoint', not whole(runs, 100, 15), runs)


def test_stopped(lab, check):
    """Somebody stops the VM: it is told by its shutdown, and its job goes on elsewhere."""
    with GceWorld(lab, 'stopped') as world:
        job = world.train(120)
        first = world.machine(job, 0)
        world.trained(first, 10)
        with lab.api.world.lock:
            by_hand(lab, lifecycle.stop, first)
        second = world.machine(job, 1, limit=120)
        world.over(job)
        state, runs, reasons = world.told(job)
        check('stopped: succeeds', state == 'Succeeded', (state, runs, reasons))
        check('stopped: on a second machine', second.id != first.id)
        check('stopped: no step is missing in its log', not whole(runs, 120, 1), runs)


def test_gpus(lab, check):
    """An image that is still installing the driver of its GPU; a file stands in for the device."""
    with GceWorld(lab, 'gpus') as world:
        job = world.submit('--infra', world.infra, '--gpus', 'T4:1', '--', 'ls', '/dev/nvidia0')
        first = world.machine(job, 0)

        def said(words):
            return words in world.stoker('logs', '--stream', 'system', job).stdout

        world.wait_for('it waits', lambda: said('0 of the 1 GPUs that its type promises'), 60)
        check('gpus: nothing is started without', not texts(world, job), texts(world, job))
        pathlib.Path(f'/proc/{first.room.agent()}/root/dev/nvidia0').touch()
        world.over(job)
        check('gpus: the wait is over once it is there', said('the GPUs are there after'))
        check('gpus: succeeds', world.job(job)['state'] == 'Succeeded', world.job(job))
        check('gpus: on that machine', len(world.machines(job)) == 1, world.machines(job))


def test_kept(lab, check):
    """keep_failed: the VM stays for its time, with what the program left on its disk, and ends by
    itself."""
    with GceWorld(lab, 'kept') as world:
        job = world.submit('--infra', world.infra, '--keep-failed', '1m', '--', 'sh', '-c',
                           'echo of-the-failed >/root/left; exit 3')  # fmt: skip
        first = world.machine(job, 0)
        world.wait_for('it fails', lambda: world.job(job)['state'] == 'Failed', 120)
        failed = time.time()
        launch = world.job(job)['launches'][0]
        check('kept: its launch is closed as kept', launch['close_reason'] == 'kept', launch)
        time.sleep(20)
        check('kept: the VM is there', not first.gone and first.room.agent() is not None)
        left = pathlib.Path(f'/proc/{first.room.agent()}/root/root/left')
        check('kept: with what its program has left', left.read_text() == 'of-the-failed\n')
        check('kept: nothing of stoker runs outside', not world.outside(), world.outside())
        world.wait_for('it ends by itself', lambda: first.gone, 180)
        print(f'kept: {time.time() - failed:.0f} s after its end the VM was gone', flush=True)
        check('kept: not before its time', time.time() - failed >= 50, time.time() - failed)
        who = [each['email'] for each in lab.log if each.get('method') == 'instances.delete'
               and each['params']['instance'] == first.name]  # fmt: skip
        check('kept: by itself', who and set(who) == {NODES}, who)
        check('kept: and the job stays as it ended', world.job(job)['state'] == 'Failed')


def test_barren(lab, check):
    """GPUs that never come, at full length: a quarter of an hour."""
    with GceWorld(lab, 'barren') as world:
        begun = time.monotonic()
        job = world.submit('--infra', world.infra, '--gpus', 'T4:1', '--', 'ls', '/dev/nvidia0')
        first = world.machine(job, 0)

        def said():
            log = world.stoker('logs', '--stream', 'system', job).stdout
            story = world.stoker('show', job).stdout
            return re.search('0 of the 1 GPUs that its type promises, .* on', log + story) \
                or first.gone

        world.wait_for('it gives up', said, 1200, 2)
        took = time.monotonic() - begun
        world.wait_for('it is ended', lambda: first.gone, 120)
        print(f'barren: given up {took:.0f} s after submission', flush=True)
        check('barren: nothing was started on it', not texts(world, job), texts(world, job))
        shown = world.stoker('show', job).stdout
        check('barren: that it has no GPUs is in the story, with what to do',
              'GPUs that its type promises' in shown, shown)  # fmt: skip
        check('barren: and the VM is ended', first.gone)
        world.stoker('cancel', '--no-wait', job)
        world.wait_for('all end', lambda: world.stoker('show', job) and all(
            each.gone for each in world.machines(job)), 200, 2)  # fmt: skip


def by_hand(lab, call, machine):
    somebody = type('Somebody', (), {'email': 'somebody@example.org'})
    params = {'project': PROJECT, 'zone': machine.zone, 'instance': machine.name}
    call(lab.api, params, None, somebody)


def judge(lab, check):
    """What Google's client, the API and the bucket say after all jobs."""
    scopes = lab.client('InstancesClient').aggregated_list(project=PROJECT)
    left = [each.name for _, told in scopes for each in told.instances]
    check('Google: no VM is left', not left, left)
    disks = [each.name for _, told in lab.client('DisksClient').aggregated_list(project=PROJECT)
             for each in told.disks]  # fmt: skip
    check('Google: no disk is left', not disks, disks)
    strange = lab.front.strange()
    check(f'{len(lab.log)} requests are in the discovery document', not strange, strange)
    check(f'{lab.front.replies} answers are too, and the lab has no bug', not lab.bugs, lab.bugs)
    secrets = ['PRIVATE KEY', 'ya29.']
    made = [each for each in lab.log if each.get('body') and 'ert' in each.get('method', '')]
    leaks = [each['path'] for each in made for word in secrets if word.encode() in each['text']]
    check(f'no secret in {len(made)} requests for machines', made and not leaks, leaks)


ALONE = ('classic',)  # what changes the lab's own settings
AT_LENGTH = ('barren',)  # only where it is named
PARTS = {name[5:]: part for name, part in list(globals().items()) if name.startswith('test_')}


def main(names):
    results = Results()
    with GceLab() as lab:
        names = names or [each for each in PARTS if each not in AT_LENGTH]
        for threads, parts in ((2, [each for each in names if each not in ALONE]),
                               (1, [each for each in names if each in ALONE])):  # fmt: skip
            with concurrent.futures.ThreadPoolExecutor(threads) as pool:
                ran = [pool.submit(results.run, name, PARTS[name], lab, results.check)
                       for name in parts]  # fmt: skip
                for each in ran:
                    each.result()
        judge(lab, results.check)
    results.finish()


if __name__ == '__main__':
    main(sys.argv[1:])
