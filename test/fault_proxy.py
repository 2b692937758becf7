# SPDX-License-Identifier: Apache-2.0
"""Stands between a client of S3 and its server and does to their traffic what networks, proxies and
overloaded services do. What it does to a request is drawn from a seed and from rates in a thousand:

    with FaultProxy('http://127.0.0.1:9000', seed=1) as proxy:
        proxy.set(reset_answer=20, storm=5)
        … proxy.endpoint …
        print(proxy.told()['faults'])

It runs as a process of its own and counts what passes: requests by kind, bytes of bodies. RATES
tells the faults. Bits are flipped in the bytes of objects only: of lists and other answers S3 gives
no checksum, there TLS is the guard."""

import asyncio
import collections
import ctypes
import json
import os
import random
import re
import signal
import socket
import struct
import subprocess
import sys
import time
from email.utils import formatdate
from urllib.parse import urlsplit

# Before the request had an effect, but those that say otherwise.
RATES = {
    "reset_request": "the connection breaks in the middle of the request",
    "reset_answer": "the request has its effect; the connection breaks before the answer",
    "reset_body": "the connection breaks in the middle of the answer",
    "stall_request": "in the middle of the request nothing moves any more",
    "stall_answer": "the request has its effect; no answer comes",
    "stall_body": "in the middle of the answer nothing moves any more",
    "error_500": "InternalError",
    "error_after": "the request has its effect; the answer is InternalError",
    "gateway_after": "the request has its effect; a gateway answers 503, and is no S3",
    "early_error": "InternalError before the request was read; the connection closes",
    "storm": "for storm_ms, SlowDown is all that anybody hears; every other one says Retry-After",
    "truncate_answer": "the answer ends before its time",
    "shorten_answer": "the answer loses its end, and its length says so",
    "shorten_request": "the body loses its end, and its length says so",
    "flip_request": "a bit of the body of an object is another one",
    "flip_answer": "a bit of the body of an object is another one",
    "wrong_etag": "the ETag of the answer is another one",
    "expired": "ExpiredToken, from now on, for the access key that this request came with",
}
PIECE = 64 << 10
LINGER_OFF = struct.pack("ii", 1, 0)


class Gone(Exception):
    """The exchange is over, and the connection with it."""


class Message:
    def __init__(self, raw):
        lines = raw.decode("latin-1").split("\r\n")
        self.start = lines[0]
        self.headers = [line.split(": ", 1) if ": " in line else [line.rstrip(":"), ""] for line in lines[1:] if line]

    def get(self, name, otherwise=""):
        return next((v for n, v in self.headers if n.lower() == name), otherwise)

    def put(self, name, value):
        self.drop(name)
        self.headers.append([name, value])

    def drop(self, name):
        self.headers = [h for h in self.headers if h[0].lower() != name.lower()]

    def encode(self):
        return "\r\n".join([self.start, *(f"{n}: {v}" for n, v in self.headers), "", ""]).encode("latin-1")

    @property
    def length(self):
        return int(self.get("content-length", "0"))


class Request(Message):
    def __init__(self, raw):
        super().__init__(raw)
        self.method, self.target, _ = self.start.split(" ", 2)
        if self.target.startswith("http://"):
            url = urlsplit(self.target)
            self.target = url.path + ("?" + url.query if url.query else "")
            self.start = f"{self.method} {self.target} HTTP/1.1"
        path, _, self.query = self.target.partition("?")
        self.of_object = path.strip("/").count("/") > 0

    def kind(self):
        """What it is, in the words of S3's API, or of Google's."""
        if self.target.startswith("/upload/storage/"):
            return "Insert"
        if self.target.startswith("/storage/v1/"):
            return "Media" if "alt=media" in self.query else f"{self.method} gcs"
        if not self.of_object:
            return "ListUploads" if "uploads" in self.query else f"{self.method} bucket"
        if "uploadId=" in self.query:
            return {"PUT": "UploadPart", "POST": "Complete", "DELETE": "Abort", "GET": "ListParts"}.get(self.method, self.method)
        if "uploads" in self.query:
            return "CreateUpload"
        return {"PUT": "PutObject", "GET": "GetObject", "HEAD": "HeadObject", "DELETE": "DeleteObject"}.get(self.method, self.method)

    def bytes_of_object(self):
        return self.kind() in ("PutObject", "UploadPart") and self.length > 0


