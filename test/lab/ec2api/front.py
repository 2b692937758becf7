# SPDX-License-Identifier: Apache-2.0
"""The endpoint of all services: EC2's calls that are ours are done here, everything else goes to
moto as it came."""

import http.client
import json
import secrets
import sys
import threading
import time
import traceback
import urllib.parse

from test.lab import going_wrong
from test.lab.ec2api import connect, query, rights, simulator
from test.lab.ec2api.errors import DRY_RUN, Refusal
from test.lab.ec2api.faults import refusal
from test.lab.ec2api.service import MOTOS, OURS
from test.lab.ec2api.signature import Scope, verify
from test.lab.going_wrong import Cut

SPEAK_JSON = ("ssm", "secretsmanager", "logs", "events", "lambda", "ecr", connect.SERVICE)
NOT_PASSED_ON = ("connection", "content-length", "transfer-encoding", "date", "server")


class Front:
    def __init__(self, ec2, keyring, log):
        self.ec2 = ec2
        self.keyring = keyring
        self.log = log  # a list of what was asked, for tests
        self.bugs = []  # of the lab itself
        self.rights = rights.Rights()
        self.roles = {}  # name -> policy, for whom IAM's simulator is asked
        self.local = threading.local()
        self.host = urllib.parse.urlsplit(ec2.behind.endpoint).netloc

    def __call__(self, handler):
        body = handler.body()
        scope = Scope(handler.headers.get("Authorization"))
        entry = {
            "time": time.time(),
            "service": scope.service,
            "region": scope.region,
            "key": scope.key,
            "agent": handler.headers.get("User-Agent", ""),
        }
        self.log.append(entry)
        try:
            if scope.service == "ec2" or (not scope.good and b"Version=2016-11-15" in body):
                self.ec2_call(handler, scope, body, entry)
            else:
                entry["action"] = _name_of(handler, body)
                entry.update(method=handler.command, path=urllib.parse.urlsplit(handler.path).path, body=body)
                if self.ec2.settings.verify and scope.service != "sts":
                    who = (scope, self.keyring, handler.command, handler.path)
                    verify(*who, handler.headers, body)
                self.check_others(scope, entry["action"], body)
                fault = self.ec2.faults.take(entry["action"])
                going_wrong.before(fault, refusal)
                if scope.service == connect.SERVICE:
                    answer = connect.call(self.ec2, scope.region, entry["action"], body)
                    status, headers = 200, {"Content-Type": "application/x-amz-json-1.1"}
                elif entry["action"] == "SimulatePrincipalPolicy":
                    given = dict(urllib.parse.parse_qsl(body.decode(errors="replace")))
                    status, headers, answer = 200, XML, simulator.answer(given, self.role_policy)
                else:
                    status, headers, answer = self.pass_on(handler, body)
                entry["status"] = status
                going_wrong.after(fault)
                handler.out(status, answer, headers)
        except Cut:
            entry["cut"] = True
            handler.cut()
        except Refusal as error:
            entry["error"], entry["status"] = error.code, error.status
            if scope.service in SPEAK_JSON:
                told = {"__type": error.code, "message": error.words}
                kind = {"Content-Type": "application/x-amz-json-1.1"}
                if scope.service == "lambda":  # which is no service of the older kind
                    told, kind = {"Message": error.words}, {"x-amzn-ErrorType": error.code}
                handler.out(error.status if scope.service == "lambda" else 400, json.dumps(told), kind)
            else:
                handler.out(error.status, query.refusal(error, new_request_id()), XML)
        finally:
            entry["took"] = time.time() - entry["time"]

    def check_others(self, scope, action, body):
        if scope.service in SPEAK_JSON:
            given, code = json.loads(body or b"{}"), "AccessDeniedException"
        else:
            text = body.decode(errors="replace")
            given, code = dict(urllib.parse.parse_qsl(text)), "AccessDenied"
        wanted = rights.asks_of_others(self.ec2, scope.region or "us-east-1", scope.service, action, given)
        self.rights.check(scope.key, wanted, code)

    def role_policy(self, name):
        if name not in self.roles:
            raise Refusal("AccessDenied", "Nobody may simulate here: the lab's machines have rights without policies", 403)
        return self.roles[name]

    def ec2_call(self, handler, scope, body, entry):
        given = dict(urllib.parse.parse_qsl(body.decode(), keep_blank_values=True))
        split = urllib.parse.urlsplit(handler.path)
        if not given:
            given = dict(urllib.parse.parse_qsl(split.query, keep_blank_values=True))
        action = entry["action"] = given.get("Action", "")
        entry["given"] = given
        if self.ec2.settings.verify:
            verify(scope, self.keyring, handler.command, handler.path, handler.headers, body)
        region = scope.region or "us-east-1"
        asked = query.parse(action, given)
        entry["asked"] = asked
        wanted = rights.asks(self.ec2, region, action, asked)
        self.rights.check(scope.key, wanted, "UnauthorizedOperation")
        if asked.get("DryRun") and action != "RunInstances":  # which looks at more before
            raise DRY_RUN
        fault = self.ec2.faults.take(action)
        going_wrong.before(fault, refusal)
        if action in OURS:
            status, answer, headers = self.ours(action, region, asked)
        elif action in MOTOS:
            status, headers, answer = self.pass_on(handler, body)
        else:
            raise Refusal("InvalidAction", f"The lab does not know the action {action}.")
        entry["status"] = status
        going_wrong.after(fault)
        handler.out(status, answer, headers)

    def ours(self, action, region, asked):
        request_id = new_request_id()
        try:
            result = self.ec2.call(action, region, asked)
            return 200, query.reply(action, result, request_id), XML
        except (Refusal, Cut):
            raise
        except Exception:  # noqa: BLE001  # whatever it is, it is ours, and tests must hear of it
            self.bugs.append(traceback.format_exc())
            print(self.bugs[-1], file=sys.stderr, flush=True)
            raise Refusal("InternalError", "An error of the lab: see its log", 500) from None

    def pass_on(self, handler, body):
        """moto's answer: status, headers, body."""
        headers = {k: v for k, v in handler.headers.items() if k.lower() != "connection"}
        for again in (True, False):
            line = getattr(self.local, "line", None)
            if line is None:
                line = self.local.line = http.client.HTTPConnection(self.host, timeout=120)
            try:
                line.request(handler.command, handler.path, body, headers)
                answer = line.getresponse()
                kept = {k: v for k, v in answer.getheaders() if k.lower() not in NOT_PASSED_ON}
                return answer.status, kept, answer.read()
            except (http.client.HTTPException, OSError):
                self.local.line = None  # moto closed it in between
                if not again:
                    raise
        return None


XML = {"Content-Type": "text/xml;charset=UTF-8"}


def new_request_id():
    part = secrets.token_hex(16)
    return "-".join([part[:8], part[8:12], part[12:16], part[16:20], part[20:]])


def _name_of(handler, body):
    """What is asked of another service."""
    target = handler.headers.get("X-Amz-Target", "")
    if target:
        return target.rsplit(".", 1)[-1]
    if body[:200].count(b"Action="):
        return dict(urllib.parse.parse_qsl(body.decode(errors="replace"))).get("Action", "")
    return f"{handler.command} {urllib.parse.urlsplit(handler.path).path}"
