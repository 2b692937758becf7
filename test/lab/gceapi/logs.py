# SPDX-License-Identifier: Apache-2.0
"""Google's Cloud Logging, v2: entries that are written, as stoker writes them. Each request is read
by Google's discovery document."""

import json
import threading
import time
import urllib.parse

from test.lab.gceapi import errors
from test.lab.gceapi.discovery import discovery
from test.lab.gceapi.errors import Refusal

JSON = {"Content-Type": "application/json; charset=UTF-8"}
MOST_REQUEST, MOST_ENTRY, MOST_ENTRIES = 10 << 20, 256 << 10, 1000  # "Quotas and limits"
NEEDS = "logging.logEntries.create"


class Entries:
    """What was written. One with the time and the id of another takes its place."""

    def __init__(self):
        self.discovery = discovery("logging.v2")
        self.held, self.lock = {}, threading.Lock()

    def write(self, verb, path, text):
        """Why this is not taken: [] = it is."""
        method, _ = self.discovery.find(verb, path)
        if method is None or method.id != "logging.entries.write":
            return ["no such method"]
        told = json.loads(text)
        faults = [str(each) for each in self.discovery.faults(method.request, told)]
        entries = told.get("entries", [])
        if len(text) > MOST_REQUEST or not 1 <= len(entries) <= MOST_ENTRIES:
            faults.append(f"{len(text)} bytes, {len(entries)} entries")
        faults += [f"an entry of {len(json.dumps(each))} bytes" for each in entries if len(json.dumps(each)) > MOST_ENTRY]
        faults += ["an empty entry" for each in entries if not each.get("textPayload")]
        if not faults:
            common = {key: value for key, value in told.items() if key != "entries"}
            with self.lock:
                for each in entries:
                    labels = {**common.get("labels", {}), **each.get("labels", {})}
                    self.held[each["timestamp"], each["insertId"]] = {**common, **each, "labels": labels}
        return faults

    def listed(self, **labels):
        """Those with these labels, in the order in which Google lists them."""
        with self.lock:
            found = [self.held[key] for key in sorted(self.held)]
        return [each for each in found if labels.items() <= each["labels"].items()]


class Logs:
    """The service. `api`: whose `denied` nobody may. `away`: it does not answer."""

    def __init__(self, identity, api):
        self.identity, self.api = identity, api
        self.entries = Entries()
        self.log, self.bugs = [], []
        self.away = False

    def __call__(self, handler):
        text = handler.body()
        path = urllib.parse.urlsplit(handler.path).path
        entry = {"time": time.time(), "verb": handler.command, "path": path}
        self.log.append(entry)
        status, told = 200, {}
        try:
            if self.away:
                raise Refusal(503, "The service is currently unavailable.", "backendError")
            who = self.identity.find(handler.headers.get("Authorization"))
            if who is None:
                raise errors.unauthenticated()
            entry["email"] = who.email
            if NEEDS in self.api.denied:
                raise Refusal(403, f"Permission '{NEEDS}' denied on resource (or it may not exist).", "forbidden")
            faults = self.entries.write(handler.command, path, text)
            if faults:
                self.bugs.append(f"a request of Cloud Logging is not as the document has it: {faults[:3]}")
                raise Refusal(400, f"Invalid JSON payload received. {faults[:3]}", "badRequest")
        except Refusal as error:
            status, told = error.status, error.body()
        entry["status"] = status
        handler.out(status, json.dumps(told), JSON)
