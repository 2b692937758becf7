#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A bucket of Google's by Google's own names: through a proxy (CONNECT), over TLS under a
certificate of our own, with the key of a service account, each of whose tokens the service stops
taking after a few requests; then with every other kind of credentials. Behind it is
fake-gcs-server. No other name is asked for, and nothing that Google has not written down."""

import hashlib
import http.client
import http.server
import json
import pathlib
import random
import ssl
import sys
import tempfile
import threading
import urllib.parse

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test import cloud_env

cloud_env.enter()
from cryptography.hazmat.primitives import serialization

from test import fake_gcs
from test.e2e.kit.harness import Results, World
from test.google import fake_google, storage_rules
from test.google.authority import certify, new_key, pem

STORE = "storage.googleapis.com"
TOKENS = ["oauth2.googleapis.com", "sts.googleapis.com", "iamcredentials.googleapis.com"]
NAMES = [STORE, *TOKENS]
GOOD_FOR = 12  # requests that one token is taken for
KEPT = ("content-type", "content-range", "range", "location", "last-modified", "date")


class Google:
    """Tokens for assertions that verify, and a bucket for them."""

    def __init__(self, bucket, public):
        self.bucket = urllib.parse.urlsplit(bucket.endpoint).netloc
        self.world = fake_google.World(public)
        self.lock = threading.Lock()
        self.given = self.refused = self.served = 0
        self.left = {}  # requests by token: processes have one each
        self.others = set()  # names that nobody should ask for

    def give_token(self, host, method, path, headers, body):
        base = f"https://{host}"
        with self.lock:
            status, _, text = self.world.serve(base, path, headers, body.decode(), method)
            self.given += 1
            answer = json.loads(text)
            name = "accessToken" if "accessToken" in answer else "access_token"
            answer[name] += f".{self.given}"
            self.left[answer[name]] = GOOD_FOR
        return status, {}, json.dumps(answer).encode()

    def takes(self, headers):
        with self.lock:
            token = headers.get("authorization", "").removeprefix("Bearer ")
            good = self.left.get(token, 0) > 0
            self.left[token] = self.left.get(token, 0) - 1
            self.served += good
            self.refused += not good
            return good

    def store(self, method, path, headers, body):
        if not self.takes(headers):
            return 401, {}, b'{"error": {"code": 401, "message": "Invalid Credentials"}}'
        headers.pop("authorization")
        connection = http.client.HTTPConnection(self.bucket, timeout=30)
        try:
            connection.request(method, path, body, {**headers, "host": self.bucket})
            answer = connection.getresponse()
            told = {name: value for name, value in answer.getheaders() if name.lower() in KEPT or name.lower().startswith("x-goog-")}
            return answer.status, told, answer.read()
        finally:
            connection.close()


def proxy(google, certificate):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        host = None

        def log_message(self, *_):
            pass

        def do_CONNECT(self):
            self.send_response(200)
            self.end_headers()
            self.host = self.path.rsplit(":", 1)[0]
            if self.host not in NAMES:
                google.others.add(self.host)
            self.connection = context.wrap_socket(self.connection, server_side=True)
            self.rfile = self.connection.makefile("rb")
            self.wfile = self.connection.makefile("wb", 0)
            self.close_connection = False

        def answer(self):
            headers = {name.lower(): value for name, value in self.headers.items()}
            body = self.rfile.read(int(headers.pop("content-length", 0)))
            if self.host in TOKENS:
                asked = self.host, self.command, self.path, headers, body
                status, told, text = google.give_token(*asked)
            else:
                status, told, text = google.store(self.command, self.path, headers, body)
            self.send_response_only(status)
            for name, value in {**told, "Content-Length": str(len(text))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(text)

        do_GET = do_POST = do_PUT = do_DELETE = answer

    class Server(http.server.ThreadingHTTPServer):
        def handle_error(self, *_):
            pass  # who does not trust us closes

    server = Server(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def works(results, google, world):
    # More than one chunk, so that a token is refused in the middle of an upload too.
    data = random.Random(1).randbytes(40 << 20)
    (world.work / "big").write_bytes(data)
    digest = hashlib.sha256(data).hexdigest()
    job = world.submit("--name", "tls", "--", "sh", "-c", f"sha256sum big | grep {digest}")
    code = world.stoker("wait", job, timeout=120).returncode
    results.check("a job runs on the bucket", code == 0, world.json("show", job))
    listed = [entry["id"] for entry in world.json("ls")]
    results.check("it is listed", listed == [job], listed)
    results.check("tokens were refused, and renewed", google.refused > 1 and google.given > 1, (google.refused, google.given))
    print(f"      {google.served} requests, {google.given} tokens, {google.refused} refused")


def credentials(key):
    """Files of each kind, but for a service account's key."""
    user = {"type": "authorized_user", "client_id": "c", "client_secret": "s", "refresh_token": "1//r"}
    service = f"https://{TOKENS[2]}/v1/projects/-/serviceAccounts/other@p.test:generateAccessToken"
    external = {
        "type": "external_account",
        "audience": "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/q",
        "token_url": f"https://{TOKENS[1]}/v1/token",
        "subject_token_type": "urn:ietf:params:oauth:token-type:jwt",
    }
    by = {"service_account_impersonation_url": service}
    return {
        "a user's login": user,
        "a user who is somebody else": {
            "type": "impersonated_service_account",
            "source_credentials": user,
            **by,
            "delegates": ["projects/-/serviceAccounts/between@p.test"],
        },
        "a key that is somebody else": {"type": "impersonated_service_account", "source_credentials": key, **by},
        "workload identity": external,
        "workload identity that is somebody else": {**external, **by},
        "a workforce": {
            **external,
            "workforce_pool_user_project": "project-7",
            "audience": "//iam.googleapis.com/locations/global/workforcePools/p/providers/q",
        },
        "a client of a workforce": {**external, "client_id": "c", "client_secret": "s"},
    }


