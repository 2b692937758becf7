#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Jobs on machines that boot, of EC2 and of Compute Engine, in the lab (test/lab), with the binary
as it is: systemd, cloud-init or the scripts of Google's guest agent, the metadata server, a disk, a
power button. By who is not root: without systemd. The first time it makes the disk that all begin
with: a minute.

    boots.py ec2|gcp [NAME…]     only these parts

Once a job is submitted no stoker runs outside. Judged by the disks of the machines, by what the
cloud was asked, by the bucket, and at the end by boto3 or Google's own client."""

import concurrent.futures
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import threading
import time

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test.lab import lab as lab_of

lab_of.enter()
from test.e2e.kit.harness import Results, parts_of, patience
from test.e2e.kit.job_kit import MEET, texts
from test.ec2 import lab_world as ec2
from test.ec2.lab_world import LabWorld, whole_checkpoint
from test.fake_gcs import BUCKET
from test.gcp import gce_world as gcp
from test.gcp.gce_world import GceWorld
from test.lab.cloud_world import whole
from test.lab.ec2_rooms import GATE, host_name
from test.lab.gce_lab import NODES
from test.lab.gceapi import lifecycle
from test.lab.gceapi.service import CHANGES, PROJECT

LABELS = {"stoker-ledger", "stoker-job", "stoker-request", "stoker-launches", "stoker-expires"}


def cloud_of(lab):
    return gcp if isinstance(lab, gcp.Lab) else ec2


def seen_by_google(lab, machine, check):
    """What google-cloud-compute says of it."""
    told = lab.client("InstancesClient").get(project=PROJECT, zone=machine.zone, instance=machine.name)
    check("Google: it is a spot VM", told.scheduling.provisioning_model == "SPOT")
    check(
        "Google: which ends by itself",
        told.scheduling.instance_termination_action in ("DELETE", "STOP") and told.scheduling.termination_time,
        told.scheduling,
    )
    check("Google: its labels", LABELS <= set(told.labels), told.labels)
    keys = {each.key for each in told.metadata.items}
    check("Google: its scripts", {"startup-script", "shutdown-script"} <= keys, keys)
    check("Google: its disk ends with it", told.disks[0].auto_delete)


def test_spot(lab, check):
    """A notice by the metadata service: 40 s ahead on EC2, 120 s on Compute Engine."""
    with cloud_of(lab).World(lab, "spot") as world:
        google = isinstance(world, GceWorld)
        steps = 400 if google else 160
        job = world.train(steps, "--spot")
        first = world.machine(job, 0)
        world.trained(first, 10)
        check("nothing of stoker runs outside", not world.outside(), world.outside())
        if google:
            seen_by_google(lab, first, check)
        else:
            check("it is a spot instance", first.spot and first.shutdown == "terminate")
        before = len(lab.log)
        world.notice(first)
        second = world.machine(job, 1, limit=120)
        check("spot: a successor is asked for while the first one lives", world.lives(first), first.state())
        if google:
            changes = [each["method"] for each in lab.log[before:] if each.get("method") in CHANGES]
            check("spot: nothing else was changed before", changes[:1] == ["instances.insert"], changes)
        world.over(job, limit=400)
        state, runs, reasons = world.told(job)
        check("spot: succeeds on the second machine", (state, len(runs)) == ("Succeeded", 2), (state, runs, reasons))
        check("spot: goes on where it was", not whole(runs, steps, 1) and runs[1][1] >= 10, runs)
        check("spot: told ahead", reasons[0] == "Interrupted", reasons)
        said = world.noticed(job)
        told = {each[0] for each in said} == {1}  # once more, where it is still there at its end
        check("spot: its log has that notice, and none of an end of its own", told, said)
        check("spot: its output is in the bucket", world.result(job) == "42")
        who = world.who_asked(job)
        check(
            "spot: the first machine asked for the second, with its own rights",
            who[0] == world.submitter() and world.is_node(who[-1]),
            (who, second.id),
        )


def test_gang(lab, check):
    with cloud_of(lab).World(lab, "gang") as world:
        world.program(MEET, "meet.py")
        job = world.submit("--infra", world.infra, "--num-nodes", "2", "--", "/usr/bin/python3", "meet.py")
        world.machine(job, 1)
        two = world.over(job)
        check("gang: two machines in one zone", len(two) == 2 and len(set(map(world.zone, two))) == 1)
        groups = set(map(world.group, two))
        check("gang: by one request", len(groups) == 1 and groups != {None}, groups)
        said = sorted(texts(world, job))
        check("gang: the two met", said == ["hello", "met rank 1"], said)
        check("gang: succeeds", world.job(job)["state"] == "Succeeded", world.job(job))


