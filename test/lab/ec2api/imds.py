# SPDX-License-Identifier: Apache-2.0
"""169.254.169.254 of one machine: sessions (IMDSv2), folders and files."""

import secrets
import time

from test.lab.ec2api import connect, metadata

VERSIONS = ("1.0", "2009-04-04", "2016-09-02", "2018-09-24", "2021-03-23", "2023-02-12", "latest")
TTL = "X-aws-ec2-metadata-token-ttl-seconds"
TEXT = {"Content-Type": "text/plain", "Server": "EC2ws"}
MAX_TTL = 21600


class Imds:
    """Call it with a handler of web.py."""

    def __init__(self, ec2, keyring, instance):
        self.ec2 = ec2
        self.keyring = keyring
        self.instance = instance
        self.tokens = {}  # token -> its end
        self.issued = None  # the role's keys now: (until when, text)
        self.asked = []  # (time, path), for tests
        self.broken = 0  # so many answers are a 503
        self.public_key = ""
        if "KeyName" in instance.asked:
            self.public_key = ec2.behind.public_key(instance.region.name, instance.asked["KeyName"])

    def __call__(self, handler):
        path = handler.path.split("?")[0]
        self.asked.append((time.time(), f"{handler.command} {path}"))
        handler.body()
        if self.instance.asked["MetadataOptions"]["HttpEndpoint"] != "enabled":
            return handler.out(403, "", TEXT)
        if self.broken > 0:
            self.broken -= 1
            return handler.out(503, "", TEXT)
        if handler.command == "PUT" and path == "/latest/api/token":
            return self.session(handler)
        if handler.command not in ("GET", "HEAD"):
            return handler.out(405, "", TEXT)
        return self.read(handler, path)

    def session(self, handler):
        ttl = handler.headers.get(TTL, "")
        if handler.headers.get("X-Forwarded-For"):
            return handler.out(403, "", TEXT)
        if not ttl.isdigit() or not 1 <= int(ttl) <= MAX_TTL:
            return handler.out(400, "", TEXT)
        token = secrets.token_urlsafe(40) + "=="
        self.tokens[token] = time.time() + int(ttl)
        return handler.out(200, token, {**TEXT, TTL: ttl})

    def read(self, handler, path):
        token = handler.headers.get("X-aws-ec2-metadata-token")
        headers = dict(TEXT)
        if token is not None:
            left = self.tokens.get(token, 0) - time.time()
            if left <= 0:
                return handler.out(401, "", TEXT)
            headers[TTL] = str(int(left))
        elif self.instance.asked["MetadataOptions"]["HttpTokens"] == "required":
            return handler.out(401, "", TEXT)
        found = self.find(path)
        if found is None:
            return handler.out(404, NOT_FOUND, {**headers, "Content-Type": "text/html"})
        return handler.out(200, found, headers)

    def find(self, path):
        """A text or bytes, or None."""
        version, _, rest = path.lstrip("/").partition("/")
        if not version:
            return "\n".join(VERSIONS)
        if version not in VERSIONS:
            return None
        if not rest.rstrip("/"):
            return "\n".join(["dynamic", "meta-data"] + ["user-data"] * bool(self.user_data()))
        if rest.rstrip("/") == "user-data":
            return self.user_data() or None
        with self.ec2.world.lock:
            data = metadata.tree(self.instance, self.public_key)
        data.update(connect.active_keys(self.ec2, self.instance))
        role = self.role()
        if role:
            data["meta-data/iam/security-credentials/" + role] = None
        if rest in data:
            return data[rest] if data[rest] is not None else self.keys(role)
        return _folder(data, rest)

    def user_data(self):
        tries = self.ec2.settings.boot_tries
        if not tries:
            return self.instance.user_data
        # A machine that cannot fetch its binary gives up sooner than after 5 minutes.
        return self.instance.user_data.replace(b"-ge 30 ]", b"-ge %d ]" % tries).replace(b"  sleep 10\n", b"  sleep 1\n")

    def role(self):
        profile = self.instance.asked["Profile"]
        return profile["Roles"][0]["RoleName"] if profile else None

    def keys(self, role):
        """The same ones until half of their life is over, as EC2 does it."""
        life = self.ec2.settings.credential_life
        if self.issued is None or self.issued[0] < time.time():
            told = metadata.credentials(self.keyring, role, life)
            self.issued = (time.time() + life / 2, told)
        return self.issued[1]


def _folder(data, path):
    """The names below, those of folders with a slash at their end, or None."""
    before = path.rstrip("/") + "/"
    if before in data:
        return data[before]
    names = {}
    for key in data:
        if key.startswith(before):
            head, slash, _ = key[len(before) :].partition("/")
            names[head + slash] = None
    both = [name for name in names if name + "/" in names]
    return "\n".join(name for name in sorted(names) if name not in both) or None


NOT_FOUND = """<?xml version="1.0" encoding="iso-8859-1"?>
<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Transitional//EN"
\t"http://www.w3.org/TR/xhtml1/DTD/xhtml1-transitional.dtd">
<html xmlns="http://www.w3.org/1999/xhtml" xml:lang="en" lang="en">
 <head>
  <title>404 - Not Found</title>
 </head>
 <body>
  <h1>404 - Not Found</h1>
 </body>
</html>
"""
