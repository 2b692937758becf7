# SPDX-License-Identifier: Apache-2.0
"""Answers of the lab's Compute Engine as google-cloud-compute sees them: lists, refusals, rights,
and what Google has."""

import time
import urllib.error
import urllib.parse
import urllib.request

from google.auth import crypt, jwt
from google.cloud import compute_v1 as v1

from test.lab.gce_checks import REGION, Google, ask, expect, many, one, refused, spot
from test.lab.gceapi.identity import CLOUD, GRANT
from test.lab.gceapi.service import PROJECT
from test.lab.unbooted_gce import OWN, ZONE


def seen(lab, google):
    """Lists: pages, filters, late and old ones, and zones that do not answer."""
    zones = (ZONE, "us-central1-b", "us-east1-b")
    for number in range(9):
        zone = zones[number % 3]
        google.done(google.insert(f"page-{number}", zone=zone, in_zone=zone, labels={"n": str(number), "batch": "pages"}))
    before = len(lab.log)
    found = google.all(filter="labels.batch = pages", max_results=2)
    pages = [e for e in lab.log[before:] if e.get("method") == "instances.aggregatedList"]
    expect("in pages", (sorted(sum(found.values(), [])), len(pages)), ([f"page-{n}" for n in range(9)], 5))
    expect("over all zones", sorted(found), sorted(f"zones/{zone}" for zone in zones))
    listed = google.instances.list(request={"project": PROJECT, "zone": ZONE, "max_results": 1})
    expect("of one zone, in pages", [e.name for e in listed if "page" in e.name], ["page-0", "page-3", "page-6"])

    def names(text):
        return sorted(sum(google.all(filter=text).values(), []))

    for text, wanted in [
        ("labels.n = 4", ["page-4"]),
        ('(labels.batch = "pages") (labels.n = "4")', ["page-4"]),
        ("labels.n=4 OR labels.n=5", ["page-4", "page-5"]),
        ("labels.batch:* AND name = page-1", ["page-1"]),
        ("labels.nope:*", []),
        ("name eq page-[78]", ["page-7", "page-8"]),
        ('(labels.batch eq pages) (name ne ".*-[0-7]")', ["page-8"]),
        ("labels.batch = pages AND NOT (labels.n = 0 OR labels.n > 1)", ["page-1"]),
        ("labels.batch = pages AND status != RUNNING AND status != PROVISIONING AND status != STAGING", []),
    ]:
        expect(f"filter {text}", names(text), wanted)
    expect(
        "a filter of no form",
        refused(google.instances.list, request={"project": PROJECT, "zone": ZONE, "filter": "labels.n ="}),
        (400, "invalid"),
    )
    lab.api.settings.late = 1000
    google.insert("young")
    expect("a new one is not seen yet", google.state("young"), "none")
    expect("  by nobody", names("name = young"), [])
    lab.api.settings.late = 0
    expect("  but later", names("name = young"), ["young"])
    google.runs("page-0")
    machine = lab.api.world.named("page-0")
    machine.born -= 100  # as if it had been there for longer
    machine.moments = [(moment - 100, state) for moment, state in machine.moments]
    google.done(google.act("stop", "page-0"))
    lab.api.settings.stale = 50
    expect("what is told is old", google.state("page-0"), "RUNNING")
    lab.api.settings.stale = 0
    silence(lab, google)
    parts(lab)


def parts(lab):
    """`fields`, which this client does not have."""
    token = lab.identity.issue(OWN, [CLOUD]).text
    path = f"projects/{PROJECT}/aggregated/instances?filter=name%20%3D%20page-4&fields="
    machine = {"name": "page-4", "labels": {"n": "4", "batch": "pages"}}
    expect(
        "parts of it", ask(lab, token, path + "items/*/instances(name,labels)")[1]["items"]["zones/us-central1-b"], {"instances": [machine]}
    )
    told = ask(lab, token, path + "kind,items/*/warning/code,items/*/instances/name")[1]
    expect("  named one by one", told["items"][f"zones/{ZONE}"], {"warning": {"code": "NO_RESULTS_ON_PAGE"}})
    before = len(lab.log)
    for bad in ("nope", "items/*/instances(nope)", "items(", "items)", ""):
        expect(f"  not {bad}", ask(lab, token, path + bad)[0], 400)
    del lab.log[before:]  # what is strange there was meant to be


