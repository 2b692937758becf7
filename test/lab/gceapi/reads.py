# SPDX-License-Identifier: Apache-2.0
"""What is asked without changing anything; and disks and firewalls, of which there is little."""

from test.lab.gceapi import catalogue, checks, errors, views
from test.lab.gceapi.lists import aggregated, by_zone, listed, seen, zone_of
from test.lab.gceapi.world import Operation, fingerprint, number_of


def _base(params):
    """The link of the place that a request names."""
    for kind in ("zone", "region"):
        if kind in params:
            return f"projects/{params['project']}/{kind}s/{params[kind]}"
    return f"projects/{params['project']}/global"


def view_operation(each):
    return views.operation(each)


def instance(api, params, query):
    api.check_zone(params["project"], params["zone"])
    for told in seen(api, params["project"], params["zone"]):
        if params["instance"] in (told["name"], told["id"]):
            return told
    raise errors.not_found(f"{_base(params)}/instances/{params['instance']}")


def instances(api, params, query):
    api.check_zone(params["project"], params["zone"])
    told = seen(api, params["project"], params["zone"])
    return listed("instance", told, query, f"{_base(params)}/instances")


def all_instances(api, params, query):
    told = by_zone(seen(api, params["project"]), zone_of)
    link = f"projects/{params['project']}/aggregated/instances"
    return aggregated(api, "instance", "instances", told, query, link)


def guest_attributes(api, params, query):
    """Source: "Set and query guest attributes" (Compute Engine documentation)."""
    link = f"{_base(params)}/instances/{params['instance']}"
    found = api.world.living(params["project"], params["zone"], params["instance"])
    path = query.get("queryPath", "")
    asked, _, key = path.strip("/").partition("/")
    told = [
        {"namespace": each[0], "key": each[1], "value": value}
        for each, value in (found.guest_attributes if found else {}).items()
        if each[0] == asked and key in ("", each[1])
    ]
    if not told:
        raise errors.not_found(f"{link}/getGuestAttributes")
    return {"kind": "compute#guestAttributes", "queryPath": path, "queryValue": {"items": told}}


def serial_port(api, params, query):
    found = api.world.living(params["project"], params["zone"], params["instance"])
    if found is None:
        raise errors.not_found(f"{_base(params)}/instances/{params['instance']}")
    start = query.get("start", 0)
    text = api.machines.console(found).decode(errors="replace")
    return {
        "kind": "compute#serialPortOutput",
        "contents": text[start:],
        "start": str(start),
        "next": str(len(text)),
        "selfLink": views.url(f"{found.link}/serialPort"),
    }


def _operations(api, params):
    scope = _base(params).split("/", 2)[2]
    return [each for each in api.world.operations if each.project == params["project"] and each.scope == scope]


def _operation(api, params):
    for each in _operations(api, params):
        if params["operation"] in (each.name, each.id):
            return each
    raise errors.not_found(f"{_base(params)}/operations/{params['operation']}")


def operation(api, params, query):
    return views.operation(_operation(api, params))


def operations(api, params, query):
    told = [views.operation(each) for each in _operations(api, params)]
    return listed("operation", told, query, f"{_base(params)}/operations")


def all_operations(api, params, query):
    found = {f"zones/{zone}": [] for zone in catalogue.zones()}
    found.update({f"regions/{region}": [] for region in catalogue.ZONES}, **{"global": []})
    for each in api.world.operations:
        if each.project == params["project"]:
            found[each.scope].append(views.operation(each))
    link = f"projects/{params['project']}/aggregated/operations"
    return aggregated(api, "operation", "operations", found, query, link)


def wait(api, params, query):
    found = _operation(api, params)
    api.wait(found)
    return views.operation(found)


def _resource(kind, told):
    """A thing of the catalogue, as it is told."""
    return views.resource(kind, {k: v for k, v in told.items() if k != "link"}, told["link"])


def _of_catalogue(kind, find, params, name):
    found = find(params["project"], params["zone"], name)
    if found is None:
        raise errors.not_found(f"{_base(params)}/{kind}s/{name}")
    return _resource(kind, found)


def _all_of(kind, find, names, project, zone):
    found = [find(project, zone, name) for name in names]
    return [_resource(kind, each) for each in found if each]


def machine_type(api, params, query):
    api.check_zone(params["project"], params["zone"])
    return _of_catalogue("machineType", catalogue.machine_type, params, params["machineType"])


def machine_types(api, params, query):
    api.check_zone(params["project"], params["zone"])
    told = _all_of("machineType", catalogue.machine_type, catalogue.TYPES, params["project"], params["zone"])
    return listed("machineType", told, query, f"{_base(params)}/machineTypes")


