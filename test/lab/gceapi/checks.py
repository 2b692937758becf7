# SPDX-License-Identifier: Apache-2.0
"""What an insert refuses at once, before there is an operation. complete() gives the request as it
will be carried out, and what it means."""

import re
import time

from test.lab.gceapi import catalogue
from test.lab.gceapi.errors import Refusal, invalid, not_found
from test.lab.gceapi.world import moment_of, seconds

NAME = re.compile(r"[a-z]([-a-z0-9]{0,61}[a-z0-9])?")
LABEL_KEY = re.compile(r"[a-z][a-z0-9_-]{0,62}")
LABEL_VALUE = re.compile(r"[a-z0-9_-]{0,63}")
METADATA_KEY = re.compile(r"[a-zA-Z0-9_-]{1,128}")
MAX_VALUE = 256 * 1024
MAX_METADATA = 512 * 1024
MAX_LABELS = 64
MATCH = "Must be a match of regex"


def _last(link):
    return link.rstrip("/").rsplit("/", 1)[-1]


def check_name(field, name):
    if not NAME.fullmatch(name or ""):
        raise invalid(field, name, f"{MATCH} '(?:[a-z](?:[-a-z0-9]{{0,61}}[a-z0-9])?)'")


def check_labels(field, labels):
    if len(labels) > MAX_LABELS:
        raise invalid(field, len(labels), f"At most {MAX_LABELS} labels.")
    for key, value in labels.items():
        if not LABEL_KEY.fullmatch(key):
            raise invalid(
                f"{field}.key",
                key,
                "Label keys begin with a lower-case letter, have lower-case letters, digits, _ and -, and at most 63 characters.",
            )
        if not LABEL_VALUE.fullmatch(value):
            raise invalid(f"{field}.value", value, "Label values have lower-case letters, digits, _ and -, and at most 63 characters.")


def check_metadata(field, metadata):
    items = metadata.get("items", [])
    for each in items:
        if not METADATA_KEY.fullmatch(each.get("key", "")):
            raise invalid(f"{field}.items[].key", each.get("key", ""), f"{MATCH} '[a-zA-Z0-9-_]{{1,128}}'")
        if len(each.get("value", "").encode()) > MAX_VALUE:
            raise invalid(f"{field}.items[].value", each["key"], f"Value is too long: at most {MAX_VALUE} characters.")
    if len({each["key"] for each in items}) < len(items):
        raise invalid(field, "", "Metadata has duplicate keys.")
    if sum(len(each["key"]) + len(each.get("value", "")) for each in items) > MAX_METADATA:
        raise invalid(field, "", f"Metadata is too large: at most {MAX_METADATA} bytes in all.")


def complete(api, project, zone, given, field="resource"):
    """(body, plan) of one machine; `zone` may be None: then the zones where it can be are in the
    plan. Raises Refusal."""
    body = {name: value for name, value in given.items() if name not in ("zone", "kind")}
    region = catalogue.region_of(zone) if zone else None
    plan = {"accelerators": {}}
    machine_type(api, project, zone, body, plan, field)
    accelerators(zone, body, plan, field)
    disks(api, body, plan, field)
    network(api, project, region, body, plan, field)
    check_labels(f"{field}.labels", body.get("labels", {}))
    check_metadata(f"{field}.metadata", body.get("metadata", {}))
    for tag in body.get("tags", {}).get("items", []):
        check_name(f"{field}.tags.items[]", tag)
    accounts(api, project, body, field)
    body["scheduling"] = scheduling(api, body.get("scheduling", {}), plan, field)
    api.place(project, zone, body, plan, field)
    return body, plan


