# SPDX-License-Identifier: Apache-2.0
"""`fields` of Google's APIs: which parts of an answer are wanted, as items/id,items/labels or
items(id,labels), with * for any name ("Partial response")."""

import re

from test.lab.gceapi.errors import Refusal

WORD = re.compile(r"[A-Za-z0-9_.-]+|\*|[(),/]")


def wrong(text):
    return Refusal(400, f"Invalid field selection {text}", "invalidParameter")


class Fields:
    """`tree`: names to trees; an empty one is all that is there."""

    def __init__(self, text):
        self.text = text
        self.words = WORD.findall(text)
        if "".join(self.words) != text.replace(" ", "") or not self.words:
            raise wrong(text)
        self.tree = self.some()
        if self.words:
            raise wrong(text)

    def some(self):
        found = {}
        while True:
            _merge(found, self.one())
            if not self.words or self.words[0] != ",":
                return found
            self.words.pop(0)

    def one(self):
        if not self.words or self.words[0] in "(),/":
            raise wrong(self.text)
        name = self.words.pop(0)
        if self.words[:1] == ["/"]:
            self.words.pop(0)
            return {name: self.one()}
        if self.words[:1] == ["("]:
            self.words.pop(0)
            below = self.some()
            if self.words[:1] != [")"]:
                raise wrong(self.text)
            self.words.pop(0)
            return {name: below}
        return {name: {}}

    def __call__(self, told):
        return _cut(told, self.tree)


def _merge(into, more):
    for name, below in more.items():
        if name not in into:
            into[name] = below
        elif into[name] and below:
            _merge(into[name], below)
        else:
            into[name] = {}  # all of it is wanted by one of them


def _cut(told, tree):
    if not tree:
        return told
    if isinstance(told, list):
        return [_cut(each, tree) for each in told]
    if not isinstance(told, dict):
        return told
    found = {}
    for name, each in told.items():
        below = tree.get(name, tree.get("*"))
        if below is not None:
            found[name] = _cut(each, below)
    return found


def unknown(discovery, schema, tree):
    """The first name that is nowhere in the schema, or None."""
    return _unknown(discovery, {"$ref": schema}, tree)


def _unknown(discovery, told, tree):
    while True:
        if "$ref" in told:
            told = discovery.schemas[told["$ref"]]
        elif told.get("type") == "array":
            told = told["items"]
        else:
            break
    known, any_name = told.get("properties", {}), told.get("additionalProperties")
    for name, below in tree.items():
        inner = known.get(name, any_name)
        if name == "*":
            inner = any_name or {"type": "any"}
        if inner is None:
            return name
        found = _unknown(discovery, inner, below) if below and name != "*" else None
        if found is None and below and name == "*" and any_name:
            found = _unknown(discovery, any_name, below)
        if found:
            return found
    return None
