# SPDX-License-Identifier: Apache-2.0
"""An environment that one machine builds and others take out of the store: three homes that share a
bucket alone, by the real uv, from an index that is served here and that can be away. With "killed":
all processes of a machine end at twenty moments of building and of keeping it."""

import base64
import contextlib
import hashlib
import http.server
import os
import pathlib
import random
import shutil
import signal
import sys
import threading
import time
import zipfile

sys.path[0] = str(pathlib.Path(__file__).parents[3])

from test import cloud_env

cloud_env.enter()
from test.e2e.kit.harness import Results, World
from test.versity_s3 import VersityS3

UV = os.path.join(cloud_env.folder(os.path.join(cloud_env.HERE, "requirements-uv.txt")), "bin")
LARGE, HUGE = 21 << 20, 65 << 20  # over what makes a folder, and a file, a part of its own
# Ends when it is told to, so that there is time to keep what it runs in.
PROGRAM = """
import hashlib, os, subprocess, time, toy
for name in ('large', 'huge'):
    print(name, hashlib.sha256(open(os.path.dirname(toy.__file__) + '/' + name + '.bin', 'rb').read()).hexdigest())
print('IS', toy.V, toy.__file__)
open(os.environ['GO'] + '.begun', 'w').close()
print('SAYS', subprocess.run(['toytool'], capture_output=True, text=True).stdout)
for _ in range(6000):
    if os.path.exists(os.environ['GO']): break
    time.sleep(0.1)
"""


def wheel(folder):
    """One package over 20 MB, with a program, and with a large file beside that; nothing packs it."""
    noise = random.Random(1)
    files = {
        "toy/__init__.py": "V = '1.0'\ndef main(): print('tool', V)\n",
        "toy/large.bin": noise.randbytes(LARGE),
        "toy/huge.bin": noise.randbytes(HUGE),
        "toy-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: toy\nVersion: 1.0\n",
        "toy-1.0.dist-info/WHEEL": "Wheel-Version: 1.0\nGenerator: hand\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        "toy-1.0.dist-info/entry_points.txt": "[console_scripts]\ntoytool = toy:main\n",
    }

    def line(name, data):
        sha256 = hashlib.sha256(data if isinstance(data, bytes) else data.encode()).digest()
        return f"{name},sha256={base64.urlsafe_b64encode(sha256).rstrip(b'=').decode()},{len(data)}\n"

    record = "".join(line(name, data) for name, data in files.items())
    with zipfile.ZipFile(folder / "toy-1.0-py3-none-any.whl", "w") as out:
        for name, data in files.items():
            out.writestr(name, data)
        out.writestr("toy-1.0.dist-info/RECORD", record + "toy-1.0.dist-info/RECORD,,\n")
    return [f"{name} {hashlib.sha256(files[f'toy/{name}.bin']).hexdigest()}" for name in ("large", "huge")]


class Index:
    """simple/toy/ and the wheel; while it is away, nothing but errors."""

    def __init__(self, folder):
        self.asked = 0
        self.away = False
        index = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                index.asked += 1
                body, kind = b"", "text/html"
                if self.path == "/simple/toy/":
                    body = b'<a href="/toy-1.0-py3-none-any.whl">toy-1.0-py3-none-any.whl</a>'
                elif self.path.endswith(".whl"):
                    body, kind = (folder / self.path[1:]).read_bytes(), "application/octet-stream"
                self.send_response(503 if index.away else 200 if body else 404)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                if self.command == "GET":
                    with contextlib.suppress(ConnectionError):  # of one who was killed
                        self.wfile.write(body)

            do_HEAD = do_GET

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}/simple"


def machine(name, server, index, says):
    world = World(name)
    world.says = says
    world.env.update(server.env())
    tools = world.root / "tools"  # uv alone: beside it lies the python3 of an environment
    tools.mkdir()
    (tools / "uv").symlink_to(os.path.join(UV, "uv"))
    world.env["PATH"] = f"{tools}:/usr/bin:/bin"
    world.stoker("config", "set", "store", f"s3://{server.bucket}/team", check=True)
    (world.work / "requirements.txt").write_text("toy==1.0\n")
    world.program(PROGRAM)
    world.index = index
    return world


