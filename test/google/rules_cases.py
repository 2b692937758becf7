# SPDX-License-Identifier: Apache-2.0
"""Requests and answers, good ones and broken ones, and what rules_test.py is to be told of each: ''
where all is well."""

import json
import urllib.parse

from test.google.token_rules import GRANTS, IAM, OAUTH, STS

B = "/storage/v1/b/bucket"
UP = "/upload/storage/v1/b/bucket/o?uploadType="
JSON = ("Content-Type", "application/json; charset=UTF-8")
PARTS = ("Content-Type", "multipart/related; boundary=b")
ITEMS = "fields=items(name,size,generation),nextPageToken"
OBJECT = '{"name": "a", "size": "5", "generation": "7", "timeCreated": "2026-01-01T00:00:00Z"}'
SESSION = UP + "resumable&name=a&upload_id=x"
SOURCES = '{"sourceObjects": [{"name": "p", "generation": "7"}]}'


def multipart(resource='{"contentType": "text/plain", "crc32c": "AAAAAA=="}', end="--b--\r\n", kind="application/json"):
    return f"--b\r\nContent-Type: {kind}\r\n\r\n{resource}\r\n--b\r\nContent-Type: text/plain\r\n\r\nbytes\r\n{end}"


def sends(range_, size):
    return [("Content-Range", range_), ("Content-Length", str(size))]


