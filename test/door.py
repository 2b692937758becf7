# SPDX-License-Identifier: Apache-2.0
"""A door in front of a bucket, at an address of the lab: who comes is judged before the bucket hears
of it, and everything else passes as it came.

    door = Door(gate, 'http://127.0.0.1:8002', judge)     # at door.url

`judge(handler, body)` gives None: it may pass; (status, body): it gets that; CLOSE: no answer."""

import http.client
import http.server
import socketserver
import threading
import urllib.parse

CLOSE = object()
DENIED = 403, b'<?xml version="1.0"?><Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>'
OF_THE_LINE = ("connection", "transfer-encoding", "content-length")


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def body(self):
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        pieces = []
        while size := int(self.rfile.readline().split(b";")[0], 16):
            pieces.append(self.rfile.read(size))
            self.rfile.readline()
        while self.rfile.readline().strip():
            pass
        return b"".join(pieces)

    def handle_one(self):
        if self.headers.get("Expect", "").lower() == "100-continue":
            self.send_response_only(100)
            self.end_headers()
        body = self.body()
        told = self.server.judge(self, body)
        if told is CLOSE:
            self.close_connection = True
        elif told:
            self.out(told[0], [], told[1])
        else:
            self.pass_on(body)

    def pass_on(self, body):
        line = http.client.HTTPConnection(self.server.behind, timeout=60)
        headers = {k: v for k, v in self.headers.items() if k.lower() not in ("transfer-encoding", "expect")}
        line.request(self.command, self.path, body, {**headers, "Content-Length": str(len(body))})
        answer = line.getresponse()
        kept = [(k, v) for k, v in answer.getheaders() if k.lower() not in OF_THE_LINE]
        self.out(answer.status, kept, answer.read(), answer.getheader("Content-Length"))
        line.close()

    def out(self, status, headers, body, length=None):
        self.send_response_only(status)
        for key, value in headers:
            self.send_header(key, value)
        self.send_header("Content-Length", length if self.command == "HEAD" and length else str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = do_PATCH = handle_one


class Door(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, gate, behind, judge):
        super().__init__((gate, 0), _Handler)
        self.behind = urllib.parse.urlsplit(behind).netloc
        self.judge = judge
        self.url = f"http://{gate}:{self.server_port}"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, *_):
        """Who asked has gone."""


def door_to(url, gate, how):
    """One for a submitter at `gate` or 127.0.0.1; machines are told `how`, which may change: "open",
    "denied", "outage"."""

    def judge(handler, _):
        inside = handler.client_address[0] not in ("127.0.0.1", gate)
        return {"open": None, "outage": CLOSE, "denied": DENIED}[door.how] if inside else None

    door = Door(gate, url, judge)
    door.how = how
    return door
