#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What looks after jobs while nobody is at a desk, as a job of Cloud Run: set up as Google's services
would have it, its image pulled and run by podman, with machines of Compute Engine that do not boot.

    away.py [PART…]      short, install, recovers, together, bound, foreign, sweeps, newer, ends, killed, twice, changed"""

import json
import pathlib
import sys
import threading
import time

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test.cloud.verb_lab import enter, play
from test.lab.gceapi import conditions

conditions.prepare()  # while there is a network
enter()
from test.e2e.kit.harness import parts_of, patience
from test.gcp.cloud_run import PLACE, AwayLab
from test.lab.gceapi import lifecycle

KIND = "e2-standard-2"
WORDS = ["controller", "--install", "gcp/us-central1", "--type", KIND, "--machines", "3"]
WORDS += ["--region", "us-central1", "--region", "us-east1", "--price", "0.2", "--unknown-prices"]


def submit(world, *words, infra="gcp/us-central1"):
    return world.submit("--infra", infra, "--instance-type", KIND, "--spot", *words, "--", "sleep", "1000")


def install(world, *words, machines=3):
    common = [str(machines) if before == "--machines" else each for before, each in zip(["", *WORDS], WORDS)]
    return world.stoker(*common, *words, "--yes", check=True, timeout=600)


def uninstall(lab, world):
    world.stoker("controller", "--uninstall", "gcp", check=True, timeout=600)
    assert not lab.serverless.left(lab.ledger(world))


def lose(lab, machine):
    """It is taken with no time to say anything."""
    with lab.api.world.lock:
        lifecycle.preempt(lab.api, machine, 0)
    end = time.monotonic() + 30
    while not machine.gone and time.monotonic() < end:
        time.sleep(0.05)
    assert machine.gone


def settled(lab, world, job):
    """Runs it until the job's record knows its machines: what asks for one need not see it yet. The record."""
    for _ in range(6):
        record = json.loads(lab.gcs.read(f"{world.name}/records/{job}.json"))
        if all(each.get("instance_id") or each.get("closed") for each in record["launches"]):
            return record
        lab.tick(world)
    raise AssertionError(f"the machines of {job} are not known: {record['launches']}")


def test_short(lab, check):
    """Set up, run once, and taken away."""
    with lab.world("short") as world:
        submit(world)
        install(world)
        code, told, said = lab.tick(world)
        check("the image that was pushed looks after the job", code == 0 and told["passed"] == 1 and not told["troubles"], said)
        check("which stands in the ledger", "1 of 1 looked at" in lab.note(world)["did"])
        world.stoker("cancel", "-")
        uninstall(lab, world)
        check("and nothing of it is left", not lab.lists("short/away/"))


