# SPDX-License-Identifier: Apache-2.0
"""Google's Secret Manager, v1: what stoker and Google's own client ask of it. Each request is read by
Google's discovery document, and so is each answer before it goes out."""

import base64
import calendar
import json
import re
import sys
import threading
import time
import urllib.parse

from test.lab.gceapi import conditions, errors
from test.lab.gceapi.discovery import discovery
from test.lab.gceapi.errors import Refusal

JSON = {"Content-Type": "application/json; charset=UTF-8"}
MOST = 65536  # bytes of a payload: "Quotas and limits"
NAME = re.compile(r"[A-Za-z0-9_-]{1,255}")
# "IAM permissions" of each method (Secret Manager's REST reference).
NEEDS = {
    "create": "secretmanager.secrets.create",
    "delete": "secretmanager.secrets.delete",
    "get": "secretmanager.secrets.get",
    "list": "secretmanager.secrets.list",
    "addVersion": "secretmanager.versions.add",
    "access": "secretmanager.versions.access",
}


class Vault:
    """`log`: what was asked, by whom, without the bodies. `api`: whose `denied` nobody may.
    `away`: it does not answer."""

    def __init__(self, identity, api, number="123456789012"):
        self.identity, self.api, self.number = identity, api, number
        self.discovery = discovery("secretmanager.v1")
        self.held = {}  # (project, secret) -> {"secret": …, "versions": [bytes]}
        self.lock = threading.Lock()
        self.log, self.bugs = [], []
        self.away = False
        self.may = lambda email, permission, acts_as=(), on=(): True  # as Compute's

    def __call__(self, handler):
        split = urllib.parse.urlsplit(handler.path)
        text = handler.body()
        entry = {"time": time.time(), "verb": handler.command, "path": split.path}
        self.log.append(entry)
        try:
            if self.away:
                raise Refusal(503, "The service is currently unavailable.", "backendError")
            schema, told = self.answer(handler, split, text, entry)
            status = 200
            found = self.discovery.faults(schema, told)
            if found:
                self.bugs.append(f"an answer of {entry['method']} is not as the document has it: {found[:3]}")
                print(self.bugs[-1], file=sys.stderr, flush=True)
        except Refusal as error:
            status, told = error.status, error.body()
        entry["status"] = status
        handler.out(status, json.dumps(told), JSON)

    def answer(self, handler, split, text, entry):
        who = self.identity.find(handler.headers.get("Authorization"))
        if who is None:
            raise errors.unauthenticated()
        entry["email"] = who.email
        # Paths of this document name whole resources: {+parent}/secrets, {+name}:access.
        path = urllib.parse.unquote(split.path).removeprefix("/v1/")
        query = dict(urllib.parse.parse_qsl(split.query))
        verb, name = self.verb_of(handler.command, path)
        method = self.discovery.methods[f"secretmanager.projects.secrets.{verb}"]
        entry["method"], entry["permissions"] = method.id, [NEEDS[verb.rpartition(".")[2]]]
        for each in query:
            if self.discovery.parameter(method, each) is None:
                raise Refusal(400, f'Invalid JSON payload received. Unknown name "{each}"', "badRequest")
        body = json.loads(text) if text else {}
        found = self.discovery.faults(method.request, body) if method.request else []
        if found or (body and not method.request):
            raise Refusal(400, f"Invalid JSON payload received. {found}", "badRequest")
        for right in entry["permissions"]:
            if right in self.api.denied or not self.may(who.email, right, (), conditions.of_secrets(verb, name)):
                raise Refusal(403, f"Permission '{right}' denied for resource '{name}' (or it may not exist).", "forbidden")
        with self.lock:
            return method.response, getattr(self, "do_" + verb.replace(".", "_"))(name, query, body)

    def verb_of(self, command, path):
        secret = r"projects/[^/]+/secrets/[^/:]+"
        for verb, how, pattern in (
            ("create", "POST", r"(projects/[^/]+)/secrets"),
            ("list", "GET", r"(projects/[^/]+)/secrets"),
            ("addVersion", "POST", rf"({secret}):addVersion"),
            ("versions.access", "GET", rf"({secret}/versions/[^/:]+):access"),
            ("get", "GET", rf"({secret})"),
            ("delete", "DELETE", rf"({secret})"),
        ):
            found = re.fullmatch(pattern, path)
            if found and command == how:
                return verb, found[1]
        raise Refusal(404, "The requested URL was not found on this server.", "notFound")

    def key(self, name):
        parts = name.split("/")
        return parts[1], parts[3]

    def find(self, name):
        project, secret = self.key(name)
        held = self.held.get((project, secret))
        if held is None or held["ends"] < time.time():
            raise Refusal(404, f"Secret [projects/{self.number}/secrets/{secret}] not found.", "notFound")
        return held

    def do_create(self, parent, query, body):
        project, secret = parent.split("/")[1], query.get("secretId", "")
        if not NAME.fullmatch(secret):
            raise Refusal(400, "The provided Secret ID does not match the expected format", "badRequest")
        if "replication" not in body:
            raise Refusal(400, "Secret.replication must be provided", "badRequest")
        for label, value in body.get("labels", {}).items():
            if not re.fullmatch(r"[a-z][a-z0-9_-]{0,62}", label) or not re.fullmatch(r"[a-z0-9_-]{0,63}", value):
                raise Refusal(400, f"label {label} is not as labels are", "badRequest")
        if (project, secret) in self.held:
            raise Refusal(409, f"Secret [projects/{self.number}/secrets/{secret}] already exists.", "alreadyExists")
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        ends = float("inf")
        if "expireTime" in body:
            ends = calendar.timegm(time.strptime(body["expireTime"][:19], "%Y-%m-%dT%H:%M:%S"))
        told = {**body, "name": f"projects/{self.number}/secrets/{secret}", "createTime": now, "etag": '"1"'}
        self.held[project, secret] = {"secret": told, "versions": [], "ends": ends}
        return told

    def do_list(self, parent, query, _):
        wanted = re.fullmatch(r"labels\.([\w-]+)=(.*)", query.get("filter", ""))
        found = [
            held["secret"]
            for (project, _), held in sorted(self.held.items())
            if project == parent.split("/")[1] and (not wanted or held["secret"].get("labels", {}).get(wanted[1]) == wanted[2])
        ]
        return {"secrets": found, "totalSize": len(found)}

    def do_get(self, name, *_):
        return self.find(name)["secret"]

    def do_delete(self, name, *_):
        self.find(name)
        del self.held[self.key(name)]
        return {}

    def do_addVersion(self, name, _, body):  # as the method is called
        held = self.find(name)
        data = base64.b64decode(body["payload"]["data"])
        if len(data) > MOST:
            raise Refusal(400, "Secret Payload is too large", "badRequest")
        checked = body["payload"].get("dataCrc32c")
        if checked is not None and int(checked) != crc32c(data):
            raise Refusal(400, "The provided CRC32C is not the payload's", "badRequest")
        held["versions"].append(data)
        return {"name": f"{held['secret']['name']}/versions/{len(held['versions'])}", "state": "ENABLED"}

    def do_versions_access(self, name, *_):
        held = self.find(name)
        version = name.rsplit("/", 1)[1]
        number = len(held["versions"]) if version == "latest" else int(version) if version.isdigit() else 0
        if not 0 < number <= len(held["versions"]):
            raise Refusal(404, f"Secret Version [{name}] not found.", "notFound")
        data = held["versions"][number - 1]
        return {
            "name": f"{held['secret']['name']}/versions/{number}",
            "payload": {"data": base64.b64encode(data).decode(), "dataCrc32c": str(crc32c(data))},
        }


def crc32c(data):
    import crc32c as counted

    return counted.crc32c(data)
