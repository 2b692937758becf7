#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Jobs on instances that boot: systemd, cloud-init, the metadata service, a disk, a power button,
in the lab (test/lab), with the binary as it is. By who is not root: without systemd. The first time
it makes the disk that all begin with: a minute.

    boots.py [NAME…]     only these parts

Once a job is submitted no stoker runs outside. Judged by the disks of the machines, by what EC2 was
asked, by the bucket, and at the end by boto3."""

import concurrent.futures
import os
import pathlib
import signal
import socket
import subprocess
import sys
import time

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test.lab import lab as lab_of

lab_of.enter()
from test.e2e.kit.harness import Results, patience
from test.e2e.kit.job_kit import texts
from test.ec2 import afterwards
from test.ec2.lab_world import LabWorld, whole_checkpoint
from test.lab import ec2_rooms
from test.lab.cloud_world import MEET, whole


def test_spot(lab, check):
    """A notice by the metadata service, 40 s ahead."""
    with LabWorld(lab, 'spot') as world:
        job = world.train(160, '--spot')
        first = world.machine(job, 0)
        world.trained(first, 10)
        check('nothing of stoker runs outside', not world.outside(), world.outside())
        check('it is a spot instance', first.spot and first.shutdown == 'terminate')
        world.notice(first, 40)
        second = world.machine(job, 1)
        check('a successor is asked for while the first one lives',
              first.state() in ('running', 'shutting-down'), first.state())  # fmt: skip
        world.over(job)
        state, runs, reasons = world.told(job)
        check('spot: succeeds on the second machine', (state, len(runs)) == ('Succeeded', 2),
              (state, runs, reasons))  # fmt: skip
        check('goes on where it was', not whole(runs, 160, 1) and runs[1][1] >= 10, runs)
        check('told ahead', reasons[0] == 'Interrupted', reasons)
        said = world.noticed(job)
        told = {each[0] for each in said} == {1}  # once more, where it is still there at its end
        check('its log has that notice, and none of an end of its own', told, said)
        check('its output is in the bucket', world.result(job) == '42')
        who = world.who_asked(job)
        check('the first machine asked for the second, with its role',
              who[0] == lab.keyring.own[0] and who[-1] in lab.keyring.roles, (who, second.id))


def test_gang(lab, check):
    with LabWorld(lab, 'gang') as world:
        world.program(MEET, 'meet.py')
        job = world.submit('--infra', 'aws/us-east-1', '--num-nodes', '2', '--',
                           '/usr/bin/python3', 'meet.py')  # fmt: skip
        world.machine(job, 1)
        two = world.over(job)
        check('two machines in one zone, by one request',
              len(two) == 2 and two[0].reservation == two[1].reservation
              and two[0].asked['Zone'] == two[1].asked['Zone'])  # fmt: skip
        said = sorted(texts(world, job))
        check('gang: the two met', said == ['hello', 'met rank 1'], said)
        check('gang: succeeds', world.job(job)['state'] == 'Succeeded', world.job(job))


def test_kept(lab, check):
    """keep_failed: the machine stays, ends by itself at its time, and nobody has to look."""
    with LabWorld(lab, 'kept') as world:
        job = world.submit('--infra', 'aws/us-east-1', '--keep-failed', '1m', '--', '/bin/sh', '-c',
                           'echo precious >made; exit 3')  # fmt: skip
        machine = world.machine(job, 0)
        disk = pathlib.Path(lab.folder) / machine.id / 'disk'

        def told(name):
            found = list(disk.glob(f'**/var/lib/stoker/{name}'))
            return found[0].read_text() if found else None

        world.wait_for('it is kept', lambda: told('kept') is not None, patience(90), 0.2)
        kept_at = time.time()
        ends = int(told('deadline'))
        check('its lease ends when it is kept no longer', 40 < ends - kept_at <= 61, ends - kept_at)
        killed = machine.room.agent()
        os.kill(killed, signal.SIGKILL)
        world.wait_for('another agent', lambda: machine.room.agent() not in (None, killed),
                       patience(30), 0.2)  # fmt: skip
        time.sleep(5)
        check('an agent that is started again moves it no more', int(told('deadline')) == ends)
        check('the machine is there, with what the program made', machine.state() == 'running'
              and list(disk.glob('**/work/made')), machine.state())  # fmt: skip
        tag = machine.tags['stoker-expires']
        world.over(job)
        late = time.time() - ends
        check('it ends by itself at its time', -6 < late < patience(30), late)
        record = world.job(job)
        check('its job has failed, and its launch was kept', (record['state'],
              record['launches'][0]['close_reason']) == ('Failed', 'kept'), record)  # fmt: skip
        check('the time stood in its tag', tag[:19] == record['launches'][0]['kept_until'][:19],
              (tag, record['launches'][0]))  # fmt: skip


def rules(lab):
    """Those that let somebody come to port 22."""
    told = lab.client.describe_security_group_rules()['SecurityGroupRules']
    return [each['SecurityGroupRuleId'] for each in told if each.get('FromPort') == 22]


def has_sshd(machine):
    """What listens, not what waits to become it."""
    found = [pathlib.Path(f'/proc/{pid}/cmdline') for pid in machine.room.pids()]
    return any(each.exists() and b'[listener]' in each.read_bytes() for each in found)


def reaches(machine):
    """What this side hears at port 22."""
    try:
        with socket.create_connection((machine.address, 22), 10) as there:
            return there.recv(4)
    except ConnectionError:
        return b''


def left_open(world, job, machine, check):
    """A session that is killed, up to the end of its machine."""
    lab = world.lab
    held = world.start('ssh', job, '--from', ec2_rooms.GATE, '--', 'echo in; exec sleep 900')
    check('shell: a session begins', held.stdout.readline() == 'in\n')
    child = pathlib.Path(f'/proc/{held.pid}/task/{held.pid}/children').read_text().split()[0]
    held.kill()
    os.kill(int(child), signal.SIGKILL)
    check('shell: killed, it leaves its rule', len(rules(lab)) == 1, rules(lab))
    world.stoker('gc', check=True)
    check('shell: which stays while the machine does', len(rules(lab)) == 1
          and machine.state() == 'running', machine.state())  # fmt: skip
    world.over(job)
    said = world.stoker('gc', check=True).stdout
    check('shell: and after its end gc removes it', not rules(lab), said)


WAITS = 'echo precious >made; until [ -e go ]; do sleep 0.2; done; exit 3'
WORK = '/var/lib/stoker/node/work'
IMPOSTOR = ('ssh-keygen -q -t ed25519 -N "" -f /root/other && '
            '/usr/sbin/sshd -h /root/other -p 2222 -o PidFile=none')  # fmt: skip
NEW_KEYS = 'cd /etc/ssh && rm ssh_host_* && ssh-keygen -q -A && kill -HUP $(cat /run/sshd.pid)'


def test_shell(lab, check):
    """`stoker ssh` to a machine's own sshd, with a key for a minute, through a rule of its own:
    while the job runs, and when the machine is kept."""
    with LabWorld(lab, 'shell') as world:
        job = world.submit('--infra', 'aws/us-east-1', '--keep-failed', '2m', '--', '/bin/sh', '-c',
                           WAITS)  # fmt: skip
        machine = world.machine(job, 0)
        disk = pathlib.Path(lab.folder) / machine.id / 'disk'
        world.wait_for('it runs, with its sshd', lambda: list(disk.glob('**/work/made'))
                       and has_sshd(machine), 60, 0.2)  # fmt: skip
        check('shell: nobody comes to port 22', not reaches(machine))

        def ssh(*words, **more):
            return world.stoker('ssh', job, '--from', ec2_rooms.GATE, *words, **more)

        done = ssh('--', f'hostname; id -un; sudo cat {WORK}/made')
        told = [ec2_rooms.host_name(machine), 'debian', 'precious']
        check('shell: the command runs on that machine, as the user of its image, and sees what '
              'the program made', done.returncode == 0 and done.stdout.split() == told,
              (done.stdout, done.stderr))  # fmt: skip
        check('shell: it is said that there is no public address', 'inside its VPC' in done.stderr,
              done.stderr)  # fmt: skip
        inside = ['nsenter', '-t', str(machine.room.init()), '-m', '-n', '-p', 'sh', '-c']
        subprocess.run([*inside, NEW_KEYS], check=True, capture_output=True)
        world.wait_for('its node tells the keys that it has now', lambda: ssh('--', 'true')
                       .returncode == 0, 60, 1)  # fmt: skip
        check("shell: its exit code is the command's", ssh('--', 'exit 5').returncode == 5)
        (world.root / 'sent').write_text('a b\n')
        with (world.root / 'sent').open() as sent:
            ssh('--', 'sudo', 'tee', f'{WORK}/go', f'{WORK}/an other', stdin=sent)
        world.wait_for('it has failed', lambda: world.stoker('show', job).returncode == 0
                       and world.job(job)['state'] == 'Failed', 60, 0.5)  # fmt: skip
        done = ssh('--', 'sudo', 'cat', f'{WORK}/an other')
        check('shell: words are quoted, what is sent comes there, and all of it when the machine '
              'is kept, too', done.stdout == 'a b\n', (done.stdout, done.stderr))  # fmt: skip
        check('shell: the port is shut again', not rules(lab) and not reaches(machine))

        subprocess.run([*inside, IMPOSTOR], check=True, capture_output=True)
        machine.room.port22.leads_to = 2222
        done = ssh('--', 'true')
        machine.room.port22.leads_to = 22
        check('shell: a machine with another host key is refused', done.returncode == 255
              and 'Host key verification failed' in done.stderr
              and not rules(lab), done.stderr)  # fmt: skip

        left_open(world, job, machine, check)
        late = ssh('--', 'true')
        check('shell: then there is nothing to come to', late.returncode == 1
              and 'not there any more' in late.stderr, late.stderr)  # fmt: skip


def test_killed(lab, check):
    """kill -9 of the agent: the machine stays, and goes on in its place."""
    with LabWorld(lab, 'killed') as world:
        job = world.train(100)
        first = world.machine(job, 0)
        world.trained(first, 10)
        killed = first.room.agent()
        check('there is an agent to kill', killed is not None)
        os.kill(killed, signal.SIGKILL)
        world.over(job)
        state, runs, reasons = world.told(job)
        check('killed: succeeds', state == 'Succeeded', (state, runs, reasons))
        check('on the same machine', len(world.machines(job)) == 1, world.machines(job))
        check('with each step made, from a checkpoint', not whole(runs, 100, 15), runs)


def test_stopped(lab, check):
    """Somebody stops the instance: it is told by its shutdown, and its job goes on elsewhere."""
    with LabWorld(lab, 'stopped') as world:
        job = world.train(120)
        first = world.machine(job, 0)
        world.trained(first, 10)
        lab.client.stop_instances(InstanceIds=[first.id])
        second = world.machine(job, 1)
        world.wait_for('it is off', lambda: first.state() in ('stopped', 'terminated'), 60, 0.2)
        world.over(job)
        state, runs, reasons = world.told(job)
        check('stopped: succeeds', state == 'Succeeded', (state, runs, reasons))
        check('on a second machine', second.id != first.id and len(world.machines(job)) == 2)
        check('no step is missing in its log', not whole(runs, 120, 1) and len(runs) == 2, runs)
        last = world.step_on(first)
        check('where it was', runs[-1][0] == 2 and last - 1 <= runs[-1][1] <= last, (last, runs))
        check('to its end', runs[-1][2] == list(range(runs[-1][1] + 1, 121)), runs)


def test_cut(lab, check):
    """A machine is gone before its notice is over, from one moment to the next."""
    with LabWorld(lab, 'cut') as world:
        job = world.train(120, '--spot')
        first = world.machine(job, 0)
        world.trained(first, 10)
        world.notice(first, 300)
        world.wait_for('it has the notice', lambda: 'notice' in world.spooled(first), 60, 0.2)
        world.trained(first, world.step_on(first) + 10)
        lab.rooms.kill(first)
        world.over(job)
        last = world.step_on(first)
        state, runs, reasons = world.told(job)
        check('cut: succeeds', (state, len(runs)) == ('Succeeded', 2), (state, runs, reasons))
        # Without a notice a line may wait for 30 s, which are sixty steps.
        kept = runs[0][2][-1]
        check('of its log at most the last lines are lost', kept >= last - 8, (kept, last))
        said = world.stoker('logs', job).stdout
        check('and that is said', 'missing' in said, said[-600:])
        check('goes on from what it saved last', runs[1][1] >= last - 20, (last, runs))


def test_owner(lab, check):
    """A person ends the instance with EC2's own tools: that is a cancel."""
    with LabWorld(lab, 'owner') as world:
        job = world.train(400, '--spot')
        first = world.machine(job, 0)
        world.trained(first, 10)
        lab.client.terminate_instances(InstanceIds=[first.id])
        world.wait_for('it is gone', lambda: first.state() == 'terminated', 120, 0.2)
        record = world.job(job)
        check('owner: the job is cancelled', record['state'] == 'Cancelled', record)
        check('and says by whom', first.id in record['cancel']['by'], record.get('cancel'))
        check('no other machine was asked for', len(world.machines(job)) == 1)
        check('what it had saved is kept', whole_checkpoint(lab, job))


