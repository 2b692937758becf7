# SPDX-License-Identifier: Apache-2.0
"""IAM's simulator, of a role and on one resource, with what the caller says of a request. Where a
condition wants more than that, it says no and which key it missed. Source: "SimulatePrincipalPolicy"
(IAM API reference)."""

import fnmatch

from test.lab.ec2api.rights import allows

SPACE = "https://iam.amazonaws.com/doc/2010-05-08/"


def _members(given, name):
    """In their order: {1: {"": value} or {".ContextKeyName": …}}."""
    found = {}
    for key, value in given.items():
        if key.startswith(f"{name}.member."):
            number, dot, rest = key[len(name) + 8 :].partition(".")
            found.setdefault(int(number), {})[dot + rest] = value
    return [found[each] for each in sorted(found)]


def _missing(policy, action, context):
    """Keys of conditions that count for the action, and of which the caller said nothing."""
    for statement in policy["Statement"]:
        listed = statement["Action"] if isinstance(statement["Action"], list) else [statement["Action"]]
        if any(fnmatch.fnmatchcase(action, each) for each in listed):
            for keys in statement.get("Condition", {}).values():
                yield from (each for each in keys if each.lower() not in context)


def answer(given, policy_of):
    """`policy_of(name)`: of a role."""
    policy = policy_of(given["PolicySourceArn"].rpartition("/")[2])
    (resource,) = (each[""] for each in _members(given, "ResourceArns"))
    context = {each[".ContextKeyName"].lower(): each[".ContextKeyValues.member.1"] for each in _members(given, "ContextEntries")}
    told = ""
    for action in (each[""] for each in _members(given, "ActionNames")):
        decision = "allowed" if allows(policy, action, resource, context) else "implicitDeny"
        missed = "".join(f"<member>{each}</member>" for each in sorted(_missing(policy, action, context)))
        missed = f"<MissingContextValues>{missed}</MissingContextValues>"
        told += (
            f"<member><MatchedStatements/><EvalResourceName>{resource}</EvalResourceName><EvalActionName>{action}</EvalActionName>"
            f"<EvalDecision>{decision}</EvalDecision>"
        )
        told += (  # of one resource it stands there alone
            missed
            if resource == "*"
            else f"<ResourceSpecificResults><member><EvalResourceName>{resource}</EvalResourceName>"
            f"<EvalResourceDecision>{decision}</EvalResourceDecision>{missed}</member></ResourceSpecificResults>"
        )
        told += "</member>"
    name = "SimulatePrincipalPolicy"
    return (
        f'<{name}Response xmlns="{SPACE}"><{name}Result><EvaluationResults>{told}</EvaluationResults>'
        f"<IsTruncated>false</IsTruncated></{name}Result><ResponseMetadata><RequestId>lab</RequestId></ResponseMetadata>"
        f"</{name}Response>"
    ).encode()
