# SPDX-License-Identifier: Apache-2.0
"""Google's services by their own names, over TLS, in the lab: the lab's bucket (fake-gcs-server
behind it), which lets in only whom it knows; the Security Token Service, which takes a request that
a role of the lab's Amazon has signed, and gives a token of its pool; and IAM's credentials, for who
may act as an account. What is asked of them is held against Google's documents (test/google).

    names = GoogleNames(GATE, lab.identity, lab.gcs, other.keyring, folder)
    names.join(rooms)        # whose machines know these names, and trust them
    names.join_here()        # so does this process, and all that it starts from now on
    names.env                # for a stoker that submits"""

import copy
import http.client
import http.server
import json
import pathlib
import ssl
import subprocess
import threading
import time
import urllib.parse

from test.google import token_rules
from test.google.authority import certify
from test.google.aws_request import signed_by

STORE = "storage.googleapis.com"
STS = "sts.googleapis.com"
IAM = "iamcredentials.googleapis.com"
NAMES = (STORE, STS, IAM)
ACCOUNT = "123456789012"  # of Amazon
POOL = "projects/1234567890/locations/global/workloadIdentityPools/the-lab"
PROVIDER = f"{POOL}/providers/amazon"
AUTH = "https://www.googleapis.com/auth/"
READS_AND_WRITES = {AUTH + "devstorage.read_write", AUTH + "devstorage.full_control", AUTH + "cloud-platform"}
ACTS = {AUTH + "iam", AUTH + "cloud-platform"}
KEPT = ("content-type", "content-range", "range", "location", "last-modified", "date")
BUNDLE = "etc/ssl/certs/ca-certificates.crt"


def principal(role):
    """As a bucket's policy would name it: "principalSet://…/attribute.aws_role/…"."""
    return f"{POOL}/attribute.aws_role/arn:aws:sts::{ACCOUNT}:assumed-role/{role}"


class Secrets:
    """Of access keys, for signed_by()."""

    def __init__(self, keyring):
        self.keyring = keyring

    def __getitem__(self, key):
        return self.keyring.find(key)[0]


