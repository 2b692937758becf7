# SPDX-License-Identifier: Apache-2.0
"""`setup: {run: …, cache: [FILES]}`: what setup made is used again as long as its text and files
are the same; never of one that failed or was killed."""

import pathlib
import sys

sys.path[0] = str(pathlib.Path(__file__).parents[3])

from test.e2e.kit.harness import Results, World, end_holders

# Notes each run outside of the work directory, fails or waits where it is told to.
SETUP = """\
set -e
echo run >> "{notes}/runs"
if [ -e "{notes}/fail" ]; then exit 3; fi
site=$(python -c 'import sysconfig; print(sysconfig.get_paths()["purelib"])')
echo "V = '$(cat version.txt)'" > "$site/half.py"
if [ -e "{notes}/wait" ]; then touch "{notes}/waits"; sleep 60; fi
echo "V = '$(cat version.txt)'" > "$site/made.py"
mkdir -p native; echo built > native/lib.so; rm -f gone.txt
echo "WHERE=$PWD/native" >> "$STOKER_ENV"
"""
RUN = 'python -c \'import made; print("made", made.V)\'; cat "$WHERE/lib.so"; test ! -e gone.txt; pwd'


def job(world, cache="[version.txt]", **more):
    notes = world.root / "notes"
    notes.mkdir(exist_ok=True)
    setup = "".join(f"    {line}\n" for line in SETUP.format(notes=notes).splitlines())
    text = f"name: cached\nworkdir: .\nsetup:\n  run: |\n{setup}  cache: {cache}\nrun: |\n  {RUN}\n"
    (world.work / "job.yaml").write_text(text + "".join(f"{key}: {value}\n" for key, value in more.items()))
    (world.work / "version.txt").touch()
    (world.work / "gone.txt").write_text("packed")


def runs(world):
    path = world.root / "notes" / "runs"
    return len(path.read_text().splitlines()) if path.exists() else 0


def run(world, *flags):
    done = world.stoker("run", *flags, "job.yaml", timeout=120)
    said = world.stoker("logs", "-", "--stream", "system").stdout
    return done, said


def hit_and_miss(results, world):
    (world.work / "version.txt").write_text("1")
    job(world)
    done, said = run(world)
    results.check("the first one runs, and is kept", done.returncode == 0 and "what setup made is kept as" in said, said)
    done, said = run(world)
    results.check("the next one does not run", runs(world) == 1, said)
    results.check("and says so, with its key", "setup is not run: what it made" in said, said)
    results.check("its packages, files and variables are there", "made 1" in done.stdout and "built" in done.stdout, done.stdout)
    results.check("in the new work directory", done.returncode == 0, done.stdout + done.stderr)
    (world.work / "other.txt").write_text("x")
    run(world)
    results.check("a file that is not named does not count", runs(world) == 1)
    (world.work / "version.txt").write_text("2")
    done, said = run(world)
    results.check("one that is does", runs(world) == 2 and "made 2" in done.stdout, done.stdout + said)
    (world.work / "version.txt").write_text("1")
    done, said = run(world)
    results.check("the one before is still there", runs(world) == 2 and "made 1" in done.stdout, said)
    done = world.stoker("retry", "-", timeout=120)
    results.check("a retry keeps it", runs(world) == 2, done.stderr)
    job(world, cache="[versoin.txt]")
    done, said = run(world)
    results.check(
        "a file that is not there is refused", done.returncode != 0 and "setup.cache names versoin.txt" in done.stderr, done.stderr
    )


def failed(results, world):
    (world.work / "version.txt").write_text("1")
    job(world)
    fail = world.root / "notes" / "fail"
    fail.touch()
    done, said = run(world)
    results.check("a setup that fails ends the job", done.returncode != 0, done.stderr)
    fail.unlink()
    done, said = run(world)
    results.check("and is not kept", done.returncode == 0 and runs(world) == 2, said)


def killed(results, world):
    (world.work / "version.txt").write_text("1")
    job(world)
    notes = world.root / "notes"
    (notes / "wait").touch()
    world.submit("job.yaml")
    world.wait_for("setup to wait", (notes / "waits").exists, timeout=60)
    (notes / "wait").unlink()
    # With its holder all of a machine ends.
    for instance in world.instances():
        end_holders(instance)
    done = world.stoker("wait", "-", timeout=120)
    results.check("the next attempt runs it again", done.returncode == 0 and runs(world) == 2, done.stdout + done.stderr)
    logs = world.stoker("logs", "-", "--stream", "system").stdout
    results.check("of a killed one nothing counts", "setup is not run" not in logs, logs)
    done, said = run(world)
    results.check("the whole one does", runs(world) == 2 and "setup is not run" in said, said)


def main():
    results = Results()
    for test in (hit_and_miss, failed, killed):
        if sys.argv[1:] and test.__name__ not in sys.argv[1:]:
            continue
        with World("setup") as world:
            results.run(test.__name__, test, results, world)
    results.finish()


main()
