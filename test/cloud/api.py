#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a program against EC2 or Compute Engine as the lab plays it (test/lab), without machines that
boot: every request to EC2 is held against botocore's model, and every request and answer of Compute
Engine against Google's discovery document. api.py ec2|gcp PROGRAM [ARG…]

The program finds the API by the variables that a person would set, and gives orders to the lab at
$STOKER_TEST_CONTROL, each as GET /NAME?ARGUMENT=VALUE: see Ec2Orders and GceOrders. It may not ask
for anything that model or document do not know."""

import datetime
import json
import os
import pathlib
import re
import subprocess
import sys
import threading
import types
import urllib.parse

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test import cloud_env

cloud_env.enter()
from test.lab.ec2api import groups
from test.lab.ec2api.world import World
from test.lab.gceapi import lifecycle
from test.lab.gceapi.service import CHANGES
from test.lab.unbooted import REGION, Unbooted
from test.lab.unbooted_gce import ROLE, UnbootedGce
from test.lab.web import Server


class Orders:
    def __init__(self, lab):
        self.lab, self.log, self.since = lab, lab.log, 0

    def __call__(self, handler):
        split = urllib.parse.urlsplit(handler.path)
        asked = dict(urllib.parse.parse_qsl(split.query, keep_blank_values=True))
        handler.body()
        try:
            handler.out(200, self.obey(split.path[1:], asked) or "ok")
        except Exception as error:  # noqa: BLE001  # the test is told
            handler.out(500, f"{type(error).__name__}: {error}")

    def obey(self, order, asked):
        return getattr(self, order)(**asked)


class Ec2Orders(Orders):
    """reset; refuse?code= (none: no more); doom?code=; fault?action=&way=; late?seconds=;
    capacity?type=&slots=; stop?id=; drill?id=&ms=; group?id=; copy, loosen, reserve, vpc, open,
    given and placements: see there;
    made: what requests have made; asked: how many requests there were, since reset."""

    def __init__(self, lab):
        super().__init__(lab)
        self.ec2, self.client = lab.ec2, lab.client("ec2")

    def reset(self):
        self.since = len(self.log)
        self.ec2.world = World()
        self.ec2.faults.clear()
        self.ec2.capacity.rules.clear()
        self.ec2.settings.late = 0.0
        self.ec2.settings.nitro = True

    def refuse(self, code):
        self.ec2.faults.clear()
        if code != "none":
            self.ec2.faults.add("RunInstances", "error", count=1000, code=code, words="so it is")

    def deny(self, action):
        """Until the next reset."""
        self.ec2.faults.add(action, "error", count=1000, code="UnauthorizedOperation", words="You may not", status=403)

    def endpoint(self, vpc):
        """S3 has an interface in it."""
        self.client.create_vpc_endpoint(VpcId=vpc, ServiceName=f"com.amazonaws.{REGION}.s3", VpcEndpointType="Interface")

    def doom(self, code):
        self.ec2.faults.clear()
        if code != "none":
            self.ec2.faults.add_birth(code, "so it is", count=1000)

    def fault(self, action, way):
        self.ec2.faults.add(action, way)

    def late(self, seconds):
        self.ec2.settings.late = float(seconds)

    def capacity(self, type, slots):
        self.ec2.capacity.set(int(slots), type=type)

    def console(self, id, text, nitro="yes"):
        """What it has said there; with nitro=no the newest of that is not told."""
        self.ec2.world.find(id).console = text.encode()
        self.ec2.settings.nitro = nitro == "yes"

    def stop(self, id):
        self.client.stop_instances(InstanceIds=[id])

    def drill(self, id, ms):
        """What the agent of a machine that boots does itself."""
        end = threading.Timer(int(ms) / 1000, lambda: self.client.terminate_instances(InstanceIds=[id]))
        end.daemon = True
        end.start()

    def copy(self, id):
        """Another machine like it, as the console makes them: with its tags. Its id."""
        plan = self.ec2.world.find(id).asked
        tags = [{"Key": k, "Value": v} for k, v in self.ec2.world.find(id).tags.items()]
        made = self.client.run_instances(
            MinCount=1,
            MaxCount=1,
            ImageId=plan["ImageId"],
            InstanceType=plan["InstanceType"],
            TagSpecifications=[{"ResourceType": "instance", "Tags": tags}],
        )
        return made["Instances"][0]["InstanceId"]

    def loosen(self, id):
        """Its first volume will outlive it: the volume's id."""
        machine = self.ec2.world.find(id)
        volume = machine.region.volumes[machine.volumes[0]]
        volume["ends_with_it"] = False
        return volume["id"]

    def group(self, id):
        found = self.client.describe_security_groups(GroupIds=[id])["SecurityGroups"][0]
        opens = [pair["GroupId"] for rule in found["IpPermissions"] for pair in rule["UserIdGroupPairs"]]
        ranges = [each for rule in found["IpPermissions"] for each in rule["IpRanges"]]
        return f"{found['GroupName']} opens to {' '.join(opens)}" + str(ranges or "")

    def asked(self):
        return str(len([each for each in self.log[self.since :] if "oto" not in each["agent"]]))

    def reserve(self, type, count, zone="us-east-1a", **more):
        """A capacity reservation, as a person has it: its id. `more`: what differs in it."""
        name = groups.reserve(self.ec2, REGION, type, zone, int(count))
        if "StartDate" in more:
            more["StartDate"] = datetime.datetime.fromisoformat(more["StartDate"])
        self.ec2.world.region(REGION).reservations[name].update(more)
        return name

    def vpc(self, zone):
        """A subnet and a security group of a VPC that is not the default one, ids."""
        vpc = self.client.create_vpc(CidrBlock="10.20.0.0/16")["Vpc"]["VpcId"]
        subnet = self.client.create_subnet(VpcId=vpc, CidrBlock="10.20.1.0/24", AvailabilityZone=zone)["Subnet"]["SubnetId"]
        group = self.client.create_security_group(GroupName="team nodes", Description="x", VpcId=vpc)["GroupId"]
        return f"{subnet} {group} {vpc}"

    def open(self, id):
        """The security group lets its own members in."""
        self.client.authorize_security_group_ingress(
            GroupId=id, IpPermissions=[{"IpProtocol": "-1", "UserIdGroupPairs": [{"GroupId": id}]}]
        )

    def given(self, id):
        """What a machine was made with: placement group, reservation, market, subnet, security
        groups, interfaces."""
        plan = self.ec2.world.find(id).asked
        cards = " ".join(each["InterfaceType"] for each in plan.get("NetworkInterfaces", []))
        return "|".join(
            [
                (plan["Group"] or {}).get("GroupName", ""),
                plan["Reserved"] or "",
                plan["Market"],
                plan["Subnet"]["SubnetId"],
                " ".join(g["GroupId"] for g in plan["Groups"]),
                cards,
            ]
        )

    def placements(self):
        return " ".join(self.ec2.world.region(REGION).groups) or "none"

    def made(self):
        changes = ("RunInstances", "CreateSecurityGroup", "CreateTags")
        made = [each["action"] for each in self.log[self.since :] if each["action"] in changes]
        return " ".join(made) or "nothing"

    def strange(self):
        told = ((each["action"], each.get("error")) for each in self.ours())
        return [each for each in told if each[1] in ("UnknownParameter", "InvalidAction", "SignatureDoesNotMatch")]

    def ours(self):
        return [each for each in self.log if "oto" not in each["agent"]]