def test_killed(lab, check):
    """kill -9 of the agent: the machine stays, and goes on in its place."""
    with cloud_of(lab).World(lab, "killed") as world:
        job = world.train(100)
        first = world.machine(job, 0)
        world.trained(first, 10)
        killed = first.room.agent()
        check("killed: there is an agent to kill", killed is not None)
        os.kill(killed, signal.SIGKILL)
        world.over(job)
        state, runs, reasons = world.told(job)
        check("killed: succeeds", state == "Succeeded", (state, runs, reasons))
        check("killed: on the same machine", len(world.machines(job)) == 1, world.machines(job))
        check("killed: with each step made, from a checkpoint", not whole(runs, 100, 15), runs)


def test_stopped(lab, check):
    """Somebody stops the machine: it is told by its shutdown, and its job goes on elsewhere."""
    with cloud_of(lab).World(lab, "stopped") as world:
        job = world.train(120)
        first = world.machine(job, 0)
        world.trained(first, 10)
        world.stop(first)
        second = world.machine(job, 1, limit=120)
        world.wait_for("it is off", lambda: world.is_off(first), 60, 0.2)
        world.over(job)
        state, runs, reasons = world.told(job)
        check("stopped: succeeds", state == "Succeeded", (state, runs, reasons))
        check("stopped: on a second machine", second.id != first.id and len(world.machines(job)) == 2)
        check("stopped: no step is missing in its log", not whole(runs, 120, 1) and len(runs) == 2, runs)
        last = world.step_on(first)
        check("stopped: where it was", runs[-1][0] == 2 and last - 1 <= runs[-1][1] <= last, (last, runs))
        check("stopped: to its end", runs[-1][2] == list(range(runs[-1][1] + 1, 121)), runs)


def rules(lab):
    """Those that let somebody come to port 22."""
    told = lab.client.describe_security_group_rules()["SecurityGroupRules"]
    return [each["SecurityGroupRuleId"] for each in told if each.get("FromPort") == 22]


def has_sshd(machine):
    """What listens, not what waits to become it."""
    found = [pathlib.Path(f"/proc/{pid}/cmdline") for pid in machine.room.pids()]
    return any(each.exists() and b"[listener]" in each.read_bytes() for each in found)


def reaches(machine):
    """What this side hears at port 22."""
    try:
        with socket.create_connection((machine.address, 22), 10) as there:
            return there.recv(4)
    except ConnectionError:
        return b""


def left_open(world, job, machine, check):
    """A session that is killed, up to the end of its machine."""
    lab = world.lab
    held = world.start("ssh", job, "--from", GATE, "--", "echo in; exec sleep 900")
    check("shell: a session begins", held.stdout.readline() == "in\n")
    child = pathlib.Path(f"/proc/{held.pid}/task/{held.pid}/children").read_text().split()[0]
    held.kill()
    os.kill(int(child), signal.SIGKILL)
    check("shell: killed, it leaves its rule", len(rules(lab)) == 1, rules(lab))
    world.stoker("gc", check=True)
    check("shell: which stays while the machine does", len(rules(lab)) == 1 and machine.state() == "running", machine.state())
    world.over(job)
    said = world.stoker("gc", check=True).stdout
    check("shell: and after its end gc removes it", not rules(lab), said)


WAITS = "echo precious >made; until [ -e go ]; do sleep 0.2; done; exit 3"

WORK = "/var/lib/stoker/node/work"

IMPOSTOR = 'ssh-keygen -q -t ed25519 -N "" -f /root/other && /usr/sbin/sshd -h /root/other -p 2222 -o PidFile=none'

NEW_KEYS = "cd /etc/ssh && rm ssh_host_* && ssh-keygen -q -A && kill -HUP $(cat /run/sshd.pid)"


