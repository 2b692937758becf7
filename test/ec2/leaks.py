#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Machines that nobody may be left to look after, on instances that boot: whatever dies, each of
them ends, and this says by whom and when.

    leaks.py [NAME…]     only these parts; only where they are named: 'unwatched' (16 minutes) and
                         'unbegun' (an hour)

Judged by EC2, which knows how each was ended, and by what was asked of it, with whose keys."""

import concurrent.futures
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import threading
import time

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test.lab import lab as lab_of

lab_of.enter()
from test.e2e.kit.harness import Results
from test.ec2.lab_world import LabWorld, judge
from test.ec2.wire import Wire
from test.s3_server import BUCKET

INFRA = ("--infra", "aws/us-east-1")
DEAF = "m5.large"  # the type whose image runs no user-data here
GUEST = "Client.InstanceInitiatedShutdown"
USER = "Client.UserInitiatedShutdown"


def say(what, who, seconds):
    print(f"      {what}: ended by {who} after {seconds:.0f} s", flush=True)


def gone(world, machine, limit):
    """Waits until it is; by what, in EC2's words, and how long after now."""
    begun = time.monotonic()
    world.wait_for(f"{machine.id} to end", lambda: machine.state() == "terminated", limit, 0.2)
    return machine.state_reason[0], time.monotonic() - begun


def enders(lab, machine):
    """The keys with which its end was asked for."""
    return [each["key"] for each in lab.log if each.get("action") == "TerminateInstances" and machine.id in str(each["asked"])]


class Deadly:
    """Kills the submitter once so many of its calls, of any service, have been answered."""

    def __init__(self, lab, after):
        self.after = after
        self.calls = []
        self.process = None
        self.started = threading.Event()
        self.lock = threading.Lock()
        self.wires = [Wire(url, self.passed, "172.31.0.1") for url in (lab.endpoint, lab.bucket)]
        self.env = {"AWS_ENDPOINT_URL": self.wires[0].url, "AWS_ENDPOINT_URL_S3": self.wires[1].url}

    def passed(self, words):
        self.started.wait()
        with self.lock:
            if self.process.poll() is not None:
                return False  # a node's
            self.calls.append(words)
            if len(self.calls) != self.after:
                return False
            self.process.kill()
            self.process.wait()
            return True

    def submit(self, world, kind, *options):
        words = ["run", "--detach", *INFRA, "--instance-type", kind, *options, "--", "sleep", "2"]
        self.process = subprocess.Popen(
            world.command(words, world.work),
            cwd=world.work,
            env={**world.env, **self.env},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.started.set()
        world.started.append(self.process)
        return self.process.communicate(timeout=120)[1]

    def end(self):
        for each in self.wires:
            each.end()


def die_at_launch(deadly):
    """Its submitter does not get the answer to RunInstances."""
    passed = deadly.passed

    def at_launch(words):
        if words == "RunInstances" and deadly.process.poll() is None:
            deadly.after = len(deadly.calls) + 1
        return passed(words)

    deadly.wires[0].passed = at_launch


def test_submitter(lab, check):
    """kill -9 of the submitter after each of its calls."""
    # In a ledger of its own: whoever looks at a ledger looks after all its jobs.
    with LabWorld(lab, "deaths", "deaths") as world:
        known = set()

        def fresh():
            found = [each for each in lab.ec2.world.instances() if each.id not in known and each.asked["InstanceType"] == "c5.large"]
            known.update(each.id for each in found)
            return found

        machines, wires, wrong = [], [], []
        for _ in ("uploads the code", "has nothing to upload"):
            calm = Deadly(lab, 0)
            wires.append(calm)
            said = calm.submit(world, "c5.large")
            check("in peace it submits", calm.process.returncode == 0, said)
            machines += fresh()
            for each in machines:
                gone(world, each, 180)
        calls = list(calm.calls)
        asked = calls.index("RunInstances") + 1
        check("and gets a machine", len(machines) == 2, machines)
        for after in range(1, len(calls) + 1):
            deadly = Deadly(lab, after)
            wires.append(deadly)
            deadly.submit(world, "c5.large")
            found = fresh()
            machines += found
            killed = deadly.process.returncode == -signal.SIGKILL
            has = any("RunInstances" in call for call in deadly.calls)
            if not killed or len(found) != has:
                wrong.append((after, deadly.calls[-1:], killed, found))
            if has:
                gone(world, found[0], 180)
        print(f"      {len(calls)} calls: RunInstances is number {asked}", flush=True)
        check(f"killed after each of {len(calls)} calls: a machine only once it was asked for", not wrong, wrong)
        later = fresh()
        check("none comes later", not later, later)
        ended = [gone(world, each, 180)[0] for each in machines]
        check(f"each of {len(machines)} machines ends itself, with nobody outside", set(ended) == {GUEST}, ended)
        for each in wires:
            each.end()


def test_record(lab, check):
    """RunInstances' answer is lost, its submitter with it, and then the job's record."""
    with LabWorld(lab, "record") as world:
        deadly = Deadly(lab, 0)
        die_at_launch(deadly)
        deadly.submit(world, "r5.large")
        check("record: the submitter died without the answer", deadly.process.returncode == -9)
        (machine,) = [each for each in lab.ec2.world.instances() if each.asked["InstanceType"] == "r5.large"]
        job = machine.tags["stoker-job"]
        s3 = lab.s3.client
        keys = lab.s3.keys(f"team/jobs/{job}/")
        for key in [f"team/records/{job}.json", f"team/active/{job}", *keys]:
            s3.delete_object(Bucket=BUCKET, Key=key)
        reason, _ = gone(world, machine, 240)
        say("a machine without a record", "its agent", time.time() - machine.born)
        check("record: it ends itself", reason == GUEST and not enders(lab, machine), reason)
        said = machine.room.journal()
        check("and its journal says why", b"this machine ends" in said, said[-500:])
        deadly.end()


def age(lab, job, machine, hours):
    """As if it had been submitted so long ago."""
    key = f"team/records/{job}.json"
    text = lab.s3.read(key).decode()

    def earlier(found):
        parsed = time.mktime(time.strptime(found[1], "%Y-%m-%dT%H:%M:%S")) - hours * 3600
        return time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(parsed))

    text = re.sub(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)", earlier, text)
    lab.s3.client.put_object(Bucket=BUCKET, Key=key, Body=text.encode())
    machine.launched -= hours * 3600


