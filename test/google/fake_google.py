# SPDX-License-Identifier: Apache-2.0
"""Google's services that give tokens, as far as credentials need them: what comes back tells who
asked, and for what. Call cloud_env.enter() before."""

import hashlib
import http.server
import json
import threading
import urllib.parse

from google.auth import jwt

from test.google import token_rules
from test.google.aws_request import signed_by

NOBODY = 599  # stands for a connection that is refused
LIFE = 3599
IAM = token_rules.IAM
METADATA = "http://metadata.test"
EC2 = "http://ec2.test"
AWS_SECRETS = {"AKIDVARIABLE": "secret/of a variable", "ASIAROLE": "secret+of a role"}
SESSION = {"x-aws-ec2-metadata-token": "a session of EC2"}


def named(*told):
    return "ya29." + hashlib.sha256(repr(told).encode()).hexdigest()[:20]


class World:
    """What is there to be asked. `certificate` is the public key of all service accounts."""

    def __init__(self, certificate):
        self.certificate = certificate
        self.metadata = "none"  # 'google', 'other', 'none'
        self.wrong = []  # what somebody asked that the real services would refuse
        self.held = {}  # how many requests were held against rules, by service

    def serve(self, base, target, headers, body, method="GET"):
        """(status, headers, text). Request and answer are held against Google's documents."""
        status, told, text = self.answer(base, target, headers, body, method)
        if base == METADATA and self.metadata == "google":
            found = list(token_rules.of_metadata(method, target, headers))
        else:
            found = token_rules.of_request(base, method, target, headers, body)
            if found is not None:
                found += token_rules.of_answer(base, status, text)
        if found is not None:
            self.held[base] = self.held.get(base, 0) + 1
            self.wrong += [f"{method} {base}{target}: {each}" for each in found]
        return status, told, text

    def answer(self, base, target, headers, body, method):
        headers = {name.lower(): value for name, value in headers.items()}
        path = urllib.parse.urlsplit(target).path
        if base == METADATA:
            return self.of_metadata(path)
        if base == EC2:
            return self.of_ec2(method, path, headers)
        if base == "http://subject.test":
            return self.of_subject(headers)
        if base == IAM and path.endswith(":generateAccessToken"):
            return self.of_iam(path, headers, json.loads(body))
        if path in ("/token", "/v1/token"):
            form = dict(urllib.parse.parse_qsl(body))
            return self.of_tokens(base, path, headers, form)
        return 404, {}, "{}"

    def of_metadata(self, path):
        if self.metadata == "none":
            return NOBODY, {}, ""
        if self.metadata == "other":
            return 200, {"Server": "EC2ws"}, "latest"
        flavor = {"Metadata-Flavor": "Google", "Content-Type": "application/json"}
        account = "/computeMetadata/v1/instance/service-accounts/default/"
        answers = {
            "": "computeMetadata/",
            "/": "computeMetadata/",
            "/computeMetadata/v1/project/project-id": "project",
            account: json.dumps({"email": "vm@p.test", "scopes": ["a"]}),
            account + "email": "vm@p.test",
            account + "token": json.dumps({"access_token": named("vm"), "expires_in": LIFE, "token_type": "Bearer"}),
        }
        if path not in answers:
            return 404, flavor, ""
        return 200, flavor, answers[path]

    def of_ec2(self, method, path, headers):
        if path == "/token":
            good = method == "PUT" and headers.get("x-aws-ec2-metadata-token-ttl-seconds")
            return (200, {}, *SESSION.values()) if good else (400, {}, "")
        if path.startswith("/v2") and not SESSION.items() <= headers.items():
            return 401, {}, ""
        keys = {"Code": "Success", "AccessKeyId": "ASIAROLE", "Token": "of/the+role", "SecretAccessKey": AWS_SECRETS["ASIAROLE"]}
        answers = {"/zone": "eu-west-1b", "/keys": "the-role", "/keys/the-role": json.dumps(keys)}
        told = answers.get(path.removeprefix("/v2"))
        return (200, {}, told) if told and method == "GET" else (404, {}, "not there")

    def of_subject(self, headers):
        if headers.get("x-who") != "me":
            return 403, {}, "no"
        return 200, {}, json.dumps({"id_token": "subject of a service", "other": 1})

    def of_iam(self, path, headers, body):
        who = path.split("/")[-1].split(":")[0]
        giver = headers.get("authorization", "")
        told = (who, giver, body.get("delegates") or [], body["scope"], body["lifetime"])
        if not giver.startswith("Bearer ya29."):
            self.wrong.append(f"impersonation asked with {giver[:10]}")
        token = {"accessToken": named("iam", *told), "expireTime": "2037-01-01T00:00:00Z"}
        return 200, {}, json.dumps(token)

    def of_tokens(self, base, path, headers, form):
        kind = form.pop("grant_type")
        if kind == "refresh_token":
            # google-auth asks for fewer rights than the user gave.
            form.pop("scope", None)
            if form["refresh_token"] == "revoked":
                refusal = {"error": "invalid_grant", "error_description": "Token was revoked."}
                return 400, {}, json.dumps(refusal)
            told = sorted(form.items())
        elif kind.endswith("jwt-bearer"):
            claims = jwt.decode(form["assertion"], certs=self.certificate, audience="https://oauth2.googleapis.com/token")
            if claims["exp"] - claims["iat"] != 3600:
                self.wrong.append("an assertion is not for an hour")
            head = sorted(jwt.decode_header(form["assertion"]).items())
            told = (head, claims["iss"], claims["scope"])
        else:
            if form["subject_token_type"].endswith(":aws4_request"):
                form["subject_token"] = told = signed_by(form["subject_token"], AWS_SECRETS)
                if not told["good"] or told["for"] != form["audience"]:
                    self.wrong.append(f"Amazon would refuse {told}")
            if "options" in form:  # JSON, written as one likes
                form["options"] = json.loads(urllib.parse.unquote(form["options"]))
            told = (sorted(form.items(), key=str), headers.get("authorization", ""))
        answer = {"access_token": named(base, path, kind, told), "expires_in": LIFE}
        if kind.endswith("token-exchange"):
            answer["issued_token_type"] = form["requested_token_type"]
        return 200, {}, json.dumps(answer | {"token_type": "Bearer"})

    def over_http(self):
        world = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def log_message(self, *_):
                pass

            def do_GET(self):
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
                status, headers, text = world.serve(self.headers["X-Meant-For"], self.path, dict(self.headers), body, self.command)
                self.send_response(status)
                for name, value in {**headers, "Content-Length": str(len(text))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(text.encode())

            do_POST = do_PUT = do_GET

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return server
