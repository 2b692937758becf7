#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `stoker gc` and `stoker controller` end of what a ledger has at Google: what its own label
says is over, in every zone, and nothing else; not what somebody has made with the same labels. With
VMs that do not boot; judged by what the lab has, and by what it was asked."""

import json
import pathlib
import sys
import urllib.request

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test.gcp.gce_verb_lab import GceVerbLab, enter

enter()
from test.e2e.kit.harness import Results
from test.lab.gceapi import lifecycle, policies
from test.lab.unbooted_gce import OWN

PAST = '1577836800'  # 2020
CLOUD = 'https://www.googleapis.com/auth/cloud-platform'


def submit(world, where='us-central1'):
    words = ('--infra', f'gcp/{where}', '--instance-type', 'e2-standard-2', '--', 'true')
    return world.submit(*words)


def copied(lab, machine, name='like-that-one-0', labels=None):
    """As the console makes a VM "like this one": with its labels, and a name of its own."""
    body = json.loads(json.dumps(machine.body))
    body.update(name=name, labels=dict(machine.labels) if labels is None else labels)
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


def by_record(lab, check):
    """A request that takes effect too late makes one that its record has ended long ago."""
    with lab.world('record') as world:
        job, other = submit(world), submit(world)
        machine, healthy = (lab.machines(each)[0] for each in (job, other))
        told = world.json('gc', '--dry-run')['cloud']['things']
        seen = {each['id']: each for each in told}
        check('gc lists what the ledger has there', set(seen) == {machine.name, healthy.name}, told)
        mine = seen.get(machine.name, {})
        check('with its place, type and job',
              (mine.get('provider'), mine.get('zone'), mine.get('job'), mine.get('over'),
               mine.get('what', '').split(' ')[0])
              == ('gce', machine.zone, job, '', 'e2-standard-2'), mine)  # fmt: skip
        world.stoker('cancel', job)
        world.wait_for('it is ended', lambda: machine.gone)
        copied(lab, machine, machine.name)  # as if it had been made only now
        world.wait_for('it is there again', lambda: lab.machines(job))
        again = lab.machines(job)[0]
        line = [each for each in world.stoker('gc', '--dry-run').stdout.splitlines()
                if machine.name in each]  # fmt: skip
        check('who only looks says why it would end',
              len(line) == 1 and 'would be ended: its record has ended it' in line[0], line)
        told = world.json('gc')
        world.wait_for('it is ended again', lambda: again.gone)
        check('what a record has ended goes, and nothing else',
              machine.name in told['instances'] and not healthy.gone, told['instances'])


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


NEAR = ('resources: {{infra: gcp/us-central1, instance_type: c2-standard-8}}\n'
        'gcp: {{placement: cluster}}\nnum_nodes: {}\nrun: "true"\n')  # fmt: skip


def line_of(thing, said):
    return ' '.join(each for each in said.splitlines() if thing.name in each)


def near(lab, check):
    """Compact placement policies: each is a job's, and goes after it."""
    held = lab.api.world.policies
    with lab.world('near') as world:
        (world.work / 'near.yaml').write_text(NEAR.format(2))
        job = world.submit('near.yaml')
        world.wait_for('two VMs', lambda: len(lab.machines(job)) == 2, 30)
        (policy,) = held.values()
        check('the policy has the job in its name', f'-{job}-' in policy.name, policy.name)
        check('both VMs have it, in one zone, and stay where they are',
              {(each.plan.get('policy'), each.zone, each.scheduling['onHostMaintenance'])
               for each in lab.machines(job)}
              == {(policy, lab.machines(job)[0].zone, 'TERMINATE')})  # fmt: skip
        told = {each['id']: each for each in world.json('gc', '--dry-run')['cloud']['things']}
        seen = told.get(policy.name, {})
        check('it is listed, and stays while the job does',
              (seen.get('kind'), seen.get('job'), seen.get('over'))
              == ('placement policy', job, ''), told)  # fmt: skip
        world.stoker('cancel', job, check=True)
        world.wait_for('all end', lambda: world.stoker('show', job) and not lab.machines(job), 30)
        check('it is still there', list(held.values()) == [policy], list(held))
        line = line_of(policy, world.stoker('gc', check=True).stdout)
        check('the next gc ends it', not held and line.endswith('; ended: its job has ended'), line)
        left_alone(lab, world, check)
        nowhere_near(lab, world, check)


def left_alone(lab, world, check):
    """Who looked after the job was killed: there is its policy, and no VM; and one of others."""
    held = lab.api.world.policies
    lost = world.submit('near.yaml')
    world.wait_for('two VMs', lambda: len(lab.machines(lost)) == 2, 30)
    (policy,) = held.values()
    somebody = type('Somebody', (), {'email': 'somebody@example.org'})
    place = {'project': policy.project, 'region': policy.region}
    body = {'name': 'stoker-like-ours-n', 'groupPlacementPolicy': {'collocation': 'COLLOCATED'}}
    with lab.api.world.lock:
        policies.insert(lab.api, place, body, somebody)
        for each in lab.machines(lost):
            where = {'project': each.project, 'zone': each.zone, 'instance': each.name}
            lifecycle.delete(lab.api, where, None, somebody)
    world.wait_for('no VM', lambda: not lab.machines(lost))
    for key in [each for each in lab.gcs.keys('near/') if lost in each]:
        lab.gcs.client().bucket('stoker-test').blob(key).delete()
    told = world.json('gc')['cloud']['things']
    over = [(each['id'], each['over']) for each in told]
    check('gc ends one whose job is over, and no other', over == [
          (policy.name, 'its job has ended')] and [each.name for each in held.values()] ==
          ['stoker-like-ours-n'], (told, list(held)))  # fmt: skip


