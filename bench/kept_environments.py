#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How long a machine that has nothing takes from submit until a program has imported torch, with all that torch needs: by pip, by uv that
is fetched first, and out of the store, where the second has kept it; then two machines at once out of the store. And how many bytes the
index gave each of them: it is asked through a relay that counts. The relay has all files before anything is timed, and the store is a
server of S3's API on this machine too: neither waits for a network. By hand: gigabytes are fetched from the index of this machine's pip,
once where INDEX_FILES names a folder that keeps them. PACKAGES names others than torch, IMPORTS what of them is imported."""

import contextlib
import http.server
import os
import pathlib
import re
import shutil
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import urllib.request

sys.path[0] = str(pathlib.Path(__file__).parents[1])

from test import cloud_env

cloud_env.enter()
from bench.lib.sandbox import figure
from test.e2e.kit.harness import PYTHON, World
from test.versity_s3 import VersityS3

PACKAGES = os.environ.get("PACKAGES", "torch>=2").split()
PROGRAM = f"""
import os, time
print('BEGAN', time.time(), flush=True)
import {", ".join(os.environ.get("IMPORTS", "torch").split())}
print('READY', time.time(), flush=True)
while not os.path.exists(os.environ['GO']): time.sleep(0.1)
"""
UPSTREAM = os.environ.get("PIP_INDEX_URL", "https://pypi.org/simple").rstrip("/")
PATIENCE = 900.0


class Relay:
    """An index that has each page and file from UPSTREAM, once, and counts what it gives away."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.given = 0
        self.locks, self.lock = {}, threading.Lock()
        relay = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                relay.answer(self)

            do_HEAD = do_GET

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}/simple"

    def once(self, url):
        """The file that holds what `url` says; pages with their links led here."""
        path = self.folder / urllib.parse.quote(url, safe="")[-200:]
        with self.lock:
            mine = self.locks.setdefault(url, threading.Lock())
        with mine:
            if path.exists():
                return path
            ask = urllib.request.Request(url, headers={"Accept": "text/html"})
            with urllib.request.urlopen(ask, context=ssl.create_default_context(), timeout=60) as got, open(f"{path}.half", "wb") as out:
                if url.startswith(UPSTREAM):
                    page = got.read().decode()
                    out.write(re.sub(r'href="(?!http)', f'href="{url}', page).replace('href="http', 'href="/file/http').encode())
                else:
                    shutil.copyfileobj(got, out, 1 << 20)
            os.rename(f"{path}.half", path)
        return path

    def answer(self, to):
        page = not to.path.startswith("/file/")
        url = UPSTREAM + to.path.removeprefix("/simple") if page else urllib.parse.unquote(to.path.removeprefix("/file/"))
        try:
            path = self.once(url)
        except OSError as error:
            to.send_response(getattr(error, "code", 502))
            to.send_header("Content-Length", "0")
            to.end_headers()
            return
        size = path.stat().st_size
        asked = re.fullmatch(r"bytes=(\d*)-(\d*)", to.headers.get("Range", ""))
        first, last = 0, size - 1
        if asked:
            first = int(asked[1]) if asked[1] else size - int(asked[2])
            last = min(last, int(asked[2])) if asked[1] and asked[2] else last
            to.send_response(206)
            to.send_header("Content-Range", f"bytes {first}-{last}/{size}")
        else:
            to.send_response(200)
        to.send_header("Content-Type", "text/html" if page else "application/octet-stream")
        to.send_header("Accept-Ranges", "bytes")
        to.send_header("Content-Length", str(last - first + 1))
        to.end_headers()
        if to.command == "HEAD":
            return
        to.wfile.flush()
        with open(path, "rb") as file, contextlib.suppress(ConnectionError):
            sent = to.connection.sendfile(file, first, last - first + 1)
            with self.lock:
                self.given += sent

    def have_all(self, folder):
        """What the timed machines will ask for lies here."""
        ask = [PYTHON, "-m", "venv", f"{folder}/asks"]
        subprocess.run(ask, check=True)
        words = [f"{folder}/asks/bin/pip", "download", "-q", "--no-cache-dir", "-i", self.url, "-d", f"{folder}/all", "--prefer-binary"]
        env = {name: value for name, value in os.environ.items() if not name.startswith("PIP_")}
        subprocess.run([*words, *PACKAGES], check=True, env={**env, "PIP_CONFIG_FILE": os.devnull}, stdout=sys.stderr)
        shutil.rmtree(f"{folder}/all")