def all_machine_types(api, params, query):
    told = {
        f"zones/{zone}": _all_of("machineType", catalogue.machine_type, catalogue.TYPES, params["project"], zone)
        for zone in catalogue.zones()
    }
    link = f"projects/{params['project']}/aggregated/machineTypes"
    return aggregated(api, "machineType", "machineTypes", told, query, link)


def accelerator(api, params, query):
    api.check_zone(params["project"], params["zone"])
    return _of_catalogue("acceleratorType", catalogue.accelerator, params, params["acceleratorType"])


def accelerators(api, params, query):
    api.check_zone(params["project"], params["zone"])
    told = _all_of("acceleratorType", catalogue.accelerator, catalogue.ACCELERATORS, params["project"], params["zone"])
    return listed("acceleratorType", told, query, f"{_base(params)}/acceleratorTypes")


def all_accelerators(api, params, query):
    told = {
        f"zones/{zone}": _all_of("acceleratorType", catalogue.accelerator, catalogue.ACCELERATORS, params["project"], zone)
        for zone in catalogue.zones()
    }
    link = f"projects/{params['project']}/aggregated/acceleratorTypes"
    return aggregated(api, "acceleratorType", "acceleratorTypes", told, query, link)


def image(api, params, query):
    found = api.image(params["project"], params["image"])
    if found is None:
        raise errors.not_found(f"{_base(params)}/images/{params['image']}")
    return _resource("image", found)


def image_of_family(api, params, query):
    found = api.image(params["project"], params["family"], True)
    if found is None:
        raise errors.not_found(f"{_base(params)}/images/family/{params['family']}")
    return _resource("image", found)


def images(api, params, query):
    found = catalogue.images(params["project"], api.own_images)
    told = [_resource("image", each) for each in found]
    return listed("image", told, query, f"{_base(params)}/images")


def zone(api, params, query):
    api.check_zone(params["project"], params["zone"])
    return views.zone(params["project"], params["zone"])


def zones(api, params, query):
    told = [views.zone(params["project"], each) for each in catalogue.zones()]
    return listed("zone", told, query, f"projects/{params['project']}/zones")


def _region(api, project, name):
    links = [views.url(f"projects/{project}/zones/{each}") for each in catalogue.zones_of(name)]
    told = {"name": name, "description": name, "status": "UP", "zones": links, "quotas": api.capacity.told(api.world, name)}
    return views.resource("region", told, f"projects/{project}/regions/{name}")


def region(api, params, query):
    if params["region"] not in catalogue.ZONES:
        raise errors.not_found(_base(params))
    return _region(api, params["project"], params["region"])


def regions(api, params, query):
    told = [_region(api, params["project"], each) for each in catalogue.ZONES]
    return listed("region", told, query, f"projects/{params['project']}/regions")


def project(api, params, query):
    name = params["project"]
    told = {
        "kind": "compute#project",
        "id": number_of(name),
        "name": name,
        "creationTimestamp": "2024-01-01T00:00:00.000-08:00",
        "selfLink": views.url(f"projects/{name}"),
        "commonInstanceMetadata": {
            "kind": "compute#metadata",
            "fingerprint": fingerprint(api.project_metadata),
            "items": api.project_metadata,
        },
        "quotas": [
            {"metric": "CPUS_ALL_REGIONS", "limit": 2400.0, "usage": 0.0},
            {"metric": "GPUS_ALL_REGIONS", "limit": 64.0, "usage": 0.0},
        ],
        "defaultServiceAccount": api.default_account(name),
        "xpnProjectStatus": "UNSPECIFIED_XPN_PROJECT_STATUS",
        "defaultNetworkTier": "PREMIUM",
    }
    return told


def _network(project, name, subnetworks):
    told = {"name": name, "autoCreateSubnetworks": subnetworks.get(name) == name, "routingConfig": {"routingMode": "REGIONAL"}, "mtu": 1460}
    told["subnetworks"] = [
        views.url(f"projects/{project}/regions/{region}/subnetworks/{each}")
        for each, of in subnetworks.items()
        if of == name
        for region in catalogue.ZONES
    ]
    return views.resource("network", told, f"projects/{project}/global/networks/{name}")


def network(api, params, query):
    if params["network"] not in api.networks:
        raise errors.not_found(f"{_base(params)}/networks/{params['network']}")
    return _network(params["project"], params["network"], api.subnetworks)


def networks(api, params, query):
    told = [_network(params["project"], each, api.subnetworks) for each in api.networks]
    return listed("network", told, query, f"{_base(params)}/networks")


