# SPDX-License-Identifier: Apache-2.0
"""The query protocol of EC2, both ways, by botocore's model of the service: what is not in the
model is refused in a request and is an error of ours in a reply.

Lists are always numbered as Name.1, and names begin with a capital letter
(https://smithy.io/2.0/aws/protocols/aws-ec2-query-protocol.html)."""

import base64
import binascii
import datetime
import functools
import xml.etree.ElementTree as ET

import botocore.session

from test.lab.ec2api.errors import Refusal, invalid

VERSION = "2016-11-15"
NAMESPACE = f"http://ec2.amazonaws.com/doc/{VERSION}/"
WHOLE = ("integer", "long")


@functools.lru_cache
def model():
    return botocore.session.get_session().get_service_model("ec2", VERSION)


def operation(action):
    if action not in model().operation_names:
        raise Refusal("InvalidAction", f"The action {action} is not valid for this web service.")
    return model().operation_model(action)


def parse(action, given):
    """`given`: the parameters of the request as they came, names to values. The structure that
    boto3 was given."""
    left = dict(given)
    for name in ("Action", "Version"):
        left.pop(name, None)
    shape = operation(action).input_shape
    found = _parse(shape, left, "") if shape else {}
    if left:
        name = sorted(left)[0]
        raise Refusal("UnknownParameter", f"The parameter {name} is not recognized")
    return found or {}


def _name_in_request(shape, member):
    said = shape.serialization
    if "queryName" in said:
        return said["queryName"]
    name = said.get("name", member)
    return name[0].upper() + name[1:]


def _parse(shape, left, prefix):
    if shape.type_name == "structure":
        found = {}
        for member, inner in shape.members.items():
            name = _name_in_request(inner, member)
            value = _parse(inner, left, f"{prefix}.{name}" if prefix else name)
            if value is not None:
                found[member] = value
        return found or None
    if shape.type_name == "list":
        found = []
        while True:
            value = _parse(shape.member, left, f"{prefix}.{len(found) + 1}")
            if value is None:
                return found or None
            found.append(value)
    if prefix not in left:
        return None
    return _scalar(shape, left.pop(prefix), prefix)


def _scalar(shape, text, name):
    kind = shape.type_name
    try:
        if kind in WHOLE:
            return int(text)
        if kind in ("float", "double"):
            return float(text)
        if kind == "timestamp":
            moment = datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))
            return moment if moment.tzinfo else moment.replace(tzinfo=datetime.timezone.utc)
        if kind == "blob":
            return base64.b64decode(text, validate=True)
    except (ValueError, binascii.Error):
        raise invalid(f"Value ({text}) for parameter {name} is invalid.") from None
    if kind == "boolean":
        if text not in ("true", "false"):
            raise invalid(f"Value ({text}) for parameter {name} is invalid.")
        return text == "true"
    return text


def reply(action, result, request_id):
    """The body of a good answer: bytes of XML."""
    root = ET.Element(action + "Response", xmlns=NAMESPACE)
    ET.SubElement(root, "requestId").text = request_id
    shape = operation(action).output_shape
    if shape is None:
        ET.SubElement(root, "return").text = "true"
    else:
        _fill(root, shape, result, action)
    return b'<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root)


def _fill(element, shape, value, where):
    kind = shape.type_name
    if kind == "structure":
        strange = set(value) - set(shape.members)
        if strange:
            raise TypeError(f"{where}: the model has no {sorted(strange)}")
        for member, inner in value.items():
            if inner is None:
                continue
            name = shape.members[member].serialization.get("name", member)
            _fill(ET.SubElement(element, name), shape.members[member], inner, f"{where}.{member}")
    elif kind == "list":
        for item in value:
            name = shape.member.serialization.get("name", "item")
            _fill(ET.SubElement(element, name), shape.member, item, where)
    else:
        element.text = _text(kind, value, where)


def _text(kind, value, where):
    if kind == "boolean":
        if not isinstance(value, bool):
            raise TypeError(f"{where}: {value!r} is no boolean")
        return "true" if value else "false"
    if kind in WHOLE and not isinstance(value, int):
        raise TypeError(f"{where}: {value!r} is no whole number")
    if kind == "timestamp":
        return value.astimezone(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.000Z")
    if kind == "blob":
        return base64.b64encode(value).decode()
    if kind == "string" and not isinstance(value, str):
        raise TypeError(f"{where}: {value!r} is no text")
    return str(value)


def refusal(error, request_id):
    root = ET.Element("Response")
    one = ET.SubElement(ET.SubElement(root, "Errors"), "Error")
    ET.SubElement(one, "Code").text = error.code
    ET.SubElement(one, "Message").text = error.words
    ET.SubElement(root, "RequestID").text = request_id
    return b'<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root)