SAVES = """import os, signal, time
def save(*_):
    folder = os.environ['STOKER_CHECKPOINT_DIR']
    with open(folder + '/new', 'w') as out:
        out.write('saved')
    os.rename(folder + '/new', folder + '/state.txt')
    print('asked to save', flush=True)
signal.signal(signal.SIGUSR1, save)
print('begins', flush=True)
for _ in range(120):
    time.sleep(0.5)
    if os.path.exists(os.environ['STOKER_CHECKPOINT_DIR'] + '/state.txt'):
        time.sleep(12)
        break
print('done', flush=True)
"""
ADVISED = """name: advised
checkpoints: {path: checkpoints, signal: USR1}
resources: {infra: aws/us-east-1, use_spot: true}
workdir: .
run: exec /usr/bin/python3 saves.py
"""


def test_advised(lab, check):
    """A rebalance recommendation: what there is is saved, and nothing ends."""
    with LabWorld(lab, 'advised') as world:
        world.program(SAVES, 'saves.py')
        world.program(ADVISED, 'job.yaml')
        job = world.submit('job.yaml')
        first = world.machine(job, 0)
        world.wait_for('it runs', lambda: 'begins' in world.spooled(first), 90, 0.2)
        first.rebalance = time.time()
        world.wait_for('a checkpoint', lambda: whole_checkpoint(lab, job), 60, 0.2)
        check('advised: it runs on', first.state() == 'running', first.state())
        world.over(job)
        said = texts(world, job)
        check('advised: asked once to save', said == ['begins', 'asked to save', 'done'], said)
        check('and on one machine to its end', len(world.machines(job)) == 1
              and world.job(job)['state'] == 'Succeeded', world.job(job))  # fmt: skip


