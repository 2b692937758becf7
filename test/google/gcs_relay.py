# SPDX-License-Identifier: Apache-2.0
"""Stands between whoever uses Google Cloud Storage in a test and the server that plays it; holds
each request and each answer against Google's discovery document (storage_rules.py). What is asked
for by `fields` is all that goes back: the service gives no more.

    with GcsRelay('127.0.0.1', 8001, 'http://127.0.0.1:8002') as relay:
        …
        relay.told()   # {'requests': 12, 'answers': 12, 'methods': {…}, 'wrong': […]}

It runs as a process of its own, in the Python of test/cloud_env.py."""

import asyncio
import collections
import ctypes
import json
import os
import pathlib
import signal
import subprocess
import sys
import urllib.parse

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test import cloud_env

PIECE = 64 << 10
ENDS = 4 << 10  # what is kept of each end of bytes that are not looked at
MOST_TOLD = 40


class Gone(Exception):
    """The exchange is over, and both connections with it."""


class Head:
    def __init__(self, raw):
        first, *lines = raw.decode("latin-1").split("\r\n")
        self.first = first
        self.headers = [tuple(line.split(": ", 1)) if ": " in line else (line.rstrip(":"), "") for line in lines if line]

    def get(self, name, otherwise=""):
        return next((v for n, v in self.headers if n.lower() == name), otherwise)

    def drop(self, *names):
        self.headers = [each for each in self.headers if each[0].lower() not in names]

    def encode(self):
        lines = [self.first, *(f"{name}: {value}" for name, value in self.headers), "", ""]
        return "\r\n".join(lines).encode("latin-1")

    @property
    def chunked(self):
        return self.get("transfer-encoding").lower() == "chunked"

    @property
    def length(self):
        return int(self.get("content-length", "0"))


class Ends:
    """The first and last bytes of what passes; `most` is how many first ones."""

    def __init__(self, most):
        self.most, self.begin, self.end = most, b"", b""

    def add(self, piece):
        if len(self.begin) < self.most:
            self.begin += piece[: self.most - len(self.begin)]
        self.end = (self.end + piece)[-ENDS:]


class Relay:
    def __init__(self, to, rules):
        self.to = urllib.parse.urlsplit(to)
        self.rules = rules
        self.requests = self.answers = 0
        self.methods = collections.Counter()
        self.wrong = {}

    def note(self, call, what, complaints):
        for each in complaints:
            key = f"{call.name}: {what}: {each}"
            if key in self.wrong or len(self.wrong) < MOST_TOLD:
                self.wrong[key] = self.wrong.get(key, 0) + 1

    async def serve(self, reader, writer):
        behind = None
        try:
            while True:
                try:
                    head = Head(await reader.readuntil(b"\r\n\r\n"))
                except (asyncio.IncompleteReadError, ConnectionError):
                    return
                if behind is None:
                    behind = await asyncio.open_connection(self.to.hostname, self.to.port, limit=1 << 20)
                await self.exchange(head, reader, writer, *behind)
        except (Gone, OSError, asyncio.IncompleteReadError):
            pass
        finally:
            for each in [writer] + ([behind[1]] if behind else []):
                each.close()

    async def exchange(self, head, reader, writer, from_server, to_server):
        verb, target, _ = head.first.split(" ", 2)
        call = self.rules.Call(verb, target, head.headers)
        self.requests += 1
        self.methods[call.name] += 1
        self.note(call, "request", call.wrong)
        if head.get("expect"):
            head.drop("expect")
            writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        to_server.write(head.encode())
        kept, cut = Ends(8 << 20 if call.wants_body == "all" else ENDS), False
        try:
            async for piece in self.pieces(head, reader, to_server):
                kept.add(piece)
        except ConnectionError:
            cut = True  # it has heard enough: it answers
        if call.wants_body and not cut:
            told = len(call.wrong)
            call.body(kept.begin, kept.end)
            self.note(call, "body", call.wrong[told:])
        await self.answer(call, verb, writer, from_server)
        if cut:
            raise Gone

    async def answer(self, call, verb, writer, reader):
        head = Head(await reader.readuntil(b"\r\n\r\n"))
        status = int(head.first.split(" ")[1])
        self.answers += 1
        none = verb == "HEAD" or status in (204, 304)
        known = none or head.chunked or head.get("content-length") != ""
        if call.is_json and (known or head.get("connection") == "close"):
            text = b"" if none else await self.whole(head, reader, known)
            found = list(call.answer(status, head.headers, text))
            self.note(call, f"answer {status}", found)
            if (status // 100 == 2 or status == 308) and text and not found:
                text = call.cut(status, text)
            head.drop("transfer-encoding", "content-length")
            if not none or verb == "HEAD":
                head.headers.append(("Content-Length", str(len(text))))
            writer.write(head.encode() + text)
        else:
            self.note(call, f"answer {status}", call.answer(status, head.headers, b""))
            writer.write(head.encode())
            if not none:
                async for _ in self.pieces(head, reader, writer, to_end=not known):
                    pass
        await writer.drain()
        if not known or head.get("connection").lower() == "close":
            raise Gone

    async def whole(self, head, reader, known):
        text = b""
        async for piece in self.pieces(head, reader, None, to_end=not known):
            text += piece
        return text

    async def pieces(self, head, reader, writer, to_end=False):
        """What stands behind `head`, as it is passed on."""
        if head.chunked:
            async for piece in self.chunks(reader, writer):
                yield piece
            return
        left = sys.maxsize if to_end else head.length
        while left > 0:
            piece = await reader.read(min(left, PIECE))
            if not piece:
                if to_end:
                    return
                raise Gone
            left -= len(piece)
            yield piece
            if writer:
                writer.write(piece)
                await writer.drain()

    async def chunks(self, reader, writer):
        def pass_on(text):
            if writer:
                writer.write(text)

        while True:
            line = await reader.readuntil(b"\r\n")
            pass_on(line)
            size = int(line.split(b";")[0], 16)
            if size == 0:
                break
            data = await reader.readexactly(size + 2)
            pass_on(data)
            yield data[:-2]
            if writer:
                await writer.drain()
        while line != b"\r\n":  # trailers
            line = await reader.readuntil(b"\r\n")
            pass_on(line)
        if writer:
            await writer.drain()

    def told(self):
        wrong = [f"{words} ({count})" for words, count in self.wrong.items()]
        return {"requests": self.requests, "answers": self.answers, "methods": self.methods, "wrong": wrong}


async def main(host, port, to):
    from test.google import storage_rules

    relay = Relay(to, storage_rules)
    storage_rules.discovery("storage.v1")  # read now, and not while somebody waits
    server = await asyncio.start_server(relay.serve, host, int(port), limit=1 << 20, backlog=512)
    print("ready", flush=True)
    loop = asyncio.get_running_loop()
    async with server:
        while await loop.run_in_executor(None, sys.stdin.readline):
            print(json.dumps(relay.told()), flush=True)


class GcsRelay:
    def __init__(self, host, port, to):
        python = os.path.join(cloud_env.folder(), "bin", "python3")
        self.words = [python, os.path.abspath(__file__), host, str(port), to]

    def __enter__(self):
        self.process = subprocess.Popen(
            self.words,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            preexec_fn=lambda: ctypes.CDLL(None).prctl(1, signal.SIGKILL),
        )
        if self.process.stdout.readline() != "ready\n":
            raise RuntimeError("the relay before Google Cloud Storage did not start")
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def told(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