class Machine:
    """A home, a cache and a work folder of its own, all empty; `server`: the bucket that is its store, else a folder."""

    def __init__(self, name, relay, server=None, first_line="#"):
        self.world = World(f"bench-{name}")
        self.relay = relay
        self.world.env["PATH"] = "/usr/bin:/bin"
        if server:
            self.world.env.update(server.env())
            self.world.stoker("config", "set", "store", f"s3://{server.bucket}/team", check=True)
        (self.world.work / "requirements.txt").write_text("\n".join([first_line, *PACKAGES]) + "\n")
        (self.world.work / "program.py").write_text(PROGRAM)

    def begin(self):
        self.go = self.world.evidence / "go"
        self.given, self.began = self.relay.given, time.time()
        words = ["--env", f"PIP_INDEX_URL={self.relay.url}", "--env", f"GO={self.go}", "--", "python3", "program.py"]
        self.job = self.world.submit(*words)

    def log(self, *words):
        return self.world.stoker("logs", self.job, *words).stdout

    def ready(self):
        """Seconds until its program began, and until it has imported; bytes of the index until then."""
        end = time.monotonic() + PATIENCE
        while not (said := re.search(r"BEGAN ([\d.]+)\n(?:.*\n)*?.*READY ([\d.]+)", text := self.log())):
            if time.monotonic() > end or "ailed" in text:
                raise SystemExit(text + self.log("--stream", "system"))
            time.sleep(0.2)
        return float(said[1]) - self.began, float(said[2]) - self.began, self.relay.given - self.given

    def kept(self):
        end = time.monotonic() + PATIENCE
        while not (said := re.search(r"stoker: (the environment is (?:not )?kept.*)", self.log("--stream", "system"))):
            if time.monotonic() > end:
                raise SystemExit("it is not kept: " + self.log("--stream", "system"))
            time.sleep(0.5)
        print(f"  {said[1]}", flush=True)

    def taken(self):
        said = re.search(r"stoker: (the environment comes from the store.*)", self.log("--stream", "system"))
        return said[1] if said else sys.exit("not out of the store: " + self.log("--stream", "system"))

    def end(self):
        self.go.touch()
        done = self.world.stoker("wait", self.job, timeout=PATIENCE)
        self.world.close()
        if done.returncode != 0:
            raise SystemExit(done.stdout + done.stderr)


def told(name, seconds):
    began, ready, given = seconds
    print(f"{name:<22} begun {began:6.1f} s  imported {ready:6.1f} s  of the index {given / 1e6:8.1f} MB", flush=True)
    figure(f"environment: {name}", [ready], "s")
    return seconds


def main():
    with tempfile.TemporaryDirectory(prefix="stoker-bench-") as folder, VersityS3() as server:
        files = os.environ.get("INDEX_FILES", f"{folder}/files")
        os.makedirs(files, exist_ok=True)
        relay = Relay(files)
        relay.have_all(folder)
        took = {}
        for name, kind in (("pip", {"first_line": "--prefer-binary"}), ("uv", {"server": server})):
            machine = Machine(name, relay, **kind)
            machine.begin()
            took[name] = told(name, machine.ready())
            if name == "uv":
                machine.kept()
            machine.end()
        for turn in ("one", "two at once"):
            machines = [Machine("store", relay, server) for _ in range(1 if turn == "one" else 2)]
            for machine in machines:
                machine.begin()
            for machine in machines:
                took[turn] = told(f"the store, {turn}", machine.ready())
                print(f"  {machine.taken()}", flush=True)
            for machine in machines:
                machine.end()
    store = took["one"]
    for at, what in ((0, "until it begins"), (1, "with its import")):
        print(f"{what}: pip / store {took['pip'][at] / store[at]:.1f}, uv / store {took['uv'][at] / store[at]:.1f}")
    if store[2] != 0 or took["two at once"][2] != 0:
        raise SystemExit("an index was asked although the environment is in the store")
    if store[1] > min(took["pip"][1], took["uv"][1]):
        raise SystemExit("the store was not the fastest")


main()