def machine_type(api, project, zone, body, plan, field):
    asked = body.get("machineType", "")
    if not asked:
        raise invalid(f"{field}.machineType", "", "The field is required.")
    kind = _last(asked)
    there = re.search(r"zones/([^/]+)/machineTypes/", asked)
    if there and zone and there[1] != zone:
        raise invalid(f"{field}.machineType", asked, f"The machine type is of zone {there[1]}, not of {zone}.")
    places = [zone] if zone else catalogue.zones()
    found = [catalogue.machine_type(project, each, kind) for each in places]
    found = [each for each in found if each]
    if not found:
        if zone:
            raise invalid(
                f"{field}.machineType",
                asked,
                "The referenced resource does not exist."
                if kind not in catalogue.TYPES
                else f"Machine type with name '{kind}' does not exist in zone '{zone}'.",
            )
        raise invalid(f"{field}.machineType", asked, "The referenced resource does not exist.")
    plan["type"] = found[0]
    plan["accelerators"].update(catalogue.TYPES[kind][2])


def accelerators(zone, body, plan, field):
    family = catalogue.family_of(plan["type"]["name"])
    for each in body.get("guestAccelerators", []):
        name, count = _last(each.get("acceleratorType", "")), each.get("acceleratorCount", 0)
        where = f"{field}.guestAccelerators[0].acceleratorType"
        if zone and catalogue.accelerator("", zone, name) is None:
            raise invalid(where, name, f"The accelerator type does not exist in zone '{zone}'.")
        if name not in catalogue.ACCELERATORS or not count:
            raise invalid(where, name, "The referenced resource does not exist.")
        if plan["accelerators"].get(name) == count:
            continue  # what the type brings, said once more
        if family != catalogue.ATTACHED_TO:
            raise Refusal(400, f"[{plan['type']['name']}, {name}] features are not compatible for creating instance.", "badRequest")
        if count > catalogue.ACCELERATORS[name][1] or count & (count - 1):
            raise invalid(f"{field}.guestAccelerators[0].acceleratorCount", count)
        plan["accelerators"][name] = count


def disks(api, body, plan, field):
    listed = body.get("disks", [])
    if not listed or not listed[0].get("boot"):
        raise invalid(f"{field}.disks", "", "At least one boot disk is required.")
    for number, each in enumerate(listed):
        asked = each.get("initializeParams", {}).get("sourceImage", "")
        if number == 0:
            where = f"{field}.disks[0].initializeParams.sourceImage"
            plan["image"] = image(api, asked, where)
            smallest = int(plan["image"]["diskSizeGb"])
            if int(each["initializeParams"].get("diskSizeGb", smallest)) < smallest:
                raise invalid(
                    f"{field}.disks[0].initializeParams.diskSizeGb",
                    each["initializeParams"]["diskSizeGb"],
                    f"Disk size is smaller than that of the source image ({smallest} GB).",
                )
    if plan["image"]["architecture"] != plan["type"]["architecture"]:
        raise Refusal(
            400,
            f"Requested boot disk architecture ({plan['image']['architecture']}) is "
            f"not compatible with machine type architecture "
            f"({plan['type']['architecture']}).",
            "badRequest",
        )


def image(api, asked, field):
    found = re.fullmatch(r"(?:https?://[^/]+/compute/v1/)?projects/([^/]+)/global/images/(family/)?([^/]+)", asked)
    if not found:
        raise invalid(field, asked, "The URL is malformed.")
    project, family, name = found.groups()
    told = api.image(project, name, bool(family))
    if told is None:
        link = f"projects/{project}/global/images/{family or ''}{name}"
        raise not_found(link)
    return told


def network(api, project, region, body, plan, field):
    cards = body.get("networkInterfaces") or [{}]
    body["networkInterfaces"] = cards
    asked = cards[0]
    link = asked.get("network") or ("" if asked.get("subnetwork") else "global/networks/default")
    name = _last(link) if link else None
    subnet = asked.get("subnetwork")
    if subnet:
        place = re.search(r"regions/([^/]+)/subnetworks/", subnet)
        if place and region and place[1] != region:
            raise invalid(f"{field}.networkInterfaces[0].subnetwork", subnet, "Subnetwork and instance must be in the same region.")
        found = api.subnetworks.get(_last(subnet))
        if found is None:
            raise not_found(f"projects/{project}/regions/{region}/subnetworks/{_last(subnet)}")
        name = name or found
    if name not in api.networks:
        raise not_found(f"projects/{project}/global/networks/{name}")
    plan["network"] = f"projects/{project}/global/networks/{name}"
    plan["subnetwork"] = f"projects/{project}/regions/{region}/subnetworks/{_last(subnet or name)}"


