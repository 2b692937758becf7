#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Jobs on a real Slurm (kit/lab.py), which ends them, takes their nodes, forgets, and goes away.

    slurm.py [--full] [NAME…]     at length; only these parts

Judged by what programs print and by what Slurm lists: each step is made once, or once more behind a
checkpoint; what an owner cancels stays so; nothing is left in the queue, on the nodes, in the
state folder. The parts run side by side on nodes of their own."""

import argparse
import concurrent.futures
import pathlib
import shutil
import sys
import time

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test.e2e.kit.harness import PYTHON, Results, patience
from test.e2e.kit.job_kit import MEET
from test.slurm.kit.lab import Lab
from test.slurm.kit.slurm_world import ENDS, SlurmWorld, job_of, whole

ROOT = pathlib.Path(__file__).resolve().parents[2]


def test_one(lab, check, _):
    with SlurmWorld(lab) as world:
        job = world.train(20, "--cpus", "2", "--memory", "64MB")
        check("a job on one node succeeds", world.ended(job) == "Succeeded", world.job(job))
        runs = world.runs(job)
        check("in one attempt", [r[:2] for r in runs] == [(1, 0)] and not whole(runs, 20), runs)
        shown = world.stoker("show", job, "--json")
        check("where nobody counts hours, none are told", "slurm_accounting" not in shown.stdout and not shown.stderr, shown.stderr)
        world.nothing_left(job)


def test_digits(lab, check, full):
    """The README's example, which the cluster preempts half-way. Only at length: it needs torch."""
    if not full:
        return
    with SlurmWorld(lab) as world:
        shutil.copytree(ROOT / "examples" / "digits", world.root / "digits")
        file = world.root / "digits" / "job.yaml"
        file.write_text(file.read_text().replace("exec python3", f"exec {PYTHON}"))
        job = world.submit("job.yaml", "--infra", "slurm/low", cwd=world.root / "digits")
        world.running(job, 120)
        epochs = {}

        def trained(count):
            texts = [(a, line) for a, line in world.lines(job) if line.startswith("epoch ")]
            epochs.update({line.split("/")[0]: a for a, line in texts})
            return len(texts) >= count and len(texts)

        world.wait_for("some epochs", lambda: trained(4), 120, 0.5)
        lab.out("sbatch", "-p", "high", "-N1", "--exclusive", "--output=/dev/null", "--wrap=sleep 5")
        state = world.ended(job, 240)
        made = trained(0)
        text = [line for _, line in world.lines(job)]
        check("digits is trained to its end", state == "Succeeded" and text[-1].startswith("test accuracy: 0.9"), text)
        check(
            "over a preemption, with at most one epoch made twice",
            len(epochs) == 20 and made <= 21 and set(epochs.values()) == {1, 2},
            text,
        )
        world.nothing_left(job)


def test_two(lab, check, full):
    with SlurmWorld(lab) as world:
        if full:
            shutil.copytree(ROOT / "examples" / "ddp", world.root / "ddp")
            job = world.submit("job.yaml", "--infra", "slurm/two", "--env", "EPOCHS=8", cwd=world.root / "ddp")
        else:
            world.program(MEET, "meet.py")
            job = world.submit("--infra", "slurm/two", "--num-nodes", "2", "--", "/usr/bin/python3", "meet.py")
        state = world.ended(job, 240)
        text = [line for _, line in world.lines(job)]
        check("a job on two nodes succeeds", state == "Succeeded", (text, world.job(job)))
        if not full:
            check("its nodes met", sorted(text) == ["hello", "met rank 1"], text)
        check("it was one job of Slurm", len(world.slurm_jobs(job)) == 1, world.slurm_jobs(job))
        world.nothing_left(job)


def test_limit(lab, check, full):
    steps, pause = (340, 1.0) if full else (75, 1.0)
    with SlurmWorld(lab) as world:
        job = world.train(steps, where="slurm/short", pause=pause)
        state = world.ended(job, 900 if full else 240)
        runs = world.runs(job)
        check(
            "a job that is longer than its partition gives runs to its end",
            state == "Succeeded" and len(runs) >= (3 if full else 2),
            (state, runs),
        )
        check("over successors, with no step made twice", not whole(runs, steps), runs)
        reasons = {a["ending"]["reason"] for a in world.job(job)["attempts"][:-1]}
        check("each time it was told ahead", reasons == {"Interrupted"}, reasons)
        world.nothing_left(job)