def begun(world, name, *words):
    """`words`: what is run, where it is not the program by itself."""
    go = world.evidence / name
    job = world.submit(
        *("--env", f"PIP_INDEX_URL={world.index.url}", "--env", f"GO={go}", "--env", f"UV_CACHE_DIR={world.root}/uv"),
        *(words or ("--", "python3", "prog.py")),
    )
    return job, go


def system(world, job):
    return world.stoker("logs", job, "--stream", "system").stdout


def ended(world, job, go):
    go.touch()
    code = world.stoker("wait", job, timeout=120).returncode
    return code, world.stoker("logs", job).stdout + system(world, job)


def ran_well(world, code, text):
    whole = all(line in text for line in world.says)
    return code == 0 and whole and f"IS 1.0 {world.home}" in text and "SAYS tool 1.0" in text


def kept(world, job):
    said = ("kept in the store for other machines", "another node was quicker", "is not kept", "is not shared")
    world.wait_for("the environment is kept, or not", lambda: any(s in system(world, job) for s in said), timeout=90, every=0.5)


def built_once(results, server, index, here, there):
    job, go = begun(here, "one")
    kept(here, job)
    code, text = ended(here, job, go)
    results.check(
        "one machine builds it, and keeps it beside the program", ran_well(here, code, text) and "is kept in the store" in text, text
    )
    parts = server.keys("team/env/parts/")
    results.check("a large package is a part of its own, and so is a large file", len(parts) == 3, parts)
    index.away, before = True, index.asked
    code, text = ended(there, *begun(there, "two"))
    good = ran_well(there, code, text) and "comes from the store" in text and index.asked == before
    results.check("another takes it, at another path, and asks no index", good, text)
    code, text = ended(there, *begun(there, "three"))
    results.check("and has it from then on", ran_well(there, code, text) and "store" not in text, text)
    index.away = False


def damaged(results, server, index, third, fourth):
    part = server.keys("team/env/parts/")[0]
    whole = server.read(part)
    server.client.put_object(Bucket=server.bucket, Key=part, Body=whole[:-9] + bytes([whole[-9] ^ 1]) + whole[-8:])
    job, go = begun(third, "one")
    kept(third, job)
    code, text = ended(third, job, go)
    good = ran_well(third, code, text) and "is not used, it is built here" in text and f"it is built here: {part[5:]}" in text
    results.check("a damaged part is said, and the environment built", good, text)
    index.away = True
    code, text = ended(fourth, *begun(fourth, "two"))
    results.check("and the store has it whole again", ran_well(fourth, code, text) and "comes from the store" in text, text)
    index.away = False


def at_once(results, server, index, here, there):
    """Both lack it at the same moment: both build, and one of them counts."""
    before = {key for key in server.keys("team/env/") if key.endswith("manifest.json")}
    for world in (here, there):
        (world.work / "requirements.txt").write_text("toy==1.0\n# for two at once\n")
    jobs = [(world, *begun(world, "both")) for world in (here, there)]
    said = []
    for world, job, _ in jobs:
        world.wait_for("it has an environment", lambda w=world, j=job: "IS 1.0" in w.stoker("logs", j).stdout, timeout=90, every=0.5)
    here.wait_for("one is kept", lambda: sum(k.endswith("manifest.json") for k in server.keys("team/env/")) > len(before), timeout=90)
    for world, job, go in jobs:
        said.append(ended(world, job, go))
    made = {key for key in server.keys("team/env/") if key.endswith("manifest.json")} - before
    good = all(ran_well(world, code, text) for (world, _, _), (code, text) in zip(jobs, said))
    results.check("two that need it at once both run, and one manifest is there", good and len(made) == 1, (made, said))


