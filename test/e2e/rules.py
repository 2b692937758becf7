# SPDX-License-Identifier: Apache-2.0
"""What a program gets, and the rules that end or restart it: environment, limits, restarts,
requirements.txt, out of memory."""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test.e2e.kit.harness import PYTHON, World, patience, play

PROGRAMS = pathlib.Path(__file__).parent / "programs"
MEMORY = pathlib.Path("/sys/fs/cgroup/memory")


def folder(world, name, **files):
    path = world.root / name
    path.mkdir()
    for file, text in files.items():
        (path / file.replace("__", ".")).write_text(text)
    return path


def test_environment(results, world):
    work = folder(
        world,
        "tell",
        job__yaml=f"""
name: tell
workdir: .
num_nodes: 2
envs: {{MINE: "a b", EVIDENCE: {world.evidence}, WANDB_MODE: offline}}
hyperparameters: {{epochs: 20, lr: 0.1, opt: adam, layers: [64, 32]}}
setup: env > {world.evidence}/setup-$SKYPILOT_SETUP_NODE_RANK
run: exec {PYTHON} tell.py one "two words"
""",
    )
    shutil.copy(PROGRAMS / "tell.py", work)
    job = world.submit("job.yaml", cwd=work, env={"MY_PRIVATE_TOKEN": "do not take along", "LD_PRELOAD": ""})
    done = world.stoker("wait", job)
    results.check("environment: the job", done.returncode == 0, done.stdout + done.stderr + world.stoker("logs", job).stdout)
    nodes = [json.loads((world.evidence / f"{rank}.json").read_text()) for rank in (0, 1)]
    ips = nodes[0]["env"]["STOKER_NODE_IPS"].split("\n")
    results.check("environment: two addresses", len(set(ips)) == 2 and all(ip.startswith("127.") for ip in ips), ips)
    results.check(
        "environment: the master's port works on the master's address", [n["port"] for n in nodes] == ["", ""], [n["port"] for n in nodes]
    )
    for rank, node in enumerate(nodes):
        check_node(results, job, rank, node, ips)
    setup = (world.evidence / "setup-1").read_text().split("\n")
    results.check(
        "environment: setup has its names",
        {"SKYPILOT_SETUP_NODE_RANK=1", "MINE=a b", "STOKER_NUM_NODES=2"} <= set(setup)
        and not any(line.startswith("MASTER_") for line in setup),
        setup,
    )


def check_node(results, job, rank, node, ips):
    env, cwd = node["env"], node["cwd"]
    expected = {
        "STOKER_JOB_ID": job,
        "STOKER_JOB_NAME": "tell",
        "STOKER_ATTEMPT": "1",
        "STOKER_NODE_RANK": str(rank),
        "STOKER_NUM_NODES": "2",
        "STOKER_RESUME": "0",
        "STOKER_NODE_IPS": "\n".join(ips),
        "STOKER_CHECKPOINT_DIR": f"{cwd}/checkpoints",
        "STOKER_OUTPUT_DIR": f"{cwd}/output",
        "STOKER_MODEL_DIR": f"{cwd}/model",
        "MASTER_ADDR": ips[0],
        "NODE_RANK": str(rank),
        "NNODES": "2",
        "NODES": f"{job.lower()}-0 {job.lower()}-1",
        "NUM_NODES": "2",
        "PET_NNODES": "2",
        "PET_NODE_RANK": str(rank),
        "PET_MASTER_ADDR": ips[0],
        "PET_MASTER_PORT": env.get("MASTER_PORT"),
        "PET_NPROC_PER_NODE": "1",
        "SKYPILOT_NODE_RANK": str(rank),
        "SKYPILOT_NODE_IPS": "\n".join(ips),
        "SKYPILOT_NUM_NODES": "2",
        "SKYPILOT_NUM_GPUS_PER_NODE": "0",
        "MINE": "a b",
        "WANDB_MODE": "offline",
        "STOKER_HP_epochs": "20",
        "STOKER_HP_lr": "0.1",
        "STOKER_HP_opt": "adam",
        "PYTHONUNBUFFERED": "1",
    }
    wrong = {name: env.get(name) for name, value in expected.items() if env.get(name) != value}
    results.check(f"environment: every name on node {rank}", not wrong, wrong)
    results.check(
        f"environment: parameters as JSON on node {rank}",
        json.loads(env["STOKER_HPS"]) == {"epochs": 20, "lr": 0.1, "opt": "adam", "layers": [64, 32]},
        env["STOKER_HPS"],
    )
    strays = {
        "MY_PRIVATE_TOKEN",
        "LD_PRELOAD",
        "RANK",
        "WORLD_SIZE",
        "LOCAL_RANK",
        "SM_TRAINING_ENV",
        "TF_CONFIG",
        "AIP_MODEL_DIR",
        "NO_COLOR",
    } & set(env)
    results.check(f"environment: nothing else on node {rank}", not strays and not any(n.startswith("STOKER__") for n in env), strays)
    results.check(
        f"environment: arguments and folder on node {rank}",
        node["argv"] == ["one", "two words"] and {"tell.py", "job.yaml"} <= set(node["files"]),
        [node["argv"], node["files"]],
    )


