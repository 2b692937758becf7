#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""An image that the submitter's podman builds runs on a box that ssh reaches, whose podman has
another storage: it comes through the store. boxes.py"""

import pathlib
import resource
import sys
import tempfile

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test import cloud_env

cloud_env.enter()
from test import go_tools, versity_s3
from test.containers.engines import SETTINGS, Engine, hard
from test.containers.images import small_tree
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


def main():
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
                finally:
                    engine.close()
        finally:
            pool.close()
    results.finish()


if __name__ == "__main__":
    main()
