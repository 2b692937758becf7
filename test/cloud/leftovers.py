#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What `stoker gc` and `stoker controller` see and end of what a ledger has in a cloud: what a record
has ended or whose time is over, in each region that the ledger has noted, or in every zone of
Google's, and nothing else; not what somebody has made with the same labels. With machines that do
not boot; judged by what the lab has, and by what it was asked.

    leftovers.py ec2|gcp [PART…]"""

import json
import pathlib
import sys
import urllib.request

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test.cloud.verb_lab import Ec2Lab, GceLab, enter, play

enter()
from test.e2e.kit.harness import parts_of
from test.lab.gceapi import lifecycle, policies
from test.lab.unbooted_gce import OWN
from test.s3_server import BUCKET

CLOUD = "https://www.googleapis.com/auth/cloud-platform"


def submit(lab, world, infra=None):
    return world.submit("--infra", infra or lab.infra, "--instance-type", lab.kind, "--", "true")


def test_by_itself(lab, check):
    """`stoker controller --once`, as a timer calls it."""
    with lab.world("sweeper") as world:
        job = submit(lab, world)
        machine = lab.machines(job)[0]
        lab.lose("sweeper/", job)  # nobody's job any more
        check("its record is gone", world.stoker("show", job).returncode == 1)
        world.stoker("controller", "--once")
        check("a machine without a record stays while its time lasts", not lab.ended(machine))
        lab.expire(machine)
        since = len(lab.log)
        world.stoker("controller", "--once")
        check("the sweep is not for every minute", not lab.ended(machine) and "DescribeVolumes" not in lab.asked(since), lab.asked(since))
        for mark in world.state.glob("swept/*"):
            mark.unlink()
        done = world.stoker("controller", "--once")
        world.wait_for("it is ended", lambda: lab.ended(machine))
        check("later it ends what is over, and says so", lab.id(machine) in done.stderr, done.stderr)


def things(world, *flags):
    told = world.json("gc", *flags)["cloud"]
    return told, {each["id"]: each for each in told["things"]}


def ec2_leftovers(lab, check):
    with lab.world("one") as world, lab.world("two") as other:
        here, there = submit(lab, world), submit(lab, world, "aws/eu-west-1")
        foreign = submit(lab, other)
        first, second, third = (lab.machines(job)[0] for job in (here, there, foreign))
        lab.expire(third)
        since = len(lab.log)
        told, seen = things(world, "--dry-run")
        check("both regions that were noted are looked in, and no other", told["regions"] == ["eu-west-1", "us-east-1"], told["regions"])
        check(
            "both machines are listed, with place, job, age and price",
            (seen[first.id]["job"], seen[second.id]["job"]) == (here, there)
            and seen[second.id]["zone"].startswith("eu-west-1")
            and seen[first.id]["price"] == 0.096
            and seen[second.id]["price"] == 0.107
            and seen[first.id]["cost"] is not None,
            seen,
        )
        check("disks and groups too", {"volume", "security group"} <= {each["kind"] for each in seen.values()})
        check("the other ledger's machine is not", third.id not in seen)
        check("nothing is over", not [each for each in seen.values() if each["over"]], seen)
        changes = [each for each in lab.asked(since) if not each.startswith("Describe") and "/" not in each]
        check("who only looks changes nothing", not changes, changes)
        words = world.stoker("gc", "--dry-run").stdout
        check(
            "people are told", f"instance {first.id} in {first.asked['Zone']}: m5.large on-demand" in words and "0.0960 $/h" in words, words
        )

        lab.expire(second)
        _, seen = things(world, "--dry-run")
        check("what has expired is named", "its time was over" in seen[second.id]["over"], seen)
        _, seen = things(world)
        check("it is ended, where it is", lab.ended(second))
        check("the healthy one stays, and so does the foreign one", len(lab.machines(here)) == 1 and len(lab.machines(foreign)) == 1)

        # Of a job that ended while nobody looked: EC2 had not told of it yet.
        world.stoker("cancel", here, check=True)
        world.wait_for("it ends", lambda: world.job(here)["state"] == "Cancelled")
        ended_by_cancel = first.state() != "running"
        check("a cancel ends its machine", ended_by_cancel, first.state())
        late = lab.raise_again(first)
        _, seen = things(world, "--dry-run")
        check(
            "one that its record has ended is over, whatever its tag says",
            seen[late.id]["over"] == "its record has ended it",
            seen[late.id],
        )
        things(world)
        check("and is ended", lab.ended(late), late.state())


def ec2_near(lab, check):
    """Placement groups: each is a job's, and goes with it or after it."""
    held = lab.ec2.world.region("us-east-1").groups
    with lab.world("near") as world:
        (world.work / "near.yaml").write_text(
            'resources: {infra: aws/us-east-1, instance_type: m5.large}\naws: {placement: cluster}\nrun: "true"\n'
        )
        job = world.submit("near.yaml")
        (name,) = held
        check("the group is named by ledger, job and zone", f"-{job}-us-east-1" in name, name)
        _, seen = things(world, "--dry-run")
        check(
            "it is listed, and stays while the job does",
            (seen[name]["kind"], seen[name]["job"], seen[name]["over"]) == ("placement group", job, ""),
            seen[name],
        )
        world.stoker("cancel", job, check=True)
        world.wait_for("it ends", lambda: world.stoker("show", job) and not held)
        check("it goes with the last machine", not held, held)
        # Who looked after the job was killed before that: there is the group, and no machine.
        lost = world.submit("near.yaml")
        for each in lab.machines(lost):
            each.move((0, "terminated"))
        lab.lose("near/", lost)
        (name,) = held
        lab.below.client("ec2").create_placement_group(GroupName="not-ours", Strategy="cluster")
        _, seen = things(world)
        check(
            "gc ends one whose job is over, and no other",
            seen[name]["over"] == "its job has ended" and set(held) == {"not-ours"},
            (seen, held),
        )


