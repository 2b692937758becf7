# SPDX-License-Identifier: Apache-2.0
"""Refusals in the form of Google's JSON APIs, and errors of operations. Codes and words as people
have met them: the pages "Handling API errors" and "Troubleshooting resource availability errors" of
Compute Engine, and what reports of other projects quote."""

STATUS = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    409: "ALREADY_EXISTS",
    412: "FAILED_PRECONDITION",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
}
REASONS = {
    400: "invalid",
    401: "authError",
    403: "forbidden",
    404: "notFound",
    409: "alreadyExists",
    412: "conditionNotMet",
    429: "rateLimitExceeded",
    500: "internalError",
    503: "backendError",
}


class Refusal(Exception):
    """What HTTP answers with `status`. `reason`: the word for programs; `details`: ErrorInfo."""

    def __init__(self, status, words, reason=None, details=None):
        self.status = status
        self.words = words
        self.reason = reason or REASONS.get(status, "internalError")
        self.details = details
        super().__init__(f"{status} {self.reason}: {words}")

    def body(self):
        error = {"code": self.status, "message": self.words, "errors": [{"message": self.words, "domain": "global", "reason": self.reason}]}
        if self.status == 401:
            error["errors"][0].update(location="Authorization", locationType="header")
        if self.status in (401, 403, 429) or self.details:
            error["status"] = STATUS[self.status]
        if self.details:
            error["details"] = [{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "domain": "googleapis.com", **self.details}]
        return {"error": error}


class Failed(Exception):
    """What an operation ends with. `errors`: as they stand in it."""

    def __init__(self, errors, status, message):
        super().__init__(str(errors))
        self.errors = errors
        self.status = status
        self.message = message


def invalid(field, value, why=""):
    words = f"Invalid value for field '{field}': '{value}'. {why}".rstrip()
    return Refusal(400, words)


def not_found(link):
    return Refusal(404, f"The resource '{link}' was not found")


def exists(link):
    return Refusal(409, f"The resource '{link}' already exists")


def forbidden(permission, link):
    return Refusal(403, f"Required '{permission}' permission for '{link}'")


def unauthenticated():
    return Refusal(
        401,
        "Request had invalid authentication credentials. Expected OAuth 2 access token, "
        "login cookie or other valid authentication credential. See "
        "https://developers.google.com/identity/sign-in/web/devconsole-project.",
    )


def scope_missing(method):
    return Refusal(
        403,
        "Request had insufficient authentication scopes.",
        "insufficientPermissions",
        {"reason": "ACCESS_TOKEN_SCOPE_INSUFFICIENT", "metadatas": {"service": "compute.googleapis.com", "method": method}},
    )


def not_enabled(project):
    page = "https://console.developers.google.com/apis/api/compute.googleapis.com/overview"
    url = f"{page}?project={project}"
    return Refusal(
        403,
        f"Compute Engine API has not been used in project {project} before or it is disabled. "
        f"Enable it by visiting {url} then retry. If you enabled this API recently, wait a few "
        "minutes for the action to propagate to our systems and retry.",
        "accessNotConfigured",
        {"reason": "SERVICE_DISABLED", "metadatas": {"service": "compute.googleapis.com", "consumer": f"projects/{project}"}},
    )


def throttled(project):
    return Refusal(
        403,
        "Quota exceeded for quota metric 'Queries' and limit 'Queries per minute' of service "
        f"'compute.googleapis.com' for consumer 'project_number:{project}'.",
        "rateLimitExceeded",
        {"reason": "RATE_LIMIT_EXCEEDED", "metadatas": {"service": "compute.googleapis.com"}},
    )


def no_room(project, zone, kind, others=()):
    """`others`: the zones that have some."""
    words = (
        f"The zone 'projects/{project}/zones/{zone}' does not have enough resources available to "
        "fulfill the request.  Try a different zone, or try again later."
    )
    told = (
        f"A {kind} VM instance is currently unavailable in the {zone} zone. Alternatively, you can "
        "try your request again with a different VM hardware configuration or at a later time. For "
        "more information, see the troubleshooting documentation."
    )
    link = {"description": "Troubleshooting documentation", "url": "https://cloud.google.com/compute/docs/resource-error"}
    details = [
        {"help": {"links": [link]}},
        {"localizedMessage": {"locale": "en-US", "message": told}},
        {
            "errorInfo": {
                "domain": "compute.googleapis.com",
                "reason": "resource_availability",
                "metadatas": {"attachment": "", "vmType": kind, "zone": zone, "zonesAvailable": ",".join(others)},
            }
        },
    ]
    error = {"code": "ZONE_RESOURCE_POOL_EXHAUSTED", "message": words, "errorDetails": details}
    return Failed([error], 503, "SERVICE UNAVAILABLE")


def over_quota(metric, limit, region):
    where = f"in region {region}" if region else "globally"
    told = {
        "metricName": f"compute.googleapis.com/{metric.lower()}",
        "limit": float(limit),
        "limitName": metric.replace("_", "-") + "-per-project-region",
        "dimensions": {"region": region} if region else {},
    }
    error = {
        "code": "QUOTA_EXCEEDED",
        "message": f"Quota '{metric}' exceeded.  Limit: {float(limit)} {where}.",
        "errorDetails": [{"quotaInfo": told}],
    }
    return Failed([error], 403, "FORBIDDEN")


def named(code, words=None, status=500):
    """An error of an operation, as a test wants it."""
    return Failed([{"code": code, "message": words or code}], status, "ERROR")
