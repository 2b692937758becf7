# SPDX-License-Identifier: Apache-2.0
"""Requests to the services that give tokens, and their answers: by the discovery documents sts.v1
and iamcredentials.v1; of what no document has, by what is written elsewhere, named beside it."""

import json
import re
import urllib.parse

from test.google import api_rules
from test.lab.gceapi.discovery import discovery

STS = "https://sts.googleapis.com"
IAM = "https://iamcredentials.googleapis.com"
OAUTH = "https://oauth2.googleapis.com"
GRANTS = "urn:ietf:params:oauth:grant-type:"
# RFC 8693, 2.1; https://cloud.google.com/iam/docs/reference/sts/rest/v1/TopLevel/token has the same
# names as the document, which writes them as JSON does. A form has them as the RFC does.
EXCHANGE = GRANTS + "token-exchange"
WORDS = {
    "audience": "audience",
    "grant_type": "grantType",
    "options": "options",
    "scope": "scope",
    "requested_token_type": "requestedTokenType",
    "subject_token": "subjectToken",
    "subject_token_type": "subjectTokenType",
    "actor_token": "actorToken",
    "actor_token_type": "actorTokenType",
}
# No document has the token endpoint. RFC 6749, 6:
# https://developers.google.com/identity/protocols/oauth2/web-server#offline
# and RFC 7523: https://developers.google.com/identity/protocols/oauth2/service-account
FORMS = {"refresh_token": ({"client_id", "client_secret", "refresh_token"}, {"scope"}), GRANTS + "jwt-bearer": ({"assertion"}, set())}
# https://cloud.google.com/compute/docs/metadata/predefined-metadata-keys, and
# https://cloud.google.com/compute/docs/metadata/querying-metadata; at / the server says that it is
# Google's: "Detect if a VM is running in Compute Engine", on the same page.
METADATA = re.compile(
    r"/?|/computeMetadata/v1/(?:project/project-id|universe/universe-domain|"
    r"instance/service-accounts/default/(?:|email|token|identity))"
)
DURATION = re.compile(r"\d{1,12}(\.\d{1,9})?s")  # google-duration: protobuf's JSON mapping
ACCOUNT = re.compile(r"projects/-/serviceAccounts/[^/]+")


def of_request(base, verb, target, headers, body):
    """What is wrong, in words. None: no service of Google's that is known here."""
    headers = {name.lower(): value for name, value in headers.items()}
    path, _, query = target.partition("?")
    if base == STS:
        return list(_of_exchange(verb, path, query, headers, body))
    if base == IAM:
        return list(_of_impersonation(verb, path, query, headers, body))
    if base == OAUTH:
        return list(_of_token(verb, path, query, headers, body))
    return None


def of_answer(base, status, text):
    if status >= 400 and base == IAM:
        yield from api_rules.of_error(status, text)
    elif status >= 400:
        yield from _of_refusal(text)
    elif base == STS:
        document, schema = discovery("sts.v1"), "GoogleIdentityStsV1ExchangeTokenResponse"
        yield from api_rules.of_json(document, schema, text)
        yield from _lacks(text, ("access_token", "issued_token_type", "token_type"))
    elif base == IAM:
        document, schema = discovery("iamcredentials.v1"), "GenerateAccessTokenResponse"
        yield from api_rules.of_json(document, schema, text)
        yield from _lacks(text, ("accessToken", "expireTime"))
    else:
        yield from _lacks(text, ("access_token", "expires_in", "token_type"))


def of_metadata(verb, target, headers):
    """Of the metadata server, which no document has."""
    path = target.partition("?")[0]
    if verb != "GET" or not METADATA.fullmatch(path):
        yield f"{verb} {path} of the metadata server"
    if {k.lower(): v for k, v in headers.items()}.get("metadata-flavor") != "Google":
        yield "the metadata server was asked without its header"


def _find(document, verb, path, query):
    method, values = discovery(document).find(verb, path)
    if method is None:
        return None, [f"{verb} {path}: the document {document} knows no such request"]
    wrong = list(api_rules.of_query(discovery(document), method, query))
    return method, wrong + list(api_rules.of_path(discovery(document), method, values))