def test_install(lab, check):
    """Set up, found there, run, brought up to date, and taken away."""
    with lab.world("install") as world:
        job = submit(world)
        ledger = lab.ledger(world)
        name = f"stoker-away-{ledger}"
        asked = world.stoker(*WORDS)
        check(
            "without a yes nothing is made, and all is said",
            asked.returncode == 2 and not lab.serverless.left(ledger) and all(each in asked.stderr for each in ("$ a month", "up to 3 ")),
            asked.stderr,
        )
        lab.serverless.slow, lab.serverless.young = 1, 1
        made = world.stoker(*WORDS, "--yes", "--json")
        lab.serverless.slow = 0
        left = lab.serverless.left(ledger)
        check("account, roles, repository, two jobs and three policies", made.returncode == 0 and len(left) == 9, (made.stderr, left))
        task = lab.job(world)["template"]["template"]
        container = task["containers"][0]
        email = f"{name}@lab-project.iam.gserviceaccount.com"
        check("the job runs as its own account", task["serviceAccount"] == email and task["maxRetries"] == 0, task)
        check("the image is named by its digest", f"{lab.registry.host}/lab-project/{name}/stoker@sha256:" in container["image"], container)
        schedule = lab.serverless.held["schedules"][f"lab-project/us-central1/{name}"]
        target = schedule["httpTarget"]
        check(
            "it is run each five minutes by a token of that account",
            schedule["schedule"] == "*/5 * * * *"
            and target["uri"].endswith(f"/run/v2/{PLACE}/jobs/{name}:run")
            and target["oauthToken"]["serviceAccountEmail"] == email,
            schedule,
        )
        rights = lab.serverless.granted(f"job lab-project/us-central1/{name}", email)
        check("which may run this job, and that alone", rights == [({"run.jobs.run"}, "")], rights)
        pushes = len([each for each in lab.registry.asked if not each.startswith("HEAD")])
        again = world.stoker(*WORDS, "--yes")
        pushed = len([each for each in lab.registry.asked if not each.startswith("HEAD")]) - pushes
        harmless = again.returncode == 0 and lab.serverless.left(ledger) == left
        check("again is harmless, and nothing is pushed", harmless and not pushed, again.stderr)
        doctor = world.stoker("doctor").stdout
        check("doctor names it", "recovery away" in doctor and "has not looked yet" in doctor, doctor)
        shown = world.stoker("show", job).stdout
        check("show names it as who looks after the job", "us-central1, which has not looked yet" in shown, shown)
        (machine,) = lab.machines(job)
        code, told, said = lab.tick(world)
        code, told, said = lab.tick(world)
        check("the image runs without a disk, and says in one line what it did", code == 0 and told["active"] == 1, said)
        lose(lab, machine)
        code, told, said = lab.tick(world)
        now = lab.machines(job)
        check("it brings a job back with the rights that it has", len(now) == 1 and now[0] is not machine and not told["troubles"], said)
        check("doctor says what it did", "1 of 1 looked at" in world.stoker("doctor").stdout)
        gone = world.stoker("controller", "--uninstall", "gcp")
        left = lab.serverless.left(ledger), lab.lists("install/away/")
        check("nothing of it is left", gone.returncode == 0 and not any(left) and "nothing of it is" in gone.stderr, (gone.stderr, left))
        twice = world.stoker("controller", "--uninstall", "gcp")
        check("nor is it an error to say it again", twice.returncode == 0 and "nothing to take away" in twice.stderr, twice.stderr)
        check("nobody names it any more", "which has not looked" not in world.stoker("show", job).stdout)
        world.stoker("cancel", job)


def test_recovers(lab, check):
    """A job of which the only machine dies without notice."""
    with lab.world("recovers") as world:
        job = submit(world)
        install(world)
        (first,) = lab.machines(job)
        settled(lab, world, job)
        code, told, said = lab.tick(world)
        check("a run while all is well changes nothing", code == 0 and told["active"] == 1 and told["changed"] == 0, said)
        lose(lab, first)
        code, told, said = lab.tick(world)
        second = lab.machines(job)
        check("the schedule brings another machine", len(second) == 1 and second[0] is not first, said)
        note = lab.note(world)
        check("the ledger says what it did last", "1 of 1 looked at" in note["did"] and not note.get("turn"), note)
        leases = [each.labels["stoker-expires"] for each in second]
        lab.tick(world)
        check("it renews no lease", leases == [each.labels["stoker-expires"] for each in lab.machines(job)])
        world.stoker("cancel", job)
        uninstall(lab, world)


def running(lab, world, count):
    """So many jobs with a machine each, and no more machines than that; by name."""
    jobs = [submit(world) for _ in range(count)]
    install(world, machines=count)
    for each in jobs:
        settled(lab, world, each)
    return sorted(jobs)


def test_together(lab, check):
    """All machines that it may have, taken together: no list has one of them any more."""
    with lab.world("together") as world:
        jobs = running(lab, world, 3)
        for each in lab.machines():
            lose(lab, each)
        code, told, said = lab.tick(world)
        now = [len(lab.machines(each)) for each in jobs]
        check("one run asks for as many again", code == 0 and now == [1, 1, 1] and not told["troubles"], (now, said))
        more = submit(world, "--num-nodes", "2")
        settled(lab, world, more)
        for each in lab.machines(more):
            lose(lab, each)
        _, told, said = lab.tick(world)
        refused = "2 more where the ledger has 3 (it may up to 3 at once)" in said
        check("and for no more", refused and not lab.machines(more) and len(lab.machines()) == 3, said)
        over(lab, world)


