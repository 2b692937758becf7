# SPDX-License-Identifier: Apache-2.0
"""setLabels and setMetadata: of what was read before, else they are refused."""

from test.lab.gceapi import checks, errors
from test.lab.gceapi.lifecycle import find, operation_of
from test.lab.gceapi.world import fingerprint


def set_labels(api, params, body, who):
    instance = find(api, params)
    if body.get("labelFingerprint") != fingerprint(instance.labels):
        raise errors.Refusal(412, "Labels fingerprint either invalid or resource labels have changed")
    checks.check_labels("labels", body.get("labels", {}))
    instance.labels = dict(body.get("labels", {}))
    operation = operation_of(api, instance, "setLabels", who.email)
    api.soon(api.world.end_operation, operation)
    return operation


def set_metadata(api, params, body, who):
    instance = find(api, params)
    if body.get("fingerprint") != fingerprint(instance.metadata):
        raise errors.Refusal(412, "Supplied fingerprint does not match current metadata fingerprint.")
    checks.check_metadata("metadata", body)
    instance.metadata = list(body.get("items", []))
    operation = operation_of(api, instance, "setMetadata", who.email)
    api.soon(api.world.end_operation, operation)
    return operation
