#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the contract of the store port on fake-gcs-server: gcs_contract.py PROGRAM [ARG…]

Before that, what the contract rests on: that the pinned server honours preconditions for every kind
of upload that we use. A test on one that does not would prove nothing."""

import json
import os
import pathlib
import subprocess
import sys
import urllib.parse

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test import fake_gcs


def multipart(server, name, condition):
    body = b"--b\r\nContent-Type: application/json\r\n\r\n{}\r\n--b\r\nContent-Type: application/octet-stream\r\n\r\nx\r\n--b--\r\n"
    target = f"/upload/storage/v1/b/{fake_gcs.BUCKET}/o?uploadType=multipart&name={name}{condition}"
    return server.status("POST", target, body, {"Content-Type": "multipart/related; boundary=b"})


def resumable(server, name, condition):
    """The status of the last request: a condition is judged there at the latest."""
    target = f"/upload/storage/v1/b/{fake_gcs.BUCKET}/o?uploadType=resumable&name={name}{condition}"
    _, headers = server.call("POST", target, b"{}")
    session = urllib.parse.urlsplit(headers["Location"])
    return server.status("PUT", f"{session.path}?{session.query}", b"x", {"Content-Range": "bytes 0-0/1"})


def prove(server):
    """What is wrong with the server's preconditions."""
    wrong = []
    for upload in (multipart, resumable):
        name = upload.__name__

        def expect(what, status, condition):
            got = upload(server, name, condition)
            if got != status:
                wrong.append(f"{name}: {what}: {got} instead of {status}")

        expect("create-only, nothing there", 200, "&ifGenerationMatch=0")
        expect("create-only, something there", 412, "&ifGenerationMatch=0")
        found, _ = server.call("GET", f"/storage/v1/b/{fake_gcs.BUCKET}/o/{name}")
        generation = json.loads(found)["generation"]
        expect("another generation", 412, "&ifGenerationMatch=1")
        expect("this generation", 200, f"&ifGenerationMatch={generation}")
        expect("a generation that was", 412, f"&ifGenerationMatch={generation}")
        server.call("DELETE", f"/storage/v1/b/{fake_gcs.BUCKET}/o/{name}")
        expect("a generation of what is gone", 412, f"&ifGenerationMatch={generation}")
    return wrong


def main(argv):
    with fake_gcs.FakeGcs() as server:
        wrong = prove(server)
        for each in wrong:
            print(f"gcs_contract: this server does not honour preconditions: {each}", file=sys.stderr)
        if wrong:
            return 1
        env = {**os.environ, "STOKER_TEST_GCS": server.endpoint, "STOKER_TEST_BUCKET": fake_gcs.BUCKET}
        code = subprocess.run(argv, env=env).returncode
        told = server.told()
        print(
            f"gcs_contract: {told['requests']} requests and {told['answers']} answers were held "
            f"against Google's document, {len(told['wrong'])} kinds are not in it"
        )
        return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
