#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Files with every name that a file system takes, through outputs and checkpoints and back, byte
for byte: with a local folder, S3 (moto) and Google Cloud Storage (fake-gcs-server) as the store."""

import argparse
import pathlib
import shutil
import sys

HERE = pathlib.Path(__file__).parent
sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test import cloud_env

cloud_env.enter()
from test import fake_gcs, moto_s3
from test.e2e.kit import hostile_names
from test.e2e.kit.harness import PYTHON, Results, World

# The first attempt plants them and fails once its checkpoint is kept; the second must find them.
JOB = """
name: names
workdir: .
run: |
  {python} - <<'END'
  import os, pathlib, sys, time
  import hostile_names
  kept = pathlib.Path(os.environ["STOKER_CHECKPOINT_DIR"])
  if os.environ["STOKER_ATTEMPT"] == "1":
      (kept / "step-1").mkdir()
      hostile_names.plant(kept / "step-1")
      while not pathlib.Path("{go}").exists():
          time.sleep(0.1)
      sys.exit(1)
  names = hostile_names.NAMES
  expected = {{b"step-1/" + n: hostile_names.content(n) for n in names}}
  print(hostile_names.differences(expected, hostile_names.read(kept)))
  pathlib.Path("out").mkdir(exist_ok=True)
  hostile_names.plant("out")
  END
outputs: [out]
job_recovery: {{max_restarts_on_errors: 1}}
"""


def carried(results, world, where):
    expected = {name: hostile_names.content(name) for name in hostile_names.NAMES}
    shutil.copy(HERE / "kit" / "hostile_names.py", world.work)
    go = world.evidence / "go"
    (world.work / "job.yaml").write_text(JOB.format(python=PYTHON, go=go))
    job = world.submit("job.yaml")
    ended = ("Succeeded", "Failed", "Cancelled")
    world.wait_for("a checkpoint", lambda: world.json("checkpoints", job) or world.job(job)["state"] in ended, every=0.5)
    kept = world.json("checkpoints", job)
    if not results.check(f"{where}: a checkpoint", kept, world.json("show", job)):
        return
    files = max(one["files"] for one in kept)
    results.check(f"{where}: one checkpoint of all", files == len(expected), kept)
    go.touch()
    code = world.stoker("wait", job, timeout=90).returncode
    shown = world.json("show", job)
    results.check(f"{where}: it ends well", code == 0, shown)
    troubles = [r["trouble"] for r in shown["reports"] if r.get("trouble")]
    results.check(f"{where}: nothing is left out", not troubles, troubles)
    log = world.stoker("logs", job, "--attempt", "2", check=True).stdout
    results.check(f"{where}: an attempt finds what the one before saved", "\n[]" in "\n" + log, log)
    world.stoker("get", job, "out", "got", check=True, timeout=90)
    world.stoker("get", job, "checkpoint", "saved", check=True, timeout=90)
    for what, folder in (("outputs", "got/out"), ("a checkpoint", "saved/step-1")):
        odd = hostile_names.differences(expected, hostile_names.read(world.work / folder))
        results.check(f"{where}: {what}, byte for byte", not odd, odd)
    listed = world.json("get", job, "--list")
    results.check(f"{where}: all are listed", len(listed) == len(expected), len(listed))


def left_out(results):
    """What cannot be kept is named wherever its owner looks, and the rest is kept."""
    with World("leftout") as world:
        script = "mkdir out; mkfifo out/pipe; echo 1 > out/.tmpfile; ln -s /etc/passwd out/away"
        told = world.json("run", "--output", "out", "--", "sh", "-c", script)
        troubles = " ".join(told["troubles"])
        named = all(f"'out/{name}' is not kept" in troubles for name in ("pipe", "away"))
        results.check("left out: the result names it", named, told["troubles"])
        job = told["job"]["id"]
        shown = world.stoker("show", job, check=True).stdout
        results.check("left out: so does show", "'out/pipe' is not kept" in shown, shown)
        log = world.stoker("logs", job, "--stream", "system", check=True).stdout
        results.check("left out: so does the log", log.count("'out/pipe' is not kept") == 1, log)
        kept = [one["path"] for one in world.json("get", job, "--list")]
        results.check("left out: the rest is kept", kept == ["out/.tmpfile"], kept)
        for what, declared in (("a pattern", ["--output", "out/*"]), ("nothing declared", [])):
            script = "mkdir -p out output; touch out/1; mkfifo output/pipe out/line"
            told = world.json("run", *declared, "--", "sh", "-c", script)
            troubles = " ".join(told["troubles"])
            named = all(f"'{path}' is not kept" in troubles for path in ("output/pipe", "out/line"))
            results.check(f"left out: {what}: the result names pipes", named, told["troubles"])


def on(results, where, server=None, store=None):
    with World("names") as world:
        if server:
            world.env.update(server.env())
            world.stoker("config", "set", "store", store, check=True)
        results.run(f"{where}: done", carried, results, world, where)


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--on", choices=["folder", "s3", "gs"], action="append")
    chosen = arguments.parse_args().on or ["folder", "s3", "gs"]
    results = Results()
    if "folder" in chosen:
        on(results, "folder")
        results.run("left out: done", left_out, results)
    if "s3" in chosen:
        with moto_s3.MotoS3() as server:
            on(results, "s3", server, f"s3://{moto_s3.BUCKET}/team")
    if "gs" in chosen:
        with fake_gcs.FakeGcs() as server:
            on(results, "gs", server, f"gs://{fake_gcs.BUCKET}/team")
    results.finish()


if __name__ == "__main__":
    main()