class Server:
    def __init__(self, to, seed):
        self.to = urlsplit(to)
        self.rng = random.Random(seed)
        self.rates = {}
        self.settings = {"stall_s": 3.0, "storm_ms": 400, "ms_per_mib": 0, "keys_since": 0, "key_lasts_s": 0, "ahead_s": 0}
        self.faults = collections.Counter()
        self.requests = collections.Counter()
        self.bytes = collections.Counter()
        self.storm_until = 0.0
        self.storm_count = 0
        self.expired = set()

    # ---- which fault ----

    def draw(self, request):
        at = self.rng.random() * 1000
        for name, rate in self.rates.items():
            if at < rate:
                return name if self.applies(name, request) else None
            at -= rate
        return None

    def applies(self, name, request):
        kind = request.kind()
        if name in ("flip_request", "shorten_request"):
            return request.bytes_of_object()
        if name in ("stall_request", "reset_request", "early_error"):
            return request.length > 1
        if name == "flip_answer":
            return kind in ("GetObject", "Media")
        if name in ("reset_body", "stall_body", "truncate_answer", "shorten_answer"):
            return request.method == "GET"
        return True

    # ---- one connection ----

    async def serve(self, reader, writer):
        try:
            while True:
                try:
                    raw = await reader.readuntil(b"\r\n\r\n")
                except (asyncio.IncompleteReadError, ConnectionError):
                    return
                request = Request(raw)
                self.requests[request.kind()] += 1
                await self.exchange(request, reader, writer)
        except (Gone, OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def exchange(self, request, reader, writer):
        if request.get("expect"):
            request.drop("expect")
            writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        signed = re.search(r"Credential=([^/]+)/", request.get("authorization"))
        signer = signed[1] if signed else ""
        fault = self.draw(request)
        now = time.monotonic()
        if fault == "storm":
            self.storm_until = now + self.settings["storm_ms"] / 1000
        if now < self.storm_until:
            return await self.slow_down(request, reader, writer)
        if fault == "expired":
            self.expired.add(signer)
        if self.is_over(signer):
            self.faults["expired"] += 1
            await self.skip(request.length, reader)
            return self.refuse(writer, "400 Bad Request", "ExpiredToken")
        if fault:
            self.faults[fault] += 1
        if fault == "early_error":
            self.refuse(writer, "500 Internal Server Error", "InternalError", close=True)
            await writer.drain()
            raise Gone
        if fault == "error_500":
            await self.skip(request.length, reader)
            return self.refuse(writer, "500 Internal Server Error", "InternalError")
        await self.relay(request, reader, writer, fault)

    def is_over(self, signer):
        """USER0's keys end `key_lasts_s` after `keys_since`, a time in Unix seconds, USER1's as
        much later, and so on; 0 = they do not."""
        number = re.fullmatch(r"USER(\d+)", signer)
        lasts = self.settings["key_lasts_s"]
        if not lasts or not number:
            return signer in self.expired
        return time.time() >= self.settings["keys_since"] + (int(number[1]) + 1) * lasts

    async def slow_down(self, request, reader, writer):
        await self.skip(request.length, reader)
        self.faults["storm"] += 1
        self.storm_count += 1
        more = "Retry-After: 1\r\n" if self.storm_count % 2 else ""
        self.refuse(writer, "503 Slow Down", "SlowDown", more)

    def refuse(self, writer, status, code, more="", close=False, xml=True):
        body = f"<Error><Code>{code}</Code><Message>from the fault proxy</Message></Error>"
        body = body if xml else "<html><h1>503 no server is available</h1></html>"
        more += "Connection: close\r\n" if close else ""
        writer.write(
            f"HTTP/1.1 {status}\r\nDate: {formatdate(usegmt=True)}\r\n{more}"
            f"Content-Type: application/xml\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode()
        )

    async def skip(self, size, reader):
        while size > 0:
            piece = await reader.read(min(size, PIECE))
            if not piece:
                raise Gone
            size -= len(piece)

    def reset(self, writer):
        writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, LINGER_OFF)
        writer.transport.abort()
        raise Gone

    async def stall(self, writer):
        await asyncio.sleep(self.settings["stall_s"])
        self.reset(writer)

    # ---- to the server and back ----

    async def relay(self, request, reader, writer, fault):
        up_reader, up_writer = await asyncio.open_connection(self.to.hostname, self.to.port, limit=1 << 20)
        try:
            size = request.length
            cut = max(1, size // 2) if fault == "shorten_request" else 0
            request.put("Connection", "close")
            if request.length:
                request.put("Content-Length", str(size - cut))
            up_writer.write(request.encode())
            try:
                await self.copy_up(request, size, size - cut, reader, up_writer, writer, fault)
            except ConnectionError:
                pass  # it has heard enough: it answers
            answer = Message(await up_reader.readuntil(b"\r\n\r\n"))
            await self.reply(request, answer, up_reader, writer, fault)
        finally:
            up_writer.close()

    async def copy_up(self, request, size, wanted, reader, up_writer, writer, fault):
        """Reads `size` bytes, of which the server gets the first `wanted`."""
        at = 0
        flip = self.rng.randrange(size) if fault == "flip_request" else -1
        stop = size // 2 if fault in ("reset_request", "stall_request") else -1
        while at < size:
            if stop >= 0 and at >= stop:
                await up_writer.drain()
                await (self.stall(writer) if fault == "stall_request" else asyncio.sleep(0))
                self.reset(writer)
            piece = await reader.read(min(size - at, PIECE))
            if not piece:
                raise Gone
            piece = self.flipped(piece, flip - at)
            up_writer.write(piece[: max(0, wanted - at)])
            at += len(piece)
            self.bytes[f"up {request.kind()}"] += len(piece)
            await up_writer.drain()
            await self.slowly(len(piece))

    async def slowly(self, size):
        if self.settings["ms_per_mib"]:
            await asyncio.sleep(self.settings["ms_per_mib"] / 1000 * size / (1 << 20))

    def flipped(self, piece, at):
        if not 0 <= at < len(piece):
            return piece
        changed = bytearray(piece)
        changed[at] ^= 1 << self.rng.randrange(8)
        return bytes(changed)

    async def reply(self, request, answer, up_reader, writer, fault):
        if fault == "reset_answer":
            self.reset(writer)
        if fault == "stall_answer":
            await self.stall(writer)
        if fault == "error_after":
            return self.refuse(writer, "500 Internal Server Error", "InternalError")
        if fault == "gateway_after":
            return self.refuse(writer, "503 Service Unavailable", "", xml=False)
        if fault == "wrong_etag" and answer.get("etag"):
            answer.put("ETag", f'"{self.rng.getrandbits(128):032x}"')
        if self.settings["ahead_s"]:
            answer.put("Date", formatdate(time.time() + self.settings["ahead_s"], usegmt=True))
        known = answer.get("content-length") != "" or answer.start.split(" ")[1] in ("204", "304")
        if known:
            answer.drop("Connection")
        size = 0 if request.method == "HEAD" or not known else answer.length
        cut = max(1, size // 3) if size and fault in ("truncate_answer", "shorten_answer") else 0
        if cut and fault == "shorten_answer":
            answer.put("Content-Length", str(size - cut))
        writer.write(answer.encode())
        await self.copy_down(request, size, size - cut, up_reader, writer, fault)
        if not known:  # in chunks, or up to the end of the connection: as it comes
            writer.write(await up_reader.read(-1))
        await writer.drain()
        if not known or (cut and fault == "truncate_answer"):
            raise Gone

    async def copy_down(self, request, size, wanted, up_reader, writer, fault):
        at = 0
        flip = self.rng.randrange(size) if size and fault == "flip_answer" else -1
        stop = size // 2 if fault in ("reset_body", "stall_body") else -1
        while at < wanted:
            piece = await up_reader.read(min(wanted - at, PIECE))
            if not piece:
                raise Gone
            if 0 <= stop < at + len(piece):
                writer.write(piece[: stop - at])
                await writer.drain()
                await (self.stall(writer) if fault == "stall_body" else asyncio.sleep(0.01))
                self.reset(writer)
            piece = self.flipped(piece, flip - at)
            writer.write(piece)
            at += len(piece)
            self.bytes[f"down {request.kind()}"] += len(piece)
            await writer.drain()
            await self.slowly(len(piece))

    # ---- told by whoever started us ----

    def obey(self, line):
        words = json.loads(line)
        for name, value in words.get("set", {}).items():
            if name in self.settings:
                self.settings[name] = value
            elif name in RATES:
                self.rates[name] = value
            else:
                return {"error": f"{name} is no fault"}
        return {"faults": self.faults, "requests": self.requests, "bytes": self.bytes}


async def main(to, seed, host):
    proxy = Server(to, seed)
    server = await asyncio.start_server(proxy.serve, host, 0, limit=1 << 20)
    print(f"http://{host}:{server.sockets[0].getsockname()[1]}", flush=True)
    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        print(json.dumps(proxy.obey(line)), flush=True)


class FaultProxy:
    def __init__(self, to, seed, host="127.0.0.1"):
        self.words = [sys.executable, os.path.abspath(__file__), to, str(seed), host]

    def __enter__(self):
        self.process = subprocess.Popen(
            self.words,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            preexec_fn=lambda: ctypes.CDLL(None).prctl(1, signal.SIGKILL),
        )
        self.endpoint = self.process.stdout.readline().strip()
        if not self.endpoint.startswith("http://"):
            raise RuntimeError("the fault proxy did not start")
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()

    def set(self, **rates):
        """Rates in a thousand requests, or stall_s, storm_ms, ms_per_mib (slows bodies down),
        keys_since and key_lasts_s (the server's users end one after the other), or ahead_s (the
        service's clock is ahead, as its answers tell it)."""
        return self.ask({"set": rates})

    def calm(self):
        return self.set(**dict.fromkeys(RATES, 0))

    def told(self):
        """{'faults': …, 'requests': …, 'bytes': …}: how many of each, so far."""
        return self.ask({})

    def ask(self, words):
        self.process.stdin.write(json.dumps(words) + "\n")
        self.process.stdin.flush()
        said = json.loads(self.process.stdout.readline())
        if "error" in said:
            raise ValueError(said["error"])
        return said


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2]), sys.argv[3]))
