# SPDX-License-Identifier: Apache-2.0
"""Resources as the API tells them, in the words of the discovery document."""

from test.lab.gceapi.world import fingerprint, number_of, seconds, stamp

ROOT = "https://www.googleapis.com/compute/v1/"


def url(link):
    return ROOT + link


def instance(each, at):
    """As it was seen at that time."""
    body = each.body
    told = {
        "kind": "compute#instance",
        "id": each.id,
        "creationTimestamp": stamp(each.born),
        "name": each.name,
        "tags": tags(body),
        "machineType": url(f"projects/{each.project}/zones/{each.zone}/machineTypes/{each.kind}"),
        "status": each.state(at),
        "zone": url(f"projects/{each.project}/zones/{each.zone}"),
        "canIpForward": body.get("canIpForward", False),
        "networkInterfaces": [card(each)],
        "disks": [attached(each, number, disk) for number, disk in enumerate(body["disks"])],
        "metadata": {"kind": "compute#metadata", "fingerprint": fingerprint(each.metadata), "items": each.metadata},
        "selfLink": url(each.link),
        "scheduling": each.scheduling,
        "cpuPlatform": "Unknown CPU Platform" if each.state(at) == "TERMINATED" else "AMD Rome",
        "labelFingerprint": fingerprint(each.labels),
        "startRestricted": False,
        "deletionProtection": body.get("deletionProtection", False),
        "fingerprint": fingerprint([each.name, each.labels, each.metadata]),
        "resourceStatus": status(each),
    }
    if each.labels:
        told["labels"] = each.labels
    for name in (
        "description",
        "hostname",
        "minCpuPlatform",
        "guestAccelerators",
        "reservationAffinity",
        "resourcePolicies",
        "shieldedInstanceConfig",
    ):
        if name in body:
            told[name] = body[name]
    if body.get("serviceAccounts"):
        told["serviceAccounts"] = body["serviceAccounts"]
    if each.started:
        told["lastStartTimestamp"] = stamp(each.started)
    if each.stopped:
        told["lastStopTimestamp"] = stamp(each.stopped)
    return told


def status(each):
    told = {}
    if each.ends:
        told["scheduling"] = {"terminationTimestamp": stamp(each.ends)}
    if each.upcoming:
        told["upcomingMaintenance"] = each.upcoming
    return told


def tags(body):
    items = body.get("tags", {}).get("items", [])
    told = {"fingerprint": fingerprint(items)}
    return {**told, "items": items} if items else told


def card(each):
    asked = each.body["networkInterfaces"][0]
    told = {
        "kind": "compute#networkInterface",
        "name": "nic0",
        "network": url(each.plan["network"]),
        "subnetwork": url(each.plan["subnetwork"]),
        "networkIP": each.address,
        "fingerprint": fingerprint(each.address),
        "stackType": "IPV4_ONLY",
    }
    if asked.get("accessConfigs"):
        told["accessConfigs"] = [
            {"kind": "compute#accessConfig", "type": "ONE_TO_ONE_NAT", "name": "External NAT", "networkTier": "PREMIUM"}
        ]
        if each.state() == "RUNNING":
            told["accessConfigs"][0]["natIP"] = "203.0.113." + each.address.rsplit(".", 1)[1]
    return told


def attached(each, number, disk):
    name = each.plan["disks"][number]
    return {
        "kind": "compute#attachedDisk",
        "type": "PERSISTENT",
        "mode": "READ_WRITE",
        "source": url(f"projects/{each.project}/zones/{each.zone}/disks/{name}"),
        "deviceName": disk.get("deviceName", f"persistent-disk-{number}"),
        "index": number,
        "boot": number == 0,
        "autoDelete": disk.get("autoDelete", False),
        "interface": "SCSI",
        "diskSizeGb": str(disk_size(each.plan, disk)),
    }


def disk_size(plan, disk):
    return disk.get("initializeParams", {}).get("diskSizeGb") or plan["image"]["diskSizeGb"]


def disk(each):
    told = {
        "kind": "compute#disk",
        "id": each.id,
        "creationTimestamp": stamp(each.born),
        "name": each.name,
        "sizeGb": str(disk_size(each.instance.plan, each.told)),
        "zone": url(f"projects/{each.project}/zones/{each.zone}"),
        "status": "READY",
        "selfLink": url(each.link),
        "sourceImage": url(each.instance.plan["image"]["link"]),
        "type": url(f"projects/{each.project}/zones/{each.zone}/diskTypes/{disk_type(each)}"),
        "labelFingerprint": fingerprint(each.labels),
        "users": [] if each.instance.gone else [url(each.instance.link)],
    }
    return {**told, "labels": each.labels} if each.labels else told


def disk_type(each):
    asked = each.told.get("initializeParams", {}).get("diskType", "pd-standard")
    return asked.rsplit("/", 1)[-1]


def operation(each):
    told = {
        "kind": "compute#operation",
        "id": each.id,
        "name": each.name,
        "operationType": each.kind,
        "user": each.user,
        "status": each.status,
        "progress": 100 if each.status == "DONE" else 0,
        "insertTime": stamp(each.born),
        "startTime": stamp(each.born),
        "selfLink": url(each.link),
    }
    if each.target:
        told["targetLink"] = url(each.target)
    if each.target_id:
        told["targetId"] = each.target_id
    kind, _, place = each.scope.partition("/")
    if place:
        told[kind[:-1]] = url(f"projects/{each.project}/{each.scope}")
    if each.request_id:
        told["clientOperationId"] = each.request_id
    if each.group:
        told["operationGroupId"] = each.group
    if each.words:
        told["statusMessage"] = each.words
    if each.bulk is not None:
        told["instancesBulkInsertOperationMetadata"] = {"perLocationStatus": each.bulk}
    if each.ended:
        told["endTime"] = stamp(each.ended)
    if each.failed:
        told["error"] = {"errors": each.failed.errors}
        told["httpErrorStatusCode"] = each.failed.status
        told["httpErrorMessage"] = each.failed.message
    return told


def notice_of(each):
    """Seconds between the notice and the power button."""
    return seconds(each.scheduling.get("preemptionNoticeDuration", {}))


def zone(project, name):
    region = name.rsplit("-", 1)[0]
    return {
        "kind": "compute#zone",
        "id": number_of(name),
        "name": name,
        "description": name,
        "status": "UP",
        "region": url(f"projects/{project}/regions/{region}"),
        "selfLink": url(f"projects/{project}/zones/{name}"),
        "creationTimestamp": "1969-12-31T16:00:00.000-08:00",
    }


def resource(kind, told, link):
    """Of what never changes: `told` with what all resources have."""
    return {
        "kind": f"compute#{kind}",
        "id": number_of(link),
        "creationTimestamp": "2024-01-01T00:00:00.000-08:00",
        **told,
        "selfLink": url(link),
    }
