# SPDX-License-Identifier: Apache-2.0
"""The runtime API of Lambda, as it runs a program of a custom runtime: one call at a time, with the
environment that Lambda gives and no other, and an end when the time is over. Source: "Using the
Lambda runtime API for custom runtimes"."""

import json
import queue
import subprocess
import tempfile
import time
import uuid

from test.lab.web import Server

BASE = "/2018-06-01/runtime/"


class Function:
    """`call(event)`: (what it answers, None) or (None, its error)."""

    def __init__(self, binary, variables, seconds=60):
        self.seconds = seconds
        self.calls, self.answers = queue.Queue(), queue.Queue()
        self.server = Server(self.serve)
        self.home = tempfile.TemporaryDirectory(prefix="stoker-lambda-")
        self.binary = binary
        self.environment = {
            "AWS_LAMBDA_RUNTIME_API": f"127.0.0.1:{self.server.port}",
            "AWS_LAMBDA_FUNCTION_NAME": "test",
            "_HANDLER": "bootstrap",
            "LAMBDA_TASK_ROOT": "/var/task",
            "PATH": "/usr/local/bin:/usr/bin/:/bin",
            "TZ": ":UTC",
            **variables,
        }
        self.process = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process:
            self.process.kill()
            self.process.wait()
        self.calls.put(None)
        self.server.end()
        self.home.cleanup()

    def serve(self, handler):
        body = handler.body()
        if handler.path == BASE + "invocation/next":
            call = self.calls.get()
            if call is None:
                return handler.cut()
            name, event, deadline = call
            return handler.out(
                200, json.dumps(event), {"Lambda-Runtime-Aws-Request-Id": name, "Lambda-Runtime-Deadline-Ms": str(int(deadline * 1000))}
            )
        self.answers.put((handler.path.removeprefix(BASE), json.loads(body)))
        return handler.out(202, b'{"status": "OK"}', {"Content-Type": "application/json"})

    def call(self, event, name=None):
        if self.process is None or self.process.poll() is not None:
            self.process = subprocess.Popen(
                ["bootstrap"], executable=self.binary, env=self.environment, cwd=self.home.name, stderr=subprocess.PIPE, text=True
            )
            # As Lambda does with its log: read, whatever comes.
            import threading

            self.log = []
            threading.Thread(target=lambda stream=self.process.stderr: self.log.extend(stream), daemon=True).start()
        name = name or str(uuid.uuid4())
        self.calls.put((name, event, time.time() + self.seconds))
        path, told = self.answers.get(timeout=self.seconds + 30)
        if path == f"invocation/{name}/response":
            return told, None
        return None, told