def ec2_kept(lab, check):
    """keep_failed: the machine stays, ends by itself at its time, and nobody has to look."""
    with LabWorld(lab, "kept") as world:
        job = world.submit("--infra", "aws/us-east-1", "--keep-failed", "1m", "--", "/bin/sh", "-c", "echo precious >made; exit 3")
        machine = world.machine(job, 0)
        disk = pathlib.Path(lab.folder) / machine.id / "disk"

        def told(name):
            found = list(disk.glob(f"**/var/lib/stoker/{name}"))
            return found[0].read_text() if found else None

        world.wait_for("it is kept", lambda: told("kept") is not None, patience(90), 0.2)
        kept_at = time.time()
        ends = int(told("deadline"))
        check("its lease ends when it is kept no longer", 40 < ends - kept_at <= 61, ends - kept_at)
        killed = machine.room.agent()
        os.kill(killed, signal.SIGKILL)
        world.wait_for("another agent", lambda: machine.room.agent() not in (None, killed), patience(30), 0.2)
        time.sleep(5)
        check("an agent that is started again moves it no more", int(told("deadline")) == ends)
        check(
            "the machine is there, with what the program made",
            machine.state() == "running" and list(disk.glob("**/work/made")),
            machine.state(),
        )
        tag = machine.tags["stoker-expires"]
        world.over(job)
        late = time.time() - ends
        check("it ends by itself at its time", -6 < late < patience(30), late)
        record = world.job(job)
        check(
            "its job has failed, and its launch was kept",
            (record["state"], record["launches"][0]["close_reason"]) == ("Failed", "kept"),
            record,
        )
        check("the time stood in its tag", tag[:19] == record["launches"][0]["kept_until"][:19], (tag, record["launches"][0]))


def ec2_shell(lab, check):
    """`stoker ssh` to a machine's own sshd, with a key for a minute, through a rule of its own:
    while the job runs, and when the machine is kept."""
    with LabWorld(lab, "shell") as world:
        job = world.submit("--infra", "aws/us-east-1", "--keep-failed", "2m", "--", "/bin/sh", "-c", WAITS)
        machine = world.machine(job, 0)
        disk = pathlib.Path(lab.folder) / machine.id / "disk"
        world.wait_for("it runs, with its sshd", lambda: list(disk.glob("**/work/made")) and has_sshd(machine), 60, 0.2)
        check("shell: nobody comes to port 22", not reaches(machine))

        def ssh(*words, **more):
            return world.stoker("ssh", job, "--from", GATE, *words, **more)

        done = ssh("--", f"hostname; id -un; sudo cat {WORK}/made")
        told = [host_name(machine), "debian", "precious"]
        check(
            "shell: the command runs on that machine, as the user of its image, and sees what the program made",
            done.returncode == 0 and done.stdout.split() == told,
            (done.stdout, done.stderr),
        )
        check("shell: it is said that there is no public address", "inside its VPC" in done.stderr, done.stderr)
        inside = ["nsenter", "-t", str(machine.room.init()), "-m", "-n", "-p", "sh", "-c"]
        subprocess.run([*inside, NEW_KEYS], check=True, capture_output=True)
        world.wait_for("its node tells the keys that it has now", lambda: ssh("--", "true").returncode == 0, 60, 1)
        check("shell: its exit code is the command's", ssh("--", "exit 5").returncode == 5)
        (world.root / "sent").write_text("a b\n")
        with (world.root / "sent").open() as sent:
            ssh("--", "sudo", "tee", f"{WORK}/go", f"{WORK}/an other", stdin=sent)
        world.wait_for("it has failed", lambda: world.stoker("show", job).returncode == 0 and world.job(job)["state"] == "Failed", 60, 0.5)
        done = ssh("--", "sudo", "cat", f"{WORK}/an other")
        check(
            "shell: words are quoted, what is sent comes there, and all of it when the machine is kept, too",
            done.stdout == "a b\n",
            (done.stdout, done.stderr),
        )
        check("shell: the port is shut again", not rules(lab) and not reaches(machine))

        subprocess.run([*inside, IMPOSTOR], check=True, capture_output=True)
        machine.room.port22.leads_to = 2222
        done = ssh("--", "true")
        machine.room.port22.leads_to = 22
        check(
            "shell: a machine with another host key is refused",
            done.returncode == 255 and "Host key verification failed" in done.stderr and not rules(lab),
            done.stderr,
        )

        left_open(world, job, machine, check)
        late = ssh("--", "true")
        check("shell: then there is nothing to come to", late.returncode == 1 and "not there any more" in late.stderr, late.stderr)