def ec2_given_up(lab, check):
    """The security group of a ledger that was given up for a new one, its store being gone."""
    ec2 = lab.below.client("ec2", region_name="us-east-1")

    def groups():
        told = ec2.describe_security_groups()["SecurityGroups"]
        return {each["GroupId"] for each in told if each["GroupName"].startswith("stoker-")}

    before = groups()
    with lab.world("lost") as world:
        job = submit(lab, world)
        (lost,) = groups() - before
        machine = lab.machines(job)[0]
        lab.lose("lost/")
        made = world.stoker("config", "set", "store", f"s3://{BUCKET}/lost", "--new")
        check("the ledger is given up", made.returncode == 0, made.stderr)
        submit(lab, world)
        _, seen = things(world)
        check("a group with a machine in it stays", seen[lost]["over"] == "" and lost in groups())
        machine.move((0, "terminated"))
        _, seen = things(world, "--dry-run")
        check("then it is over, and who only looks leaves it", "was given up" in seen[lost]["over"] and lost in groups(), seen[lost])
        things(world)
        left = groups() - before
        check("gc ends it, and not that of the new ledger", lost not in left and len(left) == 1, (lost, left))


def ec2_everywhere(lab, check):
    """A region that the ledger has lost the note of, or that cannot be asked."""
    with lab.world("wide") as world:
        job = submit(lab, world, "aws/ap-south-1")
        machine = lab.machines(job)[0]
        lab.lose("wide/places/")
        lab.expire(machine)
        told, _ = things(world, "--dry-run")
        check("without a note nobody looks there", told["regions"] == [], told["regions"])
        told, seen = things(world, "--dry-run", "--all-regions")
        check("--all-regions finds it", machine.id in seen and len(told["regions"]) > 10, told)
        lab.ec2.faults.add("DescribeVolumes", "error", count=100, code="UnauthorizedOperation", words="no")
        done = world.stoker("gc", "--all-regions")
        check(
            "what cannot be listed is said, and machines are ended all the same",
            done.returncode == 1 and "DescribeVolumes" in done.stderr and lab.ended(machine),
            done.stderr,
        )
        lab.ec2.faults.clear()


def copied(lab, machine, name="like-that-one-0", labels=None):
    """As the console makes a VM "like this one": with its labels, and a name of its own."""
    body = json.loads(json.dumps(machine.body))
    body.update(name=name, labels=dict(machine.labels) if labels is None else labels)
    token = lab.identity.issue(OWN, [CLOUD])
    url = f"{lab.below.endpoint}/compute/v1/projects/{machine.project}/zones/{machine.zone}/instances"
    urllib.request.urlopen(
        urllib.request.Request(
            url, json.dumps(body).encode(), {"Authorization": f"Bearer {token.text}", "Content-Type": "application/json"}
        )
    )


