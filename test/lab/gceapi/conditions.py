# SPDX-License-Identifier: Apache-2.0
"""Conditions of Google's IAM: which resource a request is about, and whether an expression of CEL, which
a library evaluates that others wrote, lets it in. Sources: "Resource attributes" and "Attribute reference
for IAM Conditions" (IAM): types and names of resources, and extract(), which is IAM's own."""

import functools
import os
import re
import sys
import threading

PROJECT = "cloudresourcemanager.googleapis.com/Project"
INSTANCE = "compute.googleapis.com/Instance"
SECRET = "secretmanager.googleapis.com/Secret"
BUCKET, OBJECT = "storage.googleapis.com/Bucket", "storage.googleapis.com/Object"
LOCK = threading.Lock()


@functools.lru_cache
def prepare():
    """Makes the library's environment, once: where there will be no network, before."""
    from test import cloud_env

    where = os.path.join(os.path.dirname(cloud_env.REQUIREMENTS), "requirements-cel.txt")
    folder = cloud_env.folder(where)
    python = f"python{sys.version_info.major}.{sys.version_info.minor}"
    sys.path.append(os.path.join(folder, "lib", python, "site-packages"))


def extract(value, template):
    """What stands where the template has its {placeholder}: "" where the rest is not there."""
    before, _, after = re.fullmatch(r"([^{]*)\{(\w+)\}(.*)", template).groups()
    at = value.find(before)
    if at < 0:
        return ""
    rest = value[at + len(before) :]
    if not after:
        return rest
    end = rest.find(after)
    return rest[:end] if end >= 0 else ""


def holds(expression, kind, name):
    """Raises ValueError where the library does not understand it."""
    if not expression:
        return True
    prepare()
    import cel

    context = cel.Context()
    context.add_function("extract", extract)
    context.add_variable("resource", {"type": kind, "name": name, "service": kind.partition("/")[0]})
    with LOCK:
        return cel.evaluate(expression, context) is True


def of_compute(right, params, body):
    """[(type, name)] that a request of Compute Engine needs `right` on."""
    project = f"projects/{params['project']}"
    _, kind, verb = right.split(".")
    if verb == "list" or kind == "projects":
        return [(PROJECT, project)]
    body = body or {}
    where = f"{project}/zones/{params['zone']}" if "zone" in params else f"{project}/regions/{params.get('region', '-')}"
    if kind == "instances":
        names = [params["instance"]] if "instance" in params else [*body.get("perInstanceProperties", {})] or [body.get("name", "")]
        return [(INSTANCE, f"{where}/instances/{each}") for each in names]
    return [(f"compute.googleapis.com/{kind[0].upper()}{kind[1:].removesuffix('s')}", f"{where}/{kind}/{body.get('name', '-')}")]


def of_secrets(verb, name):
    """The same of Secret Manager; `name`: as its methods have it."""
    return [(PROJECT, name.partition("/secrets")[0])] if verb in ("list", "create") else [(SECRET, name.partition("/versions")[0])]


def of_storage(name, bucket, key):
    """The same of Cloud Storage; `name`: of the method, as "objects.get"."""
    place = f"projects/_/buckets/{bucket}"
    return [(BUCKET, place)] if name.startswith("buckets.") or name == "objects.list" else [(OBJECT, f"{place}/objects/{key}")]
