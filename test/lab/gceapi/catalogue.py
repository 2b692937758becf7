# SPDX-License-Identifier: Apache-2.0
"""What Google has: zones, machine types, accelerators, images. A small part of it, with the names
and sizes of the real ones; where which GPU is to be had is the lab's own."""

ZONES = {"us-central1": "abcf", "us-east1": "bcd", "us-west1": "abc", "europe-west4": "abc", "asia-east1": "abc"}

# name -> (vCPUs, MB, what it brings)
TYPES = {
    "e2-small": (2, 2048, {}),
    "e2-standard-2": (2, 8192, {}),
    "e2-standard-4": (4, 16384, {}),
    "e2-standard-8": (8, 32768, {}),
    "n1-standard-1": (1, 3840, {}),
    "n1-standard-4": (4, 15360, {}),
    "n1-standard-8": (8, 30720, {}),
    "n1-standard-16": (16, 61440, {}),
    "n2-standard-2": (2, 8192, {}),
    "n2-standard-8": (8, 32768, {}),
    "n2-highmem-8": (8, 65536, {}),
    "c2-standard-8": (8, 32768, {}),
    "t2a-standard-4": (4, 16384, {}),
    "g2-standard-4": (4, 16384, {"nvidia-l4": 1}),
    "g2-standard-8": (8, 32768, {"nvidia-l4": 1}),
    "g2-standard-24": (24, 98304, {"nvidia-l4": 2}),
    "g2-standard-48": (48, 196608, {"nvidia-l4": 4}),
    "g2-standard-96": (96, 393216, {"nvidia-l4": 8}),
    "a2-highgpu-1g": (12, 87040, {"nvidia-tesla-a100": 1}),
    "a2-highgpu-2g": (24, 174080, {"nvidia-tesla-a100": 2}),
    "a2-highgpu-4g": (48, 348160, {"nvidia-tesla-a100": 4}),
    "a2-highgpu-8g": (96, 696320, {"nvidia-tesla-a100": 8}),
    "a2-ultragpu-8g": (96, 1392640, {"nvidia-a100-80gb": 8}),
    "a3-highgpu-8g": (208, 1916928, {"nvidia-h100-80gb": 8}),
}
# Families that not every zone has.
ONLY_IN = {
    "g2": (
        "us-central1-a",
        "us-central1-b",
        "us-central1-c",
        "us-east1-b",
        "us-east1-d",
        "us-west1-a",
        "us-west1-b",
        "europe-west4-a",
        "europe-west4-b",
        "asia-east1-a",
    ),
    "a2": (
        "us-central1-a",
        "us-central1-b",
        "us-central1-c",
        "us-central1-f",
        "us-east1-b",
        "us-west1-b",
        "europe-west4-a",
        "europe-west4-b",
    ),
    "a3": ("us-central1-a", "us-east1-d", "us-west1-a", "europe-west4-b"),
    "t2a": ("us-central1-a", "us-central1-b", "us-central1-f", "europe-west4-a"),
}

# name -> (words, most of one machine, zones). Only n1 takes attached ones.
ACCELERATORS = {
    "nvidia-tesla-t4": (
        "NVIDIA T4",
        4,
        (
            "us-central1-a",
            "us-central1-b",
            "us-central1-c",
            "us-central1-f",
            "us-east1-c",
            "us-east1-d",
            "us-west1-a",
            "us-west1-b",
            "europe-west4-a",
            "asia-east1-a",
        ),
    ),
    "nvidia-tesla-v100": (
        "NVIDIA V100",
        8,
        ("us-central1-a", "us-central1-b", "us-central1-c", "us-west1-a", "us-west1-b", "europe-west4-a"),
    ),
    "nvidia-tesla-p100": ("NVIDIA Tesla P100", 4, ("us-central1-c", "us-central1-f", "us-west1-a", "us-west1-b", "europe-west4-a")),
    "nvidia-l4": ("NVIDIA L4", 8, ONLY_IN["g2"]),
    "nvidia-tesla-a100": ("NVIDIA A100 40GB", 16, ONLY_IN["a2"]),
    "nvidia-a100-80gb": ("NVIDIA A100 80GB", 8, ("us-central1-a", "us-central1-c", "europe-west4-a")),
    "nvidia-h100-80gb": ("NVIDIA H100 80GB", 8, ONLY_IN["a3"]),
}
ATTACHED_TO = "n1"