def gcp_leftovers(lab, check):
    with lab.world("one") as world, lab.world("two") as other:
        here, there = submit(lab, world), submit(lab, world, "gcp/europe-west4")
        foreign = submit(lab, other)
        first, second, third = (lab.machines(job)[0] for job in (here, there, foreign))
        for each in (second, third):
            lab.expire(each)
        copied(lab, second)
        world.wait_for("the copy is there", lambda: len(lab.machines(there)) == 2)
        since = len(lab.log)
        told = world.json("gc", "--dry-run")["instances"]
        check("what has expired is named, wherever it is", told == [second.name], told)
        changes = [each for each in lab.asked(since) if each.endswith(("delete", "nsert"))]
        check("who only looks changes nothing", not changes, changes)
        lab.api.silent_zones = {"asia-east1-a"}
        check("a zone in which nothing was ever made may be silent", world.json("gc", "--dry-run")["instances"] == [second.name])
        lab.api.silent_zones = {second.zone}
        done = world.stoker("gc")
        check("one that does not answer is said", second.zone in done.stderr, done.stderr)
        lab.api.silent_zones = set()
        check("and nothing is ended there", not second.gone)
        told = world.json("gc")["instances"]
        world.wait_for("it is ended", lambda: second.gone)
        check("it is ended", told == [second.name], told)
        names = sorted(each.name for each in lab.machines())
        check("the healthy one, the foreign one and the copy stay", names == sorted([first.name, third.name, "like-that-one-0"]), names)


def gcp_by_record(lab, check):
    """A request that takes effect too late makes one that its record has ended long ago."""
    with lab.world("record") as world:
        job, other = submit(lab, world), submit(lab, world)
        machine, healthy = (lab.machines(each)[0] for each in (job, other))
        told = world.json("gc", "--dry-run")["cloud"]["things"]
        seen = {each["id"]: each for each in told}
        check("gc lists what the ledger has there", set(seen) == {machine.name, healthy.name}, told)
        mine = seen.get(machine.name, {})
        check(
            "with its place, type and job",
            (mine.get("provider"), mine.get("zone"), mine.get("job"), mine.get("over"), mine.get("what", "").split(" ")[0])
            == ("gce", machine.zone, job, "", "e2-standard-2"),
            mine,
        )
        world.stoker("cancel", job)
        world.wait_for("it is ended", lambda: machine.gone)
        copied(lab, machine, machine.name)  # as if it had been made only now
        world.wait_for("it is there again", lambda: lab.machines(job))
        again = lab.machines(job)[0]
        line = [each for each in world.stoker("gc", "--dry-run").stdout.splitlines() if machine.name in each]
        check("who only looks says why it would end", len(line) == 1 and "would be ended: its record has ended it" in line[0], line)
        told = world.json("gc")
        world.wait_for("it is ended again", lambda: again.gone)
        check("what a record has ended goes, and nothing else", machine.name in told["instances"] and not healthy.gone, told["instances"])


NEAR = 'resources: {{infra: gcp/us-central1, instance_type: c2-standard-8}}\ngcp: {{placement: cluster}}\nnum_nodes: {}\nrun: "true"\n'


def line_of(thing, said):
    return " ".join(each for each in said.splitlines() if thing.name in each)


def gcp_near(lab, check):
    """Compact placement policies: each is a job's, and goes after it."""
    held = lab.api.world.policies
    with lab.world("near") as world:
        (world.work / "near.yaml").write_text(NEAR.format(2))
        job = world.submit("near.yaml")
        world.wait_for("two VMs", lambda: len(lab.machines(job)) == 2, 30)
        (policy,) = held.values()
        check("the policy has the job in its name", f"-{job}-" in policy.name, policy.name)
        check(
            "both VMs have it, in one zone, and stay where they are",
            {(each.plan.get("policy"), each.zone, each.scheduling["onHostMaintenance"]) for each in lab.machines(job)}
            == {(policy, lab.machines(job)[0].zone, "TERMINATE")},
        )
        told = {each["id"]: each for each in world.json("gc", "--dry-run")["cloud"]["things"]}
        seen = told.get(policy.name, {})
        check(
            "it is listed, and stays while the job does",
            (seen.get("kind"), seen.get("job"), seen.get("over")) == ("placement policy", job, ""),
            told,
        )
        world.stoker("cancel", job, check=True)
        world.wait_for("all end", lambda: world.stoker("show", job) and not lab.machines(job), 30)
        check("it is still there", list(held.values()) == [policy], list(held))
        line = line_of(policy, world.stoker("gc", check=True).stdout)
        check("the next gc ends it", not held and line.endswith("; ended: its job has ended"), line)
        left_alone(lab, world, check)
        nowhere_near(lab, world, check)


def left_alone(lab, world, check):
    """Who looked after the job was killed: there is its policy, and no VM; and one of others."""
    held = lab.api.world.policies
    lost = world.submit("near.yaml")
    world.wait_for("two VMs", lambda: len(lab.machines(lost)) == 2, 30)
    (policy,) = held.values()
    place = {"project": policy.project, "region": policy.region}
    body = {"name": "stoker-like-ours-n", "groupPlacementPolicy": {"collocation": "COLLOCATED"}}
    with lab.api.world.lock:
        policies.insert(lab.api, place, body, lifecycle.SOMEBODY)
        for each in lab.machines(lost):
            lifecycle.by_hand(lab.api, lifecycle.delete, each)
    world.wait_for("no VM", lambda: not lab.machines(lost))
    lab.lose("near/", lost)
    told = world.json("gc")["cloud"]["things"]
    over = [(each["id"], each["over"]) for each in told]
    check(
        "gc ends one whose job is over, and no other",
        over == [(policy.name, "its job has ended")] and [each.name for each in held.values()] == ["stoker-like-ours-n"],
        (told, list(held)),
    )