def test_bound(lab, check):
    """A record that somebody has changed by hand, to ask for what was never submitted."""
    with lab.world("bound") as world:
        job = submit(world)
        install(world)
        (first,) = lab.machines(job)
        lose(lab, first)
        key = f"bound/records/{job}.json"
        record = json.loads(lab.gcs.read(key))

        def ask(change):
            now = json.loads(json.dumps(record))
            change(now)
            lab.write(key, json.dumps(now))
            since = len(lab.log)
            _, _, said = lab.tick(world)
            return said, [each for each in lab.asked(since) if each.endswith("nsert")]

        def option(**more):
            def change(now):
                for offer in now["offers"]:
                    offer["options"] = json.dumps({**json.loads(offer["options"]), **more})

            return change

        def offers(**more):
            def change(now):
                for offer in now["offers"]:
                    offer.update(more)

            return change

        def many(now):
            for each in ("requests", "launches", "attempts"):
                now.pop(each, None)
            now["num_nodes"] = 64

        for change, word in (
            (offers(type="a3-highgpu-8g"), "type a3-highgpu-8g"),
            (many, "64 more"),
            (offers(zone="asia-east1-a"), "in lab-project.asia-east1-a"),
            (offers(account="other-project"), "in other-project."),
            (option(service_account="admin@lab-project.iam.gserviceaccount.com"), "act as admin@"),
            (option(disk_gib=16000), "16000 GiB"),
            (option(disk_gib=0), "of no known size"),
            (option(accelerator="nvidia-tesla-v100", accelerators=8), "e2-standard-2/nvidia-tesla-v100:8"),
        ):
            said, sent = ask(change)
            refused = json.dumps(json.loads(lab.gcs.read(key)).get("requests"))
            check(f"{word}: nothing is asked for", not sent and not lab.machines(job), said)
            check(f"{word}: the record says why", word in refused, refused[-2000:])
            shown = world.stoker("show", job).stdout
            check(f"{word}: its owner sees it", "beyond what the reconciler away may ask for" in shown, shown)
        lab.lose("bound/records/")  # it was written by hand: no verb would know what to end
        lab.lose("bound/active/")
        uninstall(lab, world)


def test_foreign(lab, check):
    """A machine that carries labels like ours, and is another's."""
    with lab.world("foreign") as world:
        job = submit(world)
        install(world)
        (mine,) = lab.machines(job)
        foreign = lab.copied(mine, "somebody-elses", {**mine.labels, "stoker-expires": "1577836800"})
        code, told, said = lab.tick(world)
        check("a foreign machine with copied labels stays", code == 0 and told["swept"] and not foreign.gone, said)
        lose(lab, foreign)
        world.stoker("cancel", job)
        uninstall(lab, world)


def test_sweeps(lab, check):
    """Machines that no job asks for any more, in two regions."""
    with lab.world("sweeps") as world:
        jobs = [submit(world), submit(world, infra="gcp/us-east1")]
        install(world)
        orphans = [lab.machines(job)[0] for job in jobs]
        for job, machine in zip(jobs, orphans, strict=True):
            lab.lose("sweeps/", job)
            lab.expire(machine)
        _, told, said = lab.tick(world)
        world.wait_for("they are gone", lambda: all(map(lab.ended, orphans)))
        check("a sweep ends them in both regions", told and told["swept"], said)
        check("and says which", all(any(each.name in line for line in told["ended"]) for each in orphans), told)
        _, told, said = lab.tick(world)
        check("the next is not for every run", told and not told["swept"], said)
        uninstall(lab, world)


def test_newer(lab, check):
    """What a newer stoker wrote, a ledger that is another one, and two runs at once."""
    with lab.world("newer") as world:
        job = submit(world)
        install(world)
        key = f"newer/records/{job}.json"
        record = json.loads(lab.gcs.read(key))
        lab.write(key, json.dumps({**record, "format": 99}))
        _, told, said = lab.tick(world)
        check("a record of a newer stoker is left alone, and that is said", told and "newer stoker" in str(told["troubles"]), said)
        check("as it was", json.loads(lab.gcs.read(key))["format"] == 99)
        lab.write(key, json.dumps(record))
        note = lab.note(world)
        lab.write("newer/away/gce.json", json.dumps({**note, "turn": "other", "turn_until": "2999-01-01T00:00:00Z"}))
        code, told, said = lab.tick(world)
        check("while another run is at it nothing is done, which is no failure", (code, told) == (0, None) and "another run" in said, said)
        lab.write("newer/away/gce.json", json.dumps(note))
        code, told, said = lab.tick(world, STOKER_AWAY_LEDGER="l0000000000000000")
        check("another ledger is not looked after", code == 1 and "another one" in said, said)
        world.stoker("cancel", job)
        uninstall(lab, world)


