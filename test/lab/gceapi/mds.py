# SPDX-License-Identifier: Apache-2.0
"""metadata.google.internal of one machine: folders and files, all at once (recursive), and waiting
until something changes. By "About VM metadata" and "Query VM metadata" of Compute Engine."""

import hashlib
import json
import socket
import time
import urllib.parse

from test.lab.gceapi import metadata

ROOT = "/computeMetadata/v1"
FLAVOR = {"Metadata-Flavor": "Google", "Server": "Metadata Server for VM", "X-XSS-Protection": "0", "X-Frame-Options": "SAMEORIGIN"}
PAGE = "<!DOCTYPE html>\n<html lang=en>\n  <title>Error {0} ({1})!!1</title>\n  <p><b>{0}.</b> {2}\n"
LOOK = 0.03  # seconds between two looks of who waits
RENEW = 240  # seconds before its end that a token is replaced by a new one


class Mds:
    """Call it with a handler of web.py."""

    def __init__(self, api, instance):
        self.api = api
        self.instance = instance
        self.asked = []  # (time, path with its query), for tests
        self.broken = 0  # so many answers are a 503
        self.tokens = {}  # (email, scopes) -> identity.Token
        self.looked_for_maintenance = False

    def __call__(self, handler):
        split = urllib.parse.urlsplit(handler.path)
        self.asked.append((time.time(), handler.path))
        body = handler.body()
        if self.broken > 0:
            self.broken -= 1
            return refuse(handler, 503, "Service Unavailable", "The server is busy. Try again.")
        if handler.command == "PUT" and split.path.startswith(f"{ROOT}/instance/guest-attributes/"):
            return self.put(handler, split, body)
        if handler.command not in ("GET", "HEAD"):
            return refuse(handler, 405, "Method Not Allowed", "The method is not allowed.")
        if handler.headers.get("X-Forwarded-For"):
            return refuse(handler, 403, "Forbidden", "X-Forwarded-For is not allowed.")
        if split.path in ("", "/"):
            return handler.out(200, "computeMetadata/\n", {**FLAVOR, "Content-Type": TEXT})
        if handler.headers.get("Metadata-Flavor") != "Google":
            return refuse(
                handler,
                403,
                "Forbidden",
                "Your client does not have permission to get URL <code>"
                f"{split.path}</code> from this server. Missing "
                "Metadata-Flavor:Google header.",
            )
        if not f"{split.path}/".startswith(f"{ROOT}/"):
            return refuse(handler, 404, "Not Found", "The requested URL was not found.")
        return self.read(handler, split)

    def put(self, handler, split, body):
        """A guest attribute, where the VM was made with them."""
        names = split.path[len(ROOT) :].strip("/").split("/")[2:]
        on = any(each["key"] == "enable-guest-attributes" and each["value"] == "TRUE" for each in self.instance.metadata)
        if handler.headers.get("Metadata-Flavor") != "Google" or not on or len(names) != 2:
            return refuse(handler, 403, "Forbidden", "Guest attributes endpoint access is disabled.")
        self.instance.guest_attributes[tuple(names)] = body.decode(errors="replace")
        return handler.out(200, b"", {**FLAVOR, "Content-Type": TEXT})

    def read(self, handler, split):
        query = dict(urllib.parse.parse_qsl(split.query))
        names = [urllib.parse.unquote(each) for each in split.path[len(ROOT) :].split("/") if each]
        recursive = query.get("recursive", "").lower() == "true"
        if names[:2] == ["instance", "maintenance-event"] or names in ([], ["instance"]):
            self.looked_for_maintenance = True
        found = self.find(names)
        if found is None:
            return refuse(handler, 404, "Not Found", f"The requested URL <code>{split.path}</code> was not found on this server.")
        folder = isinstance(found, (dict, list)) and not leaf(found)
        waits = query.get("wait_for_change", "").lower() == "true"
        if folder and not split.path.endswith("/") and not recursive:
            return self.redirect(handler, split)
        if folder and waits and not recursive:
            return refuse(handler, 400, "Bad Request", "wait_for_change of a folder needs recursive=true.")
        if waits:
            found = self.wait(handler, names, found, query)
        text = said(found, names, recursive, query.get("alt"))
        kind = JSON if text.json else TEXT
        return handler.out(200, text.text, {**FLAVOR, "Content-Type": kind, "ETag": etag(found)})

    def redirect(self, handler, split):
        host = handler.headers.get("Host", "metadata.google.internal")
        to = f"http://{host}{split.path}/" + (f"?{split.query}" if split.query else "")
        handler.out(301, "", {**FLAVOR, "Location": to})

    def wait(self, handler, names, found, query):
        """Until it differs from what it was at first, or from what `last_etag` stands for."""
        last = query.get("last_etag") or etag(found)
        seconds = float(query.get("timeout_sec") or 1e9)
        end = time.monotonic() + seconds
        while etag(found) == last and time.monotonic() < end and not gone(handler):
            time.sleep(min(LOOK, max(end - time.monotonic(), 0)))
            again = self.find(names)
            found = found if again is None else again
        return found

    def find(self, names):
        """A folder, a text, or None."""
        with self.api.world.lock:
            told = metadata.tree(self.instance, self.api.project_metadata, self.token)
            if not self.looked_for_maintenance:
                told["instance"]["maintenance-event"] = "NONE"
            for name in names:
                if isinstance(told, dict):
                    told = told.get(name)
                elif isinstance(told, list) and name.isdigit() and int(name) < len(told):
                    told = told[int(name)]
                else:
                    return None
            return told() if callable(told) else told

    def token(self, email, scopes):
        """The same one until it is about to end."""
        key = (email, tuple(scopes))
        kept = self.tokens.get(key)
        if kept is None or kept.ends - time.time() < min(RENEW, self.api.identity.life / 2):
            kept = self.tokens[key] = self.api.identity.issue(email, scopes)
        left = max(int(kept.ends - time.time()), 0)
        return json.dumps({"access_token": kept.text, "expires_in": left, "token_type": "Bearer"})


