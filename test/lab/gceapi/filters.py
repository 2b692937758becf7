# SPDX-License-Identifier: Apache-2.0
"""The `filter` of lists: AIP-160, as Compute Engine has it, and its older form with regular
expressions (`eq`, `ne`)."""

import re

from test.lab.gceapi.errors import invalid

WORD = re.compile(
    r'\s*(?:(?P<sign>[()])|(?P<op><=|>=|!=|=|<|>|:)|"(?P<double>(?:\\.|[^"\\])*)"'
    r"|'(?P<single>(?:\\.|[^'\\])*)'|(?P<bare>[^\s()=!<>:\"']+))"
)
MISSING = object()


def words_of(text):
    found, at = [], 0
    while at < len(text.rstrip()):
        each = WORD.match(text, at)
        if each is None:
            raise invalid("filter", text, "Invalid list filter expression.")
        kind = each.lastgroup
        found.append(("text" if kind in ("single", "double") else kind, each[kind]))
        at = each.end()
    return found


class Filter:
    """Call it with what a list tells of one resource."""

    def __init__(self, text):
        self.text = text
        self.rest = words_of(text)
        self.regular = False
        self.fits = self.together() if self.rest else lambda _: True
        if self.rest:
            raise self.wrong()

    def __call__(self, told):
        return self.fits(told)

    def wrong(self):
        return invalid("filter", self.text, "Invalid list filter expression.")

    def peek(self, *words):
        return bool(self.rest) and self.rest[0][0] in ("bare", "sign") and self.rest[0][1] in words

    def take(self, *kinds):
        if not self.rest or self.rest[0][0] not in kinds:
            raise self.wrong()
        return self.rest.pop(0)[1]

    def together(self):
        """AND, spoken or not, of what OR joins: OR binds tighter there."""
        parts = [self.either()]
        while self.rest and not self.peek(")"):
            if self.peek("AND"):
                self.rest.pop(0)
            parts.append(self.either())
        return lambda told: all(each(told) for each in parts)

    def either(self):
        parts = [self.one()]
        while self.peek("OR"):
            self.rest.pop(0)
            parts.append(self.one())
        return lambda told: any(each(told) for each in parts)

    def one(self):
        if self.peek("NOT"):
            self.rest.pop(0)
            inner = self.one()
            return lambda told: not inner(told)
        if self.peek("("):
            self.rest.pop(0)
            inner = self.together()
            if not self.peek(")"):
                raise self.wrong()
            self.rest.pop(0)
            return inner
        path = self.take("bare")
        if self.peek("eq", "ne"):
            return self.expression(path, self.rest.pop(0)[1])
        sign = self.take("op")
        quoted = bool(self.rest) and self.rest[0][0] == "text"
        value = self.take("bare", "text")
        if sign == ":" and (quoted or value != "*"):
            raise self.wrong()  # the lab knows it for "is there" alone
        return lambda told: compare(_at(told, path), sign, value, quoted)

    def expression(self, path, word):
        try:
            pattern = re.compile(self.take("bare", "text"))
        except re.error:
            raise self.wrong() from None
        good = word == "eq"

        def fits(told):
            found = _at(told, path)
            has = found is not MISSING and bool(pattern.fullmatch(_text(found)))
            return has == good

        return fits


def _at(told, path):
    for name in path.split("."):
        if not isinstance(told, dict) or name not in told:
            return MISSING
        told = told[name]
    return told


def _text(value):
    return str(value).lower() if isinstance(value, bool) else str(value)


def compare(found, sign, value, quoted):
    if sign == ":":
        return found is not MISSING
    if found is MISSING:
        return sign == "!="
    if sign in ("=", "!="):
        same = _text(found) == value
        if value.endswith("*") and not quoted:
            same = _text(found).startswith(value[:-1])
        return same == (sign == "=")
    try:
        left, right = float(found), float(value)
    except ValueError:
        left, right = _text(found), value
    return {"<": left < right, ">": left > right, "<=": left <= right, ">=": left >= right}[sign]
