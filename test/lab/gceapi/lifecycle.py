# SPDX-License-Identifier: Apache-2.0
"""Stop, start, delete and reset; and the ends that come from outside: a preemption, a host's error,
a limit of time, a machine that goes off by itself."""

import time

from test.lab.gceapi import errors, views
from test.lab.gceapi.world import Operation, moment_of, seconds

SYSTEM = "system"


def find(api, params):
    """The instance that a request names. Raises Refusal."""
    found = api.world.living(params["project"], params["zone"], params["instance"])
    if found is None or found.born + api.settings.late > time.time():
        raise errors.not_found("projects/{project}/zones/{zone}/instances/{instance}".format(**params))
    return found


def operation_of(api, instance, kind, user):
    operation = Operation(instance.project, f"zones/{instance.zone}", kind, instance.link, user)
    operation.target_id = instance.id
    api.world.operations.append(operation)
    return operation


def stop(api, params, body, who):
    instance = find(api, params)
    operation = operation_of(api, instance, "stop", who.email)
    if instance.state() in ("TERMINATED", "STOPPING"):
        api.soon(api.world.end_operation, operation)
        return operation
    end(api, instance, "STOP", operation)
    return operation


def end(api, instance, action, operation, pull=False):
    """The way to off: to a machine that can start again (STOP) or to none (DELETE). `pull`: it is
    not asked. The operation ends with it."""
    if instance.state() == "STOPPING":
        instance.action = "DELETE" if action == "DELETE" else instance.action
        instance.waiting.append(operation)
        return
    instance.action = action
    instance.waiting = [operation]
    was = instance.state()

    def done():
        off(api, instance)

    if was == "TERMINATED":
        instance.move((0, "STOPPING"))
        api.clock.after(api.settings.stop_delay, done)
    elif pull:
        instance.move((0, "STOPPING"))
        api.machines.cut_off(instance, done)
    else:
        api.machines.power_off(instance, done)


def off(api, instance):
    """It has no power any more. Once for each end."""
    if instance.gone or instance.state() == "TERMINATED":
        return
    instance.stopped = time.time()
    if instance.action == "DELETE":
        remove(api, instance)
    else:
        instance.move((0, "TERMINATED"))
        if "maxRunDuration" in instance.scheduling:
            instance.ends = None  # its clock is cleared by a stop
        if instance.restarts:
            api.clock.after(api.settings.restart_delay, restart, api, instance)
    instance.restarts = False
    for each in instance.waiting:
        api.world.end_operation(each)
    instance.waiting = []


def remove(api, instance):
    instance.gone_at = time.time()
    instance.move((0, "TERMINATED"))
    for disk in [each for each in api.world.disks if each.instance is instance]:
        if disk.ends_with_it:
            api.world.disks.remove(disk)
    api.machines.forget(instance)


def start(api, params, body, who):
    instance = find(api, params)
    if instance.state() in ("STOPPING", "SUSPENDING"):
        raise errors.Refusal(400, f"The resource '{instance.link}' is not ready", "resourceNotReady")
    if "terminationTime" in instance.scheduling and instance.ends < time.time():
        raise errors.invalid("scheduling.terminationTime", instance.scheduling["terminationTime"], "The termination time is in the past.")
    operation = operation_of(api, instance, "start", who.email)
    api.clock.after(api.settings.operation_delay, started, api, instance, operation)
    return operation


def started(api, instance, operation):
    if instance.gone or instance.state() != "TERMINATED":
        api.world.end_operation(operation)
        return
    try:
        api.births.check(1)
        if api.capacity.free(api.world, instance.zone, instance.kind, instance.market) < 1:
            raise errors.no_room(instance.project, instance.zone, instance.kind, api.others(instance))
        api.capacity.check_quota(api.world, [instance])
    except errors.Failed as failed:
        api.world.end_operation(operation, failed)
        return
    run(api, instance)
    api.world.end_operation(operation)


