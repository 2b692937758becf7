# SPDX-License-Identifier: Apache-2.0
"""What the metadata server knows of a machine, as a tree of folders: dictionaries and lists, with
texts in them. ("Predefined metadata keys" of Compute Engine.)"""

from test.lab.gceapi.world import number_of


class Json(str):
    """A text that is JSON itself."""


def tree(instance, attributes, token):
    """`attributes`: of the project; `token(email)`: gives a text of JSON. All names are as in
    paths."""
    return {
        "instance": _instance(instance, token),
        "project": {
            "attributes": {each["key"]: each.get("value", "") for each in attributes},
            "numeric-project-id": number_of(instance.project),
            "project-id": instance.project,
        },
    }


def _instance(each, token):
    project = number_of(each.project)
    told = each.scheduling
    return {
        "attributes": {item["key"]: item.get("value", "") for item in each.metadata},
        "cpu-platform": "AMD Rome",
        "description": each.body.get("description", ""),
        "disks": [_disk(each, number) for number in range(len(each.body["disks"]))],
        "hostname": host_name(each),
        "id": each.id,
        "image": each.plan["image"]["link"],
        "licenses": [{"id": "2147286739765738111"}],
        "machine-type": f"projects/{project}/machineTypes/{each.kind}",
        "maintenance-event": each.maintenance,
        "name": each.name,
        "network-interfaces": [_card(each)],
        "preempted": "TRUE" if each.preempted else "FALSE",
        "remaining-cpu-time": "-1",
        "scheduling": {
            "automatic-restart": str(told["automaticRestart"]).upper(),
            "on-host-maintenance": told["onHostMaintenance"],
            "preemptible": str(each.spot).upper(),
        },
        "service-accounts": _accounts(each, token),
        "tags": Json(_list(each.body.get("tags", {}).get("items", []))),
        "virtual-clock": {"drift-token": "0"},
        "zone": f"projects/{project}/zones/{each.zone}",
    }


def host_name(each):
    return each.body.get("hostname") or f"{each.name}.{each.zone}.c.{each.project}.internal"


def _disk(each, number):
    disk = each.body["disks"][number]
    return {
        "device-name": disk.get("deviceName", f"persistent-disk-{number}"),
        "index": str(number),
        "interface": "SCSI",
        "mode": "READ_WRITE",
        "type": "PERSISTENT-BALANCED",
    }


def _card(each):
    open_to = each.body["networkInterfaces"][0].get("accessConfigs")
    outside = "203.0.113." + each.address.rsplit(".", 1)[1]
    return {
        "access-configs": [{"external-ip": outside, "type": "ONE_TO_ONE_NAT"}] if open_to else [],
        "dns-servers": ["169.254.169.254"],
        "forwarded-ips": [],
        "gateway": "10.128.0.1",
        "ip": each.address,
        "ip-aliases": [],
        "mac": each.mac,
        "mtu": "1460",
        "network": f"projects/{number_of(each.project)}/networks/" + each.plan["network"].rsplit("/", 1)[-1],
        "subnetmask": "255.255.240.0",
        "target-instance-ips": [],
    }


def _accounts(each, token):
    accounts = each.body.get("serviceAccounts")
    if not accounts:
        return {}
    email, scopes = accounts[0]["email"], accounts[0]["scopes"]
    told = {"aliases": ["default"], "email": email, "scopes": [*scopes], "token": lambda: Json(token(email, scopes))}
    return {"default": told, email: told}


def _list(items):
    return "[" + ",".join(f'"{each}"' for each in items) + "]"