# (verb, target, headers, body, what is to be told; '' where all is well)
STORAGE = [
    ("GET", f"{B}/o/a%2Fb", [], "", ""),
    ("GET", f"{B}/o/a?alt=media&generation=7", [("Authorization", "Bearer ya29.x")], "", ""),
    ("GET", f"/download{B}/o/a?alt=media", [], "", ""),
    ("GET", f"{B}/o?{ITEMS}&prefix=a%2F&maxResults=7&startOffset=b&pageToken=c", [], "", ""),
    ("DELETE", f"{B}/o/a?ifGenerationMatch=7", [], "", ""),
    ("POST", f"{B}/o/a/compose?ifGenerationMatch=0", [JSON], SOURCES, ""),
    ("POST", UP + "multipart&name=a&ifGenerationMatch=0", [PARTS], multipart(), ""),
    ("POST", UP + "resumable&name=a", [JSON], '{"contentType": "text/plain"}', ""),
    ("PUT", SESSION, sends("bytes 0-262143/*", 262144), "", ""),
    ("PUT", SESSION, sends("bytes 262144-262148/262149", 5), "", ""),
    ("PUT", SESSION, sends("bytes */*", 0), "", ""),
    ("DELETE", SESSION, [], "", ""),
    ("GET", f"{B}/o/a/b", [], "", "no such request"),
    ("GET", "/storage/v2/b/bucket/o/a", [], "", "no such request"),
    ("GET", "/bucket/a", [], "", "no such request"),
    ("PUT", f"{B}/o/a", [JSON], OBJECT, "acl: is required"),
    ("POST", f"{B}/o/a", [JSON], OBJECT, "no such request"),
    ("GET", f"/download{B}/o?prefix=a", [], "", "no such request"),
    ("POST", "/upload/storage/v1/b/bucket/a?uploadType=media", [], "", "no such request"),
    ("GET", f"{B}/o/a%2", [], "", "not percent-encoded"),
    ("GET", f"{B}/o/{'a' * 1025}", [], "", "more than 1024 bytes"),
    ("GET", f"{B}/o?prefx=a", [], "", "parameter prefx: the document does not know it"),
    ("GET", f"{B}/o/a?prefix=a", [], "", "parameter prefix: the document does not know it"),
    ("GET", f"{B}/o/a?upload_id=7", [], "", "parameter upload_id"),
    ("GET", f"{B}/o?returnPartialSuccess=true", [], "", "parameter returnPartialSuccess"),
    ("GET", f"{B}/o/a?object=b", [], "", "parameter object"),
    ("GET", f"{B}/o/a?generation=7&generation=8", [], "", "given twice"),
    ("GET", f"{B}/o/a?generation=new", [], "", "is no int64"),
    ("GET", f"{B}/o/a?generation={1 << 63}", [], "", "is no int64"),
    ("GET", f"{B}/o?maxResults=-1", [], "", "is no uint32"),
    ("GET", f"{B}/o?versions=yes", [], "", "neither true nor false"),
    ("GET", f"{B}/o?projection=some", [], "", "is none of"),
    ("GET", f"{B}/o/a?alt=xml", [], "", "is none of"),
    ("GET", f"{B}/o?alt=media", [], "", "gives no media"),
    ("GET", f"{B}/o/a?fields=name,sise", [], "", "sise is nowhere in Object"),
    ("GET", f"{B}/o?fields=items(name", [], "", "selects nothing"),
    ("GET", f"{B}/o?fields=name", [], "", "name is nowhere in Objects"),
    ("POST", "/storage/v1/b", [JSON], '{"name": "bucket"}', "parameter project: is required"),
    ("DELETE", f"{B}/o/a", [JSON, ("Content-Length", "2")], "{}", "a body where there is none"),
    ("POST", f"{B}/o/a/compose", [JSON], '{"sourceObject": []}', "Cannot find field"),
    ("POST", f"{B}/o/a/compose", [JSON], "{}", "sourceObjects: is required"),
    ("POST", f"{B}/o/a/compose", [JSON], "", "no body"),
    ("POST", f"{B}/o/a/compose", [JSON], "name=a", "is no JSON"),
    ("POST", f"{B}/o/a/compose", [("Content-Type", "text/plain"), ("Content-Length", "9")], SOURCES, "of JSON"),
    ("POST", f"{B}/o/a/compose", [JSON], SOURCES.replace('"7"', "7"), "7 is no string"),
    ("POST", f"{B}/o/a/compose", [JSON], SOURCES.replace('"7"', '"x"'), "is no int64"),
    ("POST", f"{B}/o/a/compose", [JSON], SOURCES.replace('"name": "p", ', ""), "name: is required"),
    ("POST", f"{B}/o/a/compose", [JSON], json.dumps({"sourceObjects": [{"name": "p"}] * 33}), "33 of 1 to 32"),
    ("POST", UP + "parts&name=a", [PARTS], multipart(), "'parts' is none of"),
    ("POST", "/upload/storage/v1/b/bucket/o?name=a", [PARTS], multipart(), "None is none of"),
    ("POST", UP + "multipart&name=a", [JSON], multipart(), "not multipart/related"),
    ("POST", UP + "multipart&name=a", [PARTS], multipart(end=""), "of two parts"),
    ("POST", UP + "multipart&name=a", [PARTS], "{}", "of two parts"),
    ("POST", UP + "multipart&name=a", [PARTS], multipart(kind="text/plain"), "is no JSON"),
    ("POST", UP + "multipart&name=a", [PARTS], multipart('{"crc": "A"}'), "Cannot find field"),
    ("POST", UP + "multipart&name=a", [PARTS], multipart('{"size": 5}'), "5 is no string"),
    ("POST", UP + "multipart", [PARTS], multipart(), "an object without a name"),
    ("POST", UP + "resumable&name=a", [JSON], '{"content": "x"}', "Cannot find field"),
    ("POST", SESSION, [], "", "of a session of an upload"),
    ("PUT", UP + "multipart&name=a&upload_id=x", [], "", "a session of the type multipart"),
    ("PUT", SESSION, sends("0-5/*", 6), "", "Content-Range '0-5/*'"),
    ("PUT", SESSION, sends("bytes 0-9/*", 10), "", "no multiple of 256 KiB"),
    ("PUT", SESSION, sends("bytes 0-9/10", 9), "", "of 9 bytes"),
    ("PUT", SESSION, sends("bytes 5-9/9", 5), "", "goes over its end"),
    ("GET", f"{B}/o/a", [("Authorization", "ya29.x")], "", "no bearer token"),
]

