# SPDX-License-Identifier: Apache-2.0
"""Access keys that are good in the lab: the one of who submits, and those that machines get for
their role. versitygw knows the same ones, by a file of users."""

import json
import os
import secrets
import time

SPARE = 64  # keys that versitygw knows from its start, for the roles of machines


class Keyring:
    def __init__(self):
        self.own = ("AKIALABSUBMITTER0000", secrets.token_hex(20))
        self.pool = [(f"ASIALAB{secrets.token_hex(7)[:13].upper()}", secrets.token_hex(20)) for _ in range(SPARE)]
        self.known = {self.own[0]: (self.own[1], None, None)}
        self.handed_out = 0
        self.roles = {}  # access key -> name of the role

    def find(self, key):
        """(secret, session token or None, end or None), or None."""
        return self.known.get(key)

    def revoke(self, key):
        self.known.pop(key, None)

    def for_role(self, role, life):
        """New keys: (access key, secret, token, when they end)."""
        key, secret = self.pool[self.handed_out % SPARE]
        self.handed_out += 1
        token = "FwoGZXIvYXdzLab" + secrets.token_urlsafe(180)
        ends = time.time() + life
        self.known[key] = (secret, token, ends)
        self.roles[key] = role
        return key, secret, token, ends

    def write_users(self, folder):
        """For versitygw's --iam-dir."""
        os.makedirs(folder, exist_ok=True)
        users = {key: {"access": key, "secret": secret, "role": "admin"} for key, secret in [self.own, *self.pool]}
        with open(os.path.join(folder, "users.json"), "w", encoding="utf-8") as out:
            json.dump({"accessAccounts": users}, out)
        return folder