def nowhere_near(lab, world, check):
    """A type that takes none is refused before anything is made; where Google has no room, the next
    zone is asked, with a policy of its own."""
    since = len(lab.log)
    (world.work / "none.yaml").write_text(NEAR.format(2).replace("c2-standard-8", "e2-standard-8"))
    done = world.stoker("run", "--detach", "none.yaml")
    changed = [each for each in lab.asked(since) if each.endswith(("nsert", "delete"))]
    check(
        "a type that takes no policy is one plain error, and nothing is made",
        done.returncode == 1
        and "e2-standard-8 cannot be placed near each other" in done.stderr
        and "gcp.placement" in done.stderr
        and not changed,
        done.stderr,
    )
    lab.api.births.add("ZONE_RESOURCE_POOL_EXHAUSTED")
    job = world.submit("near.yaml")
    world.wait_for("two VMs", lambda: len(lab.machines(job)) == 2, 30)
    asked = [each["params"]["zone"] for each in lab.log[since:] if each.get("method") == "instances.bulkInsert"]
    zones = {each.zone for each in lab.machines(job)}
    mine = {each.name for each in lab.api.world.policies.values() if job in each.name}
    check(
        "without room near each other the next zone is asked",
        len(asked) == 2 and asked[0] != asked[1] and zones == {asked[1]} and len(mine) == 2,
        (asked, zones, mine),
    )
    world.stoker("cancel", job, check=True)
    world.wait_for("all end", lambda: world.stoker("show", job) and not lab.machines(job), 30)
    world.stoker("gc", check=True)
    mine = [each.name for each in lab.api.world.policies.values() if job in each.name]
    check("and gc takes both policies", not mine, mine)


def gcp_after_their_jobs(lab, check):
    """Policies of jobs that have ended: not while a VM has one, and by a sweep, too."""
    held = lab.api.world.policies
    with lab.world("after") as world:
        (world.work / "near.yaml").write_text(NEAR.format(2))
        job = world.submit("near.yaml")
        world.wait_for("two VMs", lambda: len(lab.machines(job)) == 2, 30)
        (policy,) = held.values()
        copied(lab, lab.machines(job)[0], labels={})
        world.wait_for("one of somebody else", lambda: len(lab.machines()) == 3)
        world.stoker("cancel", job, check=True)
        world.wait_for("all end", lambda: world.stoker("show", job) and not lab.machines(job), 30)
        line = line_of(policy, world.stoker("gc", check=True).stdout)
        check(
            "what a VM of somebody has stays, and gc says why",
            list(held.values()) == [policy] and "; stays: " in line and "already being used by" in line,
            line,
        )
        told = world.json("gc")
        (mine,) = [each for each in told["cloud"]["things"] if each["id"] == policy.name]
        check("it is not among what was ended", policy.name not in told["instances"] and "already being used by" in mine["trouble"], told)
        (theirs,) = lab.machines()
        lifecycle.by_hand(lab.api, lifecycle.delete, theirs)
        world.wait_for("no VM", lambda: not lab.machines())
        by_controller(lab, world, policy, check)


def by_controller(lab, world, policy, check):
    """Whose sweep asks for policies of those, too, who never heard of them."""
    held, right = lab.api.world.policies, "compute.resourcePolicies.list"
    lab.api.denied = {right}
    since = len(lab.log)
    quiet = world.stoker("controller", "--once")
    asked = lab.asked(since)
    loud = world.stoker("gc")
    lab.api.denied = set()
    check(
        "without the right a sweep passes policies over",
        "resourcePolicies.list" in asked and "olicies" not in quiet.stderr and quiet.returncode == 0 and list(held.values()) == [policy],
        (asked, quiet.stderr),
    )
    check("gc by hand says so", right in loud.stderr and loud.returncode == 0, loud.stderr)
    for mark in world.state.glob("swept/*"):
        mark.unlink()
    done = world.stoker("controller", "--once")
    check(
        "with it a sweep ends what its job has left, and says so",
        not held and f"ended {policy.name} of Google in us-central1: its job has ended" in done.stderr,
        done.stderr,
    )


if __name__ == "__main__":
    cloud, *names = sys.argv[1:]
    play({"ec2": Ec2Lab, "gcp": GceLab}[cloud], parts_of(globals(), cloud), names)