LIST = ("GET", f"{B}/o?{ITEMS}", [])
ERROR = '{"error": {"code": 412, "message": "no", "errors": []}}'
# (request, status, headers, body, what is to be told)
ANSWERS = [
    (LIST, 200, [], '{"kind": "storage#objects", "items": [' + OBJECT + "]}", ""),
    (LIST, 412, [], ERROR, ""),
    (("DELETE", f"{B}/o/a", []), 204, [], "", ""),
    (("DELETE", SESSION, []), 499, [], "", ""),
    (("PUT", SESSION, sends("bytes 0-262143/*", 262144)), 308, [("Range", "bytes=0-9")], "", ""),
    (("POST", UP + "resumable&name=a", [JSON]), 200, [("Location", "http://a/b?upload_id=x")], "", ""),
    (("GET", f"{B}/o/a?alt=media", []), 404, [], "Not Found", ""),
    (LIST, 200, [], '{"items": [{"name": "a", "colour": "red"}]}', "Cannot find field"),
    (LIST, 200, [], '{"items": [{"name": "a", "size": 5}]}', "5 is no string"),
    (LIST, 200, [], '{"items": [{"timeCreated": "today"}]}', "is no time"),
    (LIST, 200, [], '{"items": {}}', "is no array"),
    (LIST, 200, [], "items", "is no JSON"),
    (LIST, 412, [], "no", "not in the form of the API"),
    (LIST, 500, [], ERROR, "the code 412, and 500 as its status"),
    (("DELETE", f"{B}/o/a", []), 200, [], OBJECT, "an answer to what has none"),
    (("PUT", SESSION, sends("bytes 0-262143/*", 262144)), 308, [("Range", "bytes=5-9")], "", "308"),
    (LIST, 308, [], "", "308"),
    (("POST", UP + "resumable&name=a", [JSON]), 200, [], "", "a session at"),
    (("POST", UP + "multipart&name=a", [PARTS]), 200, [], '{"name": 7}', "7 is no string"),
]

FORM = {"Content-Type": "application/x-www-form-urlencoded"}
EXCHANGE = {
    "grant_type": GRANTS + "token-exchange",
    "audience": "//iam.googleapis.com/x",
    "scope": "s",
    "requested_token_type": "urn:ietf:params:oauth:token-type:access_token",
    "subject_token": "t",
    "subject_token_type": "urn:ietf:params:oauth:token-type:jwt",
    "options": "%7B%22userProject%22%3A%22p%22%7D",
}
LOGIN = {"grant_type": "refresh_token", "client_id": "c", "client_secret": "s", "refresh_token": "r"}
ACT = {"scope": ["s"], "lifetime": "3600s", "delegates": ["projects/-/serviceAccounts/b@p.test"]}
ACCOUNT = "/v1/projects/-/serviceAccounts/a@p.test:generateAccessToken"
BEARER = {"Content-Type": "application/json", "Authorization": "Bearer ya29.x"}


def form(fields, **changed):
    told = {name: value for name, value in {**fields, **changed}.items() if value is not None}
    return urllib.parse.urlencode(told)


def sts(**changed):
    return STS, "POST", "/v1/token", FORM, form(EXCHANGE, **changed)


def oauth(**changed):
    return OAUTH, "POST", "/token", FORM, form(LOGIN, **changed)


def iam(path=ACCOUNT, headers=None, **changed):
    told = {name: value for name, value in {**ACT, **changed}.items() if value is not None}
    return IAM, "POST", path, headers or BEARER, json.dumps(told)


