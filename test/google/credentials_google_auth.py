#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Given the same files, variables and services, stoker and google-auth find the same identity:
credentials_google_auth.py DRIVER [COUNT [SEED]]"""

import datetime
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time
import urllib.parse

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test import cloud_env

cloud_env.enter()
os.environ["GCE_METADATA_DETECT_RETRIES"] = "1"
import google.auth
import google.auth._cloud_sdk
import google.auth.compute_engine._metadata as gce
import google.auth.exceptions
import google.auth.transport
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from test.google import fake_google

SCOPE = "https://www.googleapis.com/auth/devstorage.read_write"
POOL = "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/q"
WORKFORCE = "//iam.googleapis.com/locations/global/workforcePools/p/providers/q"


def impersonation(name):
    service = "https://iamcredentials.googleapis.com/v1/projects/-/serviceAccounts/"
    return f"{service}{name}@p.test:generateAccessToken"


def make_key():
    key = rsa.generate_private_key(65537, 2048)
    forms = [serialization.PrivateFormat.PKCS8, serialization.PrivateFormat.TraditionalOpenSSL]
    plain = serialization.NoEncryption()
    pems = [key.private_bytes(serialization.Encoding.PEM, form, plain).decode() for form in forms]
    public = key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    return pems, public


def service_account(dice, name, pems):
    out = {
        "type": "service_account",
        "client_email": f"{name}@p.test",
        "private_key": dice.choice(pems),
        "private_key_id": f"key of {name}",
        "token_uri": "https://oauth2.googleapis.com/token",
    }
    if dice.random() < 0.1:
        out.pop(dice.choice(["client_email", "private_key", "token_uri"]))
    if dice.random() < 0.05:
        out["private_key"] = "no key"
    return out


def user(dice, name):
    out = {
        "type": "authorized_user",
        "client_id": f"client {name}",
        "client_secret": "c/+= secret",
        "refresh_token": dice.choice([f"1//refresh {name}"] * 9 + ["revoked"]),
    }
    if dice.random() < 0.1:
        out.pop(dice.choice(["client_id", "client_secret", "refresh_token"]))
    return out


def impersonated(dice, name, pems):
    out = {
        "type": "impersonated_service_account",
        "service_account_impersonation_url": impersonation(f"target-{name}"),
        "source_credentials": dice.choice([user(dice, name), service_account(dice, name, pems)]),
    }
    if dice.random() < 0.3:
        out["delegates"] = ["projects/-/serviceAccounts/between@p.test"]
    if dice.random() < 0.1:
        out["service_account_impersonation_url"] = "https://elsewhere.test/x"
    return out


def of_aws(dice):
    """A credential_source of AWS, and now and then one that cannot work."""
    base = dice.choice([fake_google.EC2, f"{fake_google.EC2}/v2"])
    out = {
        "environment_id": dice.choice(["aws1"] * 8 + ["aws2", "azure"]),
        "region_url": f"{base}/zone",
        "url": f"{base}/keys",
        "imdsv2_session_token_url": f"{fake_google.EC2}/token",
        "regional_cred_verification_url": "https://sts.{region}.amazonaws.com?Action=GetCallerIdentity&Version=2011-06-15",
    }
    if dice.random() < 0.3:
        out.pop(dice.choice(list(out)))
    if dice.random() < 0.2:
        out["regional_cred_verification_url"] = dice.choice(
            [
                "https://sts-fips.{region}.amazonaws.com/?Version=2011-06-15&Action=GetCallerIdentity",
                "http://sts.amazonaws.com/?Action=GetCallerIdentity",
            ]
        )
    return out


OIDC = {
    "version": 1,
    "success": True,
    "token_type": "urn:ietf:params:oauth:token-type:id_token",
    "id_token": "of a program",
    "expiration_time": 4102444800,
}
ANSWERS = [
    OIDC,
    OIDC,
    OIDC,
    {**OIDC, "token_type": "urn:ietf:params:oauth:token-type:jwt", "expiration_time": None},
    {**OIDC, "token_type": "urn:ietf:params:oauth:token-type:saml2", "saml_response": "saml"},
    {**OIDC, "token_type": "urn:other"},
    {**OIDC, "token_type": None},
    {**OIDC, "id_token": None},
    {**OIDC, "expiration_time": 1262304000},
    {**OIDC, "version": 2},
    {**OIDC, "version": None},
    {**OIDC, "success": None},
    {"version": 1, "success": False, "code": "401", "message": "nobody is logged in"},
    {"version": 1, "success": False},
    "no JSON",
    None,
]


def written(answer):
    if not isinstance(answer, dict):
        return answer or ""
    return json.dumps({key: value for key, value in answer.items() if value is not None})


def of_program(dice, name, folder):
    """A credential_source that is a program, whose files are written. Often it tells in its token
    what it was told by variables; but for whom, of which google-auth says nothing to the program
    although AIP-4117 wants it."""
    told = " ".join(f"$GOOGLE_EXTERNAL_ACCOUNT_{word}" for word in ("AUDIENCE", "TOKEN_TYPE", "INTERACTIVE", "REVOKE", "OUTPUT_FILE"))
    answer = written(dice.choice(ANSWERS)).replace("of a program", f"of {name}: {told} $1")
    output = f"{folder}/output-{name}.json"
    if os.path.exists(output):
        os.remove(output)
    if dice.random() < 0.4:
        with open(output, "w", encoding="utf-8") as out:
            out.write(written(dice.choice(ANSWERS)).replace("of a program", "of an output file"))
    with open(f"{folder}/program-{name}", "w", encoding="utf-8") as out:
        into = dice.choice(["", "", "", ' > "$GOOGLE_EXTERNAL_ACCOUNT_OUTPUT_FILE"'])
        out.write(f"cat{into} <<END\n{answer}\nEND\n" if answer else "")
        out.write(f"exit {dice.choice([0] * 9 + [3])}\n")
    executable = {"command": f"/bin/sh {folder}/program-{name} 'a b'"}
    if dice.random() < 0.6 or into:
        executable["output_file"] = output
    if dice.random() < 0.4:
        executable["timeout_millis"] = dice.choice([5000, 60000, 4999, 120001, 0])
    if dice.random() < 0.1:
        executable["interactive_timeout_millis"] = dice.choice([30000, 5])
    if dice.random() < 0.1:
        executable["command"] = dice.choice(["", f"{folder}/gone"])
    return {"executable": executable}


def external(dice, name, folder):
    source = dice.choice(
        [
            {"file": f"{folder}/subject"},
            {"file": f"{folder}/subject.json", "format": {"type": "json", "subject_token_field_name": "id_token"}},
            {"file": f"{folder}/subject.json", "format": {"type": "json", "subject_token_field_name": "gone"}},
            {"file": f"{folder}/gone"},
            {
                "url": "http://subject.test/?a=b&c=d",
                "headers": {"X-Who": "me"},
                "format": {"type": "json", "subject_token_field_name": "id_token"},
            },
            {"url": "http://subject.test/", "headers": {"X-Who": "somebody"}},
        ][:: dice.choice([1, 1, 4])]
    )
    out = {
        "type": "external_account",
        "audience": POOL,
        "subject_token_type": "urn:ietf:params:oauth:token-type:jwt",
        "token_url": "https://sts.googleapis.com/v1/token",
        "credential_source": source,
    }
    kind = dice.random()
    if kind < 0.3:
        out["credential_source"] = of_aws(dice)
        out["subject_token_type"] = "urn:ietf:params:aws:token-type:aws4_request"
    elif kind < 0.6:
        out["credential_source"] = of_program(dice, name, folder)
    if dice.random() < 0.4:
        out["service_account_impersonation_url"] = impersonation(f"of-{name}")
        if dice.random() < 0.5:
            out["service_account_impersonation"] = {"token_lifetime_seconds": 600}
    if dice.random() < 0.3:
        out |= {"client_id": "a client", "client_secret": "its secret"}
    if dice.random() < 0.3:
        out |= {"audience": WORKFORCE, "workforce_pool_user_project": "project-7"}
    return out


def credentials_file(dice, name, folder, pems):
    kind = dice.randrange(27) / 2
    if kind < 3:
        out = service_account(dice, name, pems)
    elif kind < 5:
        out = user(dice, name)
    elif kind < 7:
        out = impersonated(dice, name, pems)
    elif kind < 13:
        out = external(dice, name, folder)
    else:
        return dice.choice(["", "[]", "{}", "no JSON", '{"type": "other"}', '{"type": 7}'])
    if dice.random() < 0.3:
        out["quota_project_id"] = f"quota-{name}"
    return json.dumps(out)


def make_world(dice, folder, pems, world):
    """The variables of one world, whose files are written."""
    env = {"HOME": folder, "PATH": "/usr/bin:/bin"}
    gcloud = f"{folder}/.config/gcloud"
    if dice.random() < 0.2:
        env["CLOUDSDK_CONFIG"] = gcloud = f"{folder}/elsewhere"
    files = {
        f"{folder}/named.json": 0.8,
        f"{folder}/.config/gcloud/application_default_credentials.json": 0.4,
        f"{folder}/elsewhere/application_default_credentials.json": 0.4,
    }
    for number, (path, chance) in enumerate(files.items()):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if os.path.exists(path):
            os.remove(path)
        if dice.random() < chance:
            with open(path, "w", encoding="utf-8") as out:
                out.write(credentials_file(dice, f"n{number}", folder, pems))
    if dice.random() < 0.5:
        env["GOOGLE_APPLICATION_CREDENTIALS"] = dice.choice(
            [f"{folder}/named.json"] * 8 + ["", f"{gcloud}/application_default_credentials.json"]
        )
    if dice.random() < 0.2:
        env["GOOGLE_CLOUD_QUOTA_PROJECT"] = "quota-of-variable"
    if dice.random() < 0.1:
        env["NO_GCE_CHECK"] = dice.choice(["true", "false"])
    if dice.random() < 0.9:
        env["GOOGLE_EXTERNAL_ACCOUNT_ALLOW_EXECUTABLES"] = dice.choice(["1"] * 9 + ["true"])
    keys = {
        "AWS_ACCESS_KEY_ID": "AKIDVARIABLE",
        "AWS_SESSION_TOKEN": "of a/variable",
        "AWS_SECRET_ACCESS_KEY": fake_google.AWS_SECRETS["AKIDVARIABLE"],
    }
    if dice.random() < 0.5:
        env |= dict(dice.sample(list(keys.items()), dice.choice([1, 2, 3, 3, 3])))
    for variable in ("AWS_REGION", "AWS_DEFAULT_REGION"):
        if dice.random() < 0.3:
            env[variable] = f"of-{variable}".lower().replace("_", "-")
    world.metadata = dice.choice(["google"] * 4 + ["other", "none"])
    host = urllib.parse.urlsplit(fake_google.METADATA).netloc
    return env | {"GCE_METADATA_HOST": host, "GCE_METADATA_IP": host}


class Answer(google.auth.transport.Response):
    def __init__(self, status, headers, data):
        self._all = status, headers, data.encode()

    status = property(lambda self: self._all[0])
    headers = property(lambda self: {k.lower(): v for k, v in self._all[1].items()})
    data = property(lambda self: self._all[2])


class Asking(google.auth.transport.Request):
    def __init__(self, world):
        self.world = world

    def __call__(self, url, method="GET", body=None, headers=None, timeout=None, **_):
        parts = urllib.parse.urlsplit(url)
        text = body.decode() if isinstance(body, bytes) else body or ""
        told = {k: v.decode() if isinstance(v, bytes) else v for k, v in (headers or {}).items()}
        target = parts.path + (f"?{parts.query}" if parts.query else "")
        status, headers, data = self.world.serve(f"{parts.scheme}://{parts.netloc}", target, told, text, method)
        if status == fake_google.NOBODY:
            raise google.auth.exceptions.TransportError("nobody answers")
        return Answer(status, headers, data)


def google_auth_finds(env, world):
    kept = dict(os.environ)
    os.environ.clear()
    os.environ.update(env)
    # It looks at these when it is imported.
    gce._NO_GCE_CHECK = env.get("NO_GCE_CHECK") == "true"
    gce._GCE_METADATA_HOST = env["GCE_METADATA_HOST"]
    try:
        request = Asking(world)
        found, _ = google.auth.default(scopes=[SCOPE], request=request)
        found.refresh(request)
        expiry = found.expiry.replace(tzinfo=datetime.timezone.utc).timestamp()
        return {"token": found.token, "quota": found.quota_project_id or "", "expires": expiry}
    except (google.auth.exceptions.GoogleAuthError, ValueError, AttributeError, TypeError, KeyError, OSError) as error:
        return {"error": f"{type(error).__name__}: {error}"}
    finally:
        os.environ.clear()
        os.environ.update(kept)


def differ(ours, theirs):
    if "error" in ours or "error" in theirs:
        return ("error" in ours) != ("error" in theirs)
    same = all(ours[key] == theirs[key] for key in ("token", "quota"))
    return not same or abs(ours["expires"] - theirs["expires"]) > 30


def stoker_finds(driver, env, server):
    env = env | {"STOKER_TEST_SERVER": f"http://127.0.0.1:{server.server_port}"}
    done = subprocess.run([driver], env=env, capture_output=True, text=True, timeout=60, check=True)
    return json.loads(done.stdout)


SUBJECTS = ["of AWS", "token of a program", "token of a service"]
JWT = {"subject_token_type": "urn:ietf:params:oauth:token-type:jwt"}


class Outputs:
    """What programs have written by now in a folder: each of two clients finds the same."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.were = {path: path.read_bytes() for path in self.folder.glob("output-*")}

    def restore(self):
        for path in self.folder.glob("output-*"):
            path.unlink()
        for path, text in self.were.items():
            path.write_bytes(text)


