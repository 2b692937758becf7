# SPDX-License-Identifier: Apache-2.0
"""Filters and pages of the Describe calls."""

import base64
import fnmatch
import re

from test.lab.ec2api.errors import combination, invalid


def chosen(things, filters, fields):
    """`things`: (thing, fields of it). `fields`: all the names that there are: a thing that lacks
    one does not match. tag:KEY and tag-key are among them for those that have 'tags'."""
    for each in filters or []:
        name, values = each.get("Name", ""), each.get("Values", [])
        if name not in fields and not ("tags" in fields and re.match("tag:|tag-key$", name)):
            raise invalid(f"The filter '{name}' is invalid")
        things = [(thing, has) for thing, has in things if _matches(has, name, values)]
    return [thing for thing, _ in things]


def _matches(has, name, values):
    if name == "tag-key":
        found = list(has["tags"])
    elif name.startswith("tag:"):
        key = name.removeprefix("tag:")
        found = [has["tags"][key]] if key in has["tags"] else []
    else:
        found = has.get(name)
        found = found if isinstance(found, list) else [] if found is None else [found]
    return any(_like(str(one), value) for one in found for value in values)


def _like(text, pattern):
    """* and ? stand for any; a backslash makes them plain."""
    plain = re.sub(r"\[", "[[]", pattern)
    plain = re.sub(r"\\([*?])", r"[\1]", plain)
    return fnmatch.fnmatchcase(text, plain)


def page(things, asked, key, least=5, most=1000, ids=None):
    """One page of `things`, which are in order, and the token of the next one. `key`: of a thing,
    what a token tells: a page goes on behind it, whatever came or went."""
    size, token = asked.get("MaxResults"), asked.get("NextToken")
    if size is not None and not least <= size <= most:
        raise invalid(f"Value ( {size} ) for parameter maxResults is invalid. Expecting a value between {least} and {most}.")
    if ids and (size is not None or token):
        raise combination("The parameter instancesSet cannot be used with the parameter maxResults")
    if token:
        try:
            behind = base64.b64decode(token, validate=True).decode()
        except ValueError:
            raise invalid("Invalid value for NextToken") from None
        names = [key(each) for each in things]
        if behind in names:
            things = things[names.index(behind) + 1 :]
    size = size or most
    more = None
    if len(things) > size:
        things = things[:size]
        more = base64.b64encode(key(things[-1]).encode()).decode()
    return things, more