def _of_exchange(verb, path, query, headers, body):
    method, wrong = _find("sts.v1", verb, path, query)
    yield from wrong
    if method is None:
        return
    yield from _of_form(headers)
    form = dict(urllib.parse.parse_qsl(body, keep_blank_values=True))
    for name in form:
        if name not in WORDS:
            yield f"{name}: the document does not know it"
    told = {WORDS[name]: value for name, value in form.items() if name in WORDS}
    document = discovery("sts.v1")
    yield from api_rules.of_json(document, method.request, json.dumps(told), method.id)
    known = document.schemas[method.request]["properties"]
    for name, rule in (("grantType", "Must be"), ("requestedTokenType", "Can be"), ("subjectTokenType", "Supported values are")):
        good = re.findall(r"`(urn:[^`]+)`", known[name]["description"].split(rule, 1)[1])
        if told.get(name, good[0]) not in good:
            yield f"{name}: {told[name]!r} is none of {good}"
    # "Required when exchanging an external credential for a Google access token".
    for name in ("audience", "scope"):
        if not told.get(name):
            yield f"{name}: is required"
    if "options" in told:
        yield from api_rules.of_json(document, "GoogleIdentityStsV1Options", urllib.parse.unquote(told["options"]))
    if not re.fullmatch(r"Basic [A-Za-z0-9+/]+=*", headers.get("authorization", "Basic x")):
        yield "an Authorization that is not a client's"


def _without_no_delegates(body):
    """google-auth says null where there are none, which in JSON of protocol buffers is a field that
    is not set (https://protobuf.dev/programming-guides/json/)."""
    try:
        told = json.loads(body)
    except ValueError:
        return body
    if not isinstance(told, dict) or told.get("delegates", 0) is not None:
        return body
    del told["delegates"]
    return json.dumps(told)


def _of_impersonation(verb, path, query, headers, body):
    method, wrong = _find("iamcredentials.v1", verb, path, query)
    yield from wrong
    if method is None:
        return
    if not method.id.endswith(".generateAccessToken"):
        yield f"{method.id} is not what stoker asks for"
        return
    if headers.get("content-type", "").split(";")[0] != "application/json":
        yield f"Content-Type {headers.get('content-type')!r} of JSON"
    body = _without_no_delegates(body)
    yield from api_rules.of_json(discovery("iamcredentials.v1"), method.request, body, method.id)
    # The document's own words for `name` and `delegates`.
    name = urllib.parse.unquote(path.removeprefix("/v1/").rpartition(":")[0])
    try:
        told = json.loads(body)
    except ValueError:
        return
    for each in [name, *told.get("delegates", [])]:
        if not ACCOUNT.fullmatch(str(each)):
            yield f"{each!r} is no account as projects/-/serviceAccounts/…"
    if not DURATION.fullmatch(str(told.get("lifetime", "1s"))):
        yield f"lifetime: {told['lifetime']!r} is no duration"
    if told.get("scope") == []:
        yield "scope: at least one value is required"
    if not re.fullmatch(r"Bearer [\w.~+/=-]+", headers.get("authorization", "")):
        yield "asked without a bearer token"


def _of_token(verb, path, query, headers, body):
    if (verb, path, query) != ("POST", "/token", ""):
        yield f"{verb} {path}?{query}: is written nowhere"
        return
    yield from _of_form(headers)
    form = dict(urllib.parse.parse_qsl(body, keep_blank_values=True))
    kind = form.pop("grant_type", None)
    if kind not in FORMS:
        yield f"grant_type: {kind!r} is none of {sorted(FORMS)}"
        return
    needed, more = FORMS[kind]
    yield from (f"{each}: is required" for each in sorted(needed - form.keys()))
    yield from (f"{each}: is written nowhere" for each in sorted(form.keys() - needed - more))


def _of_form(headers):
    if headers.get("content-type", "").split(";")[0] != "application/x-www-form-urlencoded":
        yield f"Content-Type {headers.get('content-type')!r} of a form"


def _of_refusal(text):
    """RFC 6749, 5.2."""
    try:
        good = isinstance(json.loads(text)["error"], str)
    except (ValueError, KeyError, TypeError):
        good = False
    if not good:
        yield f"a refusal that is not as RFC 6749 has it: {text[:80]!r}"


def _lacks(text, names):
    try:
        told = json.loads(text)
    except ValueError:
        return
    yield from (f"{each}: is always there" for each in names if each not in told)
