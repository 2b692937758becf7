# SPDX-License-Identifier: Apache-2.0
"""Ten secrets through a job of this machine whose ledger is a bucket: with packages out of a private
index and a private repository, an environment that is kept in the store, a log that has them in every
form, and a program that dies with them in its memory. Then they are looked for where others can read."""

import os
import pathlib
import sys

sys.path[0] = str(pathlib.Path(__file__).parents[3])

from test import cloud_env

cloud_env.enter()
from test.e2e.kit import planted
from test.e2e.kit.harness import World, play
from test.e2e.kit.private_servers import Git, Index, repository, sdist, source, wheel
from test.versity_s3 import VersityS3

UV = os.path.join(cloud_env.folder(os.path.join(cloud_env.HERE, "requirements-uv.txt")), "bin")
CONTROL = "seen-by-all-41"  # no secret
PROGRAM = (
    planted.TELLS
    + """
open("output/result", "w").write("42")
with open("checkpoints/new", "w") as out: out.write("1")
os.rename("checkpoints/new", "checkpoints/step_1.txt")
while not os.path.exists(os.environ["GO"]): time.sleep(0.05)
"""
)


class Bucketed(World):
    def __init__(self, server):
        super().__init__("planted")
        self.server = server
        self.env.update(server.env())
        tools = self.root / "tools"
        tools.mkdir()
        (tools / "uv").symlink_to(os.path.join(UV, "uv"))
        self.env["PATH"] = f"{tools}:/usr/bin:/bin"
        self.stoker("config", "set", "store", f"s3://{server.bucket}/team", check=True)
        self.env.update(planted.SECRETS)
        self.program(PROGRAM)
        (self.work / "forms").write_text(planted.packed_forms())

    def needs(self, more="", **wrong):
        """A private index, where a package must be built with another one, and a private repository.
        `wrong`: of one of them, the password that it knows."""
        files = {"ready-1.0-py3-none-any.whl": wheel("ready"), "built-1.0.tar.gz": sdist("built", "ready")}
        index = Index.serve("127.0.0.1", password=wrong.get("index", planted.SECRETS["PIP_PASSWORD"]), files=files, slow=0.1)
        repository(self.root / "git", "fromgit", source("fromgit", "ready"))
        knows = wrong.get("git", planted.SECRETS["GIT_TOKEN"])
        git = Git.serve("127.0.0.1", password=knows, root=str(self.root / "git"), slow=0.1)
        (self.work / "requirements.txt").write_text(
            f"--index-url http://me:${{PIP_PASSWORD}}@127.0.0.1:{index.server_port}/simple/\n{more}ready\nbuilt\n"
            f"fromgit @ git+http://me:${{GIT_TOKEN}}@127.0.0.1:{git.server_port}/fromgit.git@main\n"
        )
        return index, git

    def begun(self):
        secrets = [word for name in planted.SECRETS for word in ("--secret", name)]
        more = ["--env", f"NAMES={' '.join(planted.SECRETS)}", "--env", f"GO={self.evidence}/go", "--env", f"UV_CACHE_DIR={self.root}/uv"]
        return self.submit("--name", CONTROL, *secrets, *more, "--", "python3", "prog.py")

    def places(self, job):
        """What others can read: {place: bytes}."""
        there = {f"bucket {key}": self.server.read(key) for key in self.server.keys()}
        verbs = (("show", job), ("show", "--json", job), ("show", "--env", job), ("logs", job), ("ls", "--json"), ("gc", "--dry-run"))
        for verb in (*verbs, ("logs", "--stream", "system", job), ("doctor",)):
            done = self.stoker(*verb)
            there[" ".join(verb)] = (done.stdout + done.stderr).encode()
        return there


def by(tool, server, check):
    with Bucketed(server) as world:
        world.needs("--prefer-binary\n" if tool == "pip" else "")
        with planted.Looker() as looker:
            job = world.begun()
            if tool == "uv":
                world.wait_for("an environment, or none", lambda: about_environment(world, job), 90, 0.5)
            world.open_gate()
            code = world.stoker("wait", job, timeout=120).returncode
        log = world.stoker("logs", job).stdout
        forms = [line for line in log.splitlines() if line.startswith("form ")]
        check(f"{tool}: the program has all of them", code == 0 and f"the sum is {planted.digest()}" in log, log + said(world, job))
        check(f"{tool}: another user saw none in {looker.looks} looks at /proc", not looker.seen, looker.seen)
        there = world.places(job)
        control = planted.found_in(there, {CONTROL.encode(): "control"})
        check(f"{tool}: what is no secret is found", len(control) > 5, control)
        leaks = planted.found_in(there)
        check(f"{tool}: no secret in {len(there)} places, of {len(forms)} forms", len(forms) == len(planted.marks()) and not leaks, leaks)
        kept = [place for place in there if "/output/" in place or "env/parts/" in place]
        check(f"{tool}: what it wrote is kept", any("result" in place for place in kept), kept)
        if tool == "uv":
            check("uv: and its environment", any("env/parts/" in place for place in kept), list(there))
        check(f"{tool}: that a core is left out is said", "core dump" in said(world, job), said(world, job))


def about_environment(world, job):
    log = said(world, job)
    return "in the store" in log or "is not kept" in log or world.job(job)["state"] == "Failed"


def said(world, job):
    return world.stoker("logs", "--stream", "system", job).stdout


def test_uv(results, server):
    by("uv", server, results.check)


def test_pip(results, server):
    by("pip", server, results.check)


def test_doors(results, server):
    """What does not let the job in is said, before training."""
    index = "does not let in who asks (401)"
    for tool, door, word in (("pip", "index", index), ("uv", "index", index), ("uv", "git", "git")):
        with Bucketed(server) as world:
            world.needs("--prefer-binary\n" if tool == "pip" else "", **{door: "another"})
            job = world.begun()
            code = world.stoker("wait", job, timeout=120).returncode
            told = world.stoker("show", job).stdout
            good = code != 0 and word in told and "the sum is" not in world.stoker("logs", job).stdout
            results.check(f"{tool}: the {door} does not let it in", good, (told, said(world, job)))
            leaks = planted.found_in({"show": told.encode(), "log": said(world, job).encode()})
            results.check("  without a secret", not leaks, leaks)


if __name__ == "__main__":
    play(globals(), VersityS3())
