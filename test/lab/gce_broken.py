# SPDX-License-Identifier: Apache-2.0
"""That the checks of gce_clients_test.py can fail: the lab is broken in one way after the other,
and each must be noticed by the part that is named beside it."""

import json
import time
from unittest import mock
from urllib.parse import urlsplit

from test.lab.gce_checks import State
from test.lab.gceapi import (
    capacity,
    catalogue,
    checks,
    errors,
    filters,
    front,
    identity,
    launch,
    lifecycle,
    lists,
    mds,
    reads,
    service,
    views,
    world,
)


def _without(owner, name, **more):
    return mock.patch.object(owner, name, lambda *_, **__: None, **more)


def _instance_lies(**wrong):
    true = views.instance
    return mock.patch.object(views, "instance", lambda *a: {**true(*a), **wrong})


def _operation_lies(**wrong):
    true = views.operation
    return mock.patch.object(views, "operation", lambda *a: {**true(*a), **wrong})


def _drops_fields(*names):
    true = views.instance

    def told(*given):
        return {name: each for name, each in true(*given).items() if name not in names}

    return mock.patch.object(views, "instance", told)


def _forgets_ids(self, name, params, query, body, who):
    return service.CHANGES[name](self, params, body, who)


def _keeps_first_page(pairs, query, say_token):
    return pairs[: query.get("maxResults", 500)]


def _partly(api, operation, some, status, failed):
    api.world.end_operation(operation, failed)


def _deletes_instead(api, params, body, who):
    return lifecycle.delete(api, params, body, who)


def _silence_is_empty(scope):
    return lists._nothing(scope)


def _new_token(self, email, scopes):
    token = self.api.identity.issue(email, scopes)
    return json.dumps({"access_token": token.text, "expires_in": 1, "token_type": "Bearer"})


def _names_no_zone(project, zone, kind, others=()):
    return errors.named("ZONE_RESOURCE_POOL_EXHAUSTED", "no", 503)


KEPT = property(lambda _: False, lambda *_: None)

# (what is broken, the part that sees it, how)
WAYS = [
    ("the name is given twice", "launch", lambda: _without(world.World, "living")),
    ("labels are lost", "launch", lambda: _drops_fields("labels")),
    ("a field that the document has not", "launch", lambda: _instance_lies(colour="red")),
    ("a number where a text belongs", "launch", lambda: _instance_lies(id=7)),
    ("a state that there is not", "launch", lambda: _instance_lies(status="ASLEEP")),
    ("an operation of nobody", "launch", lambda: _operation_lies(user="")),
    ("disks outlive their machine", "launch", lambda: mock.patch.object(world.Disk, "ends_with_it", KEPT, create=True)),
    ("request ids are forgotten", "once", lambda: mock.patch.object(service.Compute, "change", _forgets_ids)),
    ("there is room for all", "room", lambda: mock.patch.object(capacity.Capacity, "free", lambda *_: 1000)),
    ("quotas are not kept", "room", lambda: _without(capacity.Capacity, "check_quota")),
    ("a stockout says less", "room", lambda: mock.patch.object(errors, "no_room", _names_no_zone)),
    ("what a test says is not done", "room", lambda: _without(service.Births, "check")),
    ("a stop deletes", "power", lambda: mock.patch.dict(service.CHANGES, {"instances.stop": _deletes_instead})),
    ("a start asks for no room", "power", lambda: mock.patch.object(capacity.Capacity, "free", lambda *_: 1000)),
    ("a preemption does nothing", "ends", lambda: _without(lifecycle, "taken")),
    ("a host error is forgiven", "ends", lambda: _without(lifecycle, "restart")),
    ("a limit does nothing", "limits", lambda: _without(lifecycle, "limit")),
    ("no end is told", "limits", lambda: mock.patch.object(views, "status", lambda _: {})),
    ("a bulk is not rolled back", "bulk", lambda: mock.patch.object(launch, "_roll_back", _partly)),
    ("names are taken twice", "bulk", lambda: _without(world.World, "living")),
    ("every zone has all types", "regional", lambda: mock.patch.dict(catalogue.ONLY_IN, {"t2a": tuple(catalogue.zones()[4:])})),
    ("regions are as good as zones", "regional", lambda: mock.patch.object(launch, "_allowed", lambda *_: ["us-central1-c"])),
    ("one page is all", "seen", lambda: mock.patch.object(lists, "_page", _keeps_first_page)),
    ("filters let all through", "seen", lambda: mock.patch.object(filters.Filter, "__call__", lambda *_: True)),
    ("a zone that does not answer is empty", "seen", lambda: mock.patch.object(lists, "_unreachable", _silence_is_empty)),
    (
        "old lists are new",
        "seen",
        lambda: mock.patch.object(views, "instance", lambda each, _, true=views.instance: true(each, time.time())),
    ),
    ("fingerprints are all the same", "changes", lambda: mock.patch.object(views, "fingerprint", lambda _: "AAAAAAAAAAA=")),
    ("any label will do", "refusals", lambda: _without(checks, "check_labels")),
    ("any name will do", "refusals", lambda: _without(checks, "check_name")),
    ("any metadata will do", "refusals", lambda: _without(checks, "check_metadata")),
    ("any account will do", "refusals", lambda: _without(checks, "accounts")),
    ("any end will do", "refusals", lambda: _without(checks, "check_end")),
    ("rights are not looked at", "rights", lambda: _without(front.Front, "check_rights")),
    ("any token will do", "rights", lambda: mock.patch.object(identity.Token, "good", property(lambda _: True))),
    ("any scope will do", "rights", lambda: mock.patch.object(identity.Token, "may", lambda *_: True)),
    ("any signature will do", "rights", lambda: mock.patch.object(identity.Identity, "verify", lambda *_: ("a@b", [identity.CLOUD], ""))),
    (
        "families give an old image",
        "catalogue",
        lambda: mock.patch.object(catalogue, "IMAGES", tuple(reversed([(*e[:5], False) for e in catalogue.IMAGES]))),
    ),
    ("the quotas are others", "catalogue", lambda: mock.patch.object(capacity.Capacity, "told", lambda *_: [])),
    ("a network is lost", "catalogue", lambda: mock.patch.dict(service.READS, {"networks.get": reads.zone})),
    (
        "its header is not asked for",
        "metadata",
        lambda: mock.patch.object(mds.Mds, "__call__", lambda self, handler: self.read(handler, urlsplit(handler.path))),
    ),
    ("all names are in camel case", "metadata", lambda: mock.patch.object(mds, "camel", str.lower)),
    (
        "nobody is told of changes",
        "changes_seen",
        lambda: mock.patch.object(mds.Mds, "wait", lambda self, handler, names, found, query: found),
    ),
    (
        "maintenance is always told",
        "changes_seen",
        lambda: mock.patch.object(mds.Mds, "looked_for_maintenance", property(lambda _: True, lambda *_: None), create=True),
    ),
    ("each token is a new one", "tokens_of_machines", lambda: mock.patch.object(mds.Mds, "token", _new_token)),
]


def main(run):
    """`run`: that of gce_clients_test.py."""
    State.quiet, State.patience = True, 3.0
    unseen = []
    for what, part, how in WAYS:
        State.failed.clear()
        with how():
            run(part)
        seen = [each for each in State.failed if "bug of the lab" not in each] or State.failed
        print(("ok   " if seen else "FAIL ") + f"{what}: " + (seen[0] if seen else "nobody saw it"), flush=True)
        if not seen:
            unseen.append(what)
    print(f"gce_broken: {len(WAYS)} ways, {len(unseen)} not seen")
    return bool(unseen)
