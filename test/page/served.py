# SPDX-License-Identifier: Apache-2.0
"""What the page's tests share: a page that is served, HTTP by hand, and jobs to look at."""

import hashlib
import http.server
import json
import os
import pathlib
import signal
import socket
import threading
import urllib.parse

# Trains from what it has saved: curves that fall and rise, some of them not finite.
PROGRAM = r"""
import json, math, os, pathlib, random, sys, time
saved = pathlib.Path("checkpoints/step")
begin = int(saved.read_text()) if saved.exists() else 0
steps, lr, pause = int(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3])
chance = random.Random(begin)
out = open(os.environ["STOKER_METRICS"], "a")
print("\x1b[1mbegins\x1b[0m at step", begin, flush=True)
for step in range(begin, steps):
    fall = math.exp(-lr * step / 20)
    row = {"step": step, "train/loss": 2 * fall + 0.1 + chance.random() * 0.08,
           "val/accuracy": 1 - 0.9 * math.exp(-lr * step / 25) - chance.random() * 0.02,
           "grad_norm": float("nan") if step % 37 == 30 else 3 * fall + chance.random(),
           "lr": lr * (1 - step / steps)}
    out.write(json.dumps(row) + "\n")
    out.flush()
    if step % 10 == 0:
        print(f"epoch {step // 10}  \x1b[33mloss\x1b[0m {row['train/loss']:.3f}", flush=True)
    if step % 25 == 0:
        print("\x1b[31mwarning\x1b[0m: the data loader is slow", file=sys.stderr, flush=True)
    if step % 15 == 14:
        part = pathlib.Path("checkpoints/part")
        part.write_text(str(step + 1))
        part.rename(saved)
    time.sleep(pause)
pathlib.Path("output").mkdir(exist_ok=True)
pathlib.Path("output/model.bin").write_bytes(os.urandom(300_000))
"""


def fill(world, job, count):
    """As many ended jobs as years make, out of one that there is: their lines of the index (format:
    docs/ledger.md) and their job files, with hyperparameters."""

    def known():
        world.stoker("ls", check=True)  # whoever looks moves it there
        return [
            line
            for segment in (world.store / "index").glob("*.jsonl")
            for line in segment.read_text().splitlines()
            if line.startswith(f'["{job}"')
        ]

    world.wait_for("the job is in the index", known, timeout=60)
    line = json.loads(known()[0])
    spec = (world.store / "jobs" / job / "spec.yaml").read_text()
    lines = []
    for i in range(count):
        name = f"j{i:07d}"
        lines.append(
            json.dumps(
                [
                    name,
                    line[1],
                    f"train-{i % 50}",
                    ("ada", "bob", "eve")[i % 3],
                    *line[4:8],
                    *(at - 60_000 * (i + 1) for at in line[8:11]),
                    *line[11:],
                ],
                separators=(",", ":"),
            )
            + "\n"
        )
        folder = world.store / "jobs" / name
        folder.mkdir()
        (folder / "spec.yaml").write_text(f"{spec}hyperparameters: {{lr: {i % 7 / 10}, layers: {i % 5}}}\n")
    text = "".join(lines).encode()
    end = {"format": 1, "lines": count, "sha256": hashlib.sha256(text).hexdigest()}
    (world.store / "index" / "0000000000000000.jsonl").write_bytes(text + json.dumps(end, separators=(",", ":")).encode() + b"\n")


class Site:
    """A page of somebody else: on the other name of this machine, which is another site."""

    def __init__(self, body):
        page = f"<!doctype html><title>other</title>{body}".encode()

        class Answer(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(200)
                self.send_header("Content-Type", "text/html")
                self.end_headers()
                self.wfile.write(page)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answer)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://localhost:{self.server.server_port}/"

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class Page:
    """`stoker ui` of a world."""

    def __init__(self, world):
        self.world = world
        self.process = world.start("ui", "--no-browser", "--json")
        told = json.loads(self.process.stdout.readline())
        self.url, self.port = told["url"], told["port"]
        self.token = urllib.parse.parse_qs(urllib.parse.urlsplit(self.url).query)["token"][0]
        self.pid = self.process.pid

    def end(self):
        """By Ctrl-C, as its user does; its exit code."""
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(timeout=20)

    def connect(self):
        made = socket.create_connection(("127.0.0.1", self.port), timeout=20)
        return made

    def raw(self, data):
        """Sends bytes as they are; all that comes back until the server closes."""
        with self.connect() as made:
            made.sendall(data)
            return read_all(made)

    def ask(self, target, method="GET", headers=(), host=None, body=b""):
        """(status, headers, body) of one request, on a connection of its own."""
        lines = [f"{method} {target} HTTP/1.1"]
        if host != "":
            lines.append(f"Host: {host or f'127.0.0.1:{self.port}'}")
        lines += [f"{name}: {value}" for name, value in headers]
        lines += [f"Content-Length: {len(body)}"] if body or method == "POST" else []
        lines += ["Connection: close", "", ""]
        return parse(self.raw("\r\n".join(lines).encode("latin-1") + body))

    def enter(self):
        """Spends the token; the cookie as a header."""
        status, headers, _ = self.ask(f"/?token={self.token}")
        assert status == 200, status
        return ("Cookie", headers["set-cookie"].split(";")[0])


def read_all(made):
    data = b""
    try:
        while piece := made.recv(65536):
            data += piece
    except (ConnectionResetError, TimeoutError):
        pass
    return data


def parse(data):
    if not data:
        return 0, {}, b""
    head, _, body = data.partition(b"\r\n\r\n")
    lines = head.decode("latin-1").split("\r\n")
    headers = dict(line.lower().split(": ", 1)[:1] + line.split(": ", 1)[1:] for line in lines[1:])
    return int(lines[0].split()[1]), headers, body


def threads_of(pid):
    return len(os.listdir(f"/proc/{pid}/task"))


def descriptors_of(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def memory_of(pid):
    """Resident bytes."""
    text = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(text.split("VmRSS:")[1].split()[0]) * 1024
