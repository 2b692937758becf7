# SPDX-License-Identifier: Apache-2.0
"""Which permissions of IAM a request needs: the pages of Compute Engine's REST reference name them
under "IAM Permissions" of each method: that of instances.insert is
https://cloud.google.com/compute/docs/reference/rest/v1/instances/insert, and so on."""

READS = {
    "acceleratorTypes.aggregatedList": "acceleratorTypes.list",
    "disks.aggregatedList": "disks.list",
    "globalOperations.aggregatedList": "globalOperations.list",
    "globalOperations.wait": "globalOperations.get",
    "images.getFromFamily": "images.getFromFamily",
    "instances.aggregatedList": "instances.list",
    "instances.getGuestAttributes": "instances.getGuestAttributes",
    "instances.getSerialPortOutput": "instances.getSerialPortOutput",
    "machineTypes.aggregatedList": "machineTypes.list",
    "regionOperations.wait": "regionOperations.get",
    "zoneOperations.wait": "zoneOperations.get",
    "firewalls.insert": "firewalls.create",
    "networks.insert": "networks.create",
    "resourcePolicies.insert": "resourcePolicies.create",
}


def needed(name, body, project=""):
    """Full names, the one that the request is named by first."""
    if name in ("instances.insert", "instances.bulkInsert", "regionInstances.bulkInsert"):
        told = (body or {}).get("instanceProperties", body or {})
        rights = _of(told, project)
        return [each if each.startswith("iam.") else f"compute.{each}" for each in rights]
    found = [f"compute.{READS.get(name, name)}"]
    return found + (["compute.networks.updatePolicy"] if name == "firewalls.insert" else [])


def _of(told, project):
    yield "instances.create"
    if any("initializeParams" in each for each in told.get("disks", [])):
        yield "disks.create"
    # Public ones everybody may read.
    if any(f"projects/{project}/" in each.get("initializeParams", {}).get("sourceImage", "") for each in told.get("disks", [])):
        yield "images.useReadOnly"
    if told.get("labels"):
        yield "instances.setLabels"
    if any(each.get("initializeParams", {}).get("labels") for each in told.get("disks", [])):
        yield "disks.setLabels"
    if told.get("metadata", {}).get("items"):
        yield "instances.setMetadata"
    if told.get("tags", {}).get("items"):
        yield "instances.setTags"
    if told.get("serviceAccounts"):
        yield "instances.setServiceAccount"
        yield "iam.serviceAccounts.actAs"
    yield "subnetworks.use"
    if any(each.get("accessConfigs") for each in told.get("networkInterfaces", [])):
        yield "subnetworks.useExternalIp"
    if told.get("resourcePolicies"):
        yield "resourcePolicies.use"