def silence(lab, google):
    lab.api.silent_zones = {"us-east1-b"}
    token = lab.identity.issue(OWN, [CLOUD]).text
    path = f"projects/{PROJECT}/aggregated/instances"
    status, told = ask(lab, token, path + "?returnPartialSuccess=true")
    expect("a zone that does not answer is named", told.get("unreachables"), ["zones/us-east1-b"])
    expect("  and is not empty", told["items"]["zones/us-east1-b"]["warning"]["code"], "UNREACHABLE")
    expect("  others are there", "instances" in told["items"][f"zones/{ZONE}"])
    expect("  without asking for parts, nothing", ask(lab, token, path)[0], 503)
    expect("  itself", refused(google.instances.list, project=PROJECT, zone="us-east1-b")[0], 503)
    lab.api.silent_zones = set()


def changes(lab, google):
    """Labels and metadata, of what was read."""
    google.done(google.insert("tagged", labels={"a": "1"}))
    told = google.get("tagged")
    request = v1.InstancesSetLabelsRequest(labels={"b": "2"}, label_fingerprint=told.label_fingerprint)
    google.done(google.act("set_labels", "tagged", instances_set_labels_request_resource=request))
    expect("labels are replaced", dict(google.get("tagged").labels), {"b": "2"})
    expect(
        "  of what was read",
        refused(
            google.instances.set_labels_unary, project=PROJECT, zone=ZONE, instance="tagged", instances_set_labels_request_resource=request
        ),
        (412, "conditionNotMet"),
    )
    metadata = v1.Metadata(fingerprint=google.get("tagged").metadata.fingerprint, items=[v1.Items(key="k", value="v")])
    google.done(google.act("set_metadata", "tagged", metadata_resource=metadata))
    expect("metadata", [e.value for e in google.get("tagged").metadata.items], ["v"])
    expect(
        "  of what was read",
        refused(google.instances.set_metadata_unary, project=PROJECT, zone=ZONE, instance="tagged", metadata_resource=metadata),
        (412, "conditionNotMet"),
    )


