# SPDX-License-Identifier: Apache-2.0
"""Start, stop, reboot and terminate; and the ends that come from outside."""

import time

from test.lab.ec2api import capacity
from test.lab.ec2api.describe import pick
from test.lab.ec2api.errors import DRY_RUN, Refusal, invalid_value
from test.lab.ec2api.world import state_of

USER = ("Client.UserInitiatedShutdown", "Client.UserInitiatedShutdown: User initiated shutdown")
GUEST = ("Client.InstanceInitiatedShutdown", "Client.InstanceInitiatedShutdown: Instance initiated shutdown")
SPOT = ("Server.SpotInstanceTermination", "Server.SpotInstanceTermination: Spot instance termination")


def stamp():
    return time.strftime("(%Y-%m-%d %H:%M:%S GMT)", time.gmtime())


def _changes(pairs):
    return [{"InstanceId": each.id, "PreviousState": state_of(before), "CurrentState": state_of(each.state())} for each, before in pairs]


def end(ec2, instance, reason, words, then="terminated"):
    """Pulls the plug of one, or presses its power button: `then` is where it goes."""
    if instance.over or (then == "stopped" and instance.state() in ("stopping", "stopped")):
        return
    instance.state_reason = reason
    instance.reason = f"{words} {stamp()}"
    ec2.machines.power_off(instance, then)


def terminate(ec2, region, asked):
    found = pick(ec2, region, asked.get("InstanceIds", []))
    for each in found:
        if each.protected:
            raise Refusal(
                "OperationNotPermitted",
                f"The instance '{each.id}' may not be terminated. Modify its 'disableApiTermination' instance attribute and try again.",
            )
    if asked.get("DryRun"):
        raise DRY_RUN
    before = [(each, each.state()) for each in found]
    for each in found:
        end(ec2, each, USER, "User initiated")
    return {"TerminatingInstances": _changes(before)}


def stop(ec2, region, asked):
    found = pick(ec2, region, asked.get("InstanceIds", []))
    for each in found:
        if each.spot:
            raise Refusal(
                "UnsupportedOperation",
                "You can't stop the Spot Instance "
                f"'{each.id}' because it is associated with a one-time Spot Instance "
                "request. You can only stop Spot Instances associated with persistent "
                "Spot Instance requests.",
            )
        if each.state() in ("pending", "shutting-down", "terminated"):
            raise Refusal("IncorrectInstanceState", f"The instance '{each.id}' is not in a state from which it can be stopped.")
        if each.stop_protected:
            raise Refusal(
                "OperationNotPermitted",
                f"The instance '{each.id}' may not be stopped. Modify its 'disableApiStop' instance attribute and try again.",
            )
    if asked.get("DryRun"):
        raise DRY_RUN
    before = [(each, each.state()) for each in found]
    for each in found:
        if asked.get("Force"):
            ec2.machines.kill(each)
        end(ec2, each, USER, "User initiated", "stopped")
    return {"StoppingInstances": _changes(before)}


def start(ec2, region, asked):
    found = pick(ec2, region, asked.get("InstanceIds", []))
    for each in found:
        if each.spot:
            raise Refusal(
                "UnsupportedOperation",
                f"You can't start the Spot Instance '{each.id}' "
                "because the associated Spot Instance request is not an appropriate "
                "state to support start.",
            )
        if each.state() not in ("stopped", "running", "pending"):
            raise Refusal("IncorrectInstanceState", f"The instance '{each.id}' is not in a state from which it can be started.")
    if asked.get("DryRun"):
        raise DRY_RUN
    cold = [each for each in found if each.state() == "stopped"]
    for each in cold:
        plan = each.asked
        place = (region, plan["Zone"], plan["InstanceType"], each.market)
        if ec2.capacity.free(ec2.world, *place) < len(cold):
            raise capacity.no_room(plan["InstanceType"], each.market, plan["Zone"], [])
    before = [(each, each.state()) for each in found]
    for each in cold:
        each.launched = time.time()
        each.reason, each.state_reason = "", None
        each.move((0, "pending"))
        ec2.machines.launch(each)
    return {"StartingInstances": _changes(before)}


def reboot(ec2, region, asked):
    for each in pick(ec2, region, asked.get("InstanceIds", [])):
        if each.state() == "running":
            ec2.machines.reboot(each)
    return {}


def modify(ec2, region, asked):
    """ModifyInstanceAttribute, of what a stopped or running machine can change here."""
    each = pick(ec2, region, [asked.get("InstanceId", "")])[0]
    name, value = asked.get("Attribute"), asked.get("Value")
    if "InstanceInitiatedShutdownBehavior" in asked:
        name = "instanceInitiatedShutdownBehavior"
        value = asked["InstanceInitiatedShutdownBehavior"].get("Value")
    if "DisableApiTermination" in asked:
        each.protected = bool(asked["DisableApiTermination"].get("Value"))
    elif "DisableApiStop" in asked:
        each.stop_protected = bool(asked["DisableApiStop"].get("Value"))
    elif name == "instanceInitiatedShutdownBehavior" and value in ("stop", "terminate"):
        each.shutdown = value
    else:
        raise invalid_value(name, "attribute")
    return {}