def ec2_cut(lab, check):
    """A machine is gone before its notice is over, from one moment to the next."""
    with LabWorld(lab, "cut") as world:
        job = world.train(120, "--spot")
        first = world.machine(job, 0)
        world.trained(first, 10)
        world.notice(first, 300)
        world.wait_for("it has the notice", lambda: "notice" in world.spooled(first), 60, 0.2)
        world.trained(first, world.step_on(first) + 10)
        lab.rooms.kill(first)
        world.over(job)
        last = world.step_on(first)
        state, runs, reasons = world.told(job)
        check("cut: succeeds", (state, len(runs)) == ("Succeeded", 2), (state, runs, reasons))
        # Without a notice a line may wait for 30 s, which are sixty steps.
        kept = runs[0][2][-1]
        check("of its log at most the last lines are lost", kept >= last - 8, (kept, last))
        said = world.stoker("logs", job).stdout
        check("and that is said", "missing" in said, said[-600:])
        check("goes on from what it saved last", runs[1][1] >= last - 20, (last, runs))


LOOKS = {"ec2": ("DescribeInstances",), "gcp": ("instances.aggregatedList", "zoneOperations.list")}


def test_owner(lab, check):
    """A person ends the machine with the cloud's own tools: that is a cancel, however late the
    cloud's answers say who it was."""
    with cloud_of(lab).World(lab, "owner") as world:
        google = isinstance(world, GceWorld)
        faults = cloud_of(lab).parts(lab)[0].faults
        for seconds in (0, 2, 6, 25):
            job = world.train(400, "--spot")
            first = world.machine(job, 0)
            world.trained(first, 10)
            for call in LOOKS["gcp" if google else "ec2"] if seconds else ():
                faults.add(call, "slow", count=1000, seconds=seconds)
            if google:
                lifecycle.by_hand(lab.api, lifecycle.delete, first)
            else:
                lab.client.terminate_instances(InstanceIds=[first.id])
            world.wait_for("it is gone", lambda: world.is_off(first), 150, 0.2)
            faults.clear()
            # Where the machine was gone before its own node was told, who looks next is.
            world.wait_for("it is cancelled", lambda: "Cancelled" in world.stoker("show", job).stdout, 30, 1)
            record, after = world.job(job), f"owner, answers after {seconds} s"
            check(f"{after}: it is a cancel", record["state"] == "Cancelled", record)
            name = first.name if google else first.id
            check(f"{after}: that says by whom", name in record.get("cancel", {}).get("by", ""), record.get("cancel"))
            check(f"{after}: no other machine was asked for", len(world.machines(job)) == 1, world.machines(job))
            check(f"{after}: what it had saved is kept", "1-" in world.stoker("checkpoints", job).stdout)


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


def ec2_advised(lab, check):
    """A rebalance recommendation: what there is is saved, and nothing ends."""
    with LabWorld(lab, "advised") as world:
        world.program(SAVES, "saves.py")
        world.program(ADVISED, "job.yaml")
        job = world.submit("job.yaml")
        first = world.machine(job, 0)
        world.wait_for("it runs", lambda: "begins" in world.spooled(first), 90, 0.2)
        first.rebalance = time.time()
        world.wait_for("a checkpoint", lambda: whole_checkpoint(lab, job), 60, 0.2)
        check("advised: it runs on", first.state() == "running", first.state())
        world.over(job)
        said = texts(world, job)
        check("advised: asked once to save", said == ["begins", "asked to save", "done"], said)
        check("and on one machine to its end", len(world.machines(job)) == 1 and world.job(job)["state"] == "Succeeded", world.job(job))


def ec2_full(lab, check):
    """The first zone has no room for this type."""
    with LabWorld(lab, "full") as world:
        kind = "m5.large"
        zones = lab.ec2.behind.zones_with("us-east-1", kind)
        lab.ec2.capacity.set(0, zone=zones[0], type=kind)
        job = world.train(10, "--instance-type", kind)
        first = world.machine(job, 0)
        check("full: another zone", first.asked["Zone"] in zones[1:], first.asked["Zone"])
        refused = [each for each in lab.log if each.get("error") == "InsufficientInstanceCapacity"]
        check("the first was asked and had none", len(refused) >= 1, refused)
        world.over(job)
        check("full: succeeds", world.told(job)[0] == "Succeeded", world.told(job))