NUMBERS = ("id", "numeric-project-id", "index", "mtu", "remaining-cpu-time")
TEXT, JSON = "application/text", "application/json"


class Said:
    def __init__(self, text, json):
        self.text = text
        self.json = json


def etag(found):
    """Of a folder or a text; what gives tokens does not count."""
    text = json.dumps(found, sort_keys=True, default=lambda _: 0)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def said(found, names, recursive, alt):
    folder = isinstance(found, (dict, list)) and not leaf(found)
    if leaf(found):
        found = "\n".join(found) + "\n" if alt != "json" else metadata.Json(json.dumps(found))
    if folder and recursive and alt == "text":
        return Said("\n".join(lines(found, "")) + "\n", False)
    if folder and recursive:
        return Said(json.dumps(shown(found, names)), True)
    if folder:
        listed = "".join(f"{name}\n" for name in listing(found))
        return Said(json.dumps(listed.split()) if alt == "json" else listed, alt == "json")
    if isinstance(found, metadata.Json):
        return Said(str(found), True)
    if alt == "json":
        number = names[-1] in NUMBERS and names[:2] != ["instance", "attributes"]
        return Said(found if number else json.dumps(found), True)
    return Said(found, False)


def gone(handler):
    """Whether who asked has hung up."""
    try:
        return handler.connection.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True


def listing(found):
    pairs = enumerate(found) if isinstance(found, list) else sorted(found.items())
    return [f"{name}/" if isinstance(each, (dict, list)) and not leaf(each) else str(name) for name, each in pairs]


def leaf(each):
    """A list of texts is a file with lines."""
    return isinstance(each, list) and bool(each) and all(isinstance(one, str) for one in each)


def shown(found, names):
    """In JSON, where names of the server's own are in camel case; those of attributes stay."""
    if isinstance(found, list):
        return [shown(each, names) for each in found]
    if isinstance(found, dict):
        own = names[-1:] == ["attributes"] or names[-1:] == ["service-accounts"]
        return {(name if own else camel(name)): shown(each, [*names, name]) for name, each in found.items() if not callable(each)}
    if isinstance(found, metadata.Json):
        return json.loads(found)
    if names[-1] in NUMBERS and "attributes" not in names and "licenses" not in names:
        return int(found)
    return found


def camel(name):
    first, *rest = name.split("-")
    return first + "".join(each[:1].upper() + each[1:] for each in rest)


def lines(found, before):
    pairs = enumerate(found) if isinstance(found, list) else sorted(found.items())
    for name, each in pairs:
        if isinstance(each, (dict, list)):
            yield from lines(each, f"{before}{name}/")
        elif not callable(each):
            yield f"{before}{name} {each}"


def refuse(handler, status, title, words):
    handler.out(status, PAGE.format(status, title, words), {**FLAVOR, "Content-Type": "text/html; charset=UTF-8"})
