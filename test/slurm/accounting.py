#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Jobs on a real Slurm that keeps accounts: slurmdbd and a MariaDB of the test's own. What `show`
and `doctor` say is compared with what sacct itself says; a QOS holds jobs back, or is not there."""

import pathlib
import sys

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test.e2e.kit.harness import Results
from test.slurm.kit.lab import Lab
from test.slurm.kit.slurm_world import SlurmWorld, whole


def counted(lab, world, job):
    """[(seconds, CPUs, GPUs)] of its jobs of Slurm that ran, as counted at their end."""
    numbers = ",".join(world.slurm_jobs(job))
    text = lab.out("sacct", "-n", "-P", "-X", "-D", "-j", numbers, "-o", "ElapsedRaw,State,AllocTRES")
    rows = []
    for line in text.splitlines():
        seconds, state, tres = line.split("|")
        counts = dict(one.split("=") for one in tres.split(",") if one)
        if state in ("PENDING", "RUNNING"):
            return None
        if not counts and state.startswith("CANCELLED"):
            continue
        rows.append((int(seconds), int(counts["cpu"]), int(counts.get("gres/gpu", 0))))
    return rows


def as_counted(lab, check, world, job, runs):
    """What `show` says is what sacct counts."""
    rows = lab.wait_for("sacct to have it", lambda: counted(lab, world, job), 60, 0.5)
    shown = world.json("show", job)["slurm_accounting"]
    check(f"{runs} runs are counted", len(rows) == runs, (rows, shown))
    for name, hours in (
        ("gpu_hours", sum(s * gpus for s, _, gpus in rows)),
        ("cpu_hours", sum(s * cpus for s, cpus, _ in rows)),
        ("node_hours", sum(s for s, _, _ in rows)),
    ):
        check(f"{name} are those of sacct", hours > 0 and abs(shown[name] - hours / 3600) < 1e-6, (name, rows, shown))
    text = world.stoker("show", job).stdout
    check("show says it in words", "GPU-hours" in text and f"in {runs} runs, as Slurm counts" in text, text)


def test_hours(lab, check):
    with SlurmWorld(lab) as world:
        (world.work / "job.yaml").write_text(
            "run: python3 trainer.py 60 --pause 0.3\nworkdir: .\n"
            "resources: {infra: slurm/gpu, cpus: 2, gpus: 1}\n"
            "slurm: {qos: long, account: vision}\n"
        )
        job = world.submit("job.yaml")
        number = world.running(job)
        told = lab.out("scontrol", "show", "job", number)
        check("Slurm was asked for that QOS", "QOS=long" in told and "Account=vision" in told, told)
        world.wait_for("some steps", lambda: world.step_of(job) >= 5, 60, 0.5)
        world.stoker("preempt", job, "--in", "10s", check=True)
        state, runs = world.ended(job, 180), world.runs(job)
        check("a job is told, and goes on", state == "Succeeded" and not whole(runs, 60, redone=2), (state, runs))
        as_counted(lab, check, world, job, 2)
        world.nothing_left(job)


def test_qos(lab, check):
    hold = "while [ ! -e {go} ]; do sleep 0.2; done"
    flags = ("--infra", "slurm", "--cpus", "2")
    with SlurmWorld(lab) as world:
        # Root has an account of its own, too, which that QOS is not for.
        world.env.update(SBATCH_QOS="long", SBATCH_ACCOUNT="vision")
        go = world.root / "go"
        first, second = (world.submit(*flags, "--", "sh", "-c", hold.format(go=go)) for _ in range(2))
        world.running(first)
        said = world.wait_for(
            "the second to say why",
            lambda: "QOS" in str(world.json("show", second)["queued"]) and str(world.json("show", second)["queued"]),
            60,
            0.5,
        )
        check("who would have more than the QOS gives waits, and says so", "QOSMaxCpuPerUserLimit" in said, said)
        go.touch()
        states = [world.ended(job) for job in (first, second)]
        check("and runs in turn", states == ["Succeeded"] * 2, states)
        for variable, word in (("SBATCH_QOS", "qos"), ("SBATCH_ACCOUNT", "account")):
            done = world.stoker("run", "--infra", "slurm", "--", "true", timeout=60, env={variable: "nowhere"})
            check(
                f"one that is not there ends the job, in Slurm's words ({word})",
                done.returncode != 0 and f"nvalid {word}" in done.stdout + done.stderr,
                done.stdout + done.stderr,
            )
        for job in (first, second):
            world.nothing_left(job)


def test_doctor(lab, check):
    with SlurmWorld(lab) as world:
        said = " ".join(world.stoker("doctor", "--infra", "slurm/gpu", timeout=120).stdout.split())
        check(
            "doctor says that hours are told",
            "ok accounting accounting_storage/slurmdbd: 'stoker show' tells node-hours and CPU-hours, and GPU-hours" in said,
            said,
        )


def test_away(lab, check):
    """Last: nothing is counted any more."""
    with SlurmWorld(lab) as world:
        job = world.train(10, "--gpus", "1", where="slurm/gpu")
        world.running(job)
        lab.stop("slurmdbd")
        check("a job does not mind that slurmdbd is away", world.ended(job, 120) == "Succeeded", world.job(job))
        shown = world.stoker("show", job)
        check(
            "show says that it cannot ask",
            shown.returncode == 0 and "accounting " not in shown.stdout and "what Slurm has counted: sacct" in shown.stderr,
            shown.stderr,
        )
        told = world.json("show", job)["slurm_accounting"]
        check("with --json, too", list(told) == ["trouble"] and "sacct" in told["trouble"], told)
        said = " ".join(world.stoker("doctor", "--infra", "slurm/gpu", timeout=120).stdout.split())
        check("so does doctor", "is on, and cannot be asked from here" in said, said)
        world.nothing_left(job)


PARTS = {"doctor": test_doctor, "hours": test_hours, "qos": test_qos, "away": test_away}


def main():
    results = Results()
    with Lab(gpus=True, accounting=True) as lab:
        for name, part in PARTS.items():
            if not sys.argv[1:] or name in sys.argv[1:]:
                results.run(name, part, lab, results.check)
        results.check("nothing of any job runs", not lab.left(), lab.left())
    results.finish()


if __name__ == "__main__":
    main()