# (project, name, family, GB, architecture, deprecated)
IMAGES = (
    ("debian-cloud", "debian-12-bookworm-v20261110", "debian-12", 10, "X86_64", False),
    ("debian-cloud", "debian-12-bookworm-v20261013", "debian-12", 10, "X86_64", True),
    ("debian-cloud", "debian-12-bookworm-arm64-v20261110", "debian-12-arm64", 10, "ARM64", False),
    ("debian-cloud", "debian-13-trixie-v20261110", "debian-13", 10, "X86_64", False),
    ("ubuntu-os-cloud", "ubuntu-2404-noble-amd64-v20261105", "ubuntu-2404-lts-amd64", 10, "X86_64", False),
    ("ubuntu-os-cloud", "ubuntu-2204-jammy-v20261105", "ubuntu-2204-lts", 10, "X86_64", False),
    (
        "deeplearning-platform-release",
        "common-cu128-ubuntu-2204-nvidia-570-v20261101",
        "common-cu128-ubuntu-2204-nvidia-570",
        50,
        "X86_64",
        False,
    ),
    (
        "deeplearning-platform-release",
        "pytorch-2-7-cu128-ubuntu-2204-nvidia-570-v20261101",
        "pytorch-2-7-cu128-ubuntu-2204-nvidia-570",
        50,
        "X86_64",
        False,
    ),
)


def region_of(zone):
    return zone.rsplit("-", 1)[0]


def zones():
    return [f"{region}-{letter}" for region, letters in ZONES.items() for letter in letters]


def zones_of(region):
    return [each for each in zones() if region_of(each) == region]


def family_of(kind):
    return kind.split("-", 1)[0]


def has_type(zone, kind):
    family = family_of(kind)
    return kind in TYPES and (family not in ONLY_IN or zone in ONLY_IN[family])


def machine_type(project, zone, kind):
    """As the API tells it, with its link below 'link'; None where the zone has none of the name."""
    if not has_type(zone, kind):
        return None
    cpus, memory, brings = TYPES[kind]
    told = {
        "name": kind,
        "description": f"{cpus} vCPUs {memory // 1024} GB RAM",
        "guestCpus": cpus,
        "memoryMb": memory,
        "imageSpaceGb": 0,
        "maximumPersistentDisks": 128,
        "maximumPersistentDisksSizeGb": "263168",
        "zone": zone,
        "isSharedCpu": kind == "e2-small",
        "architecture": "ARM64" if family_of(kind) == "t2a" else "X86_64",
        "link": f"projects/{project}/zones/{zone}/machineTypes/{kind}",
    }
    if brings:
        told["accelerators"] = [{"guestAcceleratorType": name, "guestAcceleratorCount": count} for name, count in brings.items()]
    return told


def accelerator(project, zone, name):
    if name not in ACCELERATORS or zone not in ACCELERATORS[name][2]:
        return None
    words, most, _ = ACCELERATORS[name]
    return {
        "name": name,
        "description": words,
        "maximumCardsPerInstance": most,
        "zone": zone,
        "link": f"projects/{project}/zones/{zone}/acceleratorTypes/{name}",
    }


def image(told):
    project, name, family, size, architecture, deprecated = told
    link = f"projects/{project}/global/images/{name}"
    found = {
        "name": name,
        "description": name,
        "family": family,
        "diskSizeGb": str(size),
        "archiveSizeBytes": str(size << 28),
        "architecture": architecture,
        "status": "READY",
        "sourceType": "RAW",
        "link": link,
    }
    if deprecated:
        found["deprecated"] = {"state": "DEPRECATED"}
    return found


def images(project, own=()):
    """`own`: of the tests', in the form of IMAGES."""
    return [image(each) for each in (*IMAGES, *own) if each[0] == project]


def image_projects(own=()):
    return {each[0] for each in (*IMAGES, *own)}