def test_preempted(lab, check, _):
    with SlurmWorld(lab) as world:
        job = world.train(100, where="slurm/low", pause=0.3)
        first = world.running(job)
        world.wait_for("some steps", lambda: world.step_of(job) >= 10, 60, 0.5)
        high = lab.out("sbatch", "--parsable", "-p", "high", "-N1", "--exclusive", "--output=/dev/null", "--wrap=sleep 5").strip()
        state = world.ended(job, 240)
        runs = world.runs(job)
        check("a job that is preempted goes on", state == "Succeeded" and len(runs) == 2, (state, runs))
        check("where it was", not whole(runs, 100, redone=1), runs)
        states = {n: s for n, _, s in lab.all_jobs()}
        check(
            "Slurm says that it preempted it, and ran the other",
            states[first] in ("PREEMPTED", "COMPLETED", "CANCELLED") and high in states,
            states,
        )
        world.nothing_left(job)


def test_node_killed(lab, check, _):
    with SlurmWorld(lab) as world:
        job = world.train(120, where="slurm/frail", pause=0.3)
        number = world.running(job)
        world.wait_for("some steps", lambda: world.step_of(job) >= 5, 60, 0.5)
        looks = world.start("wait", job)  # its only node is the one that dies
        name = lab.out("squeue", "-h", "-j", number, "-o", "%N").strip()
        lab.kill_node(name)
        state = world.ended(job, 240)
        looks.wait(30)
        runs = world.runs(job)
        check("a job whose node dies goes on on another", state == "Succeeded" and len(runs) == 2, (state, runs, world.job(job)))
        # What was made and printed in the last moments is lost with the node.
        check("from its last checkpoint", not whole(runs, 120, redone=15), runs)
        world.nothing_left(job)
        lab.start_node(name)


def test_requeued(lab, check, _):
    with SlurmWorld(lab) as world:
        job = world.train(60, pause=0.3)
        number = world.running(job)
        world.wait_for("some steps", lambda: world.step_of(job) >= 5, 60, 0.5)
        lab.out("scontrol", "update", f"JobId={number}", "Requeue=1")
        lab.out("scontrol", "requeue", number)
        state = world.ended(job, 240)
        runs = world.runs(job)
        check("a job that is requeued by hand goes on", state == "Succeeded", (state, runs))
        check("in one place at a time", not whole(runs, 60, redone=1), runs)
        world.nothing_left(job)


def test_scancel(lab, check, _):
    with SlurmWorld(lab) as world:
        job = world.train(1000)
        number = world.running(job)
        world.wait_for("some steps", lambda: world.step_of(job) >= 5, 60, 0.5)
        lab.out("scancel", number)
        state = world.ended(job, 60)
        check("scancel is a cancel", state == "Cancelled", world.job(job))
        check("nothing was asked for in its place", list(world.slurm_jobs(job)) == [number], world.slurm_jobs(job))
        saved = world.json("checkpoints", job)
        check("its checkpoints are there", len(saved) >= 1, saved)
        world.nothing_left(job)


def test_scancel_seen_late(lab, check, _):
    """The signal is there a second before squeue tells of the cancel: until then it says what it
    says of a node that is preempted, too."""
    with SlurmWorld(lab) as world:
        squeue = world.own_squeue()
        job = world.train(1000)
        number = world.running(job)
        world.wait_for("some steps", lambda: world.step_of(job) >= 5, 60, 0.5)
        [folder] = (world.state / "slurm" / "requests").glob(f"*-{job}.*")
        (squeue / "hold").touch()
        lab.out("scancel", number)
        world.wait_for("its node to hear the signal", lambda: list(folder.glob("signalled-*")), 30)
        time.sleep(1)
        (squeue / "hold").unlink()
        state = world.ended(job, 60)
        check("scancel is a cancel, also where Slurm tells of it late", state == "Cancelled", world.job(job))
        check("then, too, nothing was asked for in its place", list(world.slurm_jobs(job)) == [number], world.slurm_jobs(job))
        world.nothing_left(job)