def with_setup(results, server, index, here, there):
    """What a setup with a cache has made goes along, and it is not run again."""
    job_file = """workdir: .
setup:
  run: |
    echo RAN SETUP
    echo made > made.txt
    echo "HANDED=on" >> "$STOKER_ENV"
  cache: [requirements.txt]
run: python3 prog.py; cat made.txt; echo "HANDED $HANDED"
"""
    said = []
    for world, go in ((here, here.evidence / "setup"), (there, there.evidence / "setup")):
        (world.work / "job.yaml").write_text(job_file)
        envs = ("--env", f"PIP_INDEX_URL={index.url}", "--env", f"GO={go}", "--env", f"UV_CACHE_DIR={world.root}/uv")
        job = world.submit(*envs, "job.yaml")
        if world is here:
            kept(world, job)
            index.away = True
        said.append(ended(world, job, go))
    index.away = False
    good = all(ran_well(w, code, text) and "made" in text and "HANDED on" in text for w, (code, text) in zip((here, there), said))
    results.check("setup with a cache: both have what it made", good, said)
    results.check(
        "setup with a cache: it was run once a ledger",
        "RAN SETUP" in said[0][1] and "RAN SETUP" not in said[1][1] and "comes from the store" in said[1][1],
        said,
    )


def end_all(world):
    """kill -9 of whatever runs for it, as when a machine goes."""
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):
            if str(world.root).encode() in pathlib.Path(f"/proc/{name}/environ").read_bytes() and int(name) != os.getpid():
                os.kill(int(name), signal.SIGKILL)


def manifests(server):
    return [key for key in server.keys("team/env/") if key.endswith("manifest.json")]


def killed(results, server, index, here, there):
    """The job goes on by itself, and a machine that comes later has what there is, or builds."""
    moments, seen = random.Random(46), []
    for turn in range(20):
        for world in (here, there):
            (world.work / "requirements.txt").write_text(f"toy==1.0\n# {turn}\n")
            shutil.rmtree(world.root / "uv", ignore_errors=True)
        before = len(manifests(server))
        job, go = begun(here, f"killed-{turn}")
        of_program = pathlib.Path(f"{go}.begun")
        if turn % 2:  # while it is kept
            here.wait_for("its program has begun", of_program.exists, timeout=90, every=0.01)
            time.sleep(moments.uniform(0, 0.6))
        else:
            time.sleep(moments.uniform(0.2, 3))
        end_all(here)
        seen.append("kept" if len(manifests(server)) > before else "being kept" if of_program.exists() else "being built")
        code, text = ended(there, *begun(there, f"killed-{turn}"))
        good = ran_well(there, code, text) and ("comes from the store" in text) == (seen[-1] == "kept")
        results.check(f"killed as it was {seen[-1]}: another machine's job", good, text)
        code, text = ended(here, job, go)
        results.check(f"killed as it was {seen[-1]}: the job itself", ran_well(here, code, text), text)
        # So that the next turn has something to send.
        server.client.delete_objects(Bucket=server.bucket, Delete={"Objects": [{"Key": key} for key in server.keys("team/env/parts/")]})
    results.check("both of building and of keeping", {"being built", "being kept"} <= set(seen), seen)


def cleared(results, server, here):
    text = here.json("gc")
    results.check("gc keeps what was used just now", text["kept_environments"] == 0 and server.keys("team/env/parts/"), text)


def main():
    results = Results()
    with VersityS3() as server:
        folder = pathlib.Path(server.root) / "wheels"
        folder.mkdir()
        says = wheel(folder)
        index = Index(folder)
        worlds = [machine(f"kept-{n}", server, index, says) for n in ("here", "there", "third", "fourth")]
        here, there, third, fourth = worlds
        try:
            if sys.argv[1:] == ["killed"]:
                results.run("killed", killed, results, server, index, here, there)
            else:
                results.run("built once", built_once, results, server, index, here, there)
                results.run("damaged", damaged, results, server, index, third, fourth)
                results.run("at once", at_once, results, server, index, third, fourth)
                results.run("with a setup", with_setup, results, server, index, here, there)
                results.run("cleared", cleared, results, server, here)
        finally:
            for world in worlds:
                world.close()
    results.finish()


if __name__ == "__main__":
    main()
