#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a job may ask of Google and cannot have: one error each, with the nearest that there is or
what to do, and nothing is made. Against the lab's Compute Engine, with the binary as it is."""

import pathlib
import sys

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test.cloud.verb_lab import GceLab, enter, play

enter()
from test.e2e.kit.harness import parts_of

HERE = ("--infra", "gcp/us-central1")
LONG = "x" * 64


def labelled(label):
    """A job file with it."""
    return f"name: x\nresources: {{infra: gcp/us-central1, labels: {{{label}}}}}\nrun: true\n"


# (what, words of `run` or a job file, part of the error, part of what to do)
CASES = (
    ("a region misspelt", ("--infra", "gcp/us-centrl1"), "has no region 'us-centrl1'", "Did you mean us-central1?"),
    ("a zone misspelt", ("--infra", "gcp/us-central1/us-central1-q"), "there is no zone", "Did you mean us-central1-"),
    ("a zone of another region", ("--infra", "gcp/us-central1/us-east1-b"), "there is no zone", ""),
    ("a type misspelt", (*HERE, "--instance-type", "e2-standrd-2"), "no type 'e2-standrd-2'", "Did you mean e2-standard-2?"),
    (
        "a type that the zone lacks",
        ("--infra", "gcp/us-central1/us-central1-f", "--instance-type", "g2-standard-4"),
        "the zone us-central1-f does not have g2-standard-4",
        "These have: us-central1-a",
    ),
    ("a type for another processor", (*HERE, "--instance-type", "t2a-standard-4"), "another processor than x86-64", "Name another type"),
    ("an image family misspelt", (*HERE, "--image", "debian-cloud/debian-21"), "debian-21", "Did you mean"),
    ("an image for ARM", (*HERE, "--image", "debian-cloud/debian-12-arm64"), "is for ARM64", ""),
    ("a project of images that is none", (*HERE, "--image", "debain-cloud/debian-12"), "debain", ""),
    (
        "a GPU that the zone lacks",
        ("--infra", "gcp/us-central1/us-central1-f", "--gpus", "L4:1"),
        "the zone us-central1-f does not have L4",
        "These have: us-central1-a",
    ),
    ("a GPU that nobody has", (*HERE, "--gpus", "H100-80G:1"), "H100-80G", "Did you mean H100-80GB?"),
    ("more than any machine has", (*HERE, "--cpus", "9000"), "has as much as is asked for", "more nodes"),
    ("a label with capitals", labelled("team: Vision"), "cannot be 'Vision'", "Write 'vision'"),
    ("a key with capitals", labelled("Team: vision"), "not a label for Google", "Write 'team'"),
    ("a label over 63", labelled(f"team: {LONG}"), "the label 'team' cannot be", "at most 63"),
    ("a label of stoker's own", labelled("stoker-job: x"), "marks stoker's own tags", ""),
    ("a name over 64", (*HERE, "--name", "n" * 70), "is not usable", ""),
    ("a disk smaller than its image", (*HERE, "--disk-size", "5"), "is smaller than", "Ask for"),
)


def refused(lab, world, check, what, words, says, hint, env=None):
    since = len(lab.log)
    jobs = len(world.json("ls", "--all")) if not env else None
    if isinstance(words, str):
        words = (world.program(words, "job.yaml"),)
    else:
        words = (*words, "--", "true")
    done = world.stoker("run", "--detach", *words, env=env)
    errors = [line for line in done.stderr.split("\n") if line]
    check(f"{what}: refused", done.returncode != 0 and not done.stdout, done.stdout + done.stderr)
    check("  one error", len([e for e in errors if "rror" in e]) <= 1 and len(errors) <= 3, errors)
    check(f"  it says: {says}", says in done.stderr, done.stderr)
    check(f"  and what to do: {hint}", hint in done.stderr, done.stderr)
    asked = [each for each in lab.asked(since) if each.endswith(("nsert", "delete", "start"))]
    check("  nothing is made", not asked and not lab.machines() and (jobs is None or len(world.json("ls", "--all")) == jobs), asked)