def refusals(lab, google):
    bad = (400, "invalid")
    gpu = [v1.AcceleratorConfig(accelerator_type=f"zones/{ZONE}/acceleratorTypes/nvidia-tesla-t4", accelerator_count=1)]
    end = v1.Scheduling(max_run_duration=v1.Duration(seconds=60))
    key = v1.Metadata(items=[v1.Items(key="a b", value="")])
    big = v1.Metadata(items=[v1.Items(key="a", value="x" * (256 * 1024 + 1))])
    account = [v1.ServiceAccount(email="nobody@x.iam.gserviceaccount.com", scopes=["s"])]
    notice = v1.Duration(seconds=120)
    for what, name, more, wanted in [
        ("a name of 64", "a" * 64, {}, bad),
        ("a name with capitals", "Abc", {}, bad),
        ("a label with capitals", "x", {"labels": {"A": "b"}}, bad),
        ("a label of 64", "x", {"labels": {"a": "b" * 64}}, bad),
        ("65 labels", "x", {"labels": {f"k{i}": "" for i in range(65)}}, bad),
        ("an unknown type", "x", {"kind": "zz-huge"}, bad),
        ("a type that the zone has not", "x", {"kind": "a3-highgpu-8g", "zone": "us-east1-b", "in_zone": "us-east1-b"}, bad),
        ("an unknown family", "x", {"image": "projects/debian-cloud/global/images/family/nope"}, (404, "notFound")),
        ("an unknown image", "x", {"image": "projects/debian-cloud/global/images/nope"}, (404, "notFound")),
        ("an image of no form", "x", {"image": "debian-12"}, bad),
        ("an image for other machines", "x", {"kind": "t2a-standard-4"}, (400, "badRequest")),
        ("no disk", "x", {"disks": None}, bad),
        ("an unknown network", "x", {"network_interfaces": [v1.NetworkInterface(network="global/networks/nope")]}, (404, "notFound")),
        ("an unknown account", "x", {"service_accounts": account}, bad),
        ("a GPU on a type that takes none", "x", {"guest_accelerators": gpu}, (400, "badRequest")),
        ("a GPU that would migrate", "x", {"kind": "n1-standard-4", "guest_accelerators": gpu}, (400, "badRequest")),
        ("spot that starts again", "x", {"scheduling": spot(automatic_restart=True)}, bad),
        ("a limit without an action", "x", {"scheduling": end}, bad),
        ("an action without a reason", "x", {"scheduling": v1.Scheduling(instance_termination_action="STOP")}, bad),
        (
            "an end in the past",
            "x",
            {"scheduling": v1.Scheduling(termination_time="2020-01-01T00:00:00Z", instance_termination_action="DELETE")},
            bad,
        ),
        ("a notice for one that is not spot", "x", {"scheduling": v1.Scheduling(preemption_notice_duration=notice)}, bad),
        ("metadata with a space", "x", {"metadata": key}, bad),
        ("metadata of 256 kB and one", "x", {"metadata": big}, bad),
        ("an unknown zone", "x", {"zone": "us-central9-z", "in_zone": "us-central9-z"}, (404, "notFound")),
    ]:
        zone = more.pop("zone", ZONE)
        expect(
            what,
            refused(google.instances.insert_unary, request={"project": PROJECT, "zone": zone, "instance_resource": one(name, **more)}),
            wanted,
        )
    lab.api.settings.refuse_notice = True
    expect(
        "a notice where there is none",
        refused(
            google.instances.insert_unary,
            request={"project": PROJECT, "zone": ZONE, "instance_resource": one("x", scheduling=spot(preemption_notice_duration=notice))},
        ),
        bad,
    )
    lab.api.settings.refuse_notice = False
    expect("none of them is there", google.all(), {})
    good = {"kind": "n1-standard-4", "guest_accelerators": gpu, "scheduling": v1.Scheduling(on_host_maintenance="TERMINATE")}
    expect("a GPU that is attached", google.codes(google.insert("gpu", **good)), [])
    expect("one that comes with its type", google.codes(google.insert("l4", kind="g2-standard-4", scheduling=spot())), [])
    expect(
        "counts that do not fit",
        refused(
            google.instances.bulk_insert_unary,
            request={"project": PROJECT, "zone": ZONE, "bulk_insert_instance_resource_resource": many("a", "b", count=3)},
        ),
        bad,
    )


def rights(lab, google):
    insert = {"project": PROJECT, "zone": ZONE, "instance_resource": one("denied")}
    for needed in ("instances.create", "disks.create", "subnetworks.use"):
        permission = f"compute.{needed}"
        lab.api.denied = {permission}
        expect(f"without {permission}", refused(google.instances.insert_unary, request=insert), (403, "forbidden"))
    lab.api.denied = set()
    lab.api.settings.enabled = False
    expect("an API that is not enabled", refused(google.instances.insert_unary, request=insert), (403, "accessNotConfigured"))
    lab.api.settings.enabled = True
    expect("an unknown project", refused(google.instances.list, project="nobody", zone=ZONE), (404, "notFound"))
    for status, code in [(429, "rateLimitExceeded"), (403, "rateLimitExceeded"), (503, "backendError"), (500, "internalError")]:
        lab.api.faults.add("instances.insert", "error", status=status, code=code)
        expect(f"{status} {code}", refused(google.instances.insert_unary, request=insert), (status, code))
    expect("none of them had an effect", google.state("denied"), "none")
    tokens(lab, google)


