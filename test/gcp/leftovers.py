#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `stoker gc` and `stoker controller` end of what a ledger has at Google: what its own label
says is over, in every zone, and nothing else; not what somebody has made with the same labels. With
VMs that do not boot; judged by what the lab has, and by what it was asked."""

import json
import sys
import urllib.request

from gce_verb_lab import GceVerbLab, enter

enter()
from kit.harness import Results  # noqa: E402
from unbooted_gce import OWN  # noqa: E402

PAST = '1577836800'  # 2020
CLOUD = 'https://www.googleapis.com/auth/cloud-platform'


def submit(world, where='us-central1'):
    words = ('--infra', f'gcp/{where}', '--instance-type', 'e2-standard-2', '--', 'true')
    return world.submit(*words)


def copied(lab, machine):
    """As the console makes a VM "like this one": with its labels, and a name of its own."""
    body = json.loads(json.dumps(machine.body))
    body.update(name='like-that-one-0', labels=dict(machine.labels))
    token = lab.identity.issue(OWN, [CLOUD])
    url = (f'{lab.below.endpoint}/compute/v1/projects/{machine.project}/zones/{machine.zone}/'
           'instances')  # fmt: skip
    urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), {
        'Authorization': f'Bearer {token.text}', 'Content-Type': 'application/json'}))


def leftovers(lab, check):
    with lab.world('one') as world, lab.world('two') as other:
        here, there = submit(world), submit(world, 'europe-west4')
        foreign = submit(other)
        first, second, third = (lab.machines(job)[0] for job in (here, there, foreign))
        for each in (second, third):
            each.labels['stoker-expires'] = PAST
        copied(lab, second)
        world.wait_for('the copy is there', lambda: len(lab.machines(there)) == 2)
        since = len(lab.log)
        told = world.json('gc', '--dry-run')['instances']
        check('what has expired is named, wherever it is', told == [second.name], told)
        changes = [each for each in lab.asked(since) if each.endswith(('delete', 'nsert'))]
        check('who only looks changes nothing', not changes, changes)
        lab.api.silent_zones = {'asia-east1-a'}
        check('a zone in which nothing was ever made may be silent',
              world.json('gc', '--dry-run')['instances'] == [second.name])  # fmt: skip
        lab.api.silent_zones = {second.zone}
        done = world.stoker('gc')
        check('one that does not answer is said', second.zone in done.stderr, done.stderr)
        lab.api.silent_zones = set()
        check('and nothing is ended there', not second.gone)
        told = world.json('gc')['instances']
        world.wait_for('it is ended', lambda: second.gone)
        check('it is ended', told == [second.name], told)
        names = sorted(each.name for each in lab.machines())
        check('the healthy one, the foreign one and the copy stay',
              names == sorted([first.name, third.name, 'like-that-one-0']), names)  # fmt: skip


def by_itself(lab, check):
    """`stoker controller --once`, as a timer calls it."""
    with lab.world('sweeper') as world:
        job = submit(world)
        machine = lab.machines(job)[0]
        for key in [each for each in lab.gcs.keys('sweeper/') if job in each]:
            lab.gcs.client().bucket('stoker-test').blob(key).delete()
        check('its record is gone', world.stoker('show', job).returncode == 1)
        world.stoker('controller', '--once')
        check('a VM without a record stays while its time lasts', not machine.gone)
        machine.labels['stoker-expires'] = PAST
        since = len(lab.log)
        world.stoker('controller', '--once')
        check('the sweep is not for every minute', not machine.gone, lab.asked(since))
        for mark in world.state.glob('swept/*'):
            mark.unlink()
        done = world.stoker('controller', '--once')
        world.wait_for('it is ended', lambda: machine.gone)
        check('later it ends what is over, and says so', machine.name in done.stderr, done.stderr)


def main():
    results = Results()
    with GceVerbLab() as lab:
        for part in (leftovers, by_itself):
            results.run(part.__name__, part, lab, results.check)
            lab.api.forget()
        lab.judge(results.check)
    results.finish()


if __name__ == '__main__':
    sys.exit(main())