def test_table(lab, check):
    with lab.world("bad") as world:
        for what, words, says, hint in CASES:
            refused(lab, world, check, what, words, says, hint)


def test_project(lab, check):
    """What is wrong with the project, the account, the store, the network."""
    with lab.world("project") as world:
        whole = dict(world.env)
        run = ("--infra", "gcp/us-central1")
        del world.env["GOOGLE_CLOUD_PROJECT"]
        refused(lab, world, check, "no project", run, "no project of Google is set", "stoker config set gcp.project PROJECT")
        gcloud = world.home / ".config/gcloud/configurations/config_default"
        gcloud.parent.mkdir(parents=True)
        gcloud.write_text("[core]\nproject = no-such-by-gcloud\n")
        refused(lab, world, check, "gcloud's own, which is none", run, "no-such-by-gcloud", "")
        gcloud.unlink()
        world.env = {**whole, "GOOGLE_CLOUD_PROJECT": "no-such-project"}
        refused(lab, world, check, "a project that is none", run, "no-such-project", "")
        world.env = whole
        lab.api.settings.enabled = False
        refused(lab, world, check, "the API is not enabled", run, "SERVICE_DISABLED", "gcloud services enable compute.googleapis.com")
        lab.api.settings.enabled = True
        issue = lab.identity.issue
        small = ["https://www.googleapis.com/auth/devstorage.read_write"]
        lab.identity.issue = lambda email, scopes: issue(email, small)
        refused(lab, world, check, "wrong scopes", run, "ACCESS_TOKEN_SCOPE_INSUFFICIENT", "gcloud auth application-default login")
        lab.identity.issue = issue
        lab.api.denied = {"compute.machineTypes.list"}
        refused(lab, world, check, "a right lacks", run, "compute.machineTypes.list", "stoker doctor --iam")
        lab.api.denied = set()
        world.stoker("config", "set", "gcp.network", "defalt", check=True)
        refused(lab, world, check, "a network misspelt", run, "there is no network 'defalt'", "")
        world.stoker("config", "set", "gcp.network", "default", check=True)
        # Its VMs have no identity there.
        world.stoker("config", "set", "store", str(world.root / "local"), check=True)
        refused(
            lab,
            world,
            check,
            "a store that VMs cannot reach",
            run,
            "cannot reach the store",
            "stoker config set store gs://bucket/prefix",
            env={"X": ""},
        )


def test_amazon(lab, check):
    """Machines of EC2, with store or inputs in a bucket of Google's."""
    run = ("--infra", "aws/us-east-1")
    with lab.world("amazon") as world:
        needs = "stoker config set aws.google_identity projects/NUMBER/"
        refused(lab, world, check, "a store that knows no machines of EC2", run, "machines of EC2 cannot reach the store gs://", needs)
        provider = "projects/123/locations/global/workloadIdentityPools/pool/providers/aws1"
        no = world.stoker("config", "set", "aws.google_identity", provider.replace("123", "mine"))
        check("a provider by the name of its project: refused", no.returncode == 2 and "with the project's number" in no.stderr, no.stderr)
        world.stoker("config", "set", "aws.google_identity", provider, check=True)
        refused(lab, world, check, "a bucket that an emulator plays", run, "they ask Google itself", "Unset STORAGE_EMULATOR_HOST")
        world.stoker("config", "unset", "aws.google_identity", check=True)
        world.stoker("config", "set", "store", str(world.root / "local"), check=True)
        refused(
            lab,
            world,
            check,
            "an input that knows no machines of EC2",
            (*run, "--input", "data=gs://bucket/data"),
            "machines of EC2 cannot reach the input 'data'",
            needs,
            env={"X": ""},
        )


if __name__ == "__main__":
    play(GceLab, parts_of(globals()))