def test_scancel_unseen(lab, check, _):
    """Nothing of the job lives any more when Slurm answers again."""
    with SlurmWorld(lab) as world:
        squeue = world.own_squeue()
        job = world.train(1000)
        number = world.running(job)
        world.wait_for("some steps", lambda: world.step_of(job) >= 5, 60, 0.5)
        (squeue / "away").touch()
        lab.out("scancel", number)
        world.wait_for("Slurm to end it", lambda: world.slurm_jobs(job)[number] in lab.OVER, 60, 0.2)
        left = world.wait_for("its programs to be gone", lambda: not world.programs(job), 30)
        (squeue / "away").unlink()
        state = world.wait_for("it to end", lambda: world.job(job)["state"] in ENDS and world.job(job)["state"], 60, 0.5)
        check("scancel is a cancel, also where Slurm could not be asked", left and state == "Cancelled", world.job(job))
        check("and nothing was asked for when it answered again", list(world.slurm_jobs(job)) == [number], world.slurm_jobs(job))
        world.stoker("get", job, "checkpoint", world.root / "got", check=True)
        saved = int((world.root / "got" / "state.txt").read_text())
        last = world.runs(job)[-1][2][-1]
        check("what its program saved last is kept", saved >= last >= 5, (last, saved))
        world.nothing_left(job)


def test_scancel_in_the_queue(lab, check, _):
    with SlurmWorld(lab) as world:
        # More CPUs than are free while these hold them.
        hold = lab.out("sbatch", "--parsable", "-p", "frail", "-N2", "--exclusive", "--output=/dev/null", "--wrap=sleep 600").strip()
        job = world.train(5, where="slurm/frail")
        number = world.wait_for("it to queue", lambda: list(world.slurm_jobs(job)))[0]
        shown = world.wait_for("it to say so", lambda: " ".join(world.json("show", job).get("queued", [])), 30, 0.5)
        check("a job in the queue says why it waits", "(" in shown, shown)
        # As if who sent it had died before it wrote the number down. Slurm will forget it.
        [kept] = (world.state / "slurm" / "requests").glob(f"*-{job}.*/job")
        kept.unlink()
        lab.out("scancel", number)
        # Nothing of it runs: whoever looks next sees it.
        state = world.wait_for("it to end", lambda: world.job(job)["state"] in ENDS and world.job(job)["state"], 60, 0.5)
        check("scancel in the queue is a cancel, too", state == "Cancelled", world.job(job))
        check("and nothing was asked for in its place", list(world.slurm_jobs(job)) == [number], world.slurm_jobs(job))
        world.nothing_left(job)
        lab.out("scancel", hold)


def test_drill(lab, check, _):
    with SlurmWorld(lab) as world:
        job = world.train(120, pause=0.3)  # on a busy machine the drill comes late
        world.running(job)
        world.wait_for("some steps", lambda: world.step_of(job) >= 5, 60, 0.5)
        world.stoker("preempt", job, "--in", "10s", check=True)
        state = world.ended(job, 120)
        runs = world.runs(job)
        check(
            "after a fire drill it goes on where it was",
            state == "Succeeded" and len(runs) == 2 and not whole(runs, 120, redone=2),
            (state, runs),
        )
        world.nothing_left(job)


def test_cancel(lab, check, _):
    with SlurmWorld(lab) as world:
        job = world.train(1000)
        world.running(job)
        world.stoker("cancel", job, check=True)
        check("stoker cancel ends it", world.ended(job, 60) == "Cancelled", world.job(job))
        world.nothing_left(job)


def test_suspended(lab, check, _):
    """As a cluster that preempts by suspending does: what is suspended may stay so for days."""
    with SlurmWorld(lab) as world:
        job = world.train(60, pause=0.3)
        number = world.running(job)
        world.wait_for("some steps", lambda: world.step_of(job) >= 5, 60, 0.5)
        lab.out("scontrol", "suspend", number)
        looks = world.start("wait", job)
        state = world.ended(job, 120)
        looks.wait(30)
        runs = world.runs(job)
        check(
            "a job that is suspended goes on in another",
            state == "Succeeded" and len(runs) == 2 and not whole(runs, 60, redone=15),
            (state, runs),
        )
        world.nothing_left(job)


