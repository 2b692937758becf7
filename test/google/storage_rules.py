# SPDX-License-Identifier: Apache-2.0
"""Requests to Google Cloud Storage and its answers, by the discovery document storage.v1. What the
document does not have stands here by name, each with where that is written."""

import functools
import json
import re
import urllib.parse

from test.google import api_rules
from test.google.api_rules import partial
from test.lab.gceapi.discovery import discovery

# "Resumable uploads", the session URI: what comes after the request that the document knows.
# https://cloud.google.com/storage/docs/performing-resumable-uploads
SESSION = {"upload_id": {"type": "string"}}
SESSION_VERBS = ("PUT", "DELETE")
CHUNK = 256 << 10  # the same page: "a multiple of 256 KiB", but for the last one
RANGE = re.compile(r"bytes (?:(\d+)-(\d+)|\*)/(\d+|\*)")
STORED = re.compile(r"bytes=0-\d+")
CANCELLED = 499  # the same page: "Cancel an upload"
# "Composite objects", https://cloud.google.com/storage/docs/composite-objects: up to 32 sources
MOST_SOURCES = 32
LONGEST_NAME = 1024  # bytes: https://cloud.google.com/storage/docs/objects#naming
# Uploads by multipart: https://cloud.google.com/storage/docs/uploading-objects, "multipart uploads"
TYPES = ("media", "multipart", "resumable")

# What fake-gcs-server answers where the document has no answer ("returns an empty response body"):
# https://github.com/fsouza/fake-gcs-server/blob/v1.56.1/fakestorage/json_response.go
NOTHING = b"null\n"

# https://cloud.google.com/storage/docs/access-control/iam-json, by method. To overwrite an object
# is to delete what was there.
PERMISSIONS = {
    "buckets.get": ["storage.buckets.get"],
    "objects.compose": ["storage.objects.create", "storage.objects.delete", "storage.objects.get"],
    "objects.delete": ["storage.objects.delete"],
    "objects.get": ["storage.objects.get"],
    "objects.insert": ["storage.objects.create", "storage.objects.delete"],
    "objects.insert.session": ["storage.objects.create", "storage.objects.delete"],
    "objects.list": ["storage.objects.list"],
}


def permissions(methods):
    """Of requests by these names, as the relay tells them. KeyError: of one that is new here."""
    return {each for name in methods for each in PERMISSIONS[name]}