# (request, what is to be told)
TOKENS = [
    (sts(), ""),
    (oauth(), ""),
    (iam(), ""),
    (oauth(scope="s"), ""),
    (iam(delegates=[]), ""),
    (oauth(grant_type=GRANTS + "jwt-bearer", assertion="j", client_id=None, client_secret=None, refresh_token=None), ""),
    ((STS, "GET", "/v1/token", FORM, ""), "knows no such request"),
    ((STS, "POST", "/token", FORM, ""), "knows no such request"),
    ((STS, "POST", "/v1/token?scope=s", FORM, form(EXCHANGE)), "parameter scope"),
    ((STS, "POST", "/v1/token", {}, form(EXCHANGE)), "of a form"),
    (sts(grantType="x"), "grantType: the document does not know it"),
    (sts(actor="x"), "actor: the document does not know it"),
    (sts(subject_token=None), "subjectToken: is required"),
    (sts(audience=None), "audience: is required"),
    (sts(scope=None), "scope: is required"),
    (sts(grant_type="token-exchange"), "grantType: "),
    (sts(requested_token_type="jwt"), "requestedTokenType: "),
    (sts(subject_token_type="urn:x"), "subjectTokenType: "),
    (sts(options="%7B%22project%22%3A%22p%22%7D"), "Cannot find field"),
    (sts(options="userProject=p"), "is no JSON"),
    ((*sts()[:3], {**FORM, "Authorization": "Bearer x"}, form(EXCHANGE)), "not a client's"),
    ((OAUTH, "GET", "/token", FORM, ""), "is written nowhere"),
    ((OAUTH, "POST", "/v1/token", FORM, form(LOGIN)), "is written nowhere"),
    ((OAUTH, "POST", "/token", {}, form(LOGIN)), "of a form"),
    (oauth(grant_type="password"), "grant_type: "),
    (oauth(client_secret=None), "client_secret: is required"),
    (oauth(audience="a"), "audience: is written nowhere"),
    (iam("/v1/projects/p/serviceAccounts/a@p.test:generateAccessToken"), "is no account"),
    (iam("/v1/serviceAccounts/a@p.test:generateAccessToken"), "knows no such request"),
    (iam("/v1/projects/-/serviceAccounts/a@p.test:signBlob"), "not what stoker asks for"),
    (iam(ACCOUNT + "?lifetime=1s"), "parameter lifetime"),
    (iam(scopes=["s"]), "Cannot find field"),
    (iam(scope=None), "scope: is required"),
    (iam(scope=[]), "at least one value"),
    (iam(scope="s"), "is no array"),
    (iam(lifetime=3600), "is no string"),
    (iam(lifetime="1h"), "is no duration"),
    (iam(delegates=["b@p.test"]), "is no account"),
    (iam(headers={"Authorization": "Bearer x"}), "of JSON"),
    (iam(headers={"Content-Type": "application/json"}), "without a bearer token"),
]
GIVEN = {"access_token": "t", "expires_in": 3599, "token_type": "Bearer"}
EXCHANGED = {**GIVEN, "issued_token_type": "urn:ietf:params:oauth:token-type:access_token"}
# (service, status, answer, what is to be told)
TOKEN_ANSWERS = [
    (STS, 200, EXCHANGED, ""),
    (OAUTH, 200, GIVEN, ""),
    (IAM, 200, {"accessToken": "t", "expireTime": "2037-01-01T00:00:00Z"}, ""),
    (OAUTH, 400, {"error": "invalid_grant"}, ""),
    (STS, 200, GIVEN, "issued_token_type: is always there"),
    (STS, 200, {**EXCHANGED, "expires_in": "9"}, "'9' is no int32"),
    (STS, 200, {**EXCHANGED, "who": "me"}, "Cannot find field"),
    (IAM, 200, {"accessToken": "t"}, "expireTime: is always there"),
    (IAM, 200, {"accessToken": "t", "expireTime": "noon"}, "is no time"),
    (IAM, 403, {"error": "no"}, "not in the form of the API"),
    (OAUTH, 200, {"access_token": "t"}, "expires_in: is always there"),
    (OAUTH, 400, {"error": {"code": 400}}, "not as RFC 6749 has it"),
]
SERVER = {"Metadata-Flavor": "Google"}
DEFAULT = "/computeMetadata/v1/instance/service-accounts/default/"
METADATA = [
    ("GET", DEFAULT + "token", SERVER, ""),
    ("GET", "/", SERVER, ""),
    ("GET", DEFAULT + "token", {}, "without its header"),
    ("PUT", DEFAULT + "token", SERVER, "of the metadata server"),
    ("GET", "/computeMetadata/v1beta1/instance/token", SERVER, "of the metadata server"),
]