def insert_network(api, params, body, who):
    """With a subnetwork in each region, as all of the lab's are."""
    link = f"{_base(params)}/networks/{body['name']}"
    if body["name"] in api.networks:
        raise errors.exists(link)
    if not body.get("autoCreateSubnetworks"):
        raise errors.Refusal(501, "The lab has no networks of other modes.", "notImplemented")
    api.networks.add(body["name"])
    api.subnetworks[body["name"]] = body["name"]
    return _done(api, params, "insert", link, who)


def _subnetwork(api, params, name, of):
    project, region_name = params["project"], params["region"]
    place = list(catalogue.ZONES).index(region_name)
    told = {
        "name": name,
        "network": views.url(f"projects/{project}/global/networks/{of}"),
        "ipCidrRange": f"10.{128 + 2 * place}.0.0/20",
        "gatewayAddress": f"10.{128 + 2 * place}.0.1",
        "region": views.url(_base(params)),
        "privateIpGoogleAccess": api.settings.private_access,
        "purpose": "PRIVATE",
        "stackType": "IPV4_ONLY",
        "fingerprint": fingerprint(name),
    }
    return views.resource("subnetwork", told, f"{_base(params)}/subnetworks/{name}")


def subnetwork(api, params, query):
    of = api.subnetworks.get(params["subnetwork"])
    if of is None or params["region"] not in catalogue.ZONES:
        raise errors.not_found(f"{_base(params)}/subnetworks/{params['subnetwork']}")
    return _subnetwork(api, params, params["subnetwork"], of)


def subnetworks(api, params, query):
    if params["region"] not in catalogue.ZONES:
        raise errors.not_found(_base(params))
    told = [_subnetwork(api, params, name, of) for name, of in api.subnetworks.items()]
    return listed("subnetwork", told, query, f"{_base(params)}/subnetworks")


def _disks(api, params):
    return [each for each in api.world.disks if each.project == params["project"] and params.get("zone") in (None, each.zone)]


def disk(api, params, query):
    for each in _disks(api, params):
        if each.name == params["disk"]:
            return views.disk(each)
    raise errors.not_found(f"{_base(params)}/disks/{params['disk']}")


def disks(api, params, query):
    told = [views.disk(each) for each in _disks(api, params)]
    return listed("disk", told, query, f"{_base(params)}/disks")


def all_disks(api, params, query):
    told = by_zone([views.disk(each) for each in _disks(api, params)], zone_of)
    link = f"projects/{params['project']}/aggregated/disks"
    return aggregated(api, "disk", "disks", told, query, link)


def _done(api, params, kind, link, who):
    """An operation of something that takes no time."""
    scope = _base(params).split("/", 2)[2]
    made = Operation(params["project"], scope, kind, link, who.email)
    api.world.operations.append(made)
    api.soon(api.world.end_operation, made)
    return made


def delete_disk(api, params, body, who):
    for each in _disks(api, params):
        if each.name == params["disk"]:
            if not each.instance.gone:
                raise errors.Refusal(
                    400,
                    f"The disk resource '{each.link}' is already being used by '{each.instance.link}'",
                    "resourceInUseByAnotherResource",
                )
            api.world.disks.remove(each)
            return _done(api, params, "delete", each.link, who)
    raise errors.not_found(f"{_base(params)}/disks/{params['disk']}")


def _firewall(params, name, told):
    more = {"network": views.url(f"{_base(params)}/networks/default"), "priority": 1000, "direction": "INGRESS", "disabled": False, **told}
    return views.resource("firewall", more, f"{_base(params)}/firewalls/{name}")


def firewall(api, params, query):
    if params["firewall"] not in api.firewalls:
        raise errors.not_found(f"{_base(params)}/firewalls/{params['firewall']}")
    return _firewall(params, params["firewall"], api.firewalls[params["firewall"]])


def firewalls(api, params, query):
    told = [_firewall(params, name, each) for name, each in api.firewalls.items()]
    return listed("firewall", told, query, f"{_base(params)}/firewalls")


def insert_firewall(api, params, body, who):
    checks.check_name("resource.name", body.get("name"))
    link = f"{_base(params)}/firewalls/{body['name']}"
    if body["name"] in api.firewalls:
        raise errors.exists(link)
    api.firewalls[body["name"]] = body
    return _done(api, params, "insert", link, who)


def delete_firewall(api, params, body, who):
    link = f"{_base(params)}/firewalls/{params['firewall']}"
    if api.firewalls.pop(params["firewall"], None) is None:
        raise errors.not_found(link)
    return _done(api, params, "delete", link, who)
