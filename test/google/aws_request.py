# SPDX-License-Identifier: Apache-2.0
"""A serialised request for sts:GetCallerIdentity, by which what runs at Amazon tells Google who it
is (AIP-4117)."""

import hashlib
import hmac
import json
import urllib.parse


def signed_by(subject, secrets):
    """What Amazon would check and tell of it. `secrets`: those of access keys; KeyError: a key that
    is not there. The signature is worked out as the IAM user guide says."""
    request = json.loads(urllib.parse.unquote(subject))
    url = urllib.parse.urlsplit(request["url"])
    headers = {each["key"].lower(): each["value"] for each in request["headers"]}
    words = headers["authorization"].split(" ", 1)[1].split(", ")
    said = dict(word.split("=", 1) for word in words)
    key, day, region, service, last = said["Credential"].split("/")
    names = said["SignedHeaders"].split(";")
    query = "&".join(
        sorted(
            f"{urllib.parse.quote(name, safe='-_.~')}={urllib.parse.quote(value, safe='-_.~')}"
            for name, value in urllib.parse.parse_qsl(url.query, keep_blank_values=True)
        )
    )
    canonical = "\n".join(
        [
            request["method"],
            url.path or "/",
            query,
            *(f"{n}:{headers[n]}" for n in names),
            "",
            said["SignedHeaders"],
            hashlib.sha256(b"").hexdigest(),
        ]
    )
    text = "\n".join(
        ["AWS4-HMAC-SHA256", headers["x-amz-date"], f"{day}/{region}/{service}/{last}", hashlib.sha256(canonical.encode()).hexdigest()]
    )
    sign = ("AWS4" + secrets[key]).encode()
    for word in (day, region, service, last, text):
        sign = hmac.new(sign, word.encode(), hashlib.sha256).digest()
    return {
        "request": (request["method"], request["url"], headers["host"]),
        "by": (key, region, service, headers.get("x-amz-security-token", "")),
        "for": headers["x-goog-cloud-target-resource"],
        "good": sign.hex() == said["Signature"] and "host" in names,
    }
