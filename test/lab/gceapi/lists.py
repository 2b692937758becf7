# SPDX-License-Identifier: Apache-2.0
"""Lists: filtered, in their order, in pages; of one zone, or over all places (aggregated)."""

import base64
import binascii
import time

from test.lab.gceapi import catalogue, views
from test.lab.gceapi.errors import Refusal, invalid
from test.lab.gceapi.filters import Filter

MOST = 500


def _page(pairs, query, say_token):
    """`pairs`: (key, told) in their order."""
    most = query.get("maxResults", MOST)
    if not 0 <= most <= MOST:
        raise invalid("maxResults", most, "Values must be within the range: [0, 500]")
    after = ""
    if query.get("pageToken"):
        try:
            after = base64.urlsafe_b64decode(query["pageToken"]).decode()
        except (ValueError, binascii.Error):
            raise invalid("pageToken", query["pageToken"], "The token is malformed.") from None
    rest = [each for each in pairs if each[0] > after]
    some = rest[: most or MOST]
    if len(rest) > len(some):
        say_token["nextPageToken"] = base64.urlsafe_b64encode(some[-1][0].encode()).decode()
    return some


def _chosen(told, query):
    fits = Filter(query.get("filter", ""))
    return [each for each in told if fits(each)]


def _ordered(told, query):
    """(key, told), so that a page can go on after any key."""
    order = query.get("orderBy", "name")
    if order == "creationTimestamp desc":
        moment = [each.get("creationTimestamp") or each.get("insertTime") for each in told]
        newest = sorted(range(len(told)), key=lambda i: moment[i], reverse=True)
        return [(f"{place:08}", told[i]) for place, i in enumerate(newest)]
    if order != "name":
        raise invalid("orderBy", order, "Only name and creationTimestamp desc are supported.")
    return sorted(((each["name"], each) for each in told), key=lambda pair: pair[0])


def listed(kind, told, query, link):
    """The answer of a list of one place."""
    answer = {"kind": f"compute#{kind}List", "id": link, "selfLink": views.url(link)}
    pairs = _page(_ordered(_chosen(told, query), query), query, answer)
    if pairs:
        answer["items"] = [each for _, each in pairs]
    return answer


def _nothing(scope):
    return {
        "warning": {
            "code": "NO_RESULTS_ON_PAGE",
            "message": f"There are no results for scope '{scope}' on this page.",
            "data": [{"key": "scope", "value": scope}],
        }
    }


def _unreachable(scope):
    return {"warning": {"code": "UNREACHABLE", "message": f"Scope '{scope}' is not reachable.", "data": [{"key": "scope", "value": scope}]}}


def aggregated(api, kind, key, by_scope, query, link):
    """`by_scope`: 'zones/Z' and its like -> what is told of it."""
    silent = [f"zones/{zone}" for zone in sorted(api.silent_zones) if f"zones/{zone}" in by_scope]
    if silent and not query.get("returnPartialSuccess"):
        raise Refusal(503, f"The service is unavailable: scope '{silent[0]}' did not answer.")
    answer = {"kind": f"compute#{kind}AggregatedList", "id": link, "selfLink": views.url(link)}
    fits = Filter(query.get("filter", ""))
    pairs = sorted(
        (f"{scope}/{each['name']}", (scope, each)) for scope, told in by_scope.items() if scope not in silent for each in told if fits(each)
    )
    items = {scope: _nothing(scope) for scope in sorted(by_scope)}
    for _, (scope, each) in _page(pairs, query, answer):
        if key not in items[scope]:
            items[scope] = {key: []}
        items[scope][key].append(each)
    for scope in silent:
        items[scope] = _unreachable(scope)
    if silent:
        answer["unreachables"] = silent
    return {**answer, "items": items}


def seen(api, project, zone=None):
    """What is told of machines now: late, and as they were a while ago."""
    at = time.time() - api.settings.stale
    return [
        views.instance(each, at)
        for each in api.world.instances
        if each.project == project and zone in (None, each.zone) and each.there(at) and each.born + api.settings.late <= time.time()
    ]


def by_zone(told, of):
    found = {f"zones/{zone}": [] for zone in catalogue.zones()}
    for each in told:
        found[f"zones/{of(each)}"].append(each)
    return found


def zone_of(told):
    return told["zone"].rsplit("/", 1)[-1]