def begun(lab, jobs, since):
    """Those of which machines were asked for since the log was so long, in that order."""
    asked = [each["body"]["labels"]["stoker-job"] for each in lab.log[since:] if each.get("method") == "instances.insert"]
    return [each for each in dict.fromkeys(asked) if each in jobs]


def behind(jobs, job):
    """In the order of a look that begins behind that one."""
    return [each for each in jobs if each > job] + [each for each in jobs if each <= job]


def over(lab, world):
    lab.api.faults.clear()
    for each in world.json("ls"):
        world.stoker("cancel", each["id"], timeout=120)
    uninstall(lab, world)


def test_ends(lab, check):
    """SIGTERM, as Cloud Run ends a task: at once, and in the middle of a long one."""
    with lab.world("ends") as world:
        jobs = running(lab, world, 6)
        code, told, said = lab.tick(world, ends_after=0.0)
        check("it ends in good order", code == 0 and lab.lasted < patience(10), (lab.lasted, said))
        check("its turn is over", not lab.note(world).get("turn"), lab.note(world))
        for each in lab.machines():
            lose(lab, each)
        lab.api.faults.add("instances.aggregatedList", "slow", 10**6, seconds=1.0)
        since = len(lab.log)
        code, told, said = lab.tick(world, ends_after=8.0)
        first, note = begun(lab, jobs, since), lab.note(world)
        good = code == 0 and told and told["left"] > 0 and lab.lasted < patience(10)
        check("a long one ends before it is killed, between two jobs", good and 0 < len(first) < len(jobs), (lab.lasted, said))
        check("the ledger has what it left", f"{told['left']} left" in note["did"] and not note.get("turn"), note)
        lab.api.faults.clear()
        rest, since = behind(jobs, note["after"]), len(lab.log)
        code, told, said = lab.tick(world)
        then = begun(lab, jobs, since)
        check("the next goes on where it was", code == 0 and told["left"] == 0 and then == rest[: len(jobs) - len(first)], (then, rest))
        check("each job has one machine", all(len(lab.machines(each)) == 1 for each in jobs), [each.name for each in lab.machines()])
        over(lab, world)


def test_killed(lab, check):
    """By SIGKILL, which says nothing to it: what it has noted is gone on with."""
    with lab.world("killed") as world:
        jobs = running(lab, world, 12)
        for each in lab.machines():
            lose(lab, each)
        lab.api.faults.add("instances.aggregatedList", "slow", 10**6, seconds=1.5)
        since = len(lab.log)
        code, told, said = lab.tick(world, ends_after=32.0, ends_by="KILL")
        first, note = begun(lab, jobs, since), lab.note(world)
        check("it was killed in its middle", code == 137 and not told and 0 < len(first) < len(jobs), (code, first, said))
        check("the ledger has the job that it had come to lately", note["after"] in first and note["turn"], note)
        lab.api.faults.clear()
        code, told, said = lab.tick(world)
        check("until its time is over, another waits", (code, told) == (0, None) and "another run" in said, said)
        lab.write("killed/away/gce.json", json.dumps({**note, "turn_until": "2020-01-01T00:00:00Z"}))
        since = len(lab.log)
        code, told, said = lab.tick(world)
        then, rest = begun(lab, jobs, since), [each for each in behind(jobs, note["after"]) if each not in first]
        check("the next goes on where it was", code == 0 and told["left"] == 0 and then[: len(rest)] == rest, (then, rest, first))
        check("and says that the one before was cut off", "cut off" in said and not lab.note(world).get("cut_off"), said)
        check("each job has one machine", all(len(lab.machines(each)) == 1 for each in jobs), [each.name for each in lab.machines()])
        over(lab, world)