class GoogleNames:
    """`may`: the accounts and principals that the bucket lets in. `acts`: who may act as which
    account. `asked`: (name, who or '', status), of each request. `wrong`: what is not as Google's
    documents have it."""

    def __init__(self, gate, identity, gcs, keyring, folder):
        self.gate = gate
        self.identity = identity
        self.keyring = keyring
        self.folder = pathlib.Path(folder)
        self.bucket = urllib.parse.urlsplit(gcs.endpoint).netloc
        self.may = set()
        self.acts = set()
        self.asked = []
        self.wrong = []
        self.ca, certificate = certify(self.folder, NAMES)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        self.hosts = "".join(f"{gate} {name}\n" for name in NAMES)
        self.env = {"CLOUDSDK_CORE_CUSTOM_CA_CERTS_FILE": str(self.ca)}
        self.server = Front((gate, 443), self, context)
        threading.Thread(target=self.server.serve_forever, args=(0.1,), daemon=True).start()

    # ---- who knows these names ----

    def join(self, rooms):
        """All machines that `rooms` makes from now on."""
        before = rooms.cloud.dress
        rooms.cloud = copy.copy(rooms.cloud)

        def dress(disk, instance):
            if before:
                before(disk, instance)
            self.dress(disk, pathlib.Path(rooms.tree))

        rooms.cloud.dress = dress

    def dress(self, disk, tree):
        hosts = disk / "etc/hosts"
        known = hosts if hosts.exists() else tree / "etc/hosts"
        told = known.read_text() + self.hosts
        (disk / "etc/ssl/certs").mkdir(parents=True, exist_ok=True)
        hosts.write_text(told)
        authority = self.ca.read_text()
        (disk / BUNDLE).write_text((tree / BUNDLE).read_text() + authority)
        # OpenSSL's own default, which Python goes by, is a folder of names like this.
        words = ["openssl", "x509", "-noout", "-subject_hash", "-in", self.ca]
        name = subprocess.run(words, check=True, capture_output=True, text=True).stdout
        (disk / f"etc/ssl/certs/{name.strip()}.0").write_text(authority)

    def join_here(self):
        """In the lab's own view of the file system: nobody else sees it."""
        hosts = self.folder / "hosts"
        hosts.write_text(pathlib.Path("/etc/hosts").read_text() + self.hosts)
        subprocess.run(["mount", "--bind", hosts, "/etc/hosts"], check=True)

    # ---- what they answer ----

    def serve(self, name, method, path, headers, body):
        """(status, headers, body)"""
        if name == STORE:
            who, status, told, text = self.store(method, path, headers, body)
        elif name in (STS, IAM):
            who, status, told, text = self.give_token(name, method, path, headers, body.decode())
        else:
            who, status, told, text = "", 404, {}, b"{}"
            self.wrong.append(f"{name} was asked for")
        self.asked.append((name, who, status))
        return status, told, text

    def store(self, method, path, headers, body):
        token = self.identity.find(headers.pop("authorization", ""))
        if token is None:
            return ("", *refusal(401, "Anonymous caller, or an invalid credential"))
        if token.email not in self.may or not READS_AND_WRITES & set(token.scopes):
            return (token.email, *refusal(403, f"{token.email} does not have access"))
        connection = http.client.HTTPConnection(self.bucket, timeout=60)
        try:
            connection.request(method, path, body, {**headers, "host": self.bucket})
            answer = connection.getresponse()
            told = {name: value for name, value in answer.getheaders() if name.lower() in KEPT or name.lower().startswith("x-goog-")}
            return token.email, answer.status, told, answer.read()
        finally:
            connection.close()

    def give_token(self, name, method, path, headers, body):
        base = f"https://{name}"
        found = token_rules.of_request(base, method, path, headers, body)
        if name == STS:
            who, status, told = self.exchange(dict(urllib.parse.parse_qsl(body)))
        else:
            who, status, told = self.act(path, headers, body)
        text = json.dumps(told)
        found += token_rules.of_answer(base, status, text)
        self.wrong += [f"{method} {base}{path}: {each}" for each in found]
        return who, status, {"Content-Type": "application/json"}, text.encode()

    def exchange(self, form):
        """Who signed it rightly, for this provider, with keys that are good now."""
        if form.get("audience") != f"//iam.googleapis.com/{PROVIDER}":
            return (
                "",
                400,
                {
                    "error": "invalid_target",
                    "error_description": 'The target service indicated by the "audience" parameters is '
                    "invalid. It is no provider of the pool.",
                },
            )
        try:
            told = signed_by(form["subject_token"], Secrets(self.keyring))
            key, region, service, session = told["by"]
            _, token, ends = self.keyring.find(key)
            good = (
                told["good"]
                and told["for"] == form["audience"]
                and token == session
                and (ends is None or time.time() < ends)
                and told["request"][2] == f"sts.{region}.amazonaws.com"
                and service == "sts"
            )
        except (KeyError, TypeError, ValueError, IndexError):
            good = False
        if not good:
            return "", 400, {"error": "invalid_grant", "error_description": "Amazon does not take what was signed"}
        who = principal(self.keyring.roles[key])
        given = self.identity.issue(who, [form["scope"]])
        return (
            who,
            200,
            {
                "access_token": given.text,
                "expires_in": int(self.identity.life),
                "issued_token_type": form["requested_token_type"],
                "token_type": "Bearer",
            },
        )

    def act(self, path, headers, body):
        who = path.rpartition("/")[2].partition(":")[0]
        token = self.identity.find(headers.get("authorization", ""))
        if token is None or (token.email, who) not in self.acts or not ACTS & set(token.scopes):
            by = token.email if token else ""
            return (
                by,
                403,
                {
                    "error": {
                        "code": 403,
                        "status": "PERMISSION_DENIED",
                        "message": "Permission 'iam.serviceAccounts.getAccessToken' denied",
                    }
                },
            )
        given = self.identity.issue(who, json.loads(body)["scope"])
        ends = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(given.ends))
        return token.email, 200, {"accessToken": given.text, "expireTime": ends}

    def end(self):
        self.server.shutdown()
        self.server.server_close()


def refusal(status, message):
    text = json.dumps({"error": {"code": status, "message": message}})
    return status, {"Content-Type": "application/json"}, text.encode()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def setup(self):
        self.request.settimeout(300)
        self.request = self.server.context.wrap_socket(self.request, server_side=True)
        super().setup()

    def log_message(self, *_):
        pass

    def answer(self):
        headers = {name.lower(): value for name, value in self.headers.items()}
        body = self.rfile.read(int(headers.pop("content-length", 0)))
        name = headers.get("host", "").partition(":")[0]
        status, told, text = self.server.names.serve(name, self.command, self.path, headers, body)
        self.send_response_only(status)
        for each, value in {**told, "Content-Length": str(len(text))}.items():
            self.send_header(each, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(text)

    do_GET = do_HEAD = do_POST = do_PUT = do_DELETE = do_PATCH = answer


class Front(http.server.ThreadingHTTPServer):
    request_queue_size = 128

    def __init__(self, where, names, context):
        self.names = names
        self.context = context
        super().__init__(where, Handler)

    def handle_error(self, *_):
        """Who does not trust it closes; a machine may end in the middle."""