def ended(world, *args, **kwargs):
    """Runs a job to its end: (exit code, record, seconds)."""
    begun = time.monotonic()
    done = world.stoker("run", *args, **kwargs)
    return done.returncode, world.job("-"), time.monotonic() - begun


def test_limits(results, world):
    code, job, took = ended(
        world, "--max-duration", "2s", "--stop-grace", "1s", "--", "sh", "-c", "trap '' TERM; while :; do sleep 0.1; done"
    )
    results.check(
        "max_duration",
        code == 1 and job["state"] == "Failed" and job["result"]["reason"] == "TimedOut" and 2 <= took < patience(12),
        [code, took, job.get("result")],
    )
    code, job, took = ended(
        world, "--stall", "2s", "--stop-grace", "1s", "--", "sh", "-c", "for i in 1 2 3 4 5 6; do echo $i; sleep 0.5; done; sleep 60"
    )
    results.check(
        "stall: not while it prints, then soon",
        code != 0 and job["state"] == "Failed" and 4.4 < took < patience(14) and "no output" in job["result"]["why"],
        [code, took, job.get("result")],
    )
    code, job, took = ended(world, "--max-duration", "30s", "--stall", "20s", "--", "sh", "-c", "sleep 1; exit 6")
    results.check("limits: not reached", code == 6 and job["result"]["reason"] == "UserError", [code, job.get("result")])


def runs(world, name):
    path = world.evidence / name
    return len(path.read_text().split()) if path.exists() else 0


def test_restarts(results, world):
    path = world.evidence / "counted"
    code, job, _ = ended(world, "--max-restarts", "1", "--", "sh", "-c", f"echo x >> {path}; exit 3")
    results.check(
        "max_restarts_on_errors",
        code == 3 and runs(world, "counted") == 2 and job["error_restarts"] == 1 and len(job["attempts"]) == 2,
        [code, runs(world, "counted"), job],
    )
    code, job, _ = ended(world, "--", "sh", "-c", f"echo x >> {path}-once; exit 3")
    results.check("a failing program is not run again by itself", code == 3 and runs(world, "counted-once") == 1, job)
    work = folder(
        world,
        "codes",
        job__yaml=f"""
run: |
  echo x >> {path}-codes
  if test $(wc -l < {path}-codes) -lt 3; then exit 42; fi
resources: {{job_recovery: {{recover_on_exit_codes: 42}}}}
""",
    )
    code, job, _ = ended(world, "job.yaml", cwd=work, timeout=90)
    results.check(
        "recover_on_exit_codes",
        code == 0 and job["state"] == "Succeeded" and runs(world, "counted-codes") == 3 and job["error_restarts"] == 0,
        [code, job],
    )


def test_requirements(results, world):
    """./pkg, so that nothing is fetched; the system's setuptools builds it."""
    work = folder(
        world,
        "venv",
        requirements__txt="--no-index\n--no-build-isolation\n./pkg  # ours\n".replace("--no-build-isolation\n", ""),
        train__py="import tinypkg\nprint('version', tinypkg.VERSION, tinypkg.__file__)\n",
    )
    pkg = folder(world, "venv/pkg", setup__py="from setuptools import setup\nsetup(name='tinypkg', version='1', py_modules=['tinypkg'])\n")
    (pkg / "tinypkg.py").write_text("VERSION = 1\n")
    seen = []
    for change in ("", "", "VERSION = 2\n"):
        if change:
            (pkg / "tinypkg.py").write_text(change)
        begun = time.monotonic()
        # Building in a fresh environment would fetch setuptools: pip must use the one here.
        done = world.stoker(
            "run", "--env", "PIP_NO_BUILD_ISOLATION=0", "--env", "PATH=/usr/bin:/bin", "--", "python3", "train.py", cwd=work, timeout=100
        )
        log = world.stoker("logs", "-", "--stream", "system").stdout
        seen.append(
            (
                done.returncode,
                re.findall(r"^version (\d)", done.stdout, re.M),
                "making a virtual environment" in log,
                time.monotonic() - begun,
            )
        )
    print(f"      requirements.txt: {[f'{took:.1f} s' for *_, took in seen]}", flush=True)
    results.check(
        "requirements.txt: installed in a virtual environment",
        seen[0][:3] == (0, ["1"], True) and str(world.home / ".cache") in done.stdout,
        f"{seen} {done.stdout} {done.stderr} {log[-1500:]}",
    )
    results.check("requirements.txt: the second run finds it", seen[1][:3] == (0, ["1"], False), seen)
    results.check("requirements.txt: another ./pkg, another environment", seen[2][:3] == (0, ["2"], True), seen)
    (work / "requirements.txt").write_text("--no-index\nno-such-package-here\n")
    done = world.stoker("run", "--", "true", cwd=work)
    job = world.job("-")
    results.check(
        "requirements.txt: one that cannot be is the job's fault",
        done.returncode == 1 and job["state"] == "Failed" and len(job["attempts"]) == 1 and "requirements.txt" in done.stderr,
        done.stderr,
    )


