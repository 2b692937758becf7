#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""That what holds requests and answers against Google's documents notices what they do not have:
good ones pass, those of Google's own client included, and each that is broken is told of."""

import contextlib
import io
import json
import pathlib
import sys

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test import cloud_env

cloud_env.enter()
from test import fake_gcs
from test.google import rules_cases as cases
from test.google import storage_rules, token_rules


def of_storage(verb, target, headers, body):
    call = storage_rules.Call(verb, target, headers)
    if call.wants_body:
        call.body(body.encode(), body.encode()[-64:])
    return call.wrong


def of_answer(request, status, headers, text):
    return list(storage_rules.Call(*request).answer(status, headers, text.encode()))


class Judge:
    def __init__(self):
        self.good = self.seen = 0
        self.failed = []

    def __call__(self, what, told, words):
        right = any(words in each for each in told) if words else not told
        if right:
            self.good += not words
            self.seen += bool(words)
            return
        self.failed.append(what)
        print(f"FAIL {what}: told {told} instead of {words!r}", flush=True)


def tables(judge):
    for verb, target, headers, body, words in cases.STORAGE:
        judge(f"{verb} {target} {body}"[:200], of_storage(verb, target, headers, body), words)
    for request, status, headers, text, words in cases.ANSWERS:
        judge(f"{request[:2]}: {status} {text}", of_answer(request, status, headers, text), words)
    for request, words in cases.TOKENS:
        judge(str(request), token_rules.of_request(*request), words)
    for base, status, told, words in cases.TOKEN_ANSWERS:
        judge(f"{base}: {told}", list(token_rules.of_answer(base, status, json.dumps(told))), words)
    for verb, target, headers, words in cases.METADATA:
        judge(f"{verb} {target}", list(token_rules.of_metadata(verb, target, headers)), words)


def googles_client(server):
    """Nothing that Google's own client asks is taken for wrong."""
    bucket = server.client().bucket(fake_gcs.BUCKET)
    bucket.blob("a/b c").upload_from_string("hello")
    big = bucket.blob("big")
    big.chunk_size = 256 << 10
    big.upload_from_file(io.BytesIO(b"x" * (600 << 10)))
    bucket.get_blob("a/b c").download_as_bytes()
    server.keys("a")
    server.status("GET", f"/storage/v1/b/{fake_gcs.BUCKET}/o/gone")
    big.delete()


def relayed(judge):
    """The relay holds what really passes, and cuts what was not asked for."""
    with fake_gcs.FakeGcs() as server:
        googles_client(server)
        told = server.told()
        judge(f"Google's client, {told['requests']} requests", told["wrong"], "")
        listed, _ = server.call("GET", f"/storage/v1/b/{fake_gcs.BUCKET}/o?fields=items(size)")
        judge("fields", [] if json.loads(listed) == {"items": [{"size": "5"}]} else [listed], "")
    o = f"/storage/v1/b/{fake_gcs.BUCKET}/o"
    judge("a test whose request is wrong", fails_of("GET", f"{o}?prefx=a"), "parameter prefx")
    body = cases.multipart('{"size": 5}').encode()
    upload = "POST", f"/upload{o}?uploadType=multipart&name=a", body, dict([cases.PARTS])
    judge("a test whose body is wrong", fails_of(*upload), "5 is no string")


def fails_of(*request):
    """What ends a test that asks so."""
    try:
        with contextlib.redirect_stderr(io.StringIO()), fake_gcs.FakeGcs() as server:
            server.status(*request)
    except fake_gcs.Undocumented as error:
        return [str(error)]
    return []


def main():
    judge = Judge()
    tables(judge)
    relayed(judge)
    print(f"rules: {judge.good} good ones pass, {judge.seen} broken ones are told of; {len(judge.failed)} are not judged right")
    return bool(judge.failed)


if __name__ == "__main__":
    sys.exit(main())
