#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `stoker gc` and `stoker controller` see and end of what a ledger has in EC2: in each region
that the ledger has noted, what a record has ended or whose time is over, and nothing else. With
machines that do not boot; judged by what the lab has, and by what it was asked."""

import pathlib
import sys
import time

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test.ec2.verb_lab import VerbLab, enter

enter()
from test.e2e.kit.harness import Results
from test.s3_server import BUCKET

PAST = '2020-01-01T00:00:00Z'


def submit(world, region='us-east-1'):
    words = ('--infra', f'aws/{region}', '--instance-type', 'm5.large', '--', 'true')
    return world.submit(*words)


def tag(lab, name, key, value, region='us-east-1'):
    lab.below.client('ec2', region_name=region).create_tags(
        Resources=[name], Tags=[{'Key': key, 'Value': value}]
    )


def things(world, *flags):
    told = world.json('gc', *flags)['cloud']
    return told, {each['id']: each for each in told['things']}


def leftovers(lab, check):
    with lab.world('one') as world, lab.world('two') as other:
        here, there = submit(world), submit(world, 'eu-west-1')
        foreign = submit(other)
        first, second, third = (lab.machines(job)[0] for job in (here, there, foreign))
        tag(lab, third.id, 'stoker-expires', PAST)
        since = len(lab.log)
        told, seen = things(world, '--dry-run')
        check('both regions that were noted are looked in, and no other',
              told['regions'] == ['eu-west-1', 'us-east-1'], told['regions'])  # fmt: skip
        check('both machines are listed, with place, job, age and price',
              (seen[first.id]['job'], seen[second.id]['job']) == (here, there)
              and seen[second.id]['zone'].startswith('eu-west-1')
              and seen[first.id]['price'] == 0.096 and seen[second.id]['price'] == 0.107
              and seen[first.id]['cost'] is not None, seen)  # fmt: skip
        check('disks and groups too',
              {'volume', 'security group'} <= {each['kind'] for each in seen.values()})
        check('the other ledger\'s machine is not', third.id not in seen)
        check('nothing is over', not [each for each in seen.values() if each['over']], seen)
        changes = [each for each in lab.asked(since) if not each.startswith('Describe')
                   and '/' not in each]  # fmt: skip
        check('who only looks changes nothing', not changes, changes)
        words = world.stoker('gc', '--dry-run').stdout
        check('people are told', f'instance {first.id} in {first.asked["Zone"]}: m5.large on-demand'
              in words and '0.0960 $/h' in words, words)  # fmt: skip

        tag(lab, second.id, 'stoker-expires', PAST, 'eu-west-1')
        _, seen = things(world, '--dry-run')
        check('what has expired is named', 'its time was over' in seen[second.id]['over'], seen)
        _, seen = things(world)
        check('it is ended, where it is', second.state() in ('shutting-down', 'terminated'))
        check('the healthy one stays, and so does the foreign one',
              len(lab.machines(here)) == 1 and len(lab.machines(foreign)) == 1)  # fmt: skip

        # Of a job that ended while nobody looked: EC2 had not told of it yet.
        world.stoker('cancel', here, check=True)
        world.wait_for('it ends', lambda: world.job(here)['state'] == 'Cancelled')
        ended_by_cancel = first.state() != 'running'
        check('a cancel ends its machine', ended_by_cancel, first.state())
        late = lab.raise_again(first)
        _, seen = things(world, '--dry-run')
        check('one that its record has ended is over, whatever its tag says',
              seen[late.id]['over'] == 'its record has ended it', seen[late.id])  # fmt: skip
        things(world)
        check('and is ended', late.state() in ('shutting-down', 'terminated'), late.state())


def by_itself(lab, check):
    """`stoker controller --once`, as a timer calls it."""
    with lab.world('sweeper') as world:
        job = submit(world)
        machine = lab.machines(job)[0]
        # Nobody's job any more.
        for key in [k for k in lab.s3.keys('sweeper/') if job in k]:
            lab.s3.client.delete_object(Bucket=lab.s3.bucket, Key=key)
        check('its record is gone', world.stoker('show', job).returncode == 1)
        world.stoker('controller', '--once')
        check('a machine without a record stays while its time lasts', machine.state() == 'running')
        tag(lab, machine.id, 'stoker-expires', PAST)
        since = len(lab.log)
        world.stoker('controller', '--once')
        check('the sweep is not for every minute', 'DescribeVolumes' not in lab.asked(since))
        for mark in world.state.glob('swept/*'):
            mark.unlink()
        done = world.stoker('controller', '--once')
        check('later it ends what is over, and says so',
              machine.state() in ('shutting-down', 'terminated') and machine.id in done.stderr,
              done.stderr)  # fmt: skip


def near(lab, check):
    """Placement groups: each is a job's, and goes with it or after it."""
    held = lab.ec2.world.region('us-east-1').groups
    with lab.world('near') as world:
        (world.work / 'near.yaml').write_text(
            'resources: {infra: aws/us-east-1, instance_type: m5.large}\n'
            'aws: {placement: cluster}\nrun: "true"\n'
        )
        job = world.submit('near.yaml')
        (name,) = held
        check('the group is named by ledger, job and zone', f'-{job}-us-east-1' in name, name)
        _, seen = things(world, '--dry-run')
        check('it is listed, and stays while the job does',
              (seen[name]['kind'], seen[name]['job'], seen[name]['over'])
              == ('placement group', job, ''), seen[name])  # fmt: skip
        world.stoker('cancel', job, check=True)
        world.wait_for('it ends', lambda: world.stoker('show', job) and not held)
        check('it goes with the last machine', not held, held)
        # Who looked after the job was killed before that: there is the group, and no machine.
        lost = world.submit('near.yaml')
        for each in lab.machines(lost):
            each.move((0, 'terminated'))
        for key in [k for k in lab.s3.keys('near/') if lost in k]:
            lab.s3.client.delete_object(Bucket=lab.s3.bucket, Key=key)
        (name,) = held
        lab.below.client('ec2').create_placement_group(GroupName='not-ours', Strategy='cluster')
        _, seen = things(world)
        check('gc ends one whose job is over, and no other',
              seen[name]['over'] == 'its job has ended' and set(held) == {'not-ours'},
              (seen, held))  # fmt: skip