def memory_group():
    """A memory limit (cgroup version 1) for what this process starts next, or why there is none."""
    group = MEMORY / f"stoker-test-{os.getpid()}"
    try:
        group.mkdir()
        (group / "memory.limit_in_bytes").write_text(str(320 << 20))
    except OSError as error:
        return None, str(error)
    return group, ""


def test_out_of_memory(results, world):
    group, why = memory_group()
    if group is None:
        print(f"skipped: out of memory with the real kernel: {why} (sys_task_test has the judging)")
        return
    eater = "import time\nkept = []\nprint('eating', flush=True)\nwhile True: kept.append(bytearray(8 << 20)); time.sleep(0.01)\n"
    enter = f'echo $$ > {group}/cgroup.procs && exec "$@"'
    try:
        done = subprocess.run(
            ["sh", "-c", enter, "sh", world.binary, "run", "--", PYTHON, "-c", eater],
            cwd=world.work,
            env=world.env,
            capture_output=True,
            text=True,
            timeout=patience(60),
        )
        result = world.job("-")["result"]
        results.check(
            "out of memory is recorded as such",
            done.returncode == 137
            and result.get("out_of_memory") is True
            and result["signal"] == signal.SIGKILL
            and "out of memory" in world.stoker("show", "-").stdout,
            f"{done.returncode} {result} {done.stderr}",
        )
        world.wait_for("its machine is gone", lambda: not world.instances(), timeout=20)
    finally:
        time.sleep(0.5)
        for pid in (group / "cgroup.procs").read_text().split():
            (MEMORY / "cgroup.procs").write_text(pid)
        group.rmdir()
    code, job, _ = ended(world, "--", "sh", "-c", "kill -KILL $$")
    results.check(
        "a SIGKILL from somebody is not out of memory",
        code == 137 and not job["result"].get("out_of_memory") and job["result"]["why"].startswith("killed by signal 9, not by stoker"),
        job["result"],
    )


def test_words(results, world):
    done = world.stoker("run", "--", "sh", "-c", "sleep 60 & echo hello")
    lines = done.stderr.split("\n\n")[0].splitlines()
    log = world.stoker("logs", "-", "--stream", "system").stdout
    results.check(
        "words: two lines before the program's first, the second with who looks after the job",
        done.stdout.startswith("hello\n")
        and [line.split(" ")[1] for line in lines[:2]] == ["packed", "job"]
        and lines[1].endswith(" · no timer"),
        done.stdout + done.stderr,
    )
    results.check(
        "words: what is left running is counted, once as it happens and once at the end",
        "left 1 process behind" in log and done.stderr.count("left 1 process behind") == 2,
        log + done.stderr,
    )
    work = folder(world, "phases", job__yaml="name: phases\nworkdir: .\noutputs: [never]\nsetup: sleep 3\nrun: sleep 0.3\n")
    job = world.submit("job.yaml", cwd=work)
    world.wait_for("its phase", lambda: "Pending, setup" in world.stoker("ls").stdout, timeout=30)
    world.stoker("wait", job)
    first, second = (world.stoker("ls").stderr for _ in range(2))
    results.check(
        "words: a note of an ended job is shown once",
        f"{job}: declared and never came: never" in first and job not in second,
        first + second,
    )


def test_nothing_left(results, world):
    world.wait_for("no instance", lambda: not world.instances())


if __name__ == "__main__":
    play(globals(), World("rules"))
