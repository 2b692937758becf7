# SPDX-License-Identifier: Apache-2.0
"""What a job's program ran with: Python, packages, machine and variables, in `show --env` and
`compare`; no secret among them. Without a network: packages are the names of their metadata."""

import json
import pathlib
import shutil
import subprocess
import sys

sys.path[0] = str(pathlib.Path(__file__).parents[3])

from test.e2e.kit.harness import PYTHON, Results, World

SECRET = "hf_" + "aB3dE5gH7jK9" * 3
WAITS = "import time; print('begun', flush=True); time.sleep({})\n"


def venv(folder, **packages):
    """A virtual environment of `folder` with `packages`, by name and version."""
    subprocess.run([PYTHON, "-m", "venv", "--without-pip", folder], check=True)
    site = next(folder.glob("lib/python*/site-packages"))
    for name, version in packages.items():
        (site / f"{name}-{version}.dist-info").mkdir()
    return folder


def shown(world, job, *flags):
    done = world.stoker("show", "--env", *flags, job)
    assert done.returncode == 0, done.stderr
    return done.stdout


def packages_and_variables(results, world):
    one = venv(world.root / "one", numpy="1.26.4", torch="2.3.0")
    two = venv(world.root / "two", numpy="2.0.1", torch="2.3.0", extra_thing="1.0")
    (world.work / "train.py").write_text(WAITS.format(2))
    env = {"OMP_NUM_THREADS": "3", "HF_TOKEN": SECRET, "MY_OWN": "quiet-value"}
    done = world.stoker(
        "run",
        "--name",
        "first",
        "--secret",
        "HF_TOKEN",
        "--shell-env",
        "all",
        "--env",
        "LR=0.1",
        "--",
        str(one / "bin" / "python"),
        "train.py",
        env=env,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    # By way of a script that activates another one.
    done = world.stoker("run", "--no-shell-env", "--name", "second", "--", "sh", "-c", f". {two}/bin/activate; python train.py", timeout=60)
    assert done.returncode == 0, done.stderr
    text = shown(world, "first")
    version = subprocess.run(
        [PYTHON, "-c", "import sys; print(sys.version.split()[0])"], capture_output=True, text=True, check=True
    ).stdout.strip()
    results.check("Python is told, with its version", f"{version}, {one}/bin/python" in text, text)
    results.check("packages are", "numpy==1.26.4" in text and "torch==2.3.0" in text, text)
    results.check("so are kernel and stoker", "kernel" in text and "stoker" in text, text)
    results.check("values of the job and of the list", "LR=0.1" in text and "OMP_NUM_THREADS=3" in text, text)
    results.check("of other variables the names", "MY_OWN  (its value is not kept)" in text, text)
    results.check("of secrets, too", "HF_TOKEN=***" in text, text)
    text = shown(world, "second")
    results.check("an environment that the script activates is the one", f"{two}/bin/python" in text, text)
    ledger = world.state / "ledger"
    everything = b"".join(path.read_bytes() for path in ledger.rglob("*") if path.is_file() and "blobs" not in path.parts)
    results.check("no secret in the ledger", SECRET.encode() not in everything and b"quiet-value" not in everything)
    story = world.stoker("show", "first").stdout
    results.check("the story has a line of it", f"ran with    Python {version}, 2 packages, kernel" in story, story)
    compared = world.stoker("compare", "first", "second").stdout
    for part in ("PACKAGES", "extra-thing", "1.26.4", "2.0.1", "interpreter", "OMP_NUM_THREADS"):
        results.check(f"compare names {part}", part in compared, compared)
    results.check("and not what is the same", "torch" not in compared, compared)
    jobs = json.loads(world.stoker("compare", "first", "second", "--json").stdout)
    results.check("in JSON it is whole", jobs[0]["ran"]["packages"]["torch"] == "2.3.0", jobs)


def many_attempts(results, world):
    where = venv(world.root / "many", numpy="1.26.4")
    (world.work / "train.py").write_text("import os, sys, time; time.sleep(1.5); sys.exit(int(os.environ['STOKER_ATTEMPT']) < 3)\n")
    (world.work / "job.yaml").write_text(
        f"name: many\nworkdir: .\nrun: {where}/bin/python train.py\nresources: {{job_recovery: {{max_restarts_on_errors: 5}}}}\n"
    )
    done = world.stoker("run", "job.yaml", timeout=90)
    assert done.returncode == 0, done.stdout + done.stderr
    told = json.loads(shown(world, "many", "--json"))
    results.check("each attempt tells it", [one["attempt"] for one in told["ran"]] == [1, 2, 3], done.stderr)
    results.check("and the packages lie there once", len(told["packages"]) == 1, told["packages"])
    text = shown(world, "many")
    results.check("an attempt with the same is said so", "attempt 1: the same" in text, text)


def nodes(results, world):
    (world.work / "train.py").write_text("import time; time.sleep(2)\n")
    (world.work / "job.yaml").write_text("name: two\nworkdir: .\nnum_nodes: 2\nsetup: 'true'\nrun: python train.py\n")
    done = world.stoker("run", "job.yaml", timeout=90)
    assert done.returncode == 0, done.stdout + done.stderr
    text = shown(world, "two")
    results.check("each node tells it", "attempt 1, node 1: the same" in text, text)


def short_and_old(results, world):
    (world.work / "train.py").write_text("print(1)\n")
    done = world.stoker("run", "--name", "short", "--", PYTHON, "train.py", timeout=60)
    assert done.returncode == 0, done.stderr
    text = shown(world, "short")
    results.check("of one that ended at once it is said how it is known", f"{PYTHON} (as its PATH has it" in text, text)
    job = json.loads(shown(world, "short", "--json"))["job"]
    shutil.rmtree(world.state / "ledger" / "jobs" / job / "ran")
    text = shown(world, "short")
    results.check("an old job says that it is not known", "ran with is not known" in text, text)


def main():
    results = Results()
    for test in (packages_and_variables, many_attempts, nodes, short_and_old):
        if sys.argv[1:] and test.__name__ not in sys.argv[1:]:
            continue
        with World("ran") as world:
            results.run(test.__name__, test, results, world)
    results.finish()


main()
