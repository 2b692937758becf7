#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Images of ECR, whose API moto plays, in a real registry that has a name of ECR's: with the login of Amazon's
own credential helper, and with what the user's credentials may do, where docker has no login:
roles.py podman|docker [PART...]. The role of a machine: test/cloud/container_boots.py."""

import json
import os
import pathlib
import sys

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test import cloud_env

cloud_env.enter()
from test import go_tools
from test.containers.engines import Engine, bring
from test.containers.images import Lab
from test.containers.registry import ImageRegistry, named
from test.e2e.kit import apart
from test.e2e.kit.harness import Results, World
from test.e2e.kit.job_kit import texts
from test.lab.moto_aws import MotoAws

HELPER = "github.com/awslabs/amazon-ecr-credential-helper/ecr-login/cli/docker-credential-ecr-login@v0.12.0"
HOST = "123456789012.dkr.ecr.us-east-1.amazonaws.com"
LOGIN = ("AWS", "123456789012-auth-token")  # as moto gives it
KEYS = {"AWS_ACCESS_KEY_ID": "AKIAIOSFODNN7EXAMPLE", "AWS_SECRET_ACCESS_KEY": "wJalrXUtnFEMI", "AWS_REGION": "eu-west-1"}
TELLS = "run: echo version $VERSION\n"


def asked_of(lab, job):
    return lab.world.stoker("logs", "--stream", "system", job).stdout


def helper(lab):
    """docker's configuration names Amazon's helper: here and on the machine."""
    config = lab.world.home / ".docker" / "config.json"
    config.parent.mkdir(exist_ok=True)
    config.write_text(json.dumps({"credHelpers": {HOST: "ecr-login"}}))
    digest = lab.push("team/helped:1", "helped")
    job = lab.submit(f"{HOST}/team/helped:1", TELLS)
    lab.check("helper: it ends well", lab.ended(job))
    lab.check("helper: it runs the image", "version helped" in texts(lab.world, job), lab.log(job))
    lab.check("helper: the record has the digest", digest in lab.world.stoker("show", job).stdout)
    lab.check("helper: stoker asks for no login itself", "by this machine's role" not in asked_of(lab, job), asked_of(lab, job))
    lab.log_out()


def role(lab):
    """No file has a login."""
    digest = lab.push("team/role:1", "role")
    job = lab.submit(f"{HOST}/team/role:1", TELLS)
    lab.check("role: it ends well", lab.ended(job))
    lab.check("role: it runs the image", "version role" in texts(lab.world, job), lab.log(job))
    lab.check("role: the record has the digest", digest in lab.world.stoker("show", job).stdout)
    lab.check("role: the login is said", f"a login at {HOST} by this machine's role" in asked_of(lab, job), asked_of(lab, job))
    kept = [one for one in lab.world.root.rglob("*") if one.is_file() and not one.is_symlink() and "engine" not in one.parts]
    secret = [one for one in kept if lab.registry.folder not in one.parents and LOGIN[1].encode() in one.read_bytes()]
    lab.check("role: the login is nowhere any more", not secret, secret)


def nobody(lab):
    """Without keys: one clear error, before there is any job."""
    kept = {name: lab.world.env.pop(name) for name in KEYS}
    lab.world.env["AWS_EC2_METADATA_DISABLED"] = "true"
    lab.push("team/nobody:1", "nobody")
    lab.refused("nobody", f"{HOST}/team/nobody:1", "the registry wants a login", "there is none: ", "docker login " + HOST)
    lab.world.env.update(kept)


PARTS = {one.__name__: one for one in (helper, role, nobody)}


def main():
    kind, *names = sys.argv[1:]
    for each in (kind, "registry"):
        bring(each)
    program = go_tools.tool(HELPER)  # while there is a network, as the engine below
    apart.enter()
    results = Results()
    with World(f"roles-{kind}") as world, MotoAws() as moto:
        named(world.root / "hosts", "127.0.0.1", HOST)
        engine = Engine(kind, world)
        world.env.update(engine.env, **KEYS, AWS_ENDPOINT_URL_ECR=moto.endpoint)
        world.env["PATH"] += f":{os.path.dirname(program)}"
        lab = Lab(world, engine, results.check, ImageRegistry(world.root / "registry", name=HOST, login=LOGIN))
        try:
            for name in names or PARTS:
                lab.forget()
                results.run(name, PARTS[name], lab)
        finally:
            lab.registry.stop()
            engine.close()
    results.finish()


if __name__ == "__main__":
    main()
