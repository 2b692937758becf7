#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An image that the submitter's podman builds runs on a box that ssh reaches, whose podman has
another storage: it comes through the store, or through the registry of the settings. boxes.py"""

import pathlib
import resource
import sys
import tempfile

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test import cloud_env

cloud_env.enter()
from test import go_tools, versity_s3
from test.containers.engines import SETTINGS, Engine, bring, hard
from test.containers.images import small_tree
from test.containers.registry import ImageRegistry, login_file
from test.e2e.kit import apart
from test.e2e.kit.harness import Results
from test.e2e.kit.job_kit import texts
from test.e2e.kit.pool import Pool


def storage_of_box(folder):
    """As an engine of the test has it (engines.py), in a folder of the box's; its sessions' variables."""
    folder.mkdir(parents=True)
    settings, storage = folder / "containers.conf", folder / "storage.conf"
    settings.write_text(SETTINGS % {"files": hard(resource.RLIMIT_NOFILE), "processes": hard(resource.RLIMIT_NPROC)})
    storage.write_text(f'[storage]\ndriver = "overlay"\ngraphroot = "{folder}/root"\nrunroot = "{folder}/run"\n')
    return {"CONTAINERS_CONF": str(settings), "CONTAINERS_STORAGE_CONF": str(storage)}


def built(results, here, engine):
    folder = here.work / "built"
    folder.mkdir()
    small_tree(here.root / "small.tar")
    engine.run("import", str(here.root / "small.tar"), "localhost/base:1")
    (folder / "Dockerfile").write_text("FROM localhost/base:1\nENV VERSION=built\nCOPY words /words\n")
    (folder / "words").write_text("first\n")
    (folder / "job.yaml").write_text('name: built\nworkdir: .\ncontainer: {dockerfile: Dockerfile}\nrun: echo "$VERSION $(cat /words)"\n')
    logs = []
    for number in range(2):
        job = here.submit("job.yaml", "--infra", "ssh/lab", cwd=folder, timeout=240)
        done = here.stoker("wait", job, timeout=240)
        logs.append(here.stoker("logs", job).stdout)
        results.check(f"{number}: it runs on the box", done.returncode == 0 and "built first" in texts(here, job), logs[-1])
    results.check("it comes from the store", "comes from the store" in logs[0], logs[0])
    results.check("once a machine", "comes from the store" not in logs[1], logs[1])


def pushed(results, here, engine, registry, home):
    """`home`: the box's."""
    work = here.work / "built"
    here.stoker("config", "set", "registry", f"{registry.host}/team/made", check=True)
    registry.trust(here.home)
    registry.trust(home)
    (work / "words").write_text("second\n")
    done = here.stoker("run", "-d", "job.yaml", "--infra", "ssh/lab", cwd=work, timeout=240)
    said = done.stdout + done.stderr
    results.check("without a login it is refused, in words", done.returncode != 0 and "the registry wants a login" in said, said)
    results.check("with what to do", f"podman login {registry.host}" in said and "unset registry" in said, said)
    for one in (here.home, home):
        login_file(one / ".docker" / "config.json", registry.host)
    for number in range(2):
        before = len(registry.asked())
        job = here.submit("job.yaml", "--infra", "ssh/lab", cwd=work, timeout=240)
        here.stoker("wait", job, timeout=240)
        log = here.stoker("logs", job).stdout
        results.check(f"pushed {number}: it runs on the box", "built second" in texts(here, job), log)
        shown = here.stoker("show", job).stdout
        results.check(f"pushed {number}: the record has its digest", f"{registry.host}/team/made@sha256:" in shown, shown)
        results.check(f"pushed {number}: nothing comes from the store", "comes from the store" not in log, log)
        puts = [one for one in registry.asked()[before:] if one.startswith("PUT /v2/team/made/manifests/")]
        results.check(f"pushed {number}: once for the same code", len(puts) == (number == 0), puts)


def main():
    bring("podman")
    bring("registry")
    go_tools.tool(versity_s3.MODULE)  # made, where it is not there, while there is a network
    apart.enter()
    results = Results()
    with tempfile.TemporaryDirectory(prefix="stoker-boxes-") as scratch, versity_s3.VersityS3(host="0.0.0.0") as server:
        box = storage_of_box(pathlib.Path(scratch) / "box1" / "engine")
        pool = Pool(server, scratch, boxes=1, more=box)
        try:
            with pool.submitter("here") as here:
                engine = Engine("podman", here)
                here.env.update({**engine.env, "PATH": here.env["PATH"] + ":/usr/sbin:/sbin"})
                try:
                    results.run("built", built, results, here, engine)
                    registry = ImageRegistry(pathlib.Path(scratch) / "registry", "10.77.1.1")
                    try:
                        results.run("pushed", pushed, results, here, engine, registry, pool.boxes[0].sshd.home)
                    finally:
                        registry.stop()
                finally:
                    engine.close()
        finally:
            pool.close()
    results.finish()


if __name__ == "__main__":
    main()