def accounts(api, project, body, field):
    for each in body.get("serviceAccounts", []):
        email = each.get("email", "default")
        if email == "default":
            each["email"] = email = api.default_account(project)
        if email not in api.identity.accounts:
            raise invalid(f"{field}.serviceAccounts[0].email", email, "The specified service account does not exist.")
        if not each.get("scopes"):
            raise invalid(f"{field}.serviceAccounts[0].scopes", "", "At least one is required.")
    if len(body.get("serviceAccounts", [])) > 1:
        raise invalid(f"{field}.serviceAccounts", "", "At most one service account.")


def scheduling(api, given, plan, field):
    told = dict(given)
    where = f"{field}.scheduling"
    spot = told.get("provisioningModel") == "SPOT" or told.get("preemptible", False)
    told.setdefault("provisioningModel", "SPOT" if spot else "STANDARD")
    if spot and told.get("automaticRestart"):
        raise invalid(f"{where}.automaticRestart", "true", "Scheduling options are incompatible with Spot: no automatic restart.")
    told.setdefault("automaticRestart", not spot)
    if (spot or plan["accelerators"]) and told.get("onHostMaintenance") == "MIGRATE":
        raise Refusal(
            400,
            "Instances with guest accelerators do not support live migration."
            if plan["accelerators"]
            else "Spot instances cannot be migrated on host maintenance.",
            "badRequest",
        )
    if plan["accelerators"] and "onHostMaintenance" not in told and not spot:
        raise Refusal(400, "Instances with guest accelerators do not support live migration.", "badRequest")
    told.setdefault("onHostMaintenance", "TERMINATE" if spot else "MIGRATE")
    told["preemptible"] = spot
    limited = [name for name in ("maxRunDuration", "terminationTime") if name in told]
    if len(limited) > 1:
        raise invalid(where, "", "maxRunDuration and terminationTime are mutually exclusive.")
    if "instanceTerminationAction" in told and not limited and not spot:
        raise invalid(
            f"{where}.instanceTerminationAction",
            told["instanceTerminationAction"],
            "It needs the provisioning model SPOT or a limit of time.",
        )
    if limited and "instanceTerminationAction" not in told:
        raise invalid(f"{where}.instanceTerminationAction", "", f"The field is required with {limited[0]}.")
    if "terminationTime" in told:
        check_end(told["terminationTime"], f"{where}.terminationTime")
    if "maxRunDuration" in told and not 30 <= seconds(told["maxRunDuration"]) <= 120 * 86400:
        raise invalid(f"{where}.maxRunDuration", seconds(told["maxRunDuration"]), "Must be between 30 seconds and 120 days.")
    if "preemptionNoticeDuration" in told:
        check_notice(api, told, spot, f"{where}.preemptionNoticeDuration")
    return told


def check_end(text, field):
    try:
        moment = moment_of(text)
    except ValueError:
        raise invalid(field, text, "The time must be in RFC3339 text format.") from None
    if moment < time.time() + 30:
        raise invalid(field, text, "The time must be at least 30 seconds in the future.")


def check_notice(api, told, spot, field):
    if api.settings.refuse_notice:
        raise invalid(field, seconds(told["preemptionNoticeDuration"]), "Preemption notice duration is not supported.")
    if not spot:
        raise invalid(field, seconds(told["preemptionNoticeDuration"]), "It needs the provisioning model SPOT.")
    if seconds(told["preemptionNoticeDuration"]) not in api.settings.notices:
        raise invalid(field, seconds(told["preemptionNoticeDuration"]), "Must be 120 seconds.")