class Call:
    """One request, by its head; then its body; then its answer. `wrong`: what is, in words."""

    def __init__(self, verb, target, headers):
        self.verb = verb
        self.headers = {name.lower(): value for name, value in headers}
        path, _, self.query = target.partition("?")
        self.asked = dict(urllib.parse.parse_qsl(self.query, keep_blank_values=True))
        self.wrong = []
        self.document = discovery("storage.v1")
        self.upload = "/upload/" in path
        self.session = self.upload and "upload_id" in self.asked
        find = self.document.find_upload if self.upload else self.document.find
        self.method, values = find("POST" if self.session else verb, path)
        if self.method is None:
            self.name = f"{verb} {path}"
            self.wrong.append("the document knows no such request")
            return
        self.name = self.method.id.removeprefix("storage.") + (".session" if self.session else "")
        if self.session and verb not in SESSION_VERBS:
            self.wrong.append(f"{verb} of a session of an upload")
        self.media = self.asked.get("alt") == "media"
        self.wrong += api_rules.of_query(self.document, self.method, self.query, SESSION if self.session else ())
        self.wrong += api_rules.of_path(self.document, self.method, values)
        self.wrong += self._of_names(values)
        self.wrong += self._of_upload() if self.upload else self._of_head()
        authorization = self.headers.get("authorization", "Bearer x")
        if not re.fullmatch(r"Bearer [\w.~+/=-]+", authorization):
            self.wrong.append("an Authorization that is no bearer token")

    def _of_names(self, values):
        names = {**values, "name": self.asked.get("name", "")}
        for where in ("object", "destinationObject", "name"):
            name = urllib.parse.unquote(names.get(where, ""), errors="replace")
            if len(name.encode()) > LONGEST_NAME:
                yield f"{where}: a name of more than {LONGEST_NAME} bytes"

    def _of_upload(self):
        kind = self.asked.get("uploadType")
        if kind not in TYPES:
            yield f"parameter uploadType: {kind!r} is none of {TYPES}"
        if self.session and kind != "resumable":
            yield f"a session of the type {kind}"
        if self.session and self.verb == "PUT":
            yield from self._of_range()
        if kind == "multipart" and self.boundary is None:
            yield f"Content-Type {self.headers.get('content-type')!r} is not multipart/related"

    def _of_range(self):
        length = int(self.headers.get("content-length", "0"))
        text = self.headers.get("content-range")
        if text is None:
            return  # all in one
        found = RANGE.fullmatch(text)
        if not found:
            yield f"Content-Range {text!r}"
            return
        first, last, whole = found.groups()
        size = int(last) - int(first) + 1 if first else 0
        if size != length or (first and size < 1):
            yield f"Content-Range {text!r} of {length} bytes"
        if first and whole == "*" and size % CHUNK:
            yield f"Content-Range {text!r}: is no multiple of 256 KiB, and not the last"
        if first and whole != "*" and int(last) >= int(whole):
            yield f"Content-Range {text!r}: goes over its end"

    def _of_head(self):
        kind = self.headers.get("content-type", "").split(";")[0]
        sends = int(self.headers.get("content-length", "0"))
        if self.method.request is None and sends:
            yield "a body where there is none"
        if self.method.request and sends and kind != "application/json":
            yield f"Content-Type {kind!r} of JSON"

    @functools.cached_property
    def boundary(self):
        found = re.fullmatch(r'multipart/related; boundary="?([^"; ]{1,70})"?', self.headers.get("content-type", ""))
        return found[1].encode() if found else None

    @property
    def wants_body(self):
        """Whether body() should be told: 'all' of it, its 'ends', or ''."""
        if self.method is None or self.session:
            return ""
        if not self.upload:
            return "all" if self.method.request else ""
        return {"multipart": "ends", "resumable": "all"}.get(self.asked.get("uploadType"), "")

    def body(self, begin, end):
        """Its first and last bytes; all of it stands in `begin` where that is wanted."""
        if self.wants_body == "all":
            if begin:
                self.wrong += self._resource(begin)
            elif self.method.request and not self.upload:
                self.wrong.append("no body")
        elif self.boundary is not None:
            self.wrong += self._of_parts(begin, end)

    def _resource(self, text):
        yield from api_rules.of_json(self.document, self.method.request, text, self.method.id)
        if self.method.id == "storage.objects.compose":
            try:
                sources = len(json.loads(text)["sourceObjects"])
            except (ValueError, KeyError, TypeError):
                return  # said already
            if not 1 <= sources <= MOST_SOURCES:
                yield f"ComposeRequest.sourceObjects: {sources} of 1 to {MOST_SOURCES}"

    def _of_parts(self, begin, end):
        mark = b"--" + self.boundary
        parts = begin.split(b"\r\n" + mark + b"\r\n") if begin.startswith(mark + b"\r\n") else []
        if len(parts) < 2 or not end.rstrip(b"\r\n").endswith(b"\r\n" + mark + b"--"):
            yield "a body that is no multipart/related of two parts"
            return
        head, _, resource = parts[0][len(mark) + 2 :].partition(b"\r\n\r\n")
        if not re.match(rb"content-type: *application/json", head.lower()):
            yield f"a first part that is no JSON: {head[:60]!r}"
        if not re.match(rb"content-type:", parts[1].lower()):
            yield "a second part without Content-Type"
        yield from self._resource(resource)
        if b"name" not in resource and not self.asked.get("name"):
            yield "an object without a name"

    # ---- its answer ----

    @property
    def is_json(self):
        """Whether answer() should be told the body."""
        return self.method is not None and not self.media

    def answer(self, status, headers, text):
        """What is wrong with it."""
        headers = {name.lower(): value for name, value in headers}
        if self.method is None:
            return
        if status >= 400:
            if status == CANCELLED and self.session and self.verb == "DELETE":
                return
            # Bytes are given and taken in plain words.
            if text and not self.media and not self.upload:
                yield from api_rules.of_error(status, text)
        elif status == 308:
            if not self.session or not STORED.fullmatch(headers.get("range", "bytes=0-0")):
                yield f"308 with the range {headers.get('range')!r}"
        elif self._begins_session():
            if "upload_id=" not in headers.get("location", ""):
                yield f"a session at {headers.get('location')!r}"
        elif self.method.response is None:
            if text not in (b"", NOTHING):
                yield f"an answer to what has none: {text[:60]!r}"
        elif not self.media:
            yield from api_rules.of_json(self.document, self.method.response, text)

    def _begins_session(self):
        return self.upload and not self.session and self.asked.get("uploadType") == "resumable"

    def cut(self, status, text):
        """A good answer as the service would give it: nothing that was not asked for."""
        if self.method.response is None or status == 308 or self._begins_session():
            return b""
        if "fields" not in self.asked or self.wrong:
            return text
        return json.dumps(partial.Fields(self.asked["fields"])(json.loads(text))).encode()
