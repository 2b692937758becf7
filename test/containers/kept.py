# SPDX-License-Identifier: Apache-2.0
"""An environment that is built in a container of one machine and taken out of the store in one of another, which asks no index; in one of
another image it is built. kept.py podman|docker."""

import importlib.util
import os
import pathlib
import sys
import tarfile

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test import cloud_env

cloud_env.enter()
from test.containers.engines import Engine, image, libraries
from test.e2e.kit.harness import Results
from test.e2e.ran.kept_environments import UV, Index, begun, ended, kept, machine, ran_well, wheel
from test.versity_s3 import VersityS3


def with_uv(engine, folder, name, mark):
    """An image that has pip and uv beside its Python."""
    tree, uv = folder / "image.tar", os.path.join(UV, "uv")
    image(tree)
    with tarfile.open(tree, "a") as tar:
        tar.add(os.path.realpath(uv), "usr/bin/uv")
        tar.add(os.path.dirname(importlib.util.find_spec("pip").origin), "usr/lib/python3/dist-packages/pip")
        for file in libraries(uv):
            if file.lstrip("/") not in tar.getnames():
                tar.add(os.path.realpath(file), file.lstrip("/"))
        (folder / "mark").write_text(mark)
        tar.add(folder / "mark", "etc/mark")
    engine.run("import", str(tree), name)
    tree.unlink()


def boxed(world, name, of):
    volumes = f"volumes: ['{world.evidence}:{world.evidence}']"
    (world.work / "job.yaml").write_text(
        f"container: {{image: {of}, engine: {world.engine}, {volumes}}}\nworkdir: .\nrun: python3 prog.py\n"
    )
    return begun(world, name, "job.yaml")


def main():
    results = Results()
    with VersityS3() as server:
        folder = pathlib.Path(server.root) / "wheels"
        folder.mkdir()
        says = wheel(folder)
        index = Index(folder)
        here, there = worlds = [machine(f"kept-in-{n}", server, index, says) for n in ("here", "there")]
        engine = Engine(sys.argv[1], here)
        try:
            for name in ("one", "two"):
                with_uv(engine, folder, f"localhost/{name}:1", name)
            for world in worlds:
                world.engine = engine.name
                world.env.update({name: value for name, value in engine.env.items() if name != "HOME"})
            job, go = boxed(here, "one", "localhost/one:1")
            kept(here, job)
            code, text = ended(here, job, go)
            results.check("built in a container, and kept", ran_well(here, code, text) and "is kept in the store" in text, text)
            index.away, before = True, index.asked
            code, text = ended(there, *boxed(there, "two", "localhost/one:1"))
            good = ran_well(there, code, text) and "comes from the store" in text and index.asked == before
            results.check("in a container of another machine it comes from the store, and no index is asked", good, text)
            index.away = False
            code, text = ended(there, *boxed(there, "three", "localhost/two:1"))
            results.check("in another image it is built", ran_well(there, code, text) and "from the store" not in text, text)
        finally:
            engine.close()
            for world in worlds:
                world.close()
    results.finish()


main()
