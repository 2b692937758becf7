# SPDX-License-Identifier: Apache-2.0
"""A machine's metadata server in the lab, as google-auth and the documentation of Compute Engine
have it. (Google's guest agent is tried in rooms that boot: test/gcp/rooms.py.)"""

import http.client
import json
import os
import threading
import time

from google.auth.compute_engine import Credentials, _metadata
from google.auth.transport.requests import Request
from google.cloud import compute_v1 as v1

from test.lab.gce_checks import ask, expect, wait_for
from test.lab.gceapi.identity import CLOUD
from test.lab.gceapi.service import PROJECT
from test.lab.gceapi.world import number_of
from test.lab.unbooted_gce import ROLE

ROOT = "/computeMetadata/v1/"


class Asker:
    def __init__(self, host):
        self.host = host

    def __call__(self, path, headers=None, method="GET"):
        """(status, text, headers); a path that begins with a slash is whole."""
        line = http.client.HTTPConnection(self.host, timeout=20)
        given = {"Metadata-Flavor": "Google"} if headers is None else headers
        line.request(method, path if path.startswith("/") else ROOT + path, headers=given)
        answer = line.getresponse()
        text = answer.read().decode()
        line.close()
        return answer.status, text, answer.headers

    def text(self, path):
        return self(path)[1]


def machine(lab, google, name="md"):
    items = [v1.Items(key="word", value="a b"), v1.Items(key="Long_key-x", value="1")]
    account = v1.ServiceAccount(email=ROLE, scopes=[CLOUD])
    google.done(google.insert(name, metadata=v1.Metadata(items=items), service_accounts=[account], tags=v1.Tags(items=["t"])))
    return Asker(lab.metadata(name)), lab.api.world.named(name)


def metadata(lab, google):
    md, it = machine(lab, google)
    status, text, headers = md("/", {})
    expect("who it is, without the header", (status, headers["Metadata-Flavor"]), (200, "Google"))
    expect("  where to go on", text, "computeMetadata/\n")
    expect("without the header", md("instance/id", {})[0], 403)
    expect("through a proxy", md("instance/id", {"Metadata-Flavor": "Google", "X-Forwarded-For": "1.2.3.4"})[0], 403)
    expect("not to read", md("instance/id", method="PUT")[0], 405)
    status, _, headers = md("instance")
    expect("a folder without a slash", (status, headers["Location"]), (301, f"http://{md.host}{ROOT}instance/"))
    listed = md.text("instance/").split("\n")
    expect("a folder", {"attributes/", "id", "preempted", "scheduling/"} <= set(listed))
    expect("what is not there", md("instance/nope")[0], 404)
    expect("an attribute", md.text("instance/attributes/word"), "a b")
    expect("  in JSON", md.text("instance/attributes/word?alt=json"), '"a b"')
    expect("its id", md.text("instance/id"), it.id)
    expect("its name", md.text("instance/name"), "md")
    expect("its zone", md.text("instance/zone"), f"projects/{number_of(PROJECT)}/zones/{it.zone}")
    expect("its address", md.text("instance/network-interfaces/0/ip"), it.address)
    told = json.loads(md.text("instance/?recursive=true"))
    expect("all at once", (told["id"], told["maintenanceEvent"], told["tags"]), (int(it.id), "NONE", ["t"]))
    expect("  its attributes as they are", told["attributes"], {"word": "a b", "Long_key-x": "1"})
    expect("  and no token", "token" not in told["serviceAccounts"]["default"])
    text = md.text("instance/attributes/?recursive=true&alt=text")
    expect("  as text", sorted(text.splitlines()), ["Long_key-x 1", "word a b"])
    lab.api.project_metadata = [{"key": "all", "value": "yes"}]
    expect("of the project", md.text("project/attributes/all"), "yes")
    expect("  its name", md.text("project/project-id"), PROJECT)
    lab.mds.broken = 2
    expect("for a while it does not", [md("instance/id")[0] for _ in range(3)], [503, 503, 200])


def changes_seen(lab, google):
    md, it = machine(lab, google)
    _, text, headers = md("instance/preempted")
    expect("not yet", text, "FALSE")
    wait = "instance/preempted?wait_for_change=true&last_etag="
    expect("nothing has changed", md(f"{wait}{headers['ETag']}&timeout_sec=1")[1], "FALSE")
    began = time.monotonic()
    expect("it is not what it was", md(f"{wait}0&timeout_sec=600")[1], "FALSE")
    told = []
    threads = [
        threading.Thread(target=lambda p=path: told.append(md(p)[1]))
        for path in (f"{wait}{headers['ETag']}", "instance/preempted?wait_for_change=true", "?recursive=true&wait_for_change=true&alt=json")
    ]
    for each in threads:
        each.start()
    wait_for("they wait", lambda: sum("wait_for_change" in p for _, p in lab.mds.asked) >= 5)
    with lab.api.world.lock:
        it.preempted = True
    for each in threads:
        each.join(20)
    expect("all are told", sorted(each[:4] for each in told), ["TRUE", "TRUE", '{"in'])
    expect("  at once", time.monotonic() - began < 600)
    expect("a folder needs all of it", md("instance/?wait_for_change=true")[0], 400)
    it.maintenance = "TERMINATE_ON_HOST_MAINTENANCE"
    expect("an event that nobody had asked for", json.loads(md.text("instance/scheduling/?recursive=true")).get("maintenanceEvent"), None)
    fresh, it = machine(lab, google, "fresh")
    expect("  is not told", lab.mds.find(["instance", "maintenance-event"]), "NONE")
    it.maintenance = "MIGRATE_ON_HOST_MAINTENANCE"
    expect("  though it is there", lab.mds.find(["instance", "maintenance-event"]), "NONE")
    expect("  but from then on", fresh.text("instance/maintenance-event"), "MIGRATE_ON_HOST_MAINTENANCE")


def tokens_of_machines(lab, google):
    """google-auth, on a machine."""
    md, _ = machine(lab, google)
    os.environ["GCE_METADATA_IP"] = md.host
    _metadata._GCE_METADATA_HOST = md.host  # it looked for its variable when it was imported
    request = Request()
    expect("google-auth finds it", _metadata.ping(request))
    expect("  the project", _metadata.get_project_id(request), PROJECT)
    info = _metadata.get_service_account_info(request)
    expect("  the account", (info["email"], info["scopes"]), (ROLE, [CLOUD]))
    credentials = Credentials()
    credentials.refresh(request)
    path = f"projects/{PROJECT}/zones"
    expect("  its token is good", ask(lab, credentials.token, path)[0], 200)
    expect("  and stays the same", json.loads(md.text("instance/service-accounts/default/token"))["access_token"], credentials.token)
    expect("  who asked", [e["email"] for e in lab.log if e.get("method") == "zones.list"], [ROLE])
    lab.identity.life = 1
    lab.mds.tokens.clear()
    first = json.loads(md.text("instance/service-accounts/default/token"))
    expect("  it ends", first["expires_in"] <= 1)
    wait_for(
        "  and is replaced", lambda: json.loads(md.text("instance/service-accounts/default/token"))["access_token"] != first["access_token"]
    )
    lab.identity.life = 3599.0
    bare = Asker(lab.metadata(google_without_account(google)))
    expect("without an account", bare("instance/service-accounts/default/token")[0], 404)


def google_without_account(google):
    google.done(google.insert("bare"))
    return "bare"