def test_full(lab, check):
    """The first zone has no room for this type."""
    with LabWorld(lab, 'full') as world:
        kind = 'm5.large'
        zones = lab.ec2.behind.zones_with('us-east-1', kind)
        lab.ec2.capacity.set(0, zone=zones[0], type=kind)
        job = world.train(10, '--instance-type', kind)
        first = world.machine(job, 0)
        check('full: another zone', first.asked['Zone'] in zones[1:], first.asked['Zone'])
        refused = [each for each in lab.log if each.get('error') == 'InsufficientInstanceCapacity']
        check('the first was asked and had none', len(refused) >= 1, refused)
        world.over(job)
        check('full: succeeds', world.told(job)[0] == 'Succeeded', world.told(job))


def test_room(lab, check):
    """The lab itself, without stoker: a disk outlives stop, start and reboot."""
    made = lab.client.run_instances(
        ImageId='resolve:ssm:/aws/service/debian/release/12/latest/amd64', InstanceType='t3.small',
        MinCount=1, MaxCount=1, UserData='#cloud-config\nbootcmd:\n- echo x >>/var/boots\n',
        BlockDeviceMappings=[{'DeviceName': '/dev/xvda', 'Ebs': {'DeleteOnTermination': True}}],
    )['Instances'][0]['InstanceId']  # fmt: skip
    machine = lab.ec2.world.find(made)
    boots = pathlib.Path(lab.folder) / made / 'disk' / 'var' / 'boots'

    def wait(what, holds):
        end = time.monotonic() + patience(60)
        while not holds():
            if time.monotonic() > end:
                raise AssertionError(f'{what}: {machine.state()}')
            time.sleep(0.1)

    def booted(times):
        wait(f'boot {times}', lambda: boots.exists() and boots.read_text() == 'x\n' * times)
        wait('it runs', lambda: machine.state() == 'running')

    booted(1)
    lab.client.stop_instances(InstanceIds=[made])
    wait('it is off', lambda: machine.state() == 'stopped')
    check('a stopped room has no process', not machine.room.pids(), machine.room.pids())
    lab.client.start_instances(InstanceIds=[made])
    booted(2)
    lab.client.reboot_instances(InstanceIds=[made])
    booted(3)
    lab.client.terminate_instances(InstanceIds=[made])
    wait('it is gone', lambda: machine.state() == 'terminated')


PARTS = {name[5:]: part for name, part in list(globals().items()) if name.startswith('test_')}


def main(names):
    results = Results()
    with lab_of.Lab() as lab:
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            ran = [pool.submit(results.run, name, PARTS[name], lab, results.check)
                   for name in names or PARTS]  # fmt: skip
            for each in ran:
                each.result()
        afterwards.judge(lab, results.check)
        results.check('the lab has no bug', not lab.bugs, lab.bugs)
    results.finish()


if __name__ == '__main__':
    main(sys.argv[1:])
