# SPDX-License-Identifier: Apache-2.0
"""A server of HTTP in threads, for what the lab serves: over TCP, or over a socket in the file
system, which a room's own address leads to."""

import os
import socket
import socketserver
import struct
import threading
from http.server import BaseHTTPRequestHandler

LINGER_OFF = struct.pack("ii", 1, 0)


class Handler(BaseHTTPRequestHandler):
    """A server answers through `answer(handler)`, which calls handler.out() once."""

    protocol_version = "HTTP/1.1"
    wbufsize = -1  # an answer in one piece

    def log_message(self, *_):
        pass

    def address_string(self):
        return "client"

    def body(self):
        length = self.headers.get("Content-Length")
        return self.rfile.read(int(length)) if length and length.isdigit() else b""

    def out(self, status, body=b"", headers=None):
        if isinstance(body, str):
            body = body.encode()
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)
        self.wfile.flush()

    def cut(self):
        """The client sees its connection reset."""
        if self.connection.family != socket.AF_UNIX:
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, LINGER_OFF)
        self.close_connection = True
        self.wfile = open(os.devnull, "wb")
        self.connection.close()

    def serve(self):
        try:
            self.server.answer(self)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = do_PATCH = serve


class Server(socketserver.ThreadingMixIn, socketserver.TCPServer):
    daemon_threads = True
    request_queue_size = 128
    allow_reuse_address = True

    def __init__(self, answer, path=None, host="127.0.0.1", bound=None):
        """On a free port of `host`, at `path` in the file system, or on a socket that is bound."""
        self.answer = answer
        self.path = path
        if path:
            self.address_family = socket.AF_UNIX
        super().__init__(path or (host, 0), Handler, bind_and_activate=bound is None)
        if bound is not None:
            self.socket.close()
            self.socket = bound
            self.server_address = bound.getsockname()
            self.server_activate()
        self.thread = threading.Thread(target=self.serve_forever, args=(0.1,), daemon=True)
        self.thread.start()

    def get_request(self):
        connection, address = super().get_request()
        if not self.path:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection, address or ("", 0)

    def handle_error(self, *_):
        """A client that went away is no news."""

    @property
    def port(self):
        return self.server_address[1]

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    def end(self):
        self.shutdown()
        self.server_close()
        if self.path and os.path.exists(self.path):
            os.unlink(self.path)
