# SPDX-License-Identifier: Apache-2.0
"""A project of Google as its owner sets it up: APIs switched on, accounts, roles, who may do what on
project, account and bucket. Requests and answers are held against Google's documents (IAM v1, Cloud
Resource Manager v1, Service Usage v1, Cloud Storage v1), and gcloud is what asks.

What is bound counts: may() for Compute Engine's permissions on the project and for acting as an
account, lets_in() for the bucket, by whose policy it is. Not played: inheritance from folders and
organizations, conditions, and that a change takes a minute to be known. Sources: the pages of the
methods; "IAM permissions", "Understanding roles" for the roles of Google's that pages name."""

import json
import urllib.parse

from test.lab.gceapi.discovery import discovery

JSON = {"Content-Type": "application/json; charset=UTF-8"}
ACTS = "roles/iam.serviceAccountUser"
GOOGLES = {ACTS: {"iam.serviceAccounts.actAs"}, "roles/iap.tunnelResourceAccessor": set(), "roles/compute.osAdminLogin": set()}
OURS = 'resource.name.extract("secrets/{name}").startsWith("stoker-")'
QUIET = ("alt", "prettyPrint", "$alt")


class No(Exception):
    def __init__(self, status, words, name="FAILED_PRECONDITION"):
        super().__init__(words)
        self.told = status, {"error": {"code": status, "message": words, "status": name}}


