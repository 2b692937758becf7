# SPDX-License-Identifier: Apache-2.0
"""Which permissions whoever asks has: "projects.testIamPermissions" (Resource Manager v1) and
"projects.serviceAccounts.testIamPermissions" (IAM v1). Requests and answers are held against Google's
discovery documents. Both are below one address: their paths differ."""

import json
import urllib.parse

from test.lab.gceapi import errors
from test.lab.gceapi.discovery import discovery
from test.lab.gceapi.errors import Refusal

JSON = {"Content-Type": "application/json; charset=UTF-8"}
MOST = 100  # permissions of one question
METHODS = ("cloudresourcemanager.projects.testIamPermissions", "iam.projects.serviceAccounts.testIamPermissions")


class HeldRights:
    """`api`: whose `denied` nobody has. `away`: the APIs are not enabled. `asked`: [(email, where)]."""

    def __init__(self, identity, api):
        self.identity, self.api = identity, api
        self.documents = [discovery(each) for each in ("cloudresourcemanager.v1", "iam.v1")]
        self.asked, self.bugs = [], []
        self.away = False

    def __call__(self, handler):
        split = urllib.parse.urlsplit(handler.path)
        text = handler.body()
        try:
            status, told = 200, self.answer(handler, split, text)
        except Refusal as error:
            status, told = error.status, error.body()
        handler.out(status, json.dumps(told), JSON)

    def answer(self, handler, split, text):
        who = self.identity.find(handler.headers.get("Authorization"))
        if who is None:
            raise errors.unauthenticated()
        if self.away:
            raise Refusal(403, "Cloud Resource Manager API has not been used in project 1 before or it is disabled.", "accessNotConfigured")
        for document in self.documents:
            method, names = document.find(handler.command, split.path)
            if method is not None and method.id in METHODS:
                break
        else:
            self.bugs.append(f"{handler.command} {split.path}")
            raise Refusal(404, f"The lab does not know {split.path}", "notFound")
        body = json.loads(text)
        faults = document.faults(method.request, body)
        if faults or len(body["permissions"]) > MOST:
            self.bugs.append(f"a request of {method.id} is not as the document has it: {faults[:3]}")
            raise Refusal(400, "Invalid JSON payload received", "badRequest")
        where = urllib.parse.unquote(next(value for name, value in names.items() if value != "-"))
        self.asked.append((who.email, where))
        acts_as = [where] if "serviceAccounts" in method.id else []
        has = [each for each in body["permissions"] if each not in self.api.denied and self.api.may(who.email, each, acts_as)]
        told = {"permissions": has} if has else {}
        self.bugs += document.faults(method.response, told)
        return told
