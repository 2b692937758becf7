# SPDX-License-Identifier: Apache-2.0
"""Google's own description of an API, out of google-api-python-client: which requests there are,
and what may stand in them and in their answers."""

import base64
import binascii
import functools
import json
import os
import re

import googleapiclient

# What the document lacks and the service takes, with where that is written.
NEWER_PARAMETERS = {
    # The document's own words for aggregatedList: "To prevent failure, it is recommended that you
    # set the `returnPartialSuccess` parameter to `true`."
    "returnPartialSuccess": {"type": "boolean", "location": "query"}
}
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")
WHOLE = {"int32": 31, "uint32": 32, "int64": 63, "uint64": 64}


class Method:
    def __init__(self, told):
        self.id = told["id"]
        self.verb = told["httpMethod"]
        self.parameters = told.get("parameters", {})
        self.request = told.get("request", {}).get("$ref")
        self.response = told.get("response", {}).get("$ref")
        self.scopes = told.get("scopes", [])
        self.gives_media = told.get("supportsMediaDownload", False)
        self.downloads = told.get("useMediaDownloadService", False)  # at /download, too
        protocols = told.get("mediaUpload", {}).get("protocols", {})
        self.uploads = [_pattern(each["path"]) for each in protocols.values()]  # whole paths
        path = told.get("flatPath", told["path"])
        self.names = re.findall(r"{(\w+)}", path)
        self.pattern = _pattern(path)


class Discovery:
    """`prefix` is what all paths begin with, as '/compute/v1/'."""

    def __init__(self, name):
        folder = os.path.join(os.path.dirname(googleapiclient.__file__), "discovery_cache")
        path = os.path.join(folder, "documents", f"{name}.json")
        with open(path, encoding="utf-8") as source:
            self.told = json.load(source)
        self.revision = self.told["revision"]
        self.prefix = "/" + self.told["servicePath"]
        self.schemas = self.told["schemas"]
        self.methods = {each.id: each for each in _methods(self.told)}

    def find(self, verb, path):
        """(method, what stands in the path), or (None, None)."""
        bytes_alone = path.startswith("/download" + self.prefix)
        if bytes_alone:
            path = path.removeprefix("/download")
        if not path.startswith(self.prefix):
            return None, None
        rest = path[len(self.prefix) :]
        fitting = []
        for each in self.methods.values():
            found = each.verb == verb and each.pattern.fullmatch(rest)
            if found and (each.downloads or not bytes_alone):
                fitting.append((len(each.names), each.id, each, found.groups()))
        if not fitting:
            return None, None
        _, _, method, values = min(fitting)
        return method, dict(zip(method.names, values))

    def find_upload(self, verb, path):
        """The same, of what sends bytes beside its resource."""
        for each in self.methods.values():
            for pattern in each.uploads if each.verb == verb else []:
                found = pattern.fullmatch(path)
                if found:
                    return each, dict(zip(each.names, found.groups()))
        return None, None

    def parameter(self, method, name):
        """What may stand there in the query, or None."""
        found = method.parameters.get(name) or self.told["parameters"].get(name)
        if found is None and method.id.endswith((".list", ".aggregatedList")):
            found = NEWER_PARAMETERS.get(name)
        return found

    def parameter_value(self, told, text):
        """In the type that it has. Raises ValueError."""
        if told["type"] == "boolean":
            if text not in ("true", "false"):
                raise ValueError(text)
            return text == "true"
        if told["type"] == "integer" or told.get("format") in WHOLE:
            return int(text)
        if "pattern" in told and not re.fullmatch(told["pattern"], text):
            raise ValueError(text)
        return text

    def faults(self, schema, value, where=""):
        """What of `value` is not as the schema (its name) has it: [(where, what)]."""
        return list(self._faults({"$ref": schema}, value, where))

    def _faults(self, told, value, where):
        if "$ref" in told:
            told = self.schemas[told["$ref"]]
        kind = told.get("type", "any")
        if kind == "object":
            if not isinstance(value, dict):
                yield where, f"{value!r} is no object"
                return
            yield from self._members(told, value, where)
        elif kind == "array":
            if not isinstance(value, list):
                yield where, f"{value!r} is no array"
                return
            for number, each in enumerate(value):
                yield from self._faults(told["items"], each, f"{where}[{number}]")
        elif kind != "any":
            what = _plain(told, kind, value)
            if what:
                yield where, what

    def _members(self, told, value, where):
        known = told.get("properties", {})
        for name, each in value.items():
            path = f"{where}.{name}" if where else name
            if name in known:
                yield from self._faults(known[name], each, path)
            elif "additionalProperties" in told:
                yield from self._faults(told["additionalProperties"], each, path)
            else:
                yield path, "Cannot find field."


@functools.lru_cache
def discovery(name):
    """One for all: it is read in a second."""
    return Discovery(name)


def _pattern(path):
    return re.compile(re.sub(r"{\w+}", "([^/]+)", path))


def _methods(told):
    for each in told.get("methods", {}).values():
        yield Method(each)
    for each in told.get("resources", {}).values():
        yield from _methods(each)


def _plain(told, kind, value):
    """'' where a string, a number or a boolean is as it should be."""
    form = told.get("format", "")
    if kind == "boolean":
        return "" if isinstance(value, bool) else f"{value!r} is no boolean"
    if kind == "number":
        good = isinstance(value, (int, float)) and not isinstance(value, bool)
        return "" if good else f"{value!r} is no number"
    if kind == "integer":
        good = isinstance(value, int) and not isinstance(value, bool)
        return "" if good and abs(value) < 1 << WHOLE[form] else f"{value!r} is no {form}"
    if not isinstance(value, str):
        return f"{value!r} is no string"
    if "enum" in told and value not in told["enum"]:
        return f"{value!r} is none of {told['enum']}"
    if form in WHOLE:
        good = re.fullmatch(r"-?\d+", value) and abs(int(value)) < 1 << WHOLE[form]
        return "" if good else f"{value!r} is no {form}"
    if form == "byte":
        try:
            base64.b64decode(value.replace("-", "+").replace("_", "/"), validate=True)
        except (ValueError, binascii.Error):
            return f"{value!r} is not in base64"
    if form in ("date-time", "google-datetime") and not TIME.fullmatch(value):
        return f"{value!r} is no time"
    return ""
