# SPDX-License-Identifier: Apache-2.0
"""moto's S3 as a server of its own, with one bucket. Call cloud_env.enter() before."""

import logging
import os
import subprocess
import sys

from s3_server import BUCKET, KEYS, S3Server  # noqa: F401: for those who import this module


class MotoS3(S3Server):
    """A process beside the test: what it logs is nobody's, and it answers while the test works."""

    def __enter__(self):
        self.process = subprocess.Popen(
            [sys.executable, os.path.abspath(__file__)], stdout=subprocess.PIPE, text=True,
            stderr=subprocess.DEVNULL, stdin=subprocess.PIPE,
        )  # fmt: skip
        self.endpoint = self.process.stdout.readline().strip()
        if not self.endpoint.startswith('http://'):
            raise RuntimeError('moto did not start')
        self.make_bucket()
        return self

    def __exit__(self, *_):
        self.process.stdin.close()  # it ends with us, whatever becomes of us
        self.process.wait()


def serve():
    from moto.server import ThreadedMotoServer

    logging.getLogger('werkzeug').setLevel(logging.CRITICAL)
    server = ThreadedMotoServer(ip_address='127.0.0.1', port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    print(f'http://{host}:{port}', flush=True)
    sys.stdin.read()
    os._exit(0)


if __name__ == '__main__':
    serve()