def refused_by_name(driver, folder, server):
    """What google-auth takes and stoker does not: it says so."""
    wrong = []
    for what, change in [
        ("a certificate", {"credential_source": {"certificate": {}}}),
        ("external_account_authorized_user", {"type": "external_account_authorized_user"}),
    ]:
        config = external(random.Random(1), "x", folder) | JWT | change
        with open(f"{folder}/named.json", "w", encoding="utf-8") as out:
            json.dump(config, out)
        env = {"HOME": folder, "GOOGLE_APPLICATION_CREDENTIALS": f"{folder}/named.json"}
        said = stoker_finds(driver, env, server).get("error", "")
        if what not in said or "not supported" not in said:
            wrong.append(f"{what}: {said}")
    return wrong


def main(argv):
    count = int(argv[2]) if len(argv) > 2 else 400
    dice = random.Random(int(argv[3]) if len(argv) > 3 else 1)
    google.auth._cloud_sdk.get_project_id = lambda: None  # it would run gcloud
    gce._GCE_PRODUCT_NAME_FILE = "/gone"
    pems, public = make_key()
    world = fake_google.World(public)
    server = world.over_http()
    wrong, kinds = 0, {}
    with tempfile.TemporaryDirectory(prefix="stoker-google") as folder:
        for name, text in [("subject", "subject of a file"), ("subject.json", '{"id_token": "subject of JSON"}')]:
            with open(f"{folder}/{name}", "w", encoding="utf-8") as out:
                out.write(text)
        for number in range(count):
            env = make_world(dice, folder, pems, world)
            outputs = Outputs(folder)
            ours = stoker_finds(argv[1], env, server)
            outputs.restore()
            theirs = google_auth_finds(env, world)
            described = ours.get("described", "error")
            kind = described.split(" in ")[0].split(" of ")[0]
            kind += next((f" {how}" for how in SUBJECTS if f"({how})" in described), "")
            kinds[kind] = kinds.get(kind, 0) + 1
            secret = ours.get("token", "ya29.") in ours.get("described", "")
            if differ(ours, theirs) or secret:
                wrong += 1
                print(f"world {number}: stoker {ours}\n  google-auth {theirs}\n  {env}")
        refused = refused_by_name(argv[1], folder, server)
    server.shutdown()
    for each in refused + world.wrong:
        print(f"wrong: {each}")
    held = ", ".join(f"{base} {number}" for base, number in sorted(world.held.items()))
    print(f"held against what Google has written: {held}")
    print(f"{count} worlds, found: {kinds}; {wrong} unlike google-auth")
    return 1 if wrong or refused or world.wrong else 0


if __name__ == "__main__":
    begun = time.monotonic()
    code = main(sys.argv)
    print(f"{time.monotonic() - begun:.0f} s")
    sys.exit(code)
