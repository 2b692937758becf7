#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A job in a bucket of Google's that lets in only whom it knows: it begins on this machine, moves
to EC2, whose machines Google knows by workload identity federation, from there to Compute Engine,
and ends there. No step is trained twice, one story, nothing is left. Needs root, or what the lab
needs for an ordinary user.

    three_places.py [chain] [account] [stranger] [reverse]"""

import pathlib
import subprocess
import sys

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test.lab import lab as lab_of

lab_of.enter()
from test.e2e.kit.harness import Results
from test.e2e.kit.job_kit import MOVABLE, steps_told, texts, told_as_moves
from test.fake_gcs import BUCKET
from test.lab import google_names
from test.lab.cloud_world import CloudWorld
from test.lab.gce_lab import NODES, SUBMITTER, GceLab
from test.lab.gce_rooms import GATE

STEPS = 900
AMAZON, GOOGLE = "aws/us-east-1", "gcp/us-central1"
ACTED = "ec2-nodes@stoker-lab.iam.gserviceaccount.com"


class Both:
    """Amazon's and Google's clouds at once, and the names of Google's services."""

    def __enter__(self):
        self.amazon = lab_of.Lab().__enter__()
        self.google = GceLab().__enter__()
        self.folder = pathlib.Path(self.google.folder).parent
        self.names = google_names.GoogleNames(GATE, self.google.identity, self.google.gcs, self.amazon.keyring, self.google.folder)
        self.names.may = {SUBMITTER, NODES, google_names.principal(lab_of.ROLE)}
        self.names.acts = {(google_names.principal(lab_of.ROLE), ACTED)}
        self.names.join(self.amazon.rooms)
        self.names.join(self.google.rooms)
        self.names.join_here()
        self.env = {**self.amazon.env, **self.google.env, **self.names.env}
        del self.env["STORAGE_EMULATOR_HOST"]  # which asks for no identity
        return self

    def __exit__(self, *_):
        self.names.end()
        self.google.__exit__()
        self.amazon.__exit__()

    def wrong(self):
        return self.amazon.bugs + self.google.bugs + self.google.front.strange() + self.names.wrong + self.google.gcs.told()["wrong"]


class BothWorld(CloudWorld):
    bucket = f"gs://{BUCKET}/team"

    def __init__(self, lab, name, provider=google_names.PROVIDER):
        super().__init__(lab, name)
        self.stoker("config", "set", "aws.google_identity", provider, check=True)

    def all_machines(self):
        return self.lab.amazon.ec2.world.instances() + self.lab.google.api.world.instances

    def of_amazon(self, job):
        return [each for each in self.lab.amazon.ec2.world.instances() if each.tags.get("stoker-job") == job]

    def of_google(self, job):
        return [each for each in self.lab.google.api.world.instances if each.labels.get("stoker-job") == job]

    def machines(self, job):
        return self.of_amazon(job) + self.of_google(job)

    def is_over(self, machine):
        return machine.gone if hasattr(machine, "gone") else machine.state() == "terminated"


def refused_at_first(results, world, job):
    world.stoker("config", "unset", "aws.google_identity", check=True)
    no = world.stoker("move", job, "--infra", AMAZON)
    results.check(
        "machines that Google does not know are refused before anything is made, with what to do",
        no.returncode == 1
        and "cannot reach the store" in no.stderr
        and "config set aws.google_identity" in no.stderr
        and "move" not in world.job(job)
        and not world.machines(job),
        no.stderr,
    )
    world.stoker("config", "set", "aws.google_identity", google_names.PROVIDER, check=True)


def chain(results, lab):
    with BothWorld(lab, "chain") as world:
        (world.work / "moves.py").write_text(MOVABLE)
        job = world.submit("--infra", "local", "--name", "moves", "--", "/usr/bin/python3", "moves.py", str(STEPS))
        world.wait_for("its first steps", lambda: "step 5" in world.stoker("logs", job).stdout)
        refused_at_first(results, world, job)
        for where in (AMAZON, GOOGLE):
            moved = world.stoker("move", job, "--infra", where, "--in", "6s", timeout=300)
            results.check(f"it moves to {where}", moved.returncode == 0, moved.stderr)
        world.wait_for(
            "its machines to end, while nobody looks",
            lambda: all(world.is_over(each) for each in world.machines(job)),
            timeout=240,
            every=1,
        )
        done = world.stoker("wait", job, timeout=60)
        results.check("it ends there", done.returncode == 0, done.stdout + done.stderr)
        told = steps_told(world.stoker("logs", job).stdout)
        results.check("no step is trained twice", told == list(range(1, STEPS + 1)), told)
        story = told_as_moves(results, world, job, "local", "ec2", "gce")
        results.check("that a VM has no rights at Amazon is no trouble of it", "asking ec2" not in story + done.stdout, story + done.stdout)
        nothing_left(results, world, job)
        let_in(results, lab)
        print(done.stdout, flush=True)


