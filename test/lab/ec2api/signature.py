# SPDX-License-Identifier: Apache-2.0
"""Who signed a request, and whether rightly: by botocore's own signer, on what came in."""

import datetime
import re

from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from test.lab.ec2api.errors import Refusal

SCOPE = re.compile(
    r"AWS4-HMAC-SHA256 Credential=([^/,]+)/(\d{8})/([^/]+)/([^/]+)/aws4_request, ?"
    r"SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})"
)
SKEW = datetime.timedelta(minutes=15)
STRANGER = Refusal("AuthFailure", "AWS was not able to validate the provided access credentials", 401)


class Scope:
    """What the Authorization header says; all '' where it says nothing."""

    def __init__(self, header):
        found = SCOPE.match(header or "")
        self.good = bool(found)
        self.key, self.day, self.region, self.service, self.signed, self.signature = found.groups() if found else ("", "", "", "", "", "")


def verify(scope, keyring, method, path, headers, body):
    """Raises a Refusal. `keyring`: find(access key) -> (secret, token or None), or None."""
    if not scope.good:
        raise Refusal("MissingAuthenticationToken", "Request is missing Authentication Token", 403)
    found = keyring.find(scope.key)
    if found is None:
        raise STRANGER
    secret, token, ends = found
    if token != headers.get("X-Amz-Security-Token"):
        raise STRANGER
    stamp = headers.get("X-Amz-Date", "")
    try:
        sent = datetime.datetime.strptime(stamp, "%Y%m%dT%H%M%SZ")
    except ValueError:
        raise Refusal("IncompleteSignature", f"Date must be in ISO-8601: {stamp}") from None
    now = datetime.datetime.now(datetime.timezone.utc).replace(tzinfo=None)
    if abs(now - sent) > SKEW:
        raise Refusal("RequestExpired", f"Request has expired. Timestamp date is {stamp}. Current date is {now:%Y%m%dT%H%M%SZ}.")
    if ends is not None and now.timestamp() > ends:
        raise Refusal("RequestExpired", "Request has expired.")
    if sign(scope, secret, method, path, headers, body, stamp) != scope.signature:
        raise Refusal(
            "SignatureDoesNotMatch",
            "The request signature we calculated does not match "
            "the signature you provided. Check your AWS Secret Access Key and signing "
            "method.",
            403,
        )


def sign(scope, secret, method, path, headers, body, stamp):
    names = scope.signed.split(";")
    given = {name: headers[name] for name in names if headers.get(name) is not None}
    request = AWSRequest(method, f"http://{headers['Host']}{path}", data=body, headers=given)
    request.context["timestamp"] = stamp
    signer = SigV4Auth(Credentials(scope.key, secret), scope.service, scope.region)
    signer.headers_to_sign = lambda _: _chosen(given)
    return signer.signature(signer.string_to_sign(request, signer.canonical_request(request)), request)


def _chosen(given):
    from botocore.compat import HTTPHeaders

    return HTTPHeaders.from_dict({name.lower(): value for name, value in given.items()})
