# SPDX-License-Identifier: Apache-2.0
"""What calls that make and end a function of Lambda need of IAM, as far as stoker sends them. Sources:
"Actions, resources, and condition keys for" AWS Lambda, Amazon EventBridge, Amazon CloudWatch Logs
and IAM (Service Authorization Reference)."""

import functools
import re

from test.lab.ec2api.world import ACCOUNT


@functools.cache
def _operations():
    """Of Lambda's REST API: (method, pattern of the path, name)."""
    import botocore.session

    model = botocore.session.get_session().get_service_model("lambda")
    found = []
    for name in model.operation_names:
        http = model.operation_model(name).http
        pattern = re.sub(r"\{[^}]+\}", "[^/]+", http["requestUri"].split("?")[0].rstrip("/"))
        found.append((http["method"], re.compile(pattern), name))
    return found


def name_of_lambda(method, path):
    for verb, pattern, name in _operations():
        if verb == method and pattern.fullmatch(path.rstrip("/")):
            return name
    return f"{method} {path}"


def _passes(given):
    if given.get("Role"):
        yield "iam:PassRole", given["Role"], {"iam:passedtoservice": "lambda.amazonaws.com"}


def asks_of_lambda(region, action, given):
    """`action`: "METHOD /path", as the request has it."""
    method, _, path = action.partition(" ")
    found = re.search(r"/functions/([^/]+)", path)
    name = found[1] if found else given.get("FunctionName", "*")
    arn = f"arn:aws:lambda:{region}:{ACCOUNT}:function:{name}"
    yield f"lambda:{name_of_lambda(method, path)}", arn, {}
    if given.get("Tags"):
        yield "lambda:TagResource", arn, {}
    yield from _passes(given)


def asks_of_events(region, action, given):
    arn = f"arn:aws:events:{region}:{ACCOUNT}:rule/{given.get('Name') or given.get('Rule') or '*'}"
    yield f"events:{action}", arn, {}
    if given.get("Tags"):
        yield "events:TagResource", arn, {}


def asks_of_role(action, given):
    arn = f"arn:aws:iam::{ACCOUNT}:role/{given['RoleName']}"
    yield f"iam:{action}", arn, {}
    if any(each.startswith("Tags.") for each in given):
        yield "iam:TagRole", arn, {}