def ec2_room(lab, check):
    """The lab itself, without stoker: a disk outlives stop, start and reboot."""
    made = lab.client.run_instances(
        ImageId="resolve:ssm:/aws/service/debian/release/12/latest/amd64",
        InstanceType="t3.small",
        MinCount=1,
        MaxCount=1,
        UserData="#cloud-config\nbootcmd:\n- echo x >>/var/boots\n",
        BlockDeviceMappings=[{"DeviceName": "/dev/xvda", "Ebs": {"DeleteOnTermination": True}}],
    )["Instances"][0]["InstanceId"]
    machine = lab.ec2.world.find(made)
    boots = pathlib.Path(lab.folder) / made / "disk" / "var" / "boots"

    def wait(what, holds):
        end = time.monotonic() + patience(60)
        while not holds():
            if time.monotonic() > end:
                raise AssertionError(f"{what}: {machine.state()}")
            time.sleep(0.1)

    def booted(times):
        wait(f"boot {times}", lambda: boots.exists() and boots.read_text() == "x\n" * times)
        wait("it runs", lambda: machine.state() == "running")

    booted(1)
    lab.client.stop_instances(InstanceIds=[made])
    wait("it is off", lambda: machine.state() == "stopped")
    check("a stopped room has no process", not machine.room.pids(), machine.room.pids())
    lab.client.start_instances(InstanceIds=[made])
    booted(2)
    lab.client.reboot_instances(InstanceIds=[made])
    booted(3)
    lab.client.terminate_instances(InstanceIds=[made])
    wait("it is gone", lambda: machine.state() == "terminated")


class Watch(threading.Thread):
    """When what the bucket has of a job came there, by its own clock: {what: [seconds]}."""

    KINDS = {"record": "records/{}.json", "checkpoint": "jobs/{}/checkpoints/manifests/", "log": "jobs/{}/log/"}

    def __init__(self, lab, job):
        super().__init__(daemon=True)
        self.client, self.over = lab.gcs.client(), threading.Event()
        self.prefixes = {kind: f"team/{path.format(job)}" for kind, path in self.KINDS.items()}
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


def gcp_classic(lab, check):
    """Thirty seconds, and the power button at once: the successor is asked for first."""
    with GceWorld(lab, "classic") as world:
        lab.api.settings.notices = ()  # Google refuses the longer one
        lab.api.settings.refuse_notice = True
        job = world.train(150, "--spot")
        first = world.machine(job, 0)
        world.trained(first, 10)
        watch = Watch(lab, job)
        since = len(lab.log)
        moment = time.time()
        world.notice(first)
        world.machine(job, 1, limit=60)
        world.wait_for("the first one is gone", lambda: first.gone, 60, 0.1)
        gone = time.time() - moment
        calls = [(each["method"], each["time"] - moment) for each in lab.log[since:]]
        asked = [at for name, at in calls if name == "instances.insert"][0]
        before = [name for name, at in calls if at < asked]
        record = watch.after("record", moment)
        kept, log = watch.after("checkpoint", moment), watch.after("log", moment)
        print(
            f"classic: after the notice, in seconds: record {record[0]:.2f}, insert {asked:.2f}, "
            f"checkpoint {kept[0] if kept else -1:.2f}, log {log[0] if log else -1:.2f} to "
            f"{log[-1] if log else -1:.2f}, gone {gone:.1f}; before the insert: {before}",
            flush=True,
        )
        print(f"classic: from the write to the insert: {(asked - record[0]) * 1000:.0f} ms")
        check("classic: the insert is the first request to Compute after the notice", not before, before)
        check("classic: the record is written before the successor is asked for", record[0] <= asked + 0.1, (record, asked))
        # One that its program had begun before may be committed at any moment.
        between = [at for at in kept if record[0] <= at < asked]
        check("classic: the checkpoint comes after it", kept and kept[-1] >= asked and not between, (kept, record, asked))
        check("classic: the last lines come last", log and log[-1] >= kept[0], (log, kept))
        world.over(job, limit=400)
        state, runs, reasons = world.told(job)
        check("classic: succeeds", (state, len(runs)) == ("Succeeded", 2), (state, runs, reasons))
        check("classic: goes on where it was", not whole(runs, 150, 1), runs)
        check("classic: told ahead", reasons[0] == "Interrupted", reasons)
        lab.api.settings.refuse_notice = False
        lab.api.settings.notices = (120.0,)