class GceOrders(Orders):
    """Methods are named as in the document, without "compute.": instances.insert. Machines are named
    by their names."""

    def __init__(self, lab):
        super().__init__(lab)
        self.api = lab.api
        self.usual = dict(vars(self.api.settings))

    def obey(self, order, asked):
        with self.api.world.lock:
            return super().obey(order, asked)

    def reset(self):
        """No machine, no fault, plenty of room; settings as at the beginning."""
        self.since = len(self.log)
        vars(self.api.settings).update(self.usual)
        self.api.forget()

    def setting(self, name, value):
        """One of service.SETTINGS; the value as JSON."""
        if name not in self.usual:
            raise KeyError(name)
        setattr(self.api.settings, name, json.loads(value))

    def refuse(self, method, status, code, words="so it is", count="1000"):
        """An error of HTTP. code: its reason, as quotaExceeded; status=0: no more."""
        self.api.faults.clear()
        if int(status):
            self.api.faults.add(method, "error", int(count), status=status, code=code, words=words)

    def fault(self, method, way, count="1", seconds="0"):
        """way: lost_answer, lost_request, slow."""
        self.api.faults.add(method, way, int(count), seconds=float(seconds))

    def doom(self, code, words="so it is", count="1", status="503"):
        """Operations of launches and starts that end with this error; count=0: no more."""
        self.api.births.clear()
        if int(count):
            self.api.births.add(code, words, int(count), int(status))

    def capacity(self, slots, zone="*", type="*", market="*"):
        """slots= (empty): there is room again."""
        self.api.capacity.set(int(slots) if slots else None, zone, type, market)

    def quota(self, metric, limit):
        self.api.capacity.quotas[metric] = float(limit)

    def silent(self, zones=""):
        """These do not answer; none: all do."""
        self.api.silent_zones = {each for each in zones.split(",") if each}

    def deny(self, permissions=""):
        """Nobody has them; none: all have all."""
        self.api.denied = {each for each in permissions.split(",") if each}

    def revoke(self):
        """All tokens are bad from now on."""
        self.lab.identity.revoke_all()

    def preempt(self, name, lead=""):
        """lead: seconds of notice before the power button; 0: without any; none: its own."""
        lifecycle.preempt(self.api, self.api.world.named(name), float(lead) if lead else None)

    def host_error(self, name):
        lifecycle.host_error(self.api, self.api.world.named(name))

    def guest_off(self, name):
        """As if it had powered off by itself."""
        lifecycle.guest_off(self.api, self.api.world.named(name))

    def stop(self, name):
        """By hand, as a user of the project."""
        lifecycle.by_hand(self.api, lifecycle.stop, self.api.world.named(name))

    def start(self, name):
        lifecycle.by_hand(self.api, lifecycle.start, self.api.world.named(name))

    def delete(self, name):
        lifecycle.by_hand(self.api, lifecycle.delete, self.api.world.named(name))

    def delete_itself(self, name):
        """As a VM that an older stoker has made: under no id of a request."""
        one = self.api.world.named(name)
        where = {"project": one.project, "zone": one.zone, "instance": one.name}
        lifecycle.delete(self.api, where, None, types.SimpleNamespace(email=ROLE))

    def attribute(self, name, key, value):
        """It has put a guest attribute of stoker's."""
        self.api.world.named(name).guest_attributes[("stoker", key)] = value

    def later(self, order, ms, **asked):
        """The same order, so many milliseconds from now."""

        def run():
            with self.api.world.lock:
                getattr(self, order)(**asked)

        timer = threading.Timer(int(ms) / 1000, run)
        timer.daemon = True
        timer.start()

    def metadata(self, name):
        """HOST:PORT of its metadata server, which is there until the end."""
        return self.lab.metadata(name)

    def made(self):
        """The changes that were asked for since the reset, by name."""
        made = [e["method"] for e in self.log[self.since :] if e.get("method") in CHANGES]
        return " ".join(made) or "nothing"

    def asked(self):
        """All requests since the reset, as JSON."""
        kept = ("method", "verb", "path", "params", "query", "body", "status", "error", "email", "permissions", "strange", "time")
        told = [{k: e[k] for k in kept if k in e} for e in self.log[self.since :]]
        return json.dumps(told)

    def instances(self):
        """Names and states of all there are."""
        alive = [each for each in self.api.world.instances if not each.gone]
        return "\n".join(f"{each.name} {each.zone} {each.state()}" for each in alive) or "none"

    def disks(self):
        return "\n".join(f"{each.name} {each.zone}" for each in self.api.world.disks) or "none"

    def strange(self):
        return self.lab.front.strange()

    def ours(self):
        return self.log


def main(cloud, *words):
    made, orders = {"ec2": (Unbooted, Ec2Orders), "gcp": (UnbootedGce, GceOrders)}[cloud]
    with made() as lab:
        if cloud == "ec2":
            lab.profile("stoker")
        orders = orders(lab)
        control = Server(orders)
        env = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", **lab.env(), "STOKER_TEST_CONTROL": control.url}
        ran = subprocess.run(words, env=env, stdout=subprocess.PIPE, text=True)
        control.end()
        print(ran.stdout, end="")
        strange, bugs, asked = orders.strange(), lab.bugs, len(orders.ours())
    for each in strange:
        print(f"FAIL neither model nor document knows, or nobody signed so: {each}")
    passed = re.search(r"\[  PASSED  \] (\d+) tests?", ran.stdout)
    print(f"api: {passed[1] if passed else 0} cases hold; {asked} requests are valid")
    return ran.returncode or len(bugs) or len(strange) or not passed or asked < 100


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