def given_up(lab, check):
    """The security group of a ledger that was given up for a new one, its store being gone."""
    ec2 = lab.below.client('ec2', region_name='us-east-1')

    def groups():
        told = ec2.describe_security_groups()['SecurityGroups']
        return {each['GroupId'] for each in told if each['GroupName'].startswith('stoker-')}

    before = groups()
    with lab.world('lost') as world:
        job = submit(world)
        (lost,) = groups() - before
        machine = lab.machines(job)[0]
        for key in lab.s3.keys('lost/'):
            lab.s3.client.delete_object(Bucket=lab.s3.bucket, Key=key)
        made = world.stoker('config', 'set', 'store', f's3://{BUCKET}/lost', '--new')
        check('the ledger is given up', made.returncode == 0, made.stderr)
        submit(world)
        _, seen = things(world)
        check('a group with a machine in it stays', seen[lost]['over'] == '' and lost in groups())
        machine.move((0, 'terminated'))
        _, seen = things(world, '--dry-run')
        check('then it is over, and who only looks leaves it',
              'was given up' in seen[lost]['over'] and lost in groups(), seen[lost])  # fmt: skip
        things(world)
        left = groups() - before
        check('gc ends it, and not that of the new ledger', lost not in left and len(left) == 1,
              (lost, left))  # fmt: skip


def everywhere(lab, check):
    """A region that the ledger has lost the note of, or that cannot be asked."""
    with lab.world('wide') as world:
        job = submit(world, 'ap-south-1')
        machine = lab.machines(job)[0]
        for key in list(lab.s3.keys('wide/places/')):
            lab.s3.client.delete_object(Bucket=lab.s3.bucket, Key=key)
        tag(lab, machine.id, 'stoker-expires', PAST, 'ap-south-1')
        told, _ = things(world, '--dry-run')
        check('without a note nobody looks there', told['regions'] == [], told['regions'])
        told, seen = things(world, '--dry-run', '--all-regions')
        check('--all-regions finds it', machine.id in seen and len(told['regions']) > 10, told)
        lab.ec2.faults.add('DescribeVolumes', 'error', count=100, code='UnauthorizedOperation',
                           words='no')  # fmt: skip
        done = world.stoker('gc', '--all-regions')
        check('what cannot be listed is said, and machines are ended all the same',
              done.returncode == 1 and 'DescribeVolumes' in done.stderr
              and machine.state() in ('shutting-down', 'terminated'), done.stderr)  # fmt: skip
        lab.ec2.faults.clear()


def main():
    results = Results()
    begun = time.time()
    with VerbLab() as lab:
        for part in (leftovers, by_itself, near, given_up, everywhere):
            results.run(part.__name__, part, lab, results.check)
        results.check('the lab has no bug', not lab.front.bugs, lab.front.bugs)
    print(f'leftovers: {time.time() - begun:.0f} s')
    results.finish()


if __name__ == '__main__':
    sys.exit(main())
