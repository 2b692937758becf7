#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whom of Google's the binary can ask: the names that stand in $STOKER, each with the document that
tests hold its requests against, or where else they are written down."""

import os
import pathlib
import re
import sys

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test import cloud_env

cloud_env.enter()
from test.lab.gceapi.discovery import discovery

# The document of each, and what holds its requests against it.
DOCUMENTS = {
    "compute.googleapis.com": "compute.v1",  # test/lab/gceapi/front.py
    "secretmanager.googleapis.com": "secretmanager.v1",  # test/lab/gceapi/vault.py
    "logging.googleapis.com": "logging.v2",  # test/lab/gceapi/logs.py
    "pubsub.googleapis.com": "pubsub.v1",  # test/events/topics.py
    "storage.googleapis.com": "storage.v1",  # storage_rules.py
    "iamcredentials.googleapis.com": "iamcredentials.v1",  # token_rules.py
    "sts.googleapis.com": "sts.v1",  # token_rules.py
    "artifactregistry.googleapis.com": "artifactregistry.v1",  # test/lab/gceapi/serverless.py, as all below
    "cloudresourcemanager.googleapis.com": "cloudresourcemanager.v1",
    "cloudscheduler.googleapis.com": "cloudscheduler.v1",
    "iam.googleapis.com": "iam.v1",
    "run.googleapis.com": "run.v2",
}
# Of these Google has no document.
WRITTEN = {
    "oauth2.googleapis.com/token": "token_rules.FORMS",
    # Beside its number, as what no proxy is asked for: token_rules.METADATA
    "metadata.google.internal": "token_rules.METADATA",
    # A label of a line in Cloud Logging: https://cloud.google.com/logging/docs/agent/ops-agent
    "compute.googleapis.com/resource_name": "test/lab/gceapi/logs.py",
    # Types of things in conditions: https://cloud.google.com/iam/docs/conditions-resource-attributes
    "compute.googleapis.com/Instance": "test/gcp/away.py",
    "secretmanager.googleapis.com/Secret": "test/gcp/away.py",
}
# Names of rights, which nobody asks: https://developers.google.com/identity/protocols/oauth2/scopes
SCOPES = "www.googleapis.com/auth/"
# Names of things, and no addresses: https://cloud.google.com/iam/docs/full-resource-names and
# https://cloud.google.com/iam/docs/principal-identifiers
THING = re.compile(rb"(?:(?<!:)|principalSet:)//iam\.googleapis\.com/")
NAME = re.compile(rb"((?:[a-z0-9-]+\.)+(?:googleapis\.com|google\.internal))(/[\w./{}+-]*)?")


def wrong_of(host, path):
    if f"{host}{path}" in WRITTEN or f"{host}{path}".startswith(SCOPES):
        return ""
    if host not in DOCUMENTS:
        return "no document, and nowhere written"
    prefix = discovery(DOCUMENTS[host]).prefix
    return "" if path in ("", "/") or f"{path}/".startswith(prefix) else f"not below {prefix}"


def main():
    with open(os.environ["STOKER"], "rb") as source:
        text = THING.sub(b"", source.read())
    found = {(host.decode(), path.decode()) for host, path in NAME.findall(text)}
    wrong = [f"{host}{path}: {why}" for host, path in found if (why := wrong_of(host, path))]
    for host, name in DOCUMENTS.items():
        if discovery(name).told["rootUrl"] != f"https://{host}/":
            wrong.append(f"{name} is not the document of {host}")
    there = {host for host, _ in found}
    wrong += [f"{host}: is not in the binary any more" for host in DOCUMENTS.keys() - there]
    for each in wrong:
        print(f"FAIL {each}")
    print(f"hosts: {len(there)} names of Google's in the binary, {len(wrong)} wrong")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
