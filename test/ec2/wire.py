# SPDX-License-Identifier: Apache-2.0
"""A way to a server that does as the test says after each call that has passed: the server has done
it by then, and the caller does not know yet."""

import http.client
import urllib.parse

from test.lab.web import Server

NOT_PASSED_ON = ("connection", "content-length", "transfer-encoding", "date", "server")


class Wire:
    """`passed(words)` gets what was asked for; where it returns True the answer is lost."""

    def __init__(self, target, passed, host):
        self.host = urllib.parse.urlsplit(target).netloc
        self.passed = passed
        self.server = Server(self, host=host)
        self.url = f"http://{host}:{self.server.port}"

    def __call__(self, handler):
        body = handler.body()
        line = http.client.HTTPConnection(self.host, timeout=60)
        # The name of this server stays: it is signed.
        headers = {k: v for k, v in handler.headers.items() if k.lower() not in NOT_PASSED_ON[:1]}
        try:
            line.request(handler.command, handler.path, body, headers)
            answer = line.getresponse()
            data = answer.read()
        except (http.client.HTTPException, OSError):
            return handler.cut()
        finally:
            line.close()
        form = dict(urllib.parse.parse_qsl(body[:4096].decode(errors="replace")))
        path = urllib.parse.urlsplit(handler.path).path
        if self.passed(form.get("Action") or f"{handler.command} {path}"):
            return handler.cut()
        if handler.command == "HEAD":
            data = bytes(int(answer.getheader("Content-Length") or 0))
        kept = {k: v for k, v in answer.getheaders() if k.lower() not in NOT_PASSED_ON}
        return handler.out(answer.status, data, kept)

    def end(self):
        self.server.end()
