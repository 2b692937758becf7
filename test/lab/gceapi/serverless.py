# SPDX-License-Identifier: Apache-2.0
"""What `stoker controller --install gcp` asks of Google: Artifact Registry, Cloud Run v2, Cloud
Scheduler, accounts and roles of IAM, and the project's policy. Each request is read by Google's
discovery documents, and so is each answer. Each service is below a folder of its own: /run/v2/….

What is bound counts for the account that is made, under its condition: may(). Not played: that rights
take a minute to be known, and inheritance. Sources: the pages of the methods; "IAM permissions" of each service;
"Deleting a custom role": its name stays, and undelete brings it back."""

import base64
import json
import re
import sys
import threading
import time
import traceback
import urllib.parse

from test.lab.gceapi import conditions, errors
from test.lab.gceapi.discovery import discovery
from test.lab.gceapi.errors import Refusal
from test.lab.gceapi.service import PROJECT

JSON = {"Content-Type": "application/json; charset=UTF-8"}
DOCUMENTS = {
    "artifactregistry": "artifactregistry.v1",
    "cloudresourcemanager": "cloudresourcemanager.v1",
    "cloudscheduler": "cloudscheduler.v1",
    "iam": "iam.v1",
    "run": "run.v2",
}
# "IAM permissions" of each: a method's name where it is not the resource's and the verb's.
RIGHTS = {
    "artifactregistry.projects.locations.operations.get": [],  # of who has begun it
    "run.projects.locations.jobs.patch": ["run.jobs.create", "run.jobs.update", "iam.serviceAccounts.actAs"],
    "cloudscheduler.projects.locations.jobs.create": ["cloudscheduler.jobs.create", "iam.serviceAccounts.actAs"],
    "cloudscheduler.projects.locations.jobs.patch": ["cloudscheduler.jobs.update", "iam.serviceAccounts.actAs"],
    "iam.projects.roles.patch": ["iam.roles.update"],
    "cloudresourcemanager.projects.getIamPolicy": ["resourcemanager.projects.getIamPolicy"],
    "cloudresourcemanager.projects.setIamPolicy": ["resourcemanager.projects.setIamPolicy"],
}
GOOGLES = {"roles/run.invoker": {"run.jobs.run"}, "roles/iam.serviceAccountUser": {"iam.serviceAccounts.actAs"}}


def needed(method):
    service, *_, kind, verb = method.split(".")
    return RIGHTS.get(method, [f"{service}.{kind}.{verb}"])


def now():
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