def gcp_gpus(lab, check):
    """An image that is still installing the driver of its GPU; a file stands in for the device."""
    with GceWorld(lab, "gpus") as world:
        job = world.submit("--infra", world.infra, "--gpus", "T4:1", "--", "ls", "/dev/nvidia0")
        first = world.machine(job, 0)

        def said(words):
            return words in world.stoker("logs", "--stream", "system", job).stdout

        world.wait_for("it waits", lambda: said("0 of the 1 GPUs that its type promises"), 60)
        check("gpus: nothing is started without", not texts(world, job), texts(world, job))
        pathlib.Path(f"/proc/{first.room.agent()}/root/dev/nvidia0").touch()
        world.over(job)
        check("gpus: the wait is over once it is there", said("the GPUs are there after"))
        check("gpus: succeeds", world.job(job)["state"] == "Succeeded", world.job(job))
        check("gpus: on that machine", len(world.machines(job)) == 1, world.machines(job))


def gcp_kept(lab, check):
    """keep_failed: the VM stays for its time, with what the program left on its disk, and ends by
    itself."""
    with GceWorld(lab, "kept") as world:
        job = world.submit("--infra", world.infra, "--keep-failed", "1m", "--", "sh", "-c", "echo of-the-failed >/root/left; exit 3")
        first = world.machine(job, 0)
        world.wait_for("it fails", lambda: world.job(job)["state"] == "Failed", 120)
        failed = time.time()
        launch = world.job(job)["launches"][0]
        check("kept: its launch is closed as kept", launch["close_reason"] == "kept", launch)
        time.sleep(20)
        check("kept: the VM is there", not first.gone and first.room.agent() is not None)
        left = pathlib.Path(f"/proc/{first.room.agent()}/root/root/left")
        check("kept: with what its program has left", left.read_text() == "of-the-failed\n")
        check("kept: nothing of stoker runs outside", not world.outside(), world.outside())
        world.wait_for("it ends by itself", lambda: first.gone, 180)
        print(f"kept: {time.time() - failed:.0f} s after its end the VM was gone", flush=True)
        check("kept: not before its time", time.time() - failed >= 50, time.time() - failed)
        who = [each["email"] for each in lab.log if each.get("method") == "instances.delete" and each["params"]["instance"] == first.name]
        check("kept: by itself", who and set(who) == {NODES}, who)
        check("kept: and the job stays as it ended", world.job(job)["state"] == "Failed")


def gcp_barren(lab, check):
    """GPUs that never come, at full length: a quarter of an hour."""
    with GceWorld(lab, "barren") as world:
        begun = time.monotonic()
        job = world.submit("--infra", world.infra, "--gpus", "T4:1", "--", "ls", "/dev/nvidia0")
        first = world.machine(job, 0)

        def said():
            log = world.stoker("logs", "--stream", "system", job).stdout
            story = world.stoker("show", job).stdout
            return re.search("0 of the 1 GPUs that its type promises, .* on", log + story) or first.gone

        world.wait_for("it gives up", said, 1200, 2)
        took = time.monotonic() - begun
        world.wait_for("it is ended", lambda: first.gone, 120)
        print(f"barren: given up {took:.0f} s after submission", flush=True)
        check("barren: nothing was started on it", not texts(world, job), texts(world, job))
        shown = world.stoker("show", job).stdout
        check("barren: that it has no GPUs is in the story, with what to do", "GPUs that its type promises" in shown, shown)
        check("barren: and the VM is ended", first.gone)
        world.stoker("cancel", "--no-wait", job)
        world.wait_for("all end", lambda: world.stoker("show", job) and all(each.gone for each in world.machines(job)), 200, 2)


ALONE = ("classic", "owner")  # what changes the lab's own settings
AT_LENGTH = ("barren",)  # only where it is named


def main(name, *names):
    results = Results()
    cloud, parts = {"ec2": ec2, "gcp": gcp}[name], parts_of(globals(), name)
    with cloud.Lab() as lab:
        names = names or [each for each in parts if each not in AT_LENGTH]
        for threads, some in ((2, [each for each in names if each not in ALONE]), (1, [each for each in names if each in ALONE])):
            with concurrent.futures.ThreadPoolExecutor(threads) as pool:
                for each in [pool.submit(results.run, one, parts[one], lab, results.check) for one in some]:
                    each.result()
        cloud.judge(lab, results.check)
    results.finish()


if __name__ == "__main__":
    main(*sys.argv[1:])