SSH = """#!/bin/sh
# What ssh does on a host that has the same disks: the words behind the host, for a shell there.
while [ "$1" != -- ]; do shift; done
echo "$2" >>"$(dirname "$0")/hosts"
shift 2
SLURM_CONF={conf} exec sh -c "$*"
"""


def test_login(lab, check, _):
    """Slurm's programs are on another host, and this one has not even its configuration."""
    with SlurmWorld(lab) as world:
        programs = world.root / "programs"
        programs.mkdir()
        (programs / "ssh").write_text(SSH.format(conf=lab.conf))
        (programs / "ssh").chmod(0o755)
        world.env["PATH"] = f"{programs}:{world.env['PATH']}"
        world.env["SLURM_CONF"] = "/nowhere"
        world.stoker("config", "set", "slurm.login", "me@front", check=True)
        job = world.train(20)
        state = world.ended(job, 120)
        check("through a login host a job succeeds", state == "Succeeded", world.job(job))
        hosts = set((programs / "hosts").read_text().split())
        check("which was asked by ssh", hosts == {"me@front"}, hosts)
        world.nothing_left(job)


def test_secret(lab, check, _):
    secret = "correct-horse-battery-7481"
    with SlurmWorld(lab) as world:
        go = world.root / "go"
        job = world.submit(
            "--infra",
            "slurm",
            "--secret",
            "TOKEN",
            "--",
            "sh",
            "-c",
            f"test ${{#TOKEN}} = 26 || exit 1; while [ ! -e {go} ]; do sleep 0.2; done",
            env={"TOKEN": secret},
        )
        number = world.running(job)
        kept = list((world.state / "private").glob("*"))
        check("beside the job a file for its owner alone", [each.stat().st_mode & 0o777 for each in kept] == [0o600], kept)
        told = lab.out("scontrol", "show", "job", number) + lab.out("scontrol", "write", "batch_script", number, "-")
        where = [
            str(p)
            for folder in (world.state / "slurm", world.store)
            for p in folder.rglob("*")
            if p.is_file() and secret.encode() in p.read_bytes()
        ]
        go.touch()
        check("a secret reaches the program", world.ended(job) == "Succeeded", world.job(job))
        check("and is not in what Slurm was given", secret not in told and not where, (where, told))
        world.nothing_left(job)
        check("the file goes with the job", not kept[0].exists())
        ends = {"cancel": lambda job, _: world.stoker("cancel", job, check=True), "scancel": lambda _, number: lab.out("scancel", number)}
        for how, end in ends.items():
            again = world.submit("--infra", "slurm", "--secret", "TOKEN", "--", "sleep", "600", env={"TOKEN": secret})
            end(again, world.running(again))
            world.ended(again)
            world.nothing_left(again)
            check(f"and where it ends by {how}", not list((world.state / "private").glob("*")))


def test_controller_away(lab, check, full):
    """Alone: all others would see it, too."""
    with SlurmWorld(lab) as world:
        job = world.train(400 if full else 60, pause=0.3)
        world.running(job)
        lab.stop_controller()
        time.sleep(60 if full else 8)
        lab.start_controller()
        state = world.ended(job, 400)
        runs = world.runs(job)
        check("a job does not mind that slurmctld is away", state == "Succeeded" and len(runs) == 1, (state, runs))
        world.nothing_left(job, 120)


def lost(world, lab, check, what, job, saved):
    world.running(job)
    world.wait_for("some steps", lambda: world.step_of(job) >= 5, 60, 0.5)
    lab.lose(saved)
    lab.wait_for("slurmctld", lambda: lab.try_out("squeue") is not None)
    lab.out("scontrol", "update", "PartitionName=frail", "State=UP")
    looks = world.start("wait", job)
    state = world.ended(job, 240)
    looks.wait(30)
    lab.resume_nodes()
    runs = world.runs(job)
    check(
        f"a job that Slurm's controller {what} goes on in another", state == "Succeeded" and len(runs) == 2, (state, runs, world.job(job))
    )
    check("where it was saved last", not whole(runs, 60, redone=15), runs)
    world.nothing_left(job, 120)


