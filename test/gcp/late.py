#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compute Engine takes a request at once, and says in its operation that there is no room: whoever
submits and leaves hears it before, and whoever looks hears it when the sender is dead. With
machines that do not boot; judged by what Compute Engine was asked.

    late.py [PART…]"""

import pathlib
import signal
import sys
import time

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test.cloud.verb_lab import GceLab, enter, play

enter()
from test.e2e.kit.harness import parts_of

FULL = "ZONE_RESOURCE_POOL_EXHAUSTED"
RUN = ("run", "--detach", "--infra", "gcp/us-central1", "--instance-type", "e2-standard-2")


def inserts(lab, since=0):
    """The zones that were asked for a machine, or for machines at once, in this order."""
    return [each["params"]["zone"] for each in lab.log[since:] if each.get("method", "").endswith((".insert", ".bulkInsert"))]


def test_leaves(lab, check):
    """run -d: its first zone has no room, which it hears of three seconds later."""
    with lab.world("leaves") as world:
        lab.api.settings.operation_delay = 3.0
        lab.api.births.add(FULL)
        begun = time.monotonic()
        done = world.stoker(*RUN, "--", "true", check=True)
        took = time.monotonic() - begun
        job = done.stdout.split()[0]
        zones = inserts(lab)
        check("leaves: the next zone is asked before it goes", len(zones) == 2 and zones[0] != zones[1], zones)
        check("leaves: what it waits for is said", "whether it has room" in done.stderr, done.stderr)
        check("leaves: Google's own words for no room are told", f"{zones[0]}: " in done.stderr and FULL in done.stderr, done.stderr)
        check("leaves: and not that there is no machine", "no machine yet" not in done.stderr, done.stderr)
        check("leaves: it goes when the machine is there", len(lab.machines(job)) == 1, lab.machines(job))
        print(f"leaves: {took:.1f} s", flush=True)
        lab.api.settings.operation_delay = 0.1
        world.stoker("cancel", "--no-wait", job, check=True)


def test_for_good(lab, check):
    """run -d of what Google refuses for good: it ends with the job's code, and says why."""
    with lab.world("for-good") as world:
        lab.api.births.add("SOMETHING_ELSE", "this is never to be had", count=20, status=400)
        done = world.stoker(*RUN, "--", "true")
        lab.api.births.clear()
        job = done.stdout.split()[0]
        check("for good: the job has ended", world.job(job)["state"] == "Failed", world.job(job)["state"])
        check("for good: with its code", done.returncode == world.stoker("wait", job).returncode != 0, done.returncode)
        check("for good: and why", "this is never to be had" in done.stderr, done.stderr)


def test_killed(lab, check):
    """Its sender is dead before the operation ends: another one finds that by the request's id."""
    for nodes, name in ((1, "killed"), (2, "killed-bulk")):
        with lab.world(name) as world:
            lab.api.settings.operation_delay = 5.0
            lab.api.births.add(FULL)
            since = len(lab.log)
            sender = world.start(*RUN, "--num-nodes", nodes, "--", "true")
            job = sender.stdout.readline().split()[0]
            world.wait_for("the request is sent", lambda: inserts(lab, since))
            sender.send_signal(signal.SIGKILL)
            sender.wait()
            world.wait_for("the operation ends", lambda: not lab.api.births.waiting)
            lab.api.settings.operation_delay = 0.1
            since_looked = len(lab.log)

            def looked():
                world.stoker("show", job)
                return len(inserts(lab, since)) > 1

            world.wait_for("it goes on", looked, 60, 0.5)
            asked = lab.asked(since_looked)
            found = [each for each in lab.log[since_looked:] if "clientOperationId" in each.get("query", {}).get("filter", "")]
            check(f"{name}: the operation is found by its request's id", found, asked)
            zones = inserts(lab, since)
            check(f"{name}: nothing is sent again, the next zone is asked", len(zones) == 2 and zones[0] != zones[1], zones)
            world.wait_for("machines", lambda: len(lab.machines(job)) == nodes, 60, 0.3)
            world.stoker("cancel", "--no-wait", job, check=True)


def test_gang(lab, check):
    """Two nodes anywhere in a region: the first zone has no room, which its operation says, and the
    next one is asked for both."""
    with lab.world("gang") as world:
        lab.api.capacity.set(1, "us-central1-a")
        since = len(lab.log)
        begun = time.monotonic()
        job = world.stoker(*RUN, "--num-nodes", 2, "--", "true", check=True).stdout.split()[0]
        world.wait_for("two VMs", lambda: len(lab.machines(job)) == 2, 60, 0.02)
        asked = [each for each in lab.log[since:] if each.get("method", "").lower().endswith("bulkinsert")]
        check(
            "gang: zone by zone, each once",
            [each["params"].get("zone") for each in asked] == ["us-central1-a", "us-central1-b"],
            [each["path"] for each in asked],
        )
        zones = {each.zone for each in lab.machines(job)}
        check("gang: all nodes are in the one that has room", zones == {"us-central1-b"}, zones)
        (first,) = [each for each in lab.api.world.operations if each.kind == "bulkInsert" and each.failed]
        told = first.failed.errors[0]["code"]
        check("gang: the first said so in its operation", told == "VM_MIN_COUNT_NOT_REACHED", told)
        print(
            f"gang: {asked[1]['time'] - first.ended:.2f} s from the end of the first operation "
            f"to the next; {time.monotonic() - begun:.1f} s in all, of which "
            f"{first.ended - first.born:.1f} s are the operation",
            flush=True,
        )
        lab.api.capacity.clear()
        world.stoker("cancel", "--no-wait", job, check=True)


if __name__ == "__main__":
    play(GceLab, parts_of(globals()), sys.argv[1:])