def nowhere_near(lab, world, check):
    """A type that takes none is refused before anything is made; where Google has no room, the next
    zone is asked, with a policy of its own."""
    since = len(lab.log)
    (world.work / 'none.yaml').write_text(NEAR.format(2).replace('c2-standard-8', 'e2-standard-8'))
    done = world.stoker('run', '--detach', 'none.yaml')
    changed = [each for each in lab.asked(since) if each.endswith(('nsert', 'delete'))]
    check('a type that takes no policy is one plain error, and nothing is made',
          done.returncode == 1 and 'e2-standard-8 cannot be placed near each other' in done.stderr
          and 'gcp.placement' in done.stderr and not changed, done.stderr)  # fmt: skip
    lab.api.births.add('ZONE_RESOURCE_POOL_EXHAUSTED')
    job = world.submit('near.yaml')
    world.wait_for('two VMs', lambda: len(lab.machines(job)) == 2, 30)
    asked = [each['params']['zone'] for each in lab.log[since:]
             if each.get('method') == 'instances.bulkInsert']  # fmt: skip
    zones = {each.zone for each in lab.machines(job)}
    mine = {each.name for each in lab.api.world.policies.values() if job in each.name}
    check('without room near each other the next zone is asked', len(asked) == 2
          and asked[0] != asked[1] and zones == {asked[1]} and len(mine) == 2, (asked, zones, mine))
    world.stoker('cancel', job, check=True)
    world.wait_for('all end', lambda: world.stoker('show', job) and not lab.machines(job), 30)
    world.stoker('gc', check=True)
    mine = [each.name for each in lab.api.world.policies.values() if job in each.name]
    check('and gc takes both policies', not mine, mine)


def after_their_jobs(lab, check):
    """Policies of jobs that have ended: not while a VM has one, and by a sweep, too."""
    held = lab.api.world.policies
    with lab.world('after') as world:
        (world.work / 'near.yaml').write_text(NEAR.format(2))
        job = world.submit('near.yaml')
        world.wait_for('two VMs', lambda: len(lab.machines(job)) == 2, 30)
        (policy,) = held.values()
        copied(lab, lab.machines(job)[0], labels={})
        world.wait_for('one of somebody else', lambda: len(lab.machines()) == 3)
        world.stoker('cancel', job, check=True)
        world.wait_for('all end', lambda: world.stoker('show', job) and not lab.machines(job), 30)
        line = line_of(policy, world.stoker('gc', check=True).stdout)
        check('what a VM of somebody has stays, and gc says why', list(held.values()) == [policy]
              and '; stays: ' in line and 'already being used by' in line, line)
        told = world.json('gc')
        (mine,) = [each for each in told['cloud']['things'] if each['id'] == policy.name]
        check('it is not among what was ended', policy.name not in told['instances']
              and 'already being used by' in mine['trouble'], told)  # fmt: skip
        (theirs,) = lab.machines()
        with lab.api.world.lock:
            where = {'project': theirs.project, 'zone': theirs.zone, 'instance': theirs.name}
            somebody = type('Somebody', (), {'email': 'somebody@example.org'})
            lifecycle.delete(lab.api, where, None, somebody)
        world.wait_for('no VM', lambda: not lab.machines())
        by_controller(lab, world, policy, check)


def by_controller(lab, world, policy, check):
    """Whose sweep asks for policies of those, too, who never heard of them."""
    held, right = lab.api.world.policies, 'compute.resourcePolicies.list'
    lab.api.denied = {right}
    since = len(lab.log)
    quiet = world.stoker('controller', '--once')
    asked = lab.asked(since)
    loud = world.stoker('gc')
    lab.api.denied = set()
    check('without the right a sweep passes policies over', 'resourcePolicies.list' in asked
          and 'olicies' not in quiet.stderr and quiet.returncode == 0
          and list(held.values()) == [policy], (asked, quiet.stderr))  # fmt: skip
    check('gc by hand says so', right in loud.stderr and loud.returncode == 0, loud.stderr)
    for mark in world.state.glob('swept/*'):
        mark.unlink()
    done = world.stoker('controller', '--once')
    check('with it a sweep ends what its job has left, and says so', not held
          and f'ended {policy.name} of Google: its job has ended' in done.stderr, done.stderr)


def main():
    results = Results()
    with GceVerbLab() as lab:
        for part in (leftovers, by_record, by_itself, near, after_their_jobs):
            results.run(part.__name__, part, lab, results.check)
            lab.api.forget()
        lab.judge(results.check)
    results.finish()


if __name__ == '__main__':
    sys.exit(main())