class Serverless:
    """`env(host)`: gcloud's variables. `registry`: HOST:PORT where images are pushed. `slow`: so many
    looks until an operation has ended. `before(entry)`, `after(entry)`: called around each request."""

    def __init__(self, identity, api, registry="192.0.2.1:1"):
        self.identity, self.api, self.registry = identity, api, registry
        self.documents = {name: discovery(each) for name, each in DOCUMENTS.items()}
        self.held = {"repositories": {}, "jobs": {}, "schedules": {}, "roles": {}, "accounts": {}}
        self.policies, self.operations = {}, {}
        self.slow, self.young = 0, 0
        self.without_schedules, self.week_over = set(), False  # regions; of deleted roles
        self.log, self.bugs, self.denied = [], [], set()
        self.before = self.after = lambda entry: None
        self.forget = lambda repository: None  # its images go with it
        self.lock = threading.RLock()

    def env(self, endpoint):
        return {f"CLOUDSDK_API_ENDPOINT_OVERRIDES_{name.upper()}": f"{endpoint}/{name}/" for name in DOCUMENTS}

    # ---- what is asked ----

    def __call__(self, handler):
        split = urllib.parse.urlsplit(handler.path)
        text = handler.body()
        entry = {"verb": handler.command, "path": split.path, "text": text}
        self.log.append(entry)
        try:
            self.before(entry)
            status, told = 200, self.answer(handler, split, text, entry)
            self.after(entry)
        except Refusal as error:
            status, told = error.status, error.body()
        except Exception:  # noqa: BLE001  # whatever it is, it is ours, and tests must hear of it
            self.bugs.append(traceback.format_exc())
            status, told = 501, Refusal(501, "An error of the lab").body()
        entry["status"] = status
        handler.out(status, json.dumps(told), JSON)

    def find(self, service, verb, path):
        """(method, what its path names): names have no colons, which divide them from the verb."""
        for method in self.documents[service].methods.values():
            found = method.verb == verb and method.pattern.fullmatch(path)
            values = [urllib.parse.unquote(each) for each in found.groups()] if found else []
            if found and not any(":" in each for each in values):
                return method, dict(zip(method.names, values))
        raise Refusal(404, f"The lab does not know {verb} {path}", "notFound")

    def answer(self, handler, split, text, entry):
        _, service, path = split.path.split("/", 2)
        document = self.documents[service]
        method, names = self.find(service, handler.command, path)
        entry["method"], entry["names"] = method.id, names
        who = self.identity.find(handler.headers.get("Authorization"))
        if who is None:
            raise errors.unauthenticated()
        entry["email"] = who.email
        if method.scopes and not set(method.scopes) & set(who.scopes):
            raise Refusal(403, f"Request had insufficient authentication scopes for {method.id}", "insufficientPermissions")
        query = dict(urllib.parse.parse_qsl(split.query))
        body = json.loads(text) if text.strip() else {}
        strange = [f"parameter {each}" for each in query if document.parameter(method, each) is None]
        strange += [f"{where}: {what}" for where, what in (document.faults(method.request, body) if method.request else [])]
        if body and not method.request:
            strange.append("a body where there is none")
        if strange:
            self.bugs.append(f"a request of {method.id} is not as the document has it: {strange[:3]}")
            raise Refusal(400, f"Invalid JSON payload received. {strange[:3]}", "badRequest")
        entry["permissions"] = needed(method.id)
        for right in entry["permissions"]:
            if right in self.denied or not self.lets(who.email, right, names):
                raise Refusal(403, f"Permission '{right}' denied on resource '{path}' (or it may not exist).", "forbidden")
        with self.lock:
            name = method.id.replace(".projects.", ".").replace(".locations.", ".").replace(".", "_")
            told = getattr(self, name)(names, query, body)
        told = json.loads(json.dumps(told))
        found = document.faults(method.response, told)
        if found:
            self.bugs.append(f"an answer of {method.id} is not as the document has it: {found[:3]}")
            print(self.bugs[-1], file=sys.stderr, flush=True)
        return told

    def lets(self, email, right, names):
        """Of the accounts that were made here, what is bound on a job of Cloud Run alone."""
        return email not in self.held["accounts"] or any(right in each for each, _ in self.granted("job " + self.key(names), email))

    # ---- things ----

    def one(self, kind, key):
        if key not in self.held[kind]:
            raise Refusal(404, f"Resource '{key}' was not found", "notFound")
        return self.held[kind][key]

    def key(self, names):
        last = [value for name, value in names.items() if name not in ("projectsId", "locationsId")]
        return "/".join([names["projectsId"], names.get("locationsId", "-"), *last])

    def new(self, kind, key, what):
        if key in self.held[kind]:
            raise Refusal(409, f"Resource '{key}' already exists.", "alreadyExists")
        self.held[kind][key] = what
        return what

    def begun(self, names, kind):
        name = f"projects/{names['projectsId']}/locations/{names['locationsId']}/operations/{len(self.operations)}"
        self.operations[name] = self.slow
        return self.operation(name, kind)

    def operation(self, name, kind=""):
        self.operations[name] -= 1
        told = {"name": name, "done": self.operations[name] < 0}
        return {**told, "response": {}} if told["done"] else told

    def run_operations_get(self, names, query, body):
        return self.operation(f"projects/{names['projectsId']}/locations/{names['locationsId']}/operations/{names['operationsId']}")

    artifactregistry_operations_get = run_operations_get

    # ---- Artifact Registry ----

    def artifactregistry_repositories_create(self, names, query, body):
        made = query["repositoryId"]
        if not re.fullmatch("[a-z][a-z0-9-]{0,61}[a-z0-9]", made):
            raise Refusal(400, f"{made} is no repository's name", "badRequest")
        where = f"projects/{names['projectsId']}/locations/{names['locationsId']}/repositories/{made}"
        uri = f"{self.registry}/{names['projectsId']}/{made}"
        self.new("repositories", self.key({**names, "id": made}), {**body, "name": where, "registryUri": uri})
        return self.begun(names, "repository")

    def artifactregistry_repositories_get(self, names, query, body):
        return self.one("repositories", self.key(names))

    def artifactregistry_repositories_delete(self, names, query, body):
        self.one("repositories", self.key(names))
        del self.held["repositories"][self.key(names)]
        self.forget(f"{names['projectsId']}/{names['repositoriesId']}")
        return self.begun(names, "repository")

    def artifactregistry_repositories_list(self, names, query, body):
        return {"repositories": [self.held["repositories"][each] for each in sorted(self.held["repositories"])]}

    # ---- Cloud Run ----

    def run_jobs_patch(self, names, query, body):
        key = self.key(names)
        if key not in self.held["jobs"] and query.get("allowMissing") != "true":
            raise Refusal(404, f"Resource '{key}' was not found", "notFound")
        task = body["template"]["template"]
        self.known(task["serviceAccount"])
        limits = task["containers"][0]["resources"]["limits"]
        if limits["cpu"] not in ("1", "2", "4", "8") or int(limits["memory"].removesuffix("Mi")) < 512:
            raise Refusal(400, "Invalid value specified for container memory or cpu", "badRequest")
        self.held["jobs"][key] = {**body, "createTime": now()}
        return self.begun(names, "job")

    def run_jobs_get(self, names, query, body):
        return self.one("jobs", self.key(names))

    def run_jobs_delete(self, names, query, body):
        self.one("jobs", self.key(names))
        del self.held["jobs"][self.key(names)]
        self.policies.pop("job " + self.key(names), None)
        return self.begun(names, "job")

    def run_jobs_run(self, names, query, body):
        self.one("jobs", self.key(names))
        return self.begun(names, "execution")

    def run_jobs_list(self, names, query, body):
        return {"jobs": [self.held["jobs"][each] for each in sorted(self.held["jobs"])]}

    def run_jobs_getIamPolicy(self, names, query, body):  # as the methods are called
        self.one("jobs", self.key(names))
        return self.policy("job " + self.key(names))

    def run_jobs_setIamPolicy(self, names, query, body):
        self.one("jobs", self.key(names))
        return self.set_policy("job " + self.key(names), body)

    # ---- Cloud Scheduler ----

    def cloudscheduler_get(self, names, query, body):  # a location
        region = names["locationsId"]
        if region in self.without_schedules:
            raise Refusal(404, f"Location {region} is not found or access is unauthorized.", "notFound")
        return {"name": f"projects/{names['projectsId']}/locations/{region}", "locationId": region}

    def target(self, told):
        """A request that Cloud Scheduler will send is held against the document of Cloud Run."""
        split = urllib.parse.urlsplit(told["uri"])
        method, _ = self.find("run", told["httpMethod"], split.path.removeprefix("/run/"))
        faults = self.documents["run"].faults(method.request, json.loads(base64.b64decode(told["body"])))
        if method.id != "run.projects.locations.jobs.run" or faults or told["oauthToken"]["scope"] not in method.scopes:
            self.bugs.append(f"what a schedule sends is not as the document has it: {told} {faults}")

    def cloudscheduler_jobs_create(self, names, query, body):
        self.target(body["httpTarget"])
        key = f"{names['projectsId']}/{names['locationsId']}/{body['name'].rsplit('/', 1)[1]}"
        self.known(body["httpTarget"]["oauthToken"]["serviceAccountEmail"])
        return self.new("schedules", key, {**body, "state": "ENABLED", "userUpdateTime": now()})

    def cloudscheduler_jobs_patch(self, names, query, body):
        self.target(body["httpTarget"])
        known = self.one("schedules", self.key(names))
        known.update({each: body[each] for each in query["updateMask"].split(",")})
        return known

    def cloudscheduler_jobs_get(self, names, query, body):
        return self.one("schedules", self.key(names))

    def cloudscheduler_jobs_delete(self, names, query, body):
        self.one("schedules", self.key(names))
        del self.held["schedules"][self.key(names)]
        return {}

    def cloudscheduler_jobs_list(self, names, query, body):
        return {"jobs": [self.held["schedules"][each] for each in sorted(self.held["schedules"])]}

    # ---- accounts and roles ----

    def is_known(self, email):
        return email in self.held["accounts"] or email.startswith(("stoker@", "nodes@"))

    def known(self, email):
        if self.young > 0:
            self.young -= 1
            raise Refusal(400, f"Service account {email} does not exist.", "badRequest")
        if not self.is_known(email):
            raise Refusal(400, f"Service account {email} does not exist.", "badRequest")

    def iam_serviceAccounts_create(self, names, query, body):
        account = body["accountId"]
        if not re.fullmatch("[a-z]([-a-z0-9]{4,28}[a-z0-9])", account):
            raise Refusal(400, f"{account} is no account's id", "badRequest")
        email = f"{account}@{names['projectsId']}.iam.gserviceaccount.com"
        self.identity.add(email)
        where = f"projects/{names['projectsId']}/serviceAccounts/{email}"
        return self.new("accounts", email, {**body["serviceAccount"], "name": where, "email": email, "projectId": names["projectsId"]})

    def iam_serviceAccounts_get(self, names, query, body):
        return self.one("accounts", names["serviceAccountsId"])

    def iam_serviceAccounts_delete(self, names, query, body):
        email = names["serviceAccountsId"]
        self.one("accounts", email)
        del self.held["accounts"][email]
        for policy in self.policies.values():
            for binding in policy.get("bindings", []):
                binding["members"] = [
                    f"deleted:serviceAccount:{email}?uid=1" if each == f"serviceAccount:{email}" else each for each in binding["members"]
                ]
        return {}

    def iam_serviceAccounts_list(self, names, query, body):
        return {"accounts": [self.held["accounts"][each] for each in sorted(self.held["accounts"])]}

    def found(self, names, right):
        email = names["serviceAccountsId"]
        where = f"projects/{names['projectsId']}/serviceAccounts/{email}"
        if not self.is_known(email) and names["projectsId"] == "-":
            raise Refusal(403, f"Permission '{right}' denied on resource '{where}' (or it may not exist).", "forbidden")
        if not self.is_known(email) or names["projectsId"] not in ("-", email.partition("@")[2].partition(".")[0]):
            raise Refusal(404, f"Unknown service account {where}", "notFound")

    def iam_serviceAccounts_getIamPolicy(self, names, query, body):
        self.found(names, "iam.serviceAccounts.getIamPolicy")
        return self.policy("account " + names["serviceAccountsId"])

    def iam_serviceAccounts_setIamPolicy(self, names, query, body):
        self.found(names, "iam.serviceAccounts.setIamPolicy")
        return self.set_policy("account " + names["serviceAccountsId"], body)

    def iam_roles_create(self, names, query, body):
        where = f"projects/{names['projectsId']}/roles/{body['roleId']}"
        if not re.fullmatch("[a-zA-Z0-9_.]{3,64}", body["roleId"]):
            raise Refusal(400, f"{body['roleId']} is no role's id", "badRequest")
        if self.held["roles"].get(where, {}).get("deleted"):
            raise Refusal(
                400,
                f"You can't create a role with role_id ({body['roleId']}) where there is an existing role with that role_id "
                "in a deleted state.",
                "failedPrecondition",
            )
        return self.new("roles", where, {**body["role"], "name": where})

    def role(self, names):
        return self.one("roles", f"projects/{names['projectsId']}/roles/{names['rolesId']}")

    def iam_roles_get(self, names, query, body):
        return self.role(names)

    def iam_roles_patch(self, names, query, body):
        role = self.role(names)
        if role.get("deleted"):
            raise Refusal(400, "The role is deleted.", "failedPrecondition")
        role.update({each: body[each] for each in query["updateMask"].split(",")})
        return role

    def iam_roles_delete(self, names, query, body):
        role = self.role(names)
        if role.get("deleted"):
            raise Refusal(400, "The role is deleted already.", "failedPrecondition")
        role["deleted"] = True
        return role

    def iam_roles_undelete(self, names, query, body):
        role = self.role(names)
        if role.get("deleted") and self.week_over:
            raise Refusal(400, "The role was deleted more than 7 days ago.", "failedPrecondition")
        role.pop("deleted", None)
        return role

    def iam_roles_list(self, names, query, body):
        return {"roles": [each for _, each in sorted(self.held["roles"].items()) if not each.get("deleted")]}

    # ---- policies ----

    def policy(self, place):
        held = self.policies.get(place, {"version": 1, "etag": "ACAB"})
        return json.loads(json.dumps(held))

    def set_policy(self, place, body):
        told = body["policy"]
        if told.get("etag", "ACAB") != self.policy(place)["etag"]:
            raise Refusal(409, "There were concurrent policy changes.", "aborted")
        for binding in told.get("bindings", []):
            if binding["role"] not in self.held["roles"] and binding["role"] not in GOOGLES:
                raise Refusal(400, f"Role ({binding['role']}) does not exist.", "badRequest")
            if "condition" in binding and told.get("version") != 3:
                raise Refusal(400, "A policy with conditions must be of version 3", "badRequest")
            for member in binding["members"]:
                if not member.startswith("deleted:"):
                    self.known(member.partition(":")[2])
        count = len([each for each in self.log if "setIamPolicy" in each["path"]])
        self.policies[place] = {**told, "etag": "".join(chr(ord("A") + int(each)) for each in f"{count:04d}")}
        return self.policy(place)

    def cloudresourcemanager_getIamPolicy(self, names, query, body):
        return self.policy("project " + names["resource"])

    def cloudresourcemanager_setIamPolicy(self, names, query, body):
        return self.set_policy("project " + names["resource"], body)

    # ---- what it comes to ----

    def granted(self, place, email):
        """[(permissions, condition)] that are bound to it there."""
        found = []
        for each in self.policies.get(place, {}).get("bindings", []):
            if f"serviceAccount:{email}" in each["members"]:
                role = self.held["roles"].get(each["role"])
                rights = set(role["includedPermissions"]) if role else GOOGLES[each["role"]]
                found.append((rights, each.get("condition", {}).get("expression", "")))
        return found

    def may(self, email, permission, acts_as=(), on=()):
        """As Compute.may: of the accounts that were made here alone; who else asks may all. `on`:
        [(type, name)] that it is about, each of which a condition must let in."""
        if email not in self.held["accounts"]:
            return True
        if permission == "iam.serviceAccounts.actAs":
            return all(any(permission in rights for rights, _ in self.granted("account " + each, email)) for each in acts_as)
        bound = [condition for rights, condition in self.granted(f"project {PROJECT}", email) if permission in rights]
        return bool(bound) and all(any(conditions.holds(each, *what) for each in bound) for what in on)

    def left(self, word):
        """By the lists, and in the policies: all that names it."""
        names = {"projectsId": PROJECT, "locationsId": "us-central1"}
        lists = [
            self.artifactregistry_repositories_list(names, {}, {}),
            self.run_jobs_list(names, {}, {}),
            self.cloudscheduler_jobs_list(names, {}, {}),
            self.iam_serviceAccounts_list(names, {}, {}),
            self.iam_roles_list(names, {}, {}),
        ]
        found = [each["name"] for told in lists for part in told.values() for each in part if word in each["name"]]
        return sorted(found + [place for place, policy in self.policies.items() if word in json.dumps(policy.get("bindings", []))])