def test_controller_forgets(lab, check, _):
    """slurmctld dies before it has saved that it took the job: it ends what runs of it, and gives
    its number to the next, which it may take for the first, and end."""
    with SlurmWorld(lab) as world:
        saved = lab.saved()
        job = world.train(60, where="slurm/frail", pause=0.3)
        number = world.running(job)
        lost(world, lab, check, "forgot", job, saved)
        check("which had its number", number in world.slurm_jobs(job), (number, world.slurm_jobs(job)))


def test_controller_begins_anew(lab, check, _):
    """slurmctld dies before it has saved that it began the job: it ends what runs of it, and begins
    it again, or tries to. Slurm may call that a cancel."""
    with SlurmWorld(lab) as world:
        lab.out("scontrol", "update", "PartitionName=frail", "State=DOWN")
        job = world.train(60, where="slurm/frail", pause=0.3)
        world.wait_for("it to queue", lambda: list(world.slurm_jobs(job)))
        saved = lab.saved()
        lost(world, lab, check, "lost and began anew", job, saved)


def test_refused(lab, check, _):
    with SlurmWorld(lab) as world:
        done = world.stoker("run", "--infra", "slurm/nowhere", "--", "true", timeout=60)
        check(
            "a partition that is not there ends the job, and says so",
            done.returncode != 0 and "Invalid partition" in done.stdout + done.stderr,
            done.stdout + done.stderr,
        )
        done = world.stoker("run", "--infra", "slurm/mian", "--", "true", timeout=60)
        check(
            "and which was meant",
            done.returncode != 0 and "did you mean slurm/main?" in done.stdout + done.stderr,
            done.stdout + done.stderr,
        )
        done = world.stoker("run", "--infra", "slurm", "--gpus", "3", "--", "true", timeout=60)
        check(
            "what no node has does, too",
            done.returncode != 0 and any(said in done.stdout + done.stderr for said in ("generic resource", "node configuration")),
            done.stdout + done.stderr,
        )


def test_gpus(lab, check, _):
    """One node with two GPUs: each job has its own, the third waits; and what else sbatch takes."""
    hold = "echo gpus $CUDA_VISIBLE_DEVICES; while [ ! -e {go} ]; do sleep 0.2; done"
    with SlurmWorld(lab) as world:
        go = world.root / "go"
        jobs = [world.submit("--infra", "slurm/gpu", "--gpus", "L4:1", "--", "sh", "-c", hold.format(go=go)) for _ in range(3)]
        numbers = [world.running(job) for job in jobs[:2]]
        row = next(row for row in world.json("places") if row["infra"] == "slurm/gpu")
        check("places knows its GPUs", row["gpus"] == [{"name": "l4", "total": 2, "free": 0}], row)
        world.wait_for(
            "the third to say why",
            lambda: "Resources" in str(world.json("show", jobs[2])["queued"]) or "Priority" in str(world.json("show", jobs[2])["queued"]),
            60,
            0.5,
        )
        check("a third job waits for one", True)
        asked = [lab.out("scontrol", "show", "job", number) for number in numbers]
        check("each asked for one by name", all("gpu:l4" in text for text in asked), asked)
        go.touch()
        states = [world.ended(job) for job in jobs]
        said = [line for job in jobs for _, line in world.lines(job)]
        check("all end", states == ["Succeeded"] * 3, states)
        check("never two on one GPU", sorted(said[:2]) == ["gpus 0", "gpus 1"], said)
        (world.work / "job.yaml").write_text(
            "run: sleep 4\nresources: {infra: slurm/gpu, memory: 100MB}\n"
            "slurm: {constraint: nvme, exclusive: true, account: vision, time: 5m,\n"
            "        options: [--comment-is-no-option]}\n"
        )
        done = world.stoker("run", "job.yaml", timeout=60)
        check(
            "an option that sbatch does not know is refused with its words",
            done.returncode != 0 and "unrecognized option" in done.stdout + done.stderr,
            done.stdout + done.stderr,
        )
        text = (world.work / "job.yaml").read_text().replace("--comment-is-no-option", "--nice=7")
        (world.work / "job.yaml").write_text(text)
        job = world.submit("job.yaml")
        told = lab.out("scontrol", "show", "job", world.running(job))
        for word in ("Features=nvme", "OverSubscribe=NO", "Account=vision", "TimeLimit=00:05:00", "MinMemoryNode=96M", "Nice=7"):
            check(f"Slurm was asked for {word}", word in told, told)
        check("it ends", world.ended(job) == "Succeeded", world.job(job))
        world.nothing_left(job)


