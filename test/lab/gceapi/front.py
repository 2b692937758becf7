# SPDX-License-Identifier: Apache-2.0
"""The endpoint of Compute Engine: a request is read by Google's discovery document, and so is each
answer before it goes out."""

import json
import sys
import time
import traceback
import urllib.parse

from test.lab import going_wrong
from test.lab.gceapi import conditions, errors, partial
from test.lab.gceapi.discovery import discovery
from test.lab.gceapi.errors import Refusal
from test.lab.gceapi.permissions import needed
from test.lab.gceapi.service import CHANGES, READS
from test.lab.going_wrong import Cut

JSON = {"Content-Type": "application/json; charset=UTF-8"}
QUIET = ("alt", "prettyPrint", "$alt")  # what changes nothing of an answer as it is given here


class Front:
    """`log`: a list of what was asked, for tests."""

    def __init__(self, api, log):
        self.api = api
        self.log = log
        self.discovery = discovery("compute.v1")
        self.bugs = []  # of the lab itself
        self.replies = 0  # how many were held against the document

    def __call__(self, handler):
        split = urllib.parse.urlsplit(handler.path)
        text = handler.body()
        entry = {
            "time": time.time(),
            "verb": handler.command,
            "path": split.path,
            "text": text,
            "agent": handler.headers.get("User-Agent", ""),
        }
        self.log.append(entry)
        try:
            status, told = self.answer(handler, split, text, entry)
            entry["status"] = status
            going_wrong.after(entry.get("fault"))
        except Cut:
            entry["cut"] = True
            handler.cut()
            return
        except Refusal as error:
            entry["status"], entry["error"] = error.status, error.reason
            status, told = error.status, error.body()
        handler.out(status, json.dumps(told), JSON)

    def answer(self, handler, split, text, entry):
        method, params = self.discovery.find(handler.command, split.path)
        if method is None:
            entry["strange"] = "no such method"
            raise Refusal(404, "The requested URL was not found on this server.", "notFound")
        name = method.id.removeprefix("compute.")
        entry.update(method=name, params=params)
        who = entry["who"] = self.api.identity.find(handler.headers.get("Authorization"))
        if who is None:
            raise errors.unauthenticated()
        entry["email"] = who.email
        query = entry["query"] = self.query(method, split.query, entry)
        self.check_path(method, params, entry)
        body = entry["body"] = self.body(method, text, entry)
        if not who.may(handler.command):
            raise errors.scope_missing(method.id)
        fault = entry["fault"] = self.api.faults.take(name)
        going_wrong.before(fault, lambda told: refusal(told, params["project"]))
        self.check_rights(name, params, body, entry)
        if name not in CHANGES and name not in READS:
            entry["strange"] = "not in the lab"
            raise Refusal(501, f"The lab does not know {method.id}.", "notImplemented")
        return 200, self.call(method, params, query, body, who)

    def query(self, method, text, entry):
        found = {}
        for name, value in urllib.parse.parse_qsl(text, keep_blank_values=True):
            told = self.discovery.parameter(method, name)
            if told is None and name not in QUIET:
                entry["strange"] = f"parameter {name}"
                raise Refusal(
                    400,
                    f'Invalid JSON payload received. Unknown name "{name}": Cannot '
                    "bind query parameter. Field could not be found in request message.",
                )
            if name in QUIET:
                continue
            if name == "fields":
                found[name] = self.fields(method, value, entry)
                continue
            if name not in method.parameters and name != "returnPartialSuccess":
                entry["strange"] = f"parameter {name}"
                raise Refusal(501, f"The lab does not do {name}.", "notImplemented")
            try:
                found[name] = self.discovery.parameter_value(told, value)
            except ValueError:
                entry["strange"] = f"parameter {name}={value}"
                raise errors.invalid(name, value) from None
        return found

    def fields(self, method, text, entry):
        found = partial.Fields(text)
        name = partial.unknown(self.discovery, method.response, found.tree)
        if name:
            entry["strange"] = f"field {name}"
            raise partial.wrong(name)
        return found

    def check_path(self, method, params, entry):
        for name, value in params.items():
            params[name] = value = urllib.parse.unquote(value)
            try:
                self.discovery.parameter_value(method.parameters[name], value)
            except ValueError:
                pattern = method.parameters[name]["pattern"]
                raise errors.invalid(name, value, f"Must be a match of regex '{pattern}'") from None

    def body(self, method, text, entry):
        if method.request is None:
            if text.strip() not in (b"", b"{}"):
                entry["strange"] = "a body where there is none"
                raise Refusal(400, "The request has a body where none belongs.", "badRequest")
            return None
        try:
            body = json.loads(text or b"{}")
        except ValueError:
            entry["strange"] = "no JSON"
            raise Refusal(400, "Parse Error", "parseError") from None
        found = self.discovery.faults(method.request, body)
        if found:
            where, what = found[0]
            entry["strange"] = f"{where}: {what}"
            if what == "Cannot find field.":
                what = f"Unknown name \"{where.rsplit('.', 1)[-1]}\" at '{where}': {what}"
            else:
                what = f"Invalid value at '{where}': {what}"
            raise Refusal(400, f"Invalid JSON payload received. {what}", "badRequest")
        return body

    def check_rights(self, name, params, body, entry):
        entry["permissions"] = needed(name, body, params["project"])
        told = (body or {}).get("instanceProperties", body or {})
        acts_as = [each["email"] for each in told.get("serviceAccounts", [])]
        for each in entry["permissions"]:
            on = conditions.of_compute(each, params, body) if each.startswith("compute.") else []
            if each in self.api.denied or not self.api.may(entry["email"], each, acts_as, on):
                place = "/".join(
                    [
                        "projects",
                        params["project"],
                        *(f"{kind}s/{params[kind]}" for kind in ("zone", "region", "instance") if kind in params),
                    ]
                )
                if "name" in (body or {}):
                    place += f"/instances/{body['name']}"
                raise errors.forbidden(each, place)

    def call(self, method, params, query, body, who):
        try:
            told = self.api.call(method.id, params, query, body, who)
            told = json.loads(json.dumps(told))
        except (Refusal, Cut):
            raise
        except Exception:  # noqa: BLE001  # whatever it is, it is ours, and tests must hear of it
            self.bug(traceback.format_exc())
            raise Refusal(500, "An error of the lab: see its log") from None
        found = self.discovery.faults(method.response, told)
        self.replies += 1
        if found:
            self.bug(f"an answer of {method.id} is not as the document has it: {found[:5]}")
        return query["fields"](told) if "fields" in query else told

    def bug(self, words):
        self.bugs.append(words)
        print(words, file=sys.stderr, flush=True)

    def strange(self):
        """What was asked that the document does not know."""
        return [(each.get("method"), each["strange"]) for each in self.log if "strange" in each]


def refusal(fault, project):
    """Of a fault that a test has ordered."""
    status = int(fault.get("status", 503))
    if fault.get("code") == "rateLimitExceeded" and status == 403:
        return errors.throttled(project)
    return Refusal(status, fault.get("words", "so it is"), fault.get("code"))
