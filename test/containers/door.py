# SPDX-License-Identifier: Apache-2.0
"""A door with TLS in front of a plain registry, for whom its `lets_in` lets in: pulls alone. So a registry
takes logins that change, as those of clouds do."""

import base64
import http.client
import http.server
import ssl
import subprocess
import threading


class Door(http.server.ThreadingHTTPServer):
    """`names`: hosts that its certificate is for. `lets_in(name, user, password)`: who, or None. `seen`: (name,
    who) of all requests that were let in."""

    daemon_threads = True

    def __init__(self, folder, address, names, behind, lets_in):
        self.certificate, self.behind, self.lets_in, self.seen = folder / "door.crt", behind, lets_in, []
        words = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=door"]
        names = ",".join(f"DNS:{each}" for each in names)
        words += ["-keyout", folder / "door.key", "-out", self.certificate, "-addext", f"subjectAltName={names}"]
        subprocess.run(words, check=True, capture_output=True)
        super().__init__((address, 443), Visitor)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.certificate, folder / "door.key")
        self.socket = context.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)
        threading.Thread(target=self.serve_forever, args=(0.1,), daemon=True).start()

    def handle_error(self, *_):
        """Who goes away in the middle."""

    def end(self):
        self.shutdown()
        self.server_close()


class Visitor(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        """The registry's log has them."""

    def who(self):
        kind, _, word = self.headers.get("Authorization", "").partition(" ")
        if kind.lower() != "basic":
            return None
        user, _, password = base64.b64decode(word).decode().partition(":")
        return self.server.lets_in(self.headers["Host"], user, password)

    def do_GET(self):
        who = self.who()
        if who is None:
            self.send_response(401)
            self.send_header("WWW-Authenticate", 'Basic realm="door"')
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        self.server.seen.append((self.headers["Host"], who))
        line = http.client.HTTPConnection(self.server.behind, timeout=60)
        line.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
        for name, value in self.headers.items():  # several of them may be called Accept
            if name.lower() in ("accept", "range", "host"):
                line.putheader(name, value)
        line.endheaders()
        answer = line.getresponse()
        body = answer.read()
        self.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in ("transfer-encoding", "connection", "content-length", "date", "server"):
                self.send_header(name, value)
        self.send_header("Content-Length", answer.headers.get("Content-Length", str(len(body))))
        self.end_headers()
        self.wfile.write(body)
        line.close()

    do_HEAD = do_GET
