# SPDX-License-Identifier: Apache-2.0
"""What a request to one of Google's APIs, and an answer, may hold by its discovery document. Each
rule tells what is wrong, in words; nothing where all is well. Call cloud_env.enter() before."""

import json
import re
import urllib.parse

from test.lab.gceapi import partial
from test.lab.gceapi.errors import Refusal

LIMITS = {"int32": (-(1 << 31), 1 << 31), "uint32": (0, 1 << 32), "int64": (-(1 << 63), 1 << 63), "uint64": (0, 1 << 64)}


def of_query(discovery, method, text, more=()):
    """`more`: parameters that the document lacks, with their descriptions."""
    known = {**discovery.told["parameters"], **method.parameters, **dict(more)}
    seen = set()
    for name, value in urllib.parse.parse_qsl(text, keep_blank_values=True):
        told = known.get(name)
        if told is None or told.get("location", "query") != "query":
            yield f"parameter {name}: the document does not know it"
            continue
        if name in seen and not told.get("repeated"):
            yield f"parameter {name}: given twice"
        seen.add(name)
        yield from (f"parameter {name}: {each}" for each in _of_text(told, value))
        if name == "fields":
            yield from _of_fields(discovery, method, value)
        if name == "alt" and value == "media" and not method.gives_media:
            yield f"parameter alt: {method.id} gives no media"
    for name, told in method.parameters.items():
        if told.get("required") and told["location"] == "query" and name not in seen:
            yield f"parameter {name}: is required"


def of_path(discovery, method, values):
    """`values`: what stands in the path, as it came."""
    for name, value in values.items():
        plain = urllib.parse.unquote(value)
        if re.search("%(?![0-9A-Fa-f]{2})", value):
            yield f"{name} of the path: {value!r} is not percent-encoded"
        # Of a path by more names than the document's own, the parameter is all of it.
        yield from (f"{name} of the path: {each}" for each in _of_text(method.parameters.get(name, {}), plain))


def of_json(discovery, schema, text, method=""):
    """`method`: whose request it is; an answer need not have all."""
    try:
        value = json.loads(text)
    except ValueError:
        yield f"{text[:80]!r} is no JSON"
        return
    for where, what in discovery.faults(schema, value):
        yield f"{schema}.{where}: {what}"
    yield from _missing(discovery, {"$ref": schema}, value, method, schema)


def of_error(status, text):
    """Google's JSON APIs refuse in one form: "Error responses" of Cloud Storage's JSON API,
    https://cloud.google.com/storage/docs/json_api/v1/status-codes"""
    try:
        error = json.loads(text)["error"]
        code, message = error["code"], error["message"]
    except (ValueError, KeyError, TypeError):
        yield f"a refusal that is not in the form of the API: {text[:80]!r}"
        return
    if code != status or not isinstance(message, str):
        yield f"a refusal with the code {code!r}, and {status} as its status"


def _of_text(told, value):
    form, kind = told.get("format", ""), told.get("type", "string")
    if form in LIMITS or kind == "integer":
        low, high = LIMITS.get(form, LIMITS["int64"])
        if not re.fullmatch("-?[0-9]+", value) or not low <= int(value) < high:
            yield f"{value!r} is no {form or kind}"
        elif "minimum" in told and int(value) < int(told["minimum"]):
            yield f"{value} is less than {told['minimum']}"
        elif "maximum" in told and int(value) > int(told["maximum"]):
            yield f"{value} is more than {told['maximum']}"
    if kind == "boolean" and value not in ("true", "false"):
        yield f"{value!r} is neither true nor false"
    if "enum" in told and value not in told["enum"]:
        yield f"{value!r} is none of {told['enum']}"
    if "pattern" in told and not re.fullmatch(told["pattern"], value):
        yield f"{value!r} does not match {told['pattern']}"


def _of_fields(discovery, method, text):
    try:
        tree = partial.Fields(text).tree
    except Refusal:
        yield f"parameter fields: {text!r} selects nothing"
        return
    name = partial.unknown(discovery, method.response, tree) if method.response else text
    if name:
        yield f"parameter fields: {name} is nowhere in {method.response}"


def _missing(discovery, told, value, method, where):
    """What the document wants in requests of this method, by its annotations or its words."""
    while "$ref" in told:
        told = discovery.schemas[told["$ref"]]
    if isinstance(value, list) and "items" in told:
        for each in value:
            yield from _missing(discovery, told["items"], each, method, where)
    if not isinstance(value, dict) or not method:
        return
    for name, inner in told.get("properties", {}).items():
        if name in value:
            yield from _missing(discovery, inner, value[name], method, f"{where}.{name}")
        elif method in inner.get("annotations", {}).get("required", ()) or inner.get("description", "").startswith("Required. "):
            yield f"{where}.{name}: is required"