def run(api, instance):
    """Power on, with its limits of time."""
    instance.started = time.time()
    instance.preempted = False
    instance.maintenance = "NONE"
    api.machines.boot(instance)
    told = instance.scheduling
    if "maxRunDuration" in told:
        instance.ends = time.time() + seconds(told["maxRunDuration"])
    elif "terminationTime" in told:
        instance.ends = moment_of(told["terminationTime"])
    if instance.ends:
        api.clock.after(instance.ends - time.time(), limit, api, instance, instance.ends)


def limit(api, instance, moment):
    if instance.gone or instance.ends != moment or not alive(instance):
        return
    action = instance.scheduling["instanceTerminationAction"]
    operation = operation_of(api, instance, "compute.instances.terminateOnSchedule", SYSTEM)
    operation.words = "Instance reached its limit of time."
    end(api, instance, action, operation)


def alive(instance):
    return instance.state() in ("PROVISIONING", "STAGING", "RUNNING")


def delete(api, params, body, who):
    instance = find(api, params)
    if instance.body.get("deletionProtection"):
        raise errors.Refusal(
            400,
            f"Invalid resource usage: 'Resource cannot be deleted if it's protected against deletion. {instance.link}'.",
            "invalidResourceUsage",
        )
    operation = operation_of(api, instance, "delete", who.email)
    end(api, instance, "DELETE", operation)
    return operation


def reset(api, params, body, who):
    instance = find(api, params)
    operation = operation_of(api, instance, "reset", who.email)
    if instance.state() == "RUNNING":
        api.machines.reboot(instance)
    api.soon(api.world.end_operation, operation)
    return operation


def preempt(api, instance, lead=None):
    """The market takes a spot machine back. `lead`: 0 takes its power at once; else the seconds
    that it is told before the power button; None: those of its own scheduling."""
    if instance.gone or not alive(instance) or instance.preempted:
        return
    instance.preempted = True
    if lead == 0:
        taken(api, instance, True)
        return
    wait = views.notice_of(instance) if lead is None else lead
    if wait > 0:
        api.clock.after(wait, taken, api, instance, False)
    else:
        taken(api, instance, False)


def taken(api, instance, pull):
    if instance.gone or not alive(instance):
        return
    operation = operation_of(api, instance, "compute.instances.preempted", SYSTEM)
    operation.words = "Instance was preempted."
    action = instance.scheduling.get("instanceTerminationAction", "STOP")
    end(api, instance, action, operation, pull)


def host_error(api, instance):
    """Its host dies: started again elsewhere where it says so, else it stays stopped."""
    if instance.gone or not alive(instance):
        return
    operation = operation_of(api, instance, "compute.instances.hostError", SYSTEM)
    operation.words = "Instance terminated by Compute Engine due to a host error."
    instance.restarts = instance.scheduling["automaticRestart"]
    end(api, instance, "STOP", operation, pull=True)


def restart(api, instance):
    if instance.gone or instance.state() != "TERMINATED":
        return
    operation = operation_of(api, instance, "compute.instances.automaticRestart", SYSTEM)
    run(api, instance)
    api.world.end_operation(operation)


def guest_off(api, instance):
    """It has gone off by itself: nobody had asked for it."""
    if instance.gone or instance.state() in ("TERMINATED", "STOPPING"):
        return
    operation = operation_of(api, instance, "compute.instances.guestTerminate", SYSTEM)
    operation.words = "Instance terminated by guest OS shutdown."
    instance.action, instance.waiting = "STOP", [operation]
    instance.move((0, "STOPPING"))
    off(api, instance)


SOMEBODY = type("Somebody", (), {"email": "somebody@example.org"})


def by_hand(api, call, instance):
    """stop, start or delete, as a user of the project does it."""
    where = {"project": instance.project, "zone": instance.zone, "instance": instance.name}
    with api.world.lock:
        call(api, where, None, SOMEBODY)