def test_doctor(lab, check, _):
    with SlurmWorld(lab) as world:
        done = world.stoker("doctor", "--infra", "slurm/gpu", timeout=120)
        said = " ".join(done.stdout.split())
        for word in (
            "ok slurm slurm",
            "ok controller cluster lab",
            "note accounting is off here",
            "ok partition gpu: 1 node",
            "ok time limit 30m",
            "a node of gpu sees",
        ):
            check(f"doctor says '{word}'", word in said, done.stdout)
        done = world.stoker("doctor", "--infra", "slurm/gpz", timeout=60)
        check("and which partition was meant", done.returncode == 1 and "did you mean slurm/gpu?" in done.stdout, done.stdout)
        done = world.stoker("doctor", "--infra", "slurm", timeout=120)
        check("the default one without a name", done.returncode == 0 and "main: 3 nodes" in done.stdout, done.stdout)
        done = world.stoker("doctor", "--infra", "slurm", timeout=60, env={"PATH": "/nowhere"})
        check(
            "where Slurm's programs are not, that is said",
            done.returncode == 1 and "cannot run sbatch" in done.stdout and "slurm.login" in done.stdout,
            done.stdout,
        )


def test_unseen_folder(lab, check, _):
    """As on a node that does not mount the submitter's home: the binary may not be run there."""
    with SlurmWorld(lab) as world:
        world.submit("--infra", "local", "--", "true")  # leaves the binary in its place
        hold = lab.out("sbatch", "--parsable", "-p", "main", "-N3", "--exclusive", "--output=/dev/null", "--wrap=sleep 600").strip()
        job = world.train(5)
        world.wait_for("it to queue", lambda: list(world.slurm_jobs(job)))
        for binary in (world.state / "bin").glob("*/stoker"):
            binary.chmod(0o600)
        lab.out("scancel", hold)
        # No node of it looks.
        state = world.wait_for("it to end", lambda: world.job(job)["state"] in ENDS and world.job(job)["state"], 60, 0.5)
        shown = world.stoker("show", job).stdout
        check("nodes that do not see the state folder are told apart from all else", state == "Failed" and "all nodes see" in shown, shown)


ALONE = {
    "controller_away": test_controller_away,
    "controller_forgets": test_controller_forgets,
    "controller_begins_anew": test_controller_begins_anew,
    "unseen_folder": test_unseen_folder,
}
TOGETHER = {
    "limit": test_limit,
    "preempted": test_preempted,
    "node_killed": test_node_killed,
    "one": test_one,
    "digits": test_digits,
    "two": test_two,
    "requeued": test_requeued,
    "suspended": test_suspended,
    "scancel": test_scancel,
    "scancel_seen_late": test_scancel_seen_late,
    "scancel_unseen": test_scancel_unseen,
    "drill": test_drill,
    "cancel": test_cancel,
    "refused": test_refused,
    "login": test_login,
    "secret": test_secret,
    "gpus": test_gpus,
    "doctor": test_doctor,
}
LAST = {"scancel_in_the_queue": test_scancel_in_the_queue}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--full", action="store_true")
    parser.add_argument("names", nargs="*")
    args = parser.parse_args()
    results = Results()
    with Lab(short="0:02:00" if args.full else "0:01:00", gpus=True) as lab:

        def run(name, part):
            results.run(name, part, lab, results.check, args.full)

        chosen = [{n: p for n, p in parts.items() if not args.names or n in args.names} for parts in (TOGETHER, LAST, ALONE)]
        with concurrent.futures.ThreadPoolExecutor(len(TOGETHER)) as pool:
            begun = [pool.submit(run, name, part) for name, part in chosen[0].items()]
            for each in begun:
                each.result()
        for parts in chosen[1:]:
            for name, part in parts.items():
                run(name, part)
        deadline = time.monotonic() + patience(30)
        while lab.left() and time.monotonic() < deadline:
            time.sleep(0.2)
        results.check("nothing of any job runs", not lab.left(), lab.left())
        ours = [row for row in lab.queue() if job_of(row[1])]
        results.check("nothing of any job is in the queue", not ours, ours)
    results.finish()


if __name__ == "__main__":
    main()
