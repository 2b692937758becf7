#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The rights of what `stoker controller --install gcp` makes, and of whoever types it, as `stoker
doctor --iam` prints them: all goes with them, and with any one less something fails that did not, in
words that name it. Which right a request needs says test/lab/gceapi, from Google's reference.

    away_rights.py [PART…]      installer, function"""

import json
import pathlib
import sys
import time

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test.gcp.away import WORDS, install, lose, settled, submit, uninstall  # which enters the lab's namespace

# isort: split
from test.cloud.verb_lab import play
from test.e2e.kit.harness import parts_of
from test.gcp.cloud_run import AwayLab
from test.lab.unbooted_gce import OWN

# Of the registry, which lets in whom Artifact Registry would.
IMAGES = {"artifactregistry.repositories.downloadArtifacts", "artifactregistry.repositories.uploadArtifacts"}
# Without them it is said less well which region is meant, it is waited for, or not asked after what
# was ended.
FOR_WORDS = {"cloudscheduler.jobs.get", "compute.regions.list", "run.operations.get"}
# Without it nothing is asked for, and why that is said.
WAITS = {"compute.zoneOperations.list": "not asked for before it is known who ends"}
# Without it a run does not hear what became of its request, and a later one does, which sends it again.
LATER = "compute.zoneOperations.get"


def printed(world, name):
    told = world.json("doctor", "--iam", "--infra", "gcp/us-central1")
    return set(told[name]["includedPermissions"])


def deny(lab, *rights):
    lab.serverless.denied = lab.api.denied = set(rights)


def test_installer(lab, check):
    with lab.world("installer") as world:
        submit(world)
        rights = printed(world, "away-installer")
        since, machines = len(lab.serverless.log), len(lab.log)
        lab.serverless.slow = 1
        install(world)
        lab.serverless.slow = 0
        install(world)
        uninstall(lab, world)
        install(world)  # under names that Google keeps
        uninstall(lab, world)
        asked = {right for each in lab.serverless.log[since:] if each.get("email") == OWN for right in each.get("permissions", [])}
        asked |= {right for each in lab.log[machines:] if each.get("method", "").startswith("regions.") for right in each["permissions"]}
        check(f"whoever installs needs no more than the {len(rights)} that are printed", asked <= rights, asked - rights)
        check("and each of them", rights - IMAGES - FOR_WORDS <= asked, rights - IMAGES - FOR_WORDS - asked)
        for right in sorted(rights - IMAGES - FOR_WORDS):
            deny(lab, right)
            # The second brings up to date what is there.
            done = [world.stoker(*words, timeout=600) for words in (WORDS + ["--yes"],) * 2 + (["controller", "--uninstall", "gcp"],)]
            deny(lab)
            said = "".join(each.stderr for each in done)
            check(f"without {right} it fails, and that is said", any(each.returncode for each in done) and right in said, said[-800:])
            uninstall(lab, world)
        lab.registry.may = lambda email, repository: False
        done = world.stoker(*WORDS, "--yes")
        lab.registry.may = lambda email, repository: True
        check("who may not push is told so", done.returncode != 0 and "push there" in done.stderr, done.stderr)
        uninstall(lab, world)
        world.stoker("cancel", "-")


def rights_asked(lab, email, since):
    """Since the log was so long, but for what is bound on the account of the machines."""
    asked = {right for each in lab.log[since:] if each.get("email") == email for right in each.get("permissions", [])}
    return asked - {"iam.serviceAccounts.actAs"}


def test_function(lab, check):
    with lab.world("function") as world:
        job = submit(world)
        install(world)
        email = f"stoker-away-{lab.ledger(world)}@lab-project.iam.gserviceaccount.com"
        since = len(lab.log)
        _, told, said = lab.tick(world)
        sweeps = rights_asked(lab, email, since)
        check("the first run sweeps", told["swept"], said)
        settled(lab, world, job)
        rights = printed(world, "away")
        (role,) = [each for each in lab.serverless.held["roles"].values() if "stokerAway_" in each["name"] and not each.get("deleted")]
        check("the account has what is printed", set(role["includedPermissions"]) == rights, rights ^ set(role["includedPermissions"]))
        since = len(lab.log)
        lose(lab, lab.machines(job)[0])
        lab.tick(world)
        (again,) = lab.machines(job)
        needed = rights_asked(lab, email, since) - {LATER}
        check("all goes with that", needed | sweeps <= rights, needed | sweeps - rights)
        record = settled(lab, world, job)
        lose(lab, again)

        def without(right):
            """What a run says in which the machine is gone and the right lacks, and the record after it."""
            lab.write(f"function/records/{job}.json", json.dumps(record))
            deny(lab, right)
            _, _, said = lab.tick(world)
            deny(lab)
            return said, lab.gcs.read(f"function/records/{job}.json").decode()

        for right in sorted(needed):
            said, after = without(right)
            check(f"without {right} it is said what lacks", any(WAITS.get(right, right) in each for each in (said, after)), said[-800:])
            for each in lab.machines(job):
                lose(lab, each)
        lab.api.births.add("ZONE_RESOURCE_POOL_EXHAUSTED")
        without(LATER)
        lab.api.births.clear()
        end = time.monotonic() + 60  # it is sent again after ten seconds
        while "ZONE_RESOURCE_POOL_EXHAUSTED" not in (after := lab.gcs.read(f"function/records/{job}.json").decode()):
            if time.monotonic() > end:
                break
            time.sleep(2)
            lab.tick(world)
        check(f"without {LATER} a later run hears of a refusal", "ZONE_RESOURCE_POOL_EXHAUSTED" in after, after[-800:])
        for right in sorted(sweeps - needed):
            lab.lose("function/away/")
            deny(lab, right)
            _, told, said = lab.tick(world)
            deny(lab)
            check(f"without {right} a sweep says what lacks", right in said, said[-800:])
        for each in lab.machines(job):
            lose(lab, each)
        orphan = lab.machines(submit(world))[0]
        lab.lose("function/", orphan.labels["stoker-job"])
        lab.expire(orphan)
        lab.lose("function/away/")
        deny(lab, "compute.instances.delete")
        _, told, said = lab.tick(world)
        deny(lab)
        check("an orphan that it may not end stays, and that is said", not orphan.gone and "compute.instances.delete" in said, said)
        lab.lose("function/away/")
        lab.tick(world)
        check("and with the right it goes", orphan.gone)
        lab.lose("function/records/")
        lab.lose("function/active/")
        install(world)  # its note, by which it is found
        uninstall(lab, world)


if __name__ == "__main__":
    play(AwayLab, parts_of(globals()), sys.argv[1:])
