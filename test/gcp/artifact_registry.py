# SPDX-License-Identifier: Apache-2.0
"""A registry of images that others wrote (Debian's docker-registry), where one logs in as at Artifact
Registry: with a token of Google's, which its own place for tokens exchanges. What is pulled and
pushed is up to docker-registry, which verifies that token. Call cloud_env.enter() before."""

import base64
import http.client
import http.server
import json
import pathlib
import shutil
import socket
import ssl
import subprocess
import tempfile
import threading
import time
import urllib.parse

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding

from test.google.authority import certify, new_key

NAME = "oauth2accesstoken"


def text64(data):
    return base64.urlsafe_b64encode(data if isinstance(data, bytes) else json.dumps(data).encode()).rstrip(b"=")


class ArtifactRegistry:
    """`host`: as images name it. `ca`: whom to trust. `may(email, repository)`: whether it may push.
    `after(request)`: called once it has taken effect, before it is answered. `repositories`: where
    docker-registry keeps what is in each."""

    def __init__(self, address, identity):
        from test.containers.engines import bring, sbin

        bring("registry")
        self.identity = identity
        self.may = lambda email, repository: True
        self.after = lambda request: None
        self.holder = tempfile.TemporaryDirectory(prefix="stoker-registry-")
        self.folder = pathlib.Path(self.holder.name)
        self.repositories = self.folder / "data/docker/registry/v2/repositories"
        self.key = new_key()
        self.ca, certificate = certify(self.folder, ["registry.test"], address)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        self.server = Front((address, 0), self, context)
        self.host = f"{address}:{self.server.server_address[1]}"
        self.signer = self.certified()
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.behind = f"127.0.0.1:{free.getsockname()[1]}"
        settings = {
            "version": "0.1",
            "storage": {"filesystem": {"rootdirectory": str(self.folder / "data")}},
            "http": {"addr": self.behind, "relativeurls": True},
            "auth": {
                "token": {
                    "realm": f"https://{self.host}/v2/token",
                    "service": address,
                    "issuer": "the lab",
                    "rootcertbundle": str(self.signer),
                }
            },
        }
        (self.folder / "settings.yml").write_text(json.dumps(settings))
        self.log = open(self.folder / "log", "w", encoding="utf-8")
        words = [shutil.which("docker-registry", path=sbin()), "serve", str(self.folder / "settings.yml")]
        self.process = subprocess.Popen(words, stdout=self.log, stderr=self.log)
        threading.Thread(target=self.server.serve_forever, args=(0.1,), daemon=True).start()
        end = time.monotonic() + 60
        while not self.answers():
            if self.process.poll() is not None or time.monotonic() > end:
                raise RuntimeError("the registry does not come up:\n" + (self.folder / "log").read_text()[-3000:])
            time.sleep(0.1)

    def end(self):
        self.server.shutdown()
        self.server.server_close()
        self.process.terminate()
        self.process.wait()
        self.log.close()
        self.holder.cleanup()

    def certified(self):
        import datetime

        now = datetime.datetime.now(datetime.timezone.utc)
        name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "tokens")])
        hour = datetime.timedelta(hours=1)
        number = x509.random_serial_number()
        builder = x509.CertificateBuilder(name, name, self.key.public_key(), number, now - hour, now + 8 * hour)
        made = builder.add_extension(x509.BasicConstraints(True, None), True).sign(self.key, hashes.SHA256())
        self.chain = base64.b64encode(made.public_bytes(serialization.Encoding.DER)).decode()
        path = self.folder / "tokens.pem"
        path.write_bytes(made.public_bytes(serialization.Encoding.PEM))
        return path

    def answers(self):
        try:
            connection = http.client.HTTPConnection(self.behind, timeout=2)
            connection.request("GET", "/v2/")
            return connection.getresponse().status == 401
        except OSError:
            return False

    def token(self, query, authorization):
        """(status, what it answers)"""
        kind, _, told = authorization.partition(" ")
        user, _, secret = base64.b64decode(told).decode().partition(":") if kind == "Basic" else ("", "", "")
        who = self.identity.find("Bearer " + secret)
        if user != NAME or who is None:
            return 403, {"errors": [{"code": "DENIED"}]}
        access = []
        for scope in urllib.parse.parse_qs(query).get("scope", []):
            what, name, actions = scope.split(":")
            given = [each for each in actions.split(",") if each == "pull" or self.may(who.email, name)]
            access.append({"type": what, "name": name, "actions": given})
        now = int(time.time())
        claims = {"iss": "the lab", "sub": who.email, "aud": self.host.split(":")[0], "exp": now + 300, "nbf": now - 10, "iat": now}
        head = {"typ": "JWT", "alg": "RS256", "x5c": [self.chain]}
        signed = text64(head) + b"." + text64({**claims, "jti": str(now), "access": access})
        signature = self.key.sign(signed, padding.PKCS1v15(), hashes.SHA256())
        return 200, {"token": (signed + b"." + text64(signature)).decode(), "expires_in": 300}

    def forget(self, repository):
        shutil.rmtree(self.repositories / repository, ignore_errors=True)

    def images(self):
        """Names of repositories that have any tag."""
        return sorted(str(each.parents[2].relative_to(self.repositories)) for each in self.repositories.glob("**/_manifests/tags/*"))


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def setup(self):
        self.request.settimeout(300)
        self.request = self.server.context.wrap_socket(self.request, server_side=True)
        super().setup()

    def log_message(self, *_):
        pass

    def answer(self):
        registry = self.server.registry
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        split = urllib.parse.urlsplit(self.path)
        if split.path == "/v2/token":
            status, told = registry.token(split.query, self.headers.get("Authorization", ""))
            return self.out(status, {"Content-Type": "application/json"}, json.dumps(told).encode())
        registry.asked.append(f"{self.command} {split.path}")
        connection = http.client.HTTPConnection(registry.behind, timeout=60)
        headers = {name: ", ".join(self.headers.get_all(name)) for name in self.headers if name.lower() not in ("host", "connection")}
        connection.request(self.command, self.path, body, {**headers, "Host": registry.host, "X-Forwarded-Proto": "https"})
        answer = connection.getresponse()
        told = {name: value for name, value in answer.getheaders() if name.lower() not in ("connection", "transfer-encoding")}
        text = answer.read()
        registry.after(f"{self.command} {split.path}")
        return self.out(answer.status, told, text)

    def out(self, status, headers, body):
        self.send_response_only(status)
        for name, value in headers.items():
            self.send_header(name, value)
        if not any(name.lower() == "content-length" for name in headers):
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = answer


class Front(http.server.ThreadingHTTPServer):
    request_queue_size = 128

    def __init__(self, where, registry, context):
        self.registry, self.context = registry, context
        registry.asked = []
        super().__init__(where, Handler)

    def handle_error(self, *_):
        """Who does not trust it closes; a client may end in the middle."""