def test_twice(lab, check):
    """Two who install at once, and what is refused."""
    with lab.world("twice") as world:
        submit(world)
        ledger = lab.ledger(world)
        done = []
        threads = [threading.Thread(target=lambda: done.append(world.stoker(*WORDS, "--yes"))) for _ in range(2)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        check("both are done", [each.returncode for each in done] == [0, 0], [each.stderr for each in done])
        check("and there is one of each", len(lab.serverless.left(ledger)) == 9, lab.serverless.left(ledger))
        uninstall(lab, world)
        lab.serverless.week_over = True
        refused = world.stoker(*WORDS, "--yes")
        lab.serverless.week_over = False
        check(
            "names that Google keeps and gives back no more are said",
            refused.returncode != 0 and "7 days" in refused.stderr,
            refused.stderr,
        )
        install(world)
        check("what was taken away is made again, under names that Google keeps", len(lab.serverless.left(ledger)) == 9)
        uninstall(lab, world)
        refused = world.stoker("controller", "--install", "gcp/us-central1", "--type", "p9-huge", "--yes")
        check("a type without a known price is refused", refused.returncode != 0 and "--unknown-prices" in refused.stderr, refused.stderr)
        refused = world.stoker(*WORDS, "--region", "us-centrl9", "--yes")
        check("a region that there is none of, too", refused.returncode != 0 and not lab.serverless.left(ledger), refused.stderr)
        lab.serverless.without_schedules = {"us-central1"}
        refused = world.stoker(*WORDS, "--yes")
        lab.serverless.without_schedules = set()
        check(
            "a region without Cloud Scheduler, too", refused.returncode != 0 and "Cloud Scheduler cannot" in refused.stderr, refused.stderr
        )
        world.stoker("cancel", "-")


def test_changed(lab, check):
    """Set up for other machines, for another region, and by who has set another project."""
    with lab.world("changed") as world:
        submit(world)
        install(world)
        ledger = lab.ledger(world)
        email = f"stoker-away-{ledger}@lab-project.iam.gserviceaccount.com"
        nodes = [f"account {each}@lab-project.iam.gserviceaccount.com" for each in ("stoker", "nodes")]
        install(world, "--identity", nodes[1].split()[1])
        acts = [bool(lab.serverless.granted(each, email)) for each in nodes]
        check("it acts as the account alone that it is set up for", acts == [False, True], acts)
        for schedule in lab.serverless.held["schedules"].values():
            schedule["state"] = "PAUSED"
        again = install(world, "--identity", nodes[1].split()[1])
        check("a schedule that is paused is said", "gcloud scheduler jobs resume" in again.stderr, again.stderr)
        other = [each.replace("gcp/us-central1", "gcp/us-east1") for each in WORDS]
        refused = world.stoker(*other, "--yes")
        said = "--uninstall gcp/us-central1" in refused.stderr
        check("one in another region is refused", refused.returncode != 0 and said, refused.stderr)
        check("the note names the project", lab.note(world)["where"] == "lab-project.us-central1", lab.note(world))
        gone = world.stoker("controller", "--uninstall", "gcp/us-central1", env={"GOOGLE_CLOUD_PROJECT": "other-project"}, timeout=600)
        left = lab.serverless.left(ledger)
        check("by it all is found, whatever the settings say", gone.returncode == 0 and not left, (gone.stderr, left))
        install(world)
        note = json.dumps(lab.note(world))
        lab.write("changed/away/gce.json", "{")
        refused = world.stoker("controller", "--uninstall", "gcp")
        said = "Name the region: gcp/REGION" in refused.stderr
        check("without a note that can be read the region must be named", refused.returncode != 0 and said, refused.stderr)
        lab.write("changed/away/gce.json", note)
        lab.write("changed/places/gce/a.b", "{}")
        gone = world.stoker("controller", "--uninstall", "gcp", timeout=600)
        left = lab.serverless.left(ledger)
        said = gone.returncode != 0 and "no place of Google's: a.b" in gone.stderr
        check("a noted place that is none hinders nothing, and is said", not left and said, (gone.stderr, left))
        lab.lose("changed/places/gce/", "a.b")
        uninstall(lab, world)
        world.stoker("cancel", "-")


if __name__ == "__main__":
    play(AwayLab, parts_of(globals()), sys.argv[1:])
