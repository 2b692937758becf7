#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Given the same files, variables and servers, stoker and botocore find the same credentials, and
leave the same login behind where they renew one:
credentials_botocore.py DRIVER [COUNT [SEED]]"""

import datetime
import hashlib
import http.server
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import threading
import urllib.parse

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test import cloud_env

cloud_env.enter()
import botocore.credentials
import botocore.exceptions
import botocore.session
import botocore.tokens

EXPIRES = "2037-01-01T00:00:00Z"
PROFILES = ["default", "user", "role", "my profile", "chain"]
LOGINS = ["corp", "https://old.test"]  # of an sso-session, of a start URL
SSO = ["sso_account_id = 123456789012", "sso_role_name = R/1"]
STS = """<{0}Response xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><{0}Result><Credentials>
<AccessKeyId>{1}</AccessKeyId><SecretAccessKey>secret of {1}</SecretAccessKey>
<SessionToken>token of {1}</SessionToken><Expiration>{2}</Expiration></Credentials>
<AssumedRoleUser><Arn>arn:aws:sts::123456789012:assumed-role/r/s</Arn>
<AssumedRoleId>A:s</AssumedRoleId></AssumedRoleUser></{0}Result></{0}Response>"""


class Servers(http.server.BaseHTTPRequestHandler):
    """STS, which gives keys that tell the role and who assumed it; a container's service; those of
    SSO, where a login is renewed and gives keys that tell it."""

    def log_message(self, *_):
        pass

    def answer(self, text, kind, status=200):
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        form = self.rfile.read(int(self.headers["Content-Length"])).decode()
        if self.path == "/token":
            return self.renew(json.loads(form))
        asked = {key: values[0] for key, values in urllib.parse.parse_qs(form).items()}
        giver = re.search(r"Credential=([^/]+)/", self.headers.get("Authorization", ""))
        told = [giver.group(1) if giver else "nobody"]
        told += [asked.get(key, "") for key in ("RoleArn", "ExternalId", "WebIdentityToken")]
        told += [asked.get("DurationSeconds", "")]
        key = "ASIA" + hashlib.sha256(repr(told).encode()).hexdigest()[:12]
        self.answer(STS.format(asked["Action"], key, EXPIRES), "text/xml")

    def renew(self, asked):
        if asked.get("grantType") != "refresh_token" or asked.get("refreshToken") != "good":
            return self.answer('{"error": "invalid_grant"}', "application/json", 400)
        told = hashlib.sha256(repr(sorted(asked.items())).encode()).hexdigest()[:8]
        answer = {"accessToken": "renewed-" + told, "expiresIn": 28800}
        if told < "8":
            answer["refreshToken"] = "next"
        self.answer(json.dumps(answer), "application/json")

    def do_GET(self):
        if self.path.startswith("/federation/credentials"):
            token = self.headers.get("x-amz-sso_bearer_token", "")
            keys = {"accessKeyId": "SSO-" + token, "secretAccessKey": "s", "sessionToken": "t"}
            keys["expiration"] = 2114380800000
            return self.answer(json.dumps({"roleCredentials": keys}), "application/json")
        token = self.headers.get("Authorization", "none")
        keys = {"AccessKeyId": "CONTAINER-" + token, "SecretAccessKey": "s", "Token": "t"}
        self.answer(json.dumps(keys | {"Expiration": EXPIRES}), "application/json")


def keys(name, dice):
    lines = [f"aws_access_key_id = {name}", f"aws_secret_access_key = secret of {name}"]
    if dice.random() < 0.3:
        lines.append(f"aws_session_token={name}+/=")
    if dice.random() < 0.05:
        lines.pop(dice.randrange(2))
    return lines


def profile_lines(profile, name, dice, folder):
    """What a profile may hold, sensible or not; `name` goes into its keys."""
    # Its session is in that file alone, and botocore's requests to STS trip over one that is not
    # there, though they have no use for it.
    if name.startswith("CONFIG") and dice.random() < 0.25:
        return SSO + ["sso_session = corp"]
    lines = []
    if dice.random() < 0.5:
        lines += keys(name, dice)
    if dice.random() < 0.3:
        giver = dice.choice(PROFILES * 2 + ["user"] * 4 + ["gone"])
        lines += [f"role_arn = arn:aws:iam::123456789012:role/{name}"]
        lines += dice.choice(
            [
                [f"source_profile = {giver}"],
                [f"source_profile={giver}", "external_id = x/+1"],
                [f"source_profile={giver}", "duration_seconds = 900"],
                ["credential_source = Environment"],
                ["credential_source = EcsContainer"],
                ["credential_source = Moon"],
                [],
            ]
        )
    if dice.random() < 0.1:
        lines += [f"web_identity_token_file = {folder}/token"]
    if dice.random() < 0.15:
        lines += [f"credential_process = '{folder}/give keys' {name} \"a b\""]
    if dice.random() < 0.1:
        lines += SSO + ["sso_start_url = https://old.test", "sso_region = eu-west-1"]
    if dice.random() < 0.3:
        lines += ["s3 =", "  addressing_style = path", "", "  # a comment", "  max_queue_size = 9"]
    if dice.random() < 0.4:
        lines += [f"region = {dice.choice(['eu-west-1', 'us-east-2'])}"]
    return lines


def write_files(dice, folder):
    os.makedirs(f"{folder}/.aws", exist_ok=True)
    for path, prefix in (("config", "profile "), ("credentials", "")):
        lines = []
        for profile in PROFILES:
            if dice.random() < 0.2:
                continue
            header = f'"{profile}"' if prefix and " " in profile else profile
            lines += ["", f"[{'' if profile == 'default' else prefix}{header}]"]
            name = (path + "-" + profile).upper().replace(" ", "-")
            lines += profile_lines(profile, name, dice, folder)
        if prefix:
            lines += ["", "[sso-session corp]", "sso_region = eu-west-1"]
            lines += ["sso_start_url = https://corp.test"]
        with open(f"{folder}/.aws/{path}", "w", encoding="utf-8") as out:
            out.write("\n".join(lines) + "\n")
        if dice.random() < 0.1:
            os.remove(f"{folder}/.aws/{path}")


def login_path(folder, login):
    return f"{folder}/.aws/sso/cache/{hashlib.sha1(login.encode()).hexdigest()}.json"


def make_logins(dice):
    """What `aws sso login` may have left: good, about to end, over; whole or not."""

    def at(**later):
        when = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(**later)
        return when.strftime("%Y-%m-%dT%H:%M:%SZ")

    logins = {}
    for login in LOGINS:
        cached = {
            "startUrl": "https://corp.test",
            "region": "eu-west-1",
            "accessToken": f"token-{dice.randrange(9)}",
            "expiresAt": at(minutes=dice.choice([-90, -1, 5, 14, 90])),
            "clientId": f"id {dice.randrange(99)}",
            "clientSecret": "secret",
            "registrationExpiresAt": at(days=dice.choice([-1, 30, 60, 80])),
            "refreshToken": dice.choice(["good", "good", "good", "bad"]),
        }
        if dice.random() < 0.2:
            del cached[dice.choice(list(cached))]
        logins[login] = cached if dice.random() < 0.9 else None
    return logins


def write_logins(folder, logins):
    os.makedirs(f"{folder}/.aws/sso/cache", exist_ok=True)
    for login, cached in logins.items():
        path = login_path(folder, login)
        if cached is not None:
            with open(path, "w", encoding="utf-8") as out:
                json.dump(cached, out)
        elif os.path.exists(path):
            os.remove(path)


def read_logins(folder):
    """Of those that were renewed, whether they last for the eight hours."""
    logins = {}
    for login in LOGINS:
        if not os.path.exists(login_path(folder, login)):
            continue
        with open(login_path(folder, login), encoding="utf-8") as text:
            logins[login] = json.load(text)
        if logins[login].get("accessToken", "").startswith("renewed"):
            until = datetime.datetime.strptime(logins[login]["expiresAt"] + "+0000", "%Y-%m-%dT%H:%M:%SZ%z")
            left = until - datetime.datetime.now(datetime.timezone.utc)
            logins[login]["expiresAt"] = 28600 < left.total_seconds() <= 28800
    return logins


def write_programs(folder):
    with open(f"{folder}/token", "w", encoding="utf-8") as out:
        out.write("web identity token")
    with open(f"{folder}/give keys", "w", encoding="utf-8") as out:
        out.write(
            '#!/bin/sh\n[ "$2" = "a b" ] || exit 1\n'
            'echo "{\\"Version\\": 1, \\"AccessKeyId\\": \\"PROCESS-$1\\",'
            ' \\"SecretAccessKey\\": \\"s\\"}"\n'
        )
    os.chmod(f"{folder}/give keys", 0o755)


def variables(dice, folder, port):
    out = {
        "HOME": folder,
        "PATH": os.environ["PATH"],
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_ENDPOINT_URL_STS": f"http://127.0.0.1:{port}",
        "AWS_ENDPOINT_URL_SSO": f"http://127.0.0.1:{port}",
        "AWS_ENDPOINT_URL_SSO_OIDC": f"http://127.0.0.1:{port}",
    }
    maybe = [
        (0.5, {"AWS_PROFILE": dice.choice(PROFILES)}),
        (0.1, {"AWS_DEFAULT_PROFILE": dice.choice(PROFILES)}),
        (0.2, {"AWS_ACCESS_KEY_ID": "VARIABLES", "AWS_SECRET_ACCESS_KEY": "v"}),
        (0.1, {"AWS_SESSION_TOKEN": "variable token"}),
        (0.3, {"AWS_DEFAULT_REGION": "ap-south-1"}),
        (0.1, {"AWS_WEB_IDENTITY_TOKEN_FILE": f"{folder}/token"}),
        (0.1, {"AWS_ROLE_ARN": "arn:aws:iam::123456789012:role/variable"}),
        (0.3, {"AWS_CONTAINER_CREDENTIALS_FULL_URI": f"http://127.0.0.1:{port}/c"}),
        (0.1, {"AWS_CONTAINER_AUTHORIZATION_TOKEN": "bearer"}),
    ]
    for chance, more in maybe:
        if dice.random() < chance:
            out.update(more)
    return out


def botocore_finds(env):
    kept = dict(os.environ)
    os.environ.clear()
    os.environ.update(env)
    try:
        session = botocore.session.Session()
        # STS needs a region, and stoker takes the first one where none is set.
        region = session.get_config_variable("region")
        if region is None:
            session.set_config_variable("region", "us-east-1")
        found = session.get_credentials()
        if found is None:
            return {"error": "none found"}
        frozen = found.get_frozen_credentials()
        return {"access_key": frozen.access_key, "secret_key": frozen.secret_key, "token": frozen.token or "", "region": region or ""}
    except botocore.exceptions.BotoCoreError as error:
        return {"error": f"{type(error).__name__}: {error}"}
    finally:
        os.environ.clear()
        os.environ.update(kept)


def leave_the_same(driver, env, folder, logins):
    """What stoker and botocore find, what stoker left, and whether botocore left the same."""
    write_logins(folder, logins)
    done = subprocess.run([driver], env=env, capture_output=True, text=True, timeout=60, check=True)
    left = read_logins(folder)
    write_logins(folder, logins)
    theirs = botocore_finds(env)
    return json.loads(done.stdout), theirs, left, left == read_logins(folder)


def differ(ours, theirs):
    if "error" in ours or "error" in theirs:
        return ("error" in ours) != ("error" in theirs)
    return any(ours[key] != theirs[key] for key in theirs)


def main(argv):
    count = int(argv[2]) if len(argv) > 2 else 400
    dice = random.Random(int(argv[3]) if len(argv) > 3 else 1)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Servers)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    wrong, renewed, kinds = 0, 0, {}
    with tempfile.TemporaryDirectory(prefix="stoker-aws") as folder:
        write_programs(folder)
        for provider in (botocore.credentials.SSOProvider, botocore.tokens.SSOTokenProvider):
            provider._SSO_TOKEN_CACHE_DIR = f"{folder}/.aws/sso/cache"
        for number in range(count):
            write_files(dice, folder)
            env = variables(dice, folder, server.server_port)
            logins = make_logins(dice)
            ours, theirs, left, same = leave_the_same(argv[1], env, folder, logins)
            renewed += left.get("corp", {}).get("accessToken", "").startswith("renewed")
            kind = ours.get("access_key", "error").split("-")[0]
            kinds[kind[:4]] = kinds.get(kind[:4], 0) + 1
            if differ(ours, theirs) or not same:
                wrong += 1
                print(f"case {number}: stoker {ours}\n  botocore {theirs}\n  {env}")
                print(f"  logins {logins}\n  stoker left {left}, botocore {read_logins(folder)}")
                for path in ("config", "credentials"):
                    if wrong <= 2 and os.path.exists(f"{folder}/.aws/{path}"):
                        with open(f"{folder}/.aws/{path}", encoding="utf-8") as text:
                            print(f"--- {path}\n{text.read()}")
    server.shutdown()
    print(f"{count} worlds, found: {kinds}; {renewed} logins renewed; {wrong} unlike botocore")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
