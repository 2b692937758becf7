# SPDX-License-Identifier: Apache-2.0
"""A real registry (Debian's docker-registry) with TLS, a certificate of its own and a password, in
folders of the test's."""

import base64
import http.client
import http.server
import json
import os
import pathlib
import shutil
import socket
import ssl
import struct
import subprocess
import sys
import threading
import time

from test.containers.engines import bring, sbin

NAME, PASSWORD = "puller", "open:sesame"


def named(path, address, *names):
    """From now on `names` lead to `address` in this mount namespace, which is the test's own; `path`: a file
    for that."""
    path.write_text(pathlib.Path("/etc/hosts").read_text() + f"{address} {' '.join(names)}\n")
    subprocess.run(["mount", "--bind", path, "/etc/hosts"], check=True)


class ImageRegistry:
    """`host`: as images name it. It is not 127.0.0.0/8, where docker asks for no certificate.
    `name`: a host that leads to `address`, with the port of https; else it has a port of its own.
    `login`: whom it lets in."""

    def __init__(self, folder, address="127.0.0.1", name="", login=(NAME, PASSWORD)):
        bring("registry")
        self.folder = folder
        folder.mkdir(mode=0o755)
        self.login = login
        with socket.socket() as free:
            free.bind((address, 443 if name else 0))
            listens = f"{address}:{free.getsockname()[1]}"
        self.host = name or listens
        self.certificate = folder / "ca.crt"
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=registry", "-keyout", folder / "key"]
            + ["-out", self.certificate, "-addext", f"subjectAltName={f'DNS:{name}' if name else f'IP:{address}'}"],
            check=True,
            capture_output=True,
        )
        words = subprocess.run(["htpasswd", "-Bbn", *login], check=True, capture_output=True, text=True, env={"PATH": sbin()})
        (folder / "htpasswd").write_text(words.stdout.strip() + "\n")
        settings = {
            "version": "0.1",
            "log": {"accesslog": {"disabled": False}},
            "storage": {"filesystem": {"rootdirectory": str(folder / "data")}, "delete": {"enabled": True}},
            "http": {"addr": listens, "tls": {"certificate": str(self.certificate), "key": str(folder / "key")}},
            "auth": {"htpasswd": {"realm": "test", "path": str(folder / "htpasswd")}},
        }
        (folder / "settings.yml").write_text(json.dumps(settings))
        self.process = None
        self.start()

    def start(self):
        self.log = open(self.folder / "log", "a", encoding="utf-8")
        self.process = subprocess.Popen(
            [shutil.which("docker-registry", path=sbin()), "serve", self.folder / "settings.yml"], stdout=self.log, stderr=self.log
        )
        end = time.monotonic() + 60
        while not self.answers():
            if self.process.poll() is not None or time.monotonic() > end:
                sys.exit("containers: the registry does not come up:\n" + (self.folder / "log").read_text()[-3000:])
            time.sleep(0.1)

    def answers(self):
        context = ssl.create_default_context(cafile=self.certificate)
        try:
            connection = http.client.HTTPSConnection(self.host, context=context, timeout=2)
            connection.request("GET", "/v2/")
            return connection.getresponse().status == 401
        except OSError:
            return False

    def stop(self):
        if self.process:
            self.process.terminate()
            self.process.wait()
            self.log.close()
        self.process = None

    def trust(self, home, host=""):
        """As the engines want it, of one user's."""
        where = home / ".config" / "containers" / "certs.d" / (host or self.host)
        where.mkdir(parents=True, exist_ok=True)
        shutil.copy(self.certificate, where / "ca.crt")
        return home / ".config"

    def copy(self, source, name, *words):
        """By skopeo, from where `source` has it; its digest."""
        target = f"{self.host}/{name}"
        digest = self.folder / "digest"
        done = subprocess.run(
            ["skopeo", "--insecure-policy", "copy", f"--dest-creds={':'.join(self.login)}", f"--dest-cert-dir={self.folder}"]
            + ["--digestfile", digest, *words, source, f"docker://{target}"],
            capture_output=True,
            text=True,
            env={"PATH": sbin(), "HOME": str(self.folder), "TMPDIR": str(self.folder)},
        )
        if done.returncode != 0:
            raise AssertionError(f"skopeo copy {source} -> {done.returncode}\n{done.stderr}")
        return digest.read_text().strip()

    def asked(self):
        """The requests of its log, as `METHOD /path STATUS`."""
        self.log.flush()
        out = []
        for line in (self.folder / "log").read_text().splitlines():
            parts = line.split('"')
            if len(parts) > 2 and " HTTP/" in parts[1]:
                out.append(parts[1].rsplit(" ", 1)[0] + " " + parts[2].split()[0])
        return out


def login_file(path, host, name=NAME, password=PASSWORD):
    """As docker and podman write it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    word = base64.b64encode(f"{name}:{password}".encode()).decode()
    path.write_text(json.dumps({"auths": {host: {"auth": word}}}))
    os.chmod(path, 0o600)


class Stumble(http.server.ThreadingHTTPServer):
    """A registry's own address with its certificate, which answers `trouble` instead of it where that is set:
    a status, "reset" = the connection is. `met`: how often it was."""

    daemon_threads = True

    def __init__(self, registry):
        self.registry, self.trouble, self.met = registry, None, 0
        super().__init__((registry.host.split(":")[0], 0), Stumbling)
        self.host = f"{registry.host.split(':')[0]}:{self.server_address[1]}"
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(registry.certificate, registry.folder / "key")
        self.socket = context.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)
        threading.Thread(target=self.serve_forever, args=(0.1,), daemon=True).start()

    def handle_error(self, *_):
        """Who goes away in the middle."""

    def end(self):
        self.shutdown()
        self.server_close()


class Stumbling(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        """The registry's log has them."""

    def stumbles(self):
        trouble = self.server.trouble
        if trouble is None:
            return False
        self.server.met += 1
        if trouble == "reset":
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()
            self.close_connection = True
            return True
        body = json.dumps({"errors": [{"code": "TOOMANYREQUESTS", "message": "slow down"}]}).encode() if trouble == 429 else b""
        self.send_response(trouble)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)
        return True

    def do_GET(self):
        if self.stumbles():
            return
        context = ssl.create_default_context(cafile=self.server.registry.certificate)
        line = http.client.HTTPSConnection(self.server.registry.host, context=context, timeout=60)
        line.putrequest(self.command, self.path, skip_accept_encoding=True)
        for name, value in self.headers.items():  # several of them may be called Accept
            if name.lower() in ("accept", "range", "authorization"):
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