def nothing_left(results, world, job):
    counts = (len(world.of_amazon(job)), len(world.of_google(job)))
    results.check("one machine each", counts == (1, 1), counts)
    listed = world.json("ls", "--all")
    results.check("it is one job, and has ended", [(each["id"], each["state"]) for each in listed] == [(job, "Succeeded")], listed)
    dry = world.stoker("gc", "--dry-run", timeout=120)
    left = [line for line in dry.stdout.splitlines() if job in line and "terminated" not in line]
    results.check("gc finds no machine of it", dry.returncode == 0 and not left, dry.stdout)


def let_in(results, lab):
    """By whom the bucket was asked, and that it asks who it is."""
    stores = [each for each in lab.names.asked if each[0] == google_names.STORE]
    who = {name for _, name, _ in stores}
    amazon = google_names.principal(lab_of.ROLE)
    results.check(
        "the bucket was asked by the submitter, the role of EC2 and the account of VMs, and by nobody else",
        who == {SUBMITTER, amazon, NODES},
        who,
    )
    results.check(
        "and let them all in", not [each for each in stores if each[2] in (401, 403)], [each for each in stores if each[2] in (401, 403)]
    )
    stranger = subprocess.run(
        [
            "curl",
            "-s",
            "-o",
            "/dev/null",
            "-w",
            "%{http_code}",
            "--cacert",
            lab.names.ca,
            f"https://{google_names.STORE}/storage/v1/b/{BUCKET}/o",
        ],
        capture_output=True,
        text=True,
        timeout=60,
    )
    results.check("who has no identity gets nothing", stranger.stdout == "401", stranger.stdout)


def account(results, lab):
    """The role acts as an account, and only that one is let in. Its input is Amazon's."""
    amazon = google_names.principal(lab_of.ROLE)
    lab.names.may = {SUBMITTER, ACTED}
    with BothWorld(lab, "account") as world:
        world.stoker("config", "set", "aws.google_account", ACTED, check=True)
        key = "data/words"
        lab.amazon.s3.client.put_object(Bucket=lab.amazon.s3.bucket, Key=key, Body=b"a word\n")
        since = len(lab.names.asked)
        job = world.submit(
            "--infra", AMAZON, "--input", f"words=s3://{lab.amazon.s3.bucket}/data", "--", "sh", "-c", 'cat "$STOKER_CHANNEL_WORDS"/words'
        )
        done = world.stoker("wait", job, timeout=240)
        results.check("a job runs on EC2 as an account of Google", done.returncode == 0, done.stdout + done.stderr)
        results.check("and reads what is in S3", "a word" in texts(world, job), texts(world, job))
        asked = lab.names.asked[since:]
        who = {name for each, name, _ in asked if each == google_names.STORE}
        results.check("the bucket knows it as that account alone", who == {SUBMITTER, ACTED}, who)
        acted = {name for each, name, _ in asked if each == google_names.IAM}
        results.check("for which the role of EC2 asks", acted == {amazon}, acted)
        world.over(job)
        both = world.json("doctor", "--iam", "--infra", AMAZON)
        kinds = {action.split(":")[0] for each in both["node"]["Statement"] for action in [each["Action"]] if isinstance(action, str)}
        told = world.stoker("doctor", "--iam", "--infra", AMAZON).stdout
        results.check(
            "doctor prints Amazon's rights, and how Google comes to know the role",
            "ec2" in kinds and "s3" not in str(both) and "principalSet://" in told and f"gs://{BUCKET} --role" in told,
            told,
        )
    lab.names.may = {SUBMITTER, NODES, amazon}


def stranger(results, lab):
    """A provider that Google does not know: the console says so, and nothing runs."""
    with BothWorld(lab, "stranger", google_names.PROVIDER + "s") as world:
        job = world.submit("--infra", AMAZON, "--", "true")
        machine = world.machine(job, 0)

        def told():
            console = machine.room.console().decode(errors="replace") if machine.room else ""
            return console if "cannot be fetched" in console else ""

        console = world.wait_for("its console to say it", told, 120)
        results.check(
            "the console says what Google said",
            "sts.googleapis.com answered 400" in console and "invalid_target" in console,
            console[-800:],
        )
        world.stoker("cancel", job, timeout=120)

        def over():
            world.stoker("show", job)  # which looks after it
            return world.is_over(machine)

        world.wait_for("its machine to end", over, 60, 1)
        results.check("its program never ran", not texts(world, job), texts(world, job))


def reverse(results, lab):
    """VMs of Google, and a bucket of Amazon's."""
    with BothWorld(lab, "reverse") as world:
        world.stoker("config", "set", "store", f"s3://{lab.amazon.s3.bucket}/team", check=True)
        no = world.stoker("run", "--detach", "--infra", GOOGLE, "--", "true")
        results.check(
            "is refused in words",
            no.returncode == 1
            and "machines of Google cannot reach the store s3://" in no.stderr
            and "config set store gs://" in no.stderr
            and not world.json("ls", "--all"),
            no.stderr,
        )


def main(parts):
    results = Results()
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)  # of the lab's own network
    with Both() as lab:
        for part in (chain, account, stranger, reverse):
            if not parts or part.__name__ in parts:
                results.run(part.__name__, part, results, lab)
        results.check("nothing strange was asked", not lab.wrong(), lab.wrong())
    results.finish()


if __name__ == "__main__":
    main(sys.argv[1:])