def tokens(lab, google):
    path = f"projects/{PROJECT}/zones/{ZONE}/instances"
    good = lab.identity.issue(OWN, [CLOUD])
    expect("no token", ask(lab, None, path)[0], 401)
    expect("  is told so", ask(lab, None, path)[1]["error"]["errors"][0]["reason"], "authError")
    expect("a token of nobody", ask(lab, "ya29.forged", path)[0], 401)
    expect("not a bearer", ask(lab, None, path, header=f"Basic {good.text}")[0], 401)
    expect("a good one", ask(lab, good.text, path)[0], 200)
    good.ends = time.time() - 1
    expect("  when it is over", ask(lab, good.text, path)[0], 401)
    reader = lab.identity.issue(OWN, ["https://www.googleapis.com/auth/compute.readonly"])
    expect("one that may read", ask(lab, reader.text, path)[0], 200)
    expect("  may not write", ask(lab, reader.text, path, {"name": "x"})[0], 403)
    storage = lab.identity.issue(OWN, ["https://www.googleapis.com/auth/devstorage.read_write"])
    expect("one for something else", ask(lab, storage.text, path)[0], 403)
    own = Google(lab, exchanged=False)
    expect("the own signature of a key", own.state("nobody"), "none")
    account = lab.identity.accounts[OWN]
    signer = crypt.RSASigner.from_string(account.private_pem())
    stranger = lab.identity.add("stranger@x.iam.gserviceaccount.com")
    wrong = crypt.RSASigner.from_string(stranger.private_pem())
    now = int(time.time())
    claims = {"iss": OWN, "scope": CLOUD, "aud": "https://oauth2.googleapis.com/token", "iat": now, "exp": now + 3600}
    for what, by, more, wanted in [
        ("signed as it should be", signer, {}, 200),
        ("for the URL in the key", signer, {"aud": lab.identity.endpoint}, 200),
        ("signed by another key", wrong, {}, 400),
        ("for another audience", signer, {"aud": "https://example.org/token"}, 400),
        ("for two hours", signer, {"exp": now + 7200}, 400),
        ("over", signer, {"iat": now - 7200, "exp": now - 3600}, 400),
        ("for nothing", signer, {"scope": ""}, 400),
        ("of nobody", signer, {"iss": "nobody@x"}, 400),
    ]:
        expect(f"an assertion {what}", exchange(lab, jwt.encode(by, {**claims, **more})), wanted)


def exchange(lab, assertion):
    form = urllib.parse.urlencode({"grant_type": GRANT, "assertion": assertion.decode()}).encode()
    try:
        with urllib.request.urlopen(lab.identity.endpoint, form, timeout=20) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code


def catalogue(lab, google):
    """What Google has, as its clients read it."""
    zones = [each.name for each in lab.client("ZonesClient").list(project=PROJECT)]
    expect("zones", ZONE in zones and "europe-west4-b" in zones)
    region = lab.client("RegionsClient").get(project=PROJECT, region=REGION)
    expect("a region knows its zones", ZONE in [each.rsplit("/", 1)[-1] for each in region.zones])
    lab.api.capacity.quotas["CPUS"] = 7
    region = lab.client("RegionsClient").get(project=PROJECT, region=REGION)
    expect("  and its quotas", [q.limit for q in region.quotas if q.metric == "CPUS"], [7.0])
    types = lab.client("MachineTypesClient")
    told = types.get(project=PROJECT, zone=ZONE, machine_type="g2-standard-24")
    brings = told.accelerators[0].guest_accelerator_count
    expect("a type", (told.guest_cpus, told.memory_mb, brings), (24, 98304, 2))
    expect(
        "  where there is none", refused(types.get, project=PROJECT, zone="us-east1-c", machine_type="g2-standard-24"), (404, "notFound")
    )
    where = [
        scope for scope, each in types.aggregated_list(request={"project": PROJECT, "filter": "name = a3-highgpu-8g"}) if each.machine_types
    ]
    expect("  where it is", "zones/us-central1-a" in where and "zones/us-central1-b" not in where)
    found = lab.client("AcceleratorTypesClient").list(project=PROJECT, zone="us-west1-a")
    expect("accelerators", "nvidia-tesla-t4" in [each.name for each in found])
    images = lab.client("ImagesClient")
    told = images.get_from_family(project="debian-cloud", family="debian-12")
    expect("a family is its newest", told.name, "debian-12-bookworm-v20261110")
    expect("  an old one", images.get(project="debian-cloud", image="debian-12-bookworm-v20261013").deprecated.state, "DEPRECATED")
    networks = lab.client("NetworksClient")
    expect("the network", networks.get(project=PROJECT, network="default").name, "default")
    subnet = lab.client("SubnetworksClient").get(project=PROJECT, region=REGION, subnetwork="default")
    expect("  and its part", subnet.network.rsplit("/", 1)[-1], "default")
    project = lab.client("ProjectsClient").get(project=PROJECT)
    expect("the project", project.default_service_account, lab.api.default_account(PROJECT))
    expect("  has quotas", "CPUS_ALL_REGIONS" in [each.metric for each in project.quotas])