class Project:
    """`owner`: may do everything; `make_bucket(name)`. `log`: (method, who)."""

    def __init__(self, name, number, owner, identity, make_bucket):
        self.name, self.number, self.owner = name, number, owner
        self.identity = identity
        self.make_bucket = make_bucket
        self.documents = [discovery(each) for each in ("iam.v1", "cloudresourcemanager.v1", "serviceusage.v1", "storage.v1")]
        self.services, self.roles, self.accounts, self.buckets = set(), {}, {}, {}
        self.policies = {}  # of "projects/NAME", an account's or a bucket's name
        self.log = []
        self.strange = []  # what was asked or answered that the documents do not know

    # ---- what it comes to ----

    def granted(self, place, email):
        """Permissions that are bound to it there."""
        found = set()
        for each in self.policies.get(place, {}).get("bindings", []):
            if any(member.partition(":")[2] == email for member in each["members"]):
                role = self.roles.get(each["role"])
                found |= set(role["includedPermissions"]) if role else GOOGLES[each["role"]]
        return found

    def may(self, email, permission, acts_as=(), on=()):
        """`acts_as`: accounts, for iam.serviceAccounts.actAs. `on`: what it is about (conditions.py)."""
        if email == self.owner:
            return True
        if permission.startswith("iam."):
            places = [each for each in acts_as if permission not in self.granted(each, email)]
            return not places
        return permission in self.granted(f"projects/{self.name}", email)

    def lets_in(self, bucket, email):
        return any(each.startswith("storage.objects.") for each in self.granted(bucket, email))

    def secrets_are_ours(self):
        """Whether all that a role says of secrets which are there is bound to names of stoker's."""
        bindings = [each for policy in self.policies.values() for each in policy.get("bindings", [])]
        values = {"secretmanager.secrets.delete", "secretmanager.versions.add", "secretmanager.versions.access"}
        reach = [each for each in bindings if values & set(self.roles.get(each["role"], {}).get("includedPermissions", []))]
        return bool(reach) and all(each.get("condition", {}).get("expression") == OURS for each in reach)

    # ---- what is asked ----

    def __call__(self, handler):
        split = urllib.parse.urlsplit(handler.path)
        text = handler.body()
        try:
            status, told = 200, self.answer(handler, split, text)
        except No as no:
            status, told = no.told
        handler.out(status, json.dumps(told), JSON)

    def find(self, verb, path):
        """(document, method, what its path names). Where another one's path fits as well, the longer
        one is meant."""
        found = [(document, *document.find(verb, path)) for document in self.documents]
        found = [each for each in found if each[1] is not None and each[1].id in ANSWERS]
        return min(found, key=lambda each: len(each[1].names)) if found else (None, None, None)

    def answer(self, handler, split, text):
        document, method, params = self.find(handler.command, split.path)
        if method is None:
            self.strange.append(f"{handler.command} {handler.path}")
            raise No(404, f"The lab does not know {split.path}", "NOT_FOUND")
        who = self.identity.find(handler.headers.get("Authorization"))
        if who is None:
            raise No(401, "Request had invalid authentication credentials.", "UNAUTHENTICATED")
        self.log.append((method.id, who.email))
        self.asking = who.email
        if who.email != self.owner and method.id not in OPEN:
            raise No(403, f"Permission denied: {method.id}", "PERMISSION_DENIED")
        query = dict(urllib.parse.parse_qsl(split.query))
        body = json.loads(text) if text.strip() else {}
        unknown = [each for each in query if each not in QUIET and document.parameter(method, each) is None]
        faults = document.faults(method.request, body) if method.request else []
        self.strange += [f"{method.id}: {each}" for each in (*unknown, *faults)]
        told = ANSWERS[method.id](self, {**{k: urllib.parse.unquote(v) for k, v in params.items()}, **query}, body)
        self.strange += [f"the answer of {method.id}: {each}" for each in document.faults(method.response, told)]
        return told

    # ---- services ----

    def enable(self, params, body):
        self.services |= set(body.get("serviceIds", [params.get("servicesId")]))
        return {"name": "operations/acf.lab", "done": True, "response": {}}

    # ---- roles and accounts ----

    def testable(self, params, body):
        """None of them is in a stage that is asked about."""
        return {"permissions": []}

    def make_role(self, params, body):
        name = f"projects/{self.name}/roles/{body['roleId']}"
        if name in self.roles:
            raise No(409, f"A role named {body['roleId']} in projects/{self.name} already exists.", "ALREADY_EXISTS")
        self.roles[name] = {**body["role"], "name": name, "etag": "BwYlab=="}
        return self.roles[name]

    def _account(self, email):
        return {
            "name": f"projects/{self.name}/serviceAccounts/{email}",
            "projectId": self.name,
            "uniqueId": "100000000000000000002",
            "email": email,
            "etag": "MDEwMjE5MjA=",
            **self.accounts[email],
        }

    def make_account(self, params, body):
        email = f"{body['accountId']}@{self.name}.iam.gserviceaccount.com"
        self.accounts[email] = {"displayName": body.get("serviceAccount", {}).get("displayName", "")}
        self.identity.add(email)
        return self._account(email)

    def make_pool(self, params, body):
        """Or a provider of one; each is there at once."""
        return {"name": f"projects/{self.number}/locations/global/operations/lab", "done": True, "response": {}}

    # ---- policies ----

    def _members_are_there(self, policy):
        for each in policy.get("bindings", []):
            if each["role"] not in self.roles and each["role"] not in GOOGLES:
                raise No(400, f"Role ({each['role']}) does not exist in the resource's hierarchy.", "INVALID_ARGUMENT")
            for member in each["members"]:
                kind, _, email = member.partition(":")
                if kind == "serviceAccount" and email not in self.accounts:
                    raise No(400, f"Service account {email} does not exist.", "INVALID_ARGUMENT")

    def _place(self, params):
        if "bucket" in params:
            if params["bucket"] not in self.buckets:
                raise No(404, "The specified bucket does not exist.", "NOT_FOUND")
            return params["bucket"]
        if "serviceAccountsId" in params:
            if params["serviceAccountsId"] not in self.accounts:
                raise No(404, "Unknown service account", "NOT_FOUND")
            return params["serviceAccountsId"]
        if params.get("resource", params.get("projectId")) != self.name:
            raise No(403, "The caller does not have permission", "PERMISSION_DENIED")
        return f"projects/{self.name}"

    def policy(self, params, body):
        return self.policies.get(self._place(params), {"version": 1, "etag": "ACAB"})

    def set_policy(self, params, body):
        place = self._place(params)
        told = body.get("policy", body)
        old = self.policies.get(place, {"etag": "ACAB"})
        if told.get("etag", old["etag"]) != old["etag"]:
            raise No(409, "There were concurrent policy changes.", "ABORTED")
        self._members_are_there(told)
        known = {name: value for name, value in told.items() if name != "etag"}
        self.policies[place] = {**known, "etag": f"ACA{len(self.log):05d}"[-8:].replace("0", "A")}
        return self.policies[place]

    def held_by(self, params, body):
        """Of whoever asks; conditions are not weighed, as on a project with names of secrets."""
        account = params.get("serviceAccountsId")
        if account is not None and account not in self.accounts:
            raise No(403, f"Permission denied on {account} (or it may not exist).", "PERMISSION_DENIED")
        acts_as = [account] if account else []
        has = [each for each in body["permissions"] if self.may(self.asking, each, acts_as)]
        return {"permissions": has} if has else {}

    def describe(self, params, body):
        return {"projectId": self.name, "projectNumber": str(self.number), "lifecycleState": "ACTIVE", "name": self.name}

    # ---- the bucket ----

    def insert_bucket(self, params, body):
        if body["name"] in self.buckets:
            raise No(409, "Your previous request to create the named bucket succeeded and you already own it.")
        self.make_bucket(body["name"])
        self.buckets[body["name"]] = body
        return self.bucket({"bucket": body["name"]}, body)

    def bucket(self, params, body):
        self._place(params)
        told = self.buckets[params["bucket"]]
        return {**told, "kind": "storage#bucket", "id": told["name"], "projectNumber": str(self.number), "metageneration": "1"}


OPEN = {  # who asks about himself
    "iam.projects.serviceAccounts.testIamPermissions",
    "cloudresourcemanager.projects.testIamPermissions",
}
ANSWERS = {
    **dict.fromkeys(OPEN, Project.held_by),
    "serviceusage.services.batchEnable": Project.enable,
    "serviceusage.services.enable": Project.enable,
    "iam.permissions.queryTestablePermissions": Project.testable,
    "iam.projects.roles.create": Project.make_role,
    "iam.projects.serviceAccounts.create": Project.make_account,
    "iam.projects.serviceAccounts.getIamPolicy": Project.policy,
    "iam.projects.serviceAccounts.setIamPolicy": Project.set_policy,
    "iam.projects.locations.workloadIdentityPools.create": Project.make_pool,
    "iam.projects.locations.workloadIdentityPools.providers.create": Project.make_pool,
    "cloudresourcemanager.projects.get": Project.describe,
    "cloudresourcemanager.projects.getIamPolicy": Project.policy,
    "cloudresourcemanager.projects.setIamPolicy": Project.set_policy,
    "storage.buckets.insert": Project.insert_bucket,
    "storage.buckets.get": Project.bucket,
    "storage.buckets.getIamPolicy": Project.policy,
    "storage.buckets.setIamPolicy": Project.set_policy,
}
