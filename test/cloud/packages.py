# SPDX-License-Identifier: Apache-2.0
"""A source of packages for rooms, which reach nothing outside of the lab: what `apt-get install`
there would fetch, fetched once while there is a network, under $XDG_CACHE_HOME/stoker-test; and a
server of it inside."""

import fcntl
import hashlib
import http.server
import os
import shutil
import subprocess
import sys
import threading

from test.cloud_env import cache_root

DEBIAN = "Debian's packages can be fetched by a machine of Debian alone"


def fetch(folder, tree, names):
    """All that lacks in `tree`, as its own list of packages has it."""
    if not shutil.which("apt-get"):
        sys.exit(f"packages: there is no apt-get: {DEBIAN}")
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(f"{folder}/partial")
    subprocess.run(["apt-get", "-qq", "update"], check=False, capture_output=True)
    state = ["-o", f"Dir::State::status={tree}/var/lib/dpkg/status", "-o", f"Dir::Cache::archives={folder}", "-o", "Debug::NoLocking=1"]
    done = subprocess.run(
        ["apt-get", "-qq", *state, "--download-only", "--no-install-recommends", "--yes", "install", *names], capture_output=True, text=True
    )
    if done.returncode:
        sys.exit(f"packages: {' '.join(names)} cannot be fetched:\n{done.stdout[-1000:]}{done.stderr[-2000:]}")
    index = []
    for name in sorted(one for one in os.listdir(folder) if one.endswith(".deb")):
        path = f"{folder}/{name}"
        fields = subprocess.run(["dpkg-deb", "--field", path], capture_output=True, text=True, check=True).stdout.strip()
        with open(path, "rb") as file:
            digest = hashlib.sha256(file.read()).hexdigest()
        index.append(f"{fields}\nFilename: ./{name}\nSize: {os.path.getsize(path)}\nSHA256: {digest}\n")
    # Last: with it the folder is whole.
    with open(f"{folder}/Packages.new", "w", encoding="utf-8") as out:
        out.write("\n".join(index))
    os.rename(f"{folder}/Packages.new", f"{folder}/Packages")


def of(tree, *names):
    """The folder of a source that has `names`; waits while another test makes it."""
    folder = os.path.join(cache_root(), f"packages-{os.path.basename(os.path.dirname(tree))}-{'-'.join(names)}")
    with open(folder + ".lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not os.path.exists(f"{folder}/Packages"):
            fetch(folder, tree, names)
    return folder


def address(folder, host):
    """Serves `folder` for as long as this process lives."""

    class Files(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *words):
            super().__init__(*words, directory=folder)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer((host, 0), Files)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://{host}:{server.server_address[1]}"


def serve(folder, host):
    """A line for sources.list."""
    return f"deb [trusted=yes] {address(folder, host)}/ ./\n"