def test_deaf(lab, check):
    """An image that never runs user-data. EC2 itself ends nothing."""
    with LabWorld(lab, "deaf") as world:
        job = world.submit(*INFRA, "--instance-type", DEAF, "--", "true")
        machine = world.machine(job, 0)
        world.wait_for("it runs", lambda: machine.state() == "running", 60, 0.2)
        world.stoker("ls", check=True)
        check("deaf: one that may yet report is left alone", machine.state() == "running")
        age(lab, job, machine, 1)
        for _ in range(3):
            world.stoker("ls", check=True)
        reason, seconds = gone(world, machine, 60)
        check(
            "deaf: who looks ends it, ten minutes after it could have reported",
            reason == USER and lab.keyring.own[0] in enders(lab, machine),
            reason,
        )
        say("an image that never runs user-data", "who looks, when it is 10 min late", seconds)
        second = world.machine(job, 1)
        check("deaf: another is asked for", second.id != machine.id)
        world.wait_for("it runs", lambda: second.state() == "running", 60, 0.2)
        # Nobody looks any more, for longer than its lease.
        past = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - 60))
        world.stoker("gc", check=True)
        check("deaf: gc leaves what has time", second.state() == "running", second.state())
        tag = {"Key": "stoker-expires", "Value": past}
        lab.client.create_tags(Resources=[second.id], Tags=[tag])
        world.stoker("gc", check=True)
        reason, seconds = gone(world, second, 60)
        say("one whose lease is over by its tag", "'stoker gc', whoever gives it", seconds)
        check("deaf: gc ends what is expired", reason == USER, reason)
        check("and that is no cancel", world.job(job)["state"] != "Cancelled", world.job(job))
        world.stoker("cancel", job)
        world.over(job)


def stop_agent(world, machine):
    world.trained(machine, 5)
    pid = machine.room.agent()
    os.kill(pid, signal.SIGSTOP)
    return pid


def inside(machine, script):
    words = ["nsenter", "-t", str(machine.room.init()), "-m", "-p", "sh", "-c", script]
    subprocess.run(words, check=True)


def test_stopped_watched(lab, check):
    """An agent under SIGSTOP, and somebody outside who looks."""
    with LabWorld(lab, "frozen") as world:
        job = world.train(60)
        machine = world.machine(job, 0)
        stop_agent(world, machine)
        looks = world.start("controller", "--interval", "5s", stdout=-3, stderr=-3)
        begun = time.monotonic()
        reason, _ = gone(world, machine, 400)
        say("an agent under SIGSTOP", "who looks", time.monotonic() - begun)
        check("frozen: who looks ends its machine", reason == USER and enders(lab, machine), reason)
        world.over(job)
        check("frozen: the job succeeds", world.told(job)[0] == "Succeeded", world.job(job))
        looks.terminate()
        looks.wait()


