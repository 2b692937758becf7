# SPDX-License-Identifier: Apache-2.0
"""An account in which policies count as its IAM has them: moto keeps users, roles and policies as
they are made, and each request of a user's or a role's keys is judged by what is bound to them then,
EC2's, IAM's and SSM's by the front, S3's by judge(). The owner's keys may do everything, as the first
user of an account. Not judged: policies of the bucket, boundaries, those of organizations; of S3's
requests no signature."""

import re
import threading
import urllib.parse
from xml.etree import ElementTree

from test.door import DENIED
from test.lab.ec2api.errors import Refusal
from test.lab.ec2api.front import Front

SPACE = "{https://iam.amazonaws.com/doc/2010-05-08/}"
READS = ("Get", "List")


class Bound:
    """In the place of the dictionary of policies in rights.Rights."""

    def __init__(self, behind, keyring):
        self.behind = behind
        self.keyring = keyring
        self.users = {}  # access key -> user
        self.known = {}  # what was read since IAM was changed last
        self.lock = threading.Lock()

    def get(self, key):
        if key == self.keyring.own[0]:
            return None
        with self.lock:
            if key not in self.known:
                self.known[key] = {"Statement": self.statements(key)}
            return self.known[key]

    def changed(self):
        with self.lock:
            self.known.clear()

    def statements(self, key):
        if key in self.users:
            return self.of("user", self.users[key])
        return self.of("role", self.keyring.roles[key]) if key in self.keyring.roles else []

    def of(self, kind, name):
        iam = self.behind.client("iam", "us-east-1")
        who = {f"{kind.title()}Name": name}
        documents = [
            getattr(iam, f"get_{kind}_policy")(**who, PolicyName=each)["PolicyDocument"]
            for each in getattr(iam, f"list_{kind}_policies")(**who)["PolicyNames"]
        ]
        for each in getattr(iam, f"list_attached_{kind}_policies")(**who)["AttachedPolicies"]:
            version = iam.get_policy(PolicyArn=each["PolicyArn"])["Policy"]["DefaultVersionId"]
            told = iam.get_policy_version(PolicyArn=each["PolicyArn"], VersionId=version)
            documents.append(told["PolicyVersion"]["Document"])
        return [statement for each in documents for statement in each["Statement"]]


class AccountFront(Front):
    def __init__(self, ec2, keyring, log):
        super().__init__(ec2, keyring, log)
        self.rights.policies = Bound(ec2.behind, keyring)

    def pass_on(self, handler, body):
        given = dict(urllib.parse.parse_qsl(body.decode(errors="replace")))
        told = super().pass_on(handler, body)
        if given.get("Version") == "2010-05-08" and not given.get("Action", "").startswith(READS):
            self.rights.policies.changed()
            if given["Action"] == "CreateAccessKey" and told[0] == 200:
                self.learn(told[2])
        return told

    def role_policy(self, name):
        return {"Statement": self.rights.policies.of("role", name)}

    def learn(self, answer):
        key = next(ElementTree.fromstring(answer).iter(f"{SPACE}AccessKey"))
        name, word, secret = (key.findtext(SPACE + each) for each in ("UserName", "AccessKeyId", "SecretAccessKey"))
        self.rights.policies.users[word] = name
        self.keyring.known[word] = (secret, None, None)


BUCKETS = {  # (method, parameter) -> action on the bucket; without any it is listed or made
    ("GET", "uploads"): "ListBucketMultipartUploads",
    ("GET", "versioning"): "GetBucketVersioning",
    ("GET", "lifecycle"): "GetLifecycleConfiguration",
    ("GET", "location"): "GetBucketLocation",
    ("GET", "policy"): "GetBucketPolicy",
    ("GET", ""): "ListBucket",
    ("HEAD", ""): "ListBucket",
    ("PUT", ""): "CreateBucket",
}
OBJECTS = {
    ("GET", "uploadId"): "ListMultipartUploadParts",
    ("DELETE", "uploadId"): "AbortMultipartUpload",
    ("GET", ""): "GetObject",
    ("HEAD", ""): "GetObject",
    ("PUT", ""): "PutObject",
    ("POST", ""): "PutObject",
    ("DELETE", ""): "DeleteObject",
}


def asks_of_s3(method, path, body, copied=""):
    """(action, resource, context) of all that a request needs, by "Actions, resources, and condition
    keys for Amazon S3"; the bucket is the path's first word."""
    split = urllib.parse.urlsplit(path)
    query = dict(urllib.parse.parse_qsl(split.query, keep_blank_values=True))
    bucket, _, key = urllib.parse.unquote(split.path).lstrip("/").partition("/")
    arn = f"arn:aws:s3:::{bucket}"
    if key:
        word = "uploadId" if "uploadId" in query else ""
        yield f"s3:{OBJECTS.get((method, word)) or OBJECTS[(method, '')]}", f"{arn}/{key}", {}
        if copied:
            yield "s3:GetObject", "arn:aws:s3:::" + urllib.parse.unquote(copied).lstrip("/"), {}
    elif method == "POST" and "delete" in query:
        for each in re.findall(rb"<Key>(.*?)</Key>", body):
            yield "s3:DeleteObject", f"{arn}/{each.decode()}", {}
    else:
        word = next((each for each in query if (method, each) in BUCKETS), "")
        context = {"s3:prefix": query["prefix"]} if "prefix" in query else {}
        yield f"s3:{BUCKETS[(method, word)]}", arn, context


class BucketJudge:
    """For a Door. `seen`: (key, action, whether it may)."""

    def __init__(self, rights):
        self.rights = rights
        self.seen = []

    def __call__(self, handler, body):
        found = re.search(r"Credential=([^/]+)/", handler.headers.get("Authorization", "") + handler.path)
        key = found[1] if found else "nobody"
        wanted = list(asks_of_s3(handler.command, handler.path, body, handler.headers.get("x-amz-copy-source", "")))
        try:
            self.rights.check(key, wanted, "AccessDenied")
        except Refusal:
            self.seen += [(key, action, False) for action, _, _ in wanted]
            return DENIED
        self.seen += [(key, action, True) for action, _, _ in wanted]
        return None
