# SPDX-License-Identifier: Apache-2.0
"""moto's S3 as a server of its own, with one bucket. Call cloud_env.enter() before."""

import io
import logging
import os
import pathlib
import subprocess
import sys
import threading

sys.path[0] = str(pathlib.Path(__file__).parents[1])

from test.s3_server import BUCKET, KEYS, S3Server  # noqa: F401  # for those who import this module


class MotoS3(S3Server):
    """A process beside the test: what it logs is nobody's, and it answers while the test works."""

    def __init__(self, host="127.0.0.1"):
        """`host`: where it listens, this machine among them."""
        self.host = host

    def __enter__(self):
        self.process = subprocess.Popen(
            [sys.executable, os.path.abspath(__file__), self.host],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            stdin=subprocess.PIPE,
            text=True,
        )
        self.endpoint = self.process.stdout.readline().strip()
        if not self.endpoint.startswith("http://"):
            raise RuntimeError("moto did not start")
        self.make_bucket()
        return self

    def __exit__(self, *_):
        self.process.stdin.close()  # it ends with us, whatever becomes of us
        self.process.wait()


class OneAtATime:
    """moto compares and then writes, without a lock between the two: of two writers on one
    condition both may win, which no service does. Bodies come in side by side; the rest waits."""

    def __init__(self, app):
        self.app = app
        self.lock = threading.Lock()

    def __call__(self, environ, start_response):
        length = environ.get("CONTENT_LENGTH")
        given = environ["wsgi.input"]
        body = given.read(int(length)) if length else b""
        if environ.get("wsgi.input_terminated"):
            body = given.read()
        environ["wsgi.input"] = io.BytesIO(body)
        with self.lock:
            return list(self.app(environ, start_response))


def serve(host):
    from moto import backends
    from moto.server import DomainDispatcherApplication, create_backend_app
    from werkzeug.serving import make_server

    logging.getLogger("werkzeug").setLevel(logging.CRITICAL)
    # moto looks at each of its folders again for every request, a third of what it does.
    services = tuple(backends.list_of_moto_modules())
    backends.list_of_moto_modules = lambda: services
    app = OneAtATime(DomainDispatcherApplication(create_backend_app))
    server = make_server(host, 0, app, threaded=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    print(f"http://127.0.0.1:{server.server_port}", flush=True)
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    serve(sys.argv[1])