def test_stopped_alone(lab, check):
    """The same, and nobody looks: its lease ends it."""
    with LabWorld(lab, "alone") as world:
        job = world.train(1000)
        machine = world.machine(job, 0)
        stop_agent(world, machine)
        inside(machine, "echo $(($(date +%s) + 5)) >/var/lib/stoker/deadline")
        begun = time.monotonic()
        reason, _ = gone(world, machine, 400)
        who = "its guard, when the lease (24 h) is over"
        say("an agent under SIGSTOP", who, time.monotonic() - begun)
        check("alone: its guard ends it", reason == GUEST and not enders(lab, machine), reason)
        world.stoker("cancel", job)
        world.over(job)


def test_ended(lab, check):
    """A job that has ended, and at which nobody looks."""
    with LabWorld(lab, "ended") as world:
        job = world.submit(*INFRA, "--", "true")
        machine = world.machine(job, 0)
        reason, _ = gone(world, machine, 120)
        say("a job that has ended", "its own node", time.time() - machine.born)
        own = reason == GUEST and not enders(lab, machine)
        check("ended: its node ends the machine", own, reason)
        record = json.loads(lab.s3.read(f"team/records/{job}.json"))
        check("and has written the end down", record["state"] == "Succeeded", record["state"])


def test_unwatched(lab, check):
    """The same where nodes may not: 15 minutes later. By hand."""
    with LabWorld(lab, "unwatched") as world:
        world.program('recovery: controller\nrun: "true"\nworkdir: .\n', "job.yaml")
        job = world.submit("job.yaml", *INFRA)
        machine = world.machine(job, 0)
        # Its zones are asked one after the other, so somebody has to say that this is the one.
        world.wait_for("it runs", lambda: machine.state() == "running", 60, 0.2)
        world.stoker("ls", check=True)
        reason, seconds = gone(world, machine, 1200)
        say("an ended job that only others may look after", "its own node", seconds)
        own = reason == GUEST and not enders(lab, machine)
        check("unwatched: its node ends the machine", own, reason)
        world.stoker("ls", check=True)
        check("and the next look writes the end down", world.job(job)["state"] == "Succeeded")


def test_unbegun(lab, check):
    """Its submitter dies when the machine is asked for, and nobody looks: it waits an hour for
    somebody. By hand."""
    with LabWorld(lab, "unbegun", "unbegun") as world:
        deadly = Deadly(lab, 0)
        die_at_launch(deadly)
        deadly.submit(world, "t3.large", "--recovery", "controller")
        check("unbegun: the submitter died at the launch", deadly.process.returncode == -9)
        (machine,) = [each for each in lab.ec2.world.instances() if each.asked["InstanceType"] == "t3.large"]
        job = machine.tags["stoker-job"]
        key = f"unbegun/reports/{job}/1-0.json"
        world.wait_for("its node to report", lambda: lab.s3.keys(key), 180, 1)
        phase = json.loads(lab.s3.read(key))["phase"]
        check("its node waits", phase == "Waiting", phase)
        reason, seconds = gone(world, machine, 4200)
        say("a machine whose job nobody begins", "its own node", seconds)
        own = reason == GUEST and not enders(lab, machine)
        check("unbegun: its node ends the machine", own, reason)
        check("after an hour", seconds > 3500, seconds)
        said = machine.room.journal()
        why = b"only others may look after the job"
        check("and its journal says why", why in said, said[-500:])
        looks = world.start("controller", "--interval", "5s", stdout=-3, stderr=-3)
        second = world.machine(job, 1, 180)
        check("unbegun: who looks then asks for another", second.id != machine.id, second.id)
        world.over(job)
        check("which does the work", world.told(job)[0] == "Succeeded", world.job(job))
        looks.terminate()
        looks.wait()
        deadly.end()


# Each line one after the other; three machines at once at most.
LINES = (("submitter", "record"), ("stopped_watched", "ended"), ("deaf", "stopped_alone"))


def deafen(lab):
    boot = lab.rooms.boot

    def booted(instance):
        if instance.asked["InstanceType"] == DEAF:
            instance.user_data = b""
        boot(instance)

    lab.rooms.boot = booted


def main(names):
    results = Results()
    lines = [[name for name in line if not names or name in names] for line in LINES]
    lines += [[name for name in names if name == alone] for alone in ("unwatched", "unbegun")]
    with lab_of.Lab() as lab:
        deafen(lab)

        def play(line):
            for name in line:
                results.run(name, globals()["test_" + name], lab, results.check)

        with concurrent.futures.ThreadPoolExecutor(len(lines)) as pool:
            for each in [pool.submit(play, line) for line in lines]:
                each.result()
        judge(lab, results.check)
    results.finish()


if __name__ == "__main__":
    main(sys.argv[1:])