def every_kind(results, google, world, folder, key):
    (folder / "subject").write_text("a subject")
    jobs = [entry["id"] for entry in world.json("ls")]
    for what, told in credentials(key).items():
        if told["type"] == "external_account":
            told = {**told, "credential_source": {"file": str(folder / "subject")}}
        (folder / "other.json").write_text(json.dumps(told))
        done = world.stoker("ls", "--json", timeout=60, env={"GOOGLE_APPLICATION_CREDENTIALS": str(folder / "other.json")})
        listed = [entry["id"] for entry in json.loads(done.stdout or "[]")]
        results.check(f"the bucket is read by {what}", listed == jobs, done.stderr)


def needs_what_is_printed(results, world, bucket):
    """The rights of the bucket, by the requests for it: see also test/gcp/permits.py."""
    printed = world.json("doctor", "--iam")
    roles = {who: set(printed[f"bucket-{who}"]["includedPermissions"]) for who in ("submitter", "node")}
    for who in ("node", "submitter"):
        if who == "submitter":
            world.stoker("doctor", timeout=60)  # it alone looks at the bucket itself
        asked = storage_rules.permissions(bucket.told()["methods"].keys() - {"buckets.insert"})
        results.check(f"a {who} needs just the rights of the bucket that are printed for it", asked == roles[who], asked ^ roles[who])


def is_written_down(results, google, bucket):
    results.check(
        "all that was asked of those who give tokens is written down, and so are their answers", not google.world.wrong, google.world.wrong
    )
    held = google.world.held
    results.check("each of them was asked", sorted(held) == sorted(f"https://{n}" for n in TOKENS), held)
    results.check("no other name was asked for", not google.others, google.others)
    told = bucket.told()
    results.check("all that was asked of the bucket is in the document", not told["wrong"], told["wrong"])
    tokens = ", ".join(f"{base.removeprefix('https://')} {n}" for base, n in sorted(held.items()))
    print(f"      held against Google's documents: {STORE} {told['requests']}, {tokens}")


def is_refused(results, google, world):
    served = google.served + google.given
    done = world.stoker("run", "--detach", "--", "true", timeout=120, env={"CLOUDSDK_CORE_CUSTOM_CA_CERTS_FILE": ""})
    results.check(
        "nobody is told anything under a certificate that is not trusted",
        done.returncode == 1 and "certificate" in done.stderr and google.served + google.given == served,
        done.stderr,
    )


def main():
    results, key = Results(), new_key()
    public = key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    with fake_gcs.FakeGcs() as bucket, World("tls") as world, tempfile.TemporaryDirectory() as kept:
        folder = pathlib.Path(kept)
        ca, certificate = certify(folder, NAMES)
        account = folder / "key.json"
        told = {
            "type": "service_account",
            "client_email": "s@p.test",
            "private_key_id": "k",
            "private_key": pem(key).decode(),
            "token_uri": f"https://{TOKENS[0]}/token",
        }
        account.write_text(json.dumps(told))
        google = Google(bucket, public)
        server = proxy(google, certificate)
        world.env.update(
            {
                "https_proxy": f"http://127.0.0.1:{server.server_port}",
                "GOOGLE_APPLICATION_CREDENTIALS": str(account),
                "CLOUDSDK_CORE_CUSTOM_CA_CERTS_FILE": str(ca),
            }
        )
        world.stoker("config", "set", "store", f"gs://{fake_gcs.BUCKET}/team", check=True)
        works(results, google, world)
        every_kind(results, google, world, folder, told)
        needs_what_is_printed(results, world, bucket)
        is_written_down(results, google, bucket)
        is_refused(results, google, world)
        server.shutdown()
    results.finish()


if __name__ == "__main__":
    main()
