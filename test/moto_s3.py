# SPDX-License-Identifier: Apache-2.0
"""moto's S3 as a server of its own, with one bucket. Call cloud_env.enter() before."""

import logging
import os
import subprocess
import sys

KEYS = {'AWS_ACCESS_KEY_ID': 'AKIDEXAMPLE', 'AWS_SECRET_ACCESS_KEY': 'secret'}
BUCKET = 'stoker-test'


class MotoS3:
    """A process beside the test: what it logs is nobody's, and it answers while the test works."""

    def __enter__(self):
        self.process = subprocess.Popen(
            [sys.executable, os.path.abspath(__file__)], stdout=subprocess.PIPE, text=True,
            stderr=subprocess.DEVNULL, stdin=subprocess.PIPE,
        )  # fmt: skip
        self.endpoint = self.process.stdout.readline().strip()
        if not self.endpoint.startswith('http://'):
            raise RuntimeError('moto did not start')
        self.client = self.boto3()
        self.client.create_bucket(Bucket=BUCKET)
        return self

    def __exit__(self, *_):
        self.process.stdin.close()  # it ends with us, whatever becomes of us
        self.process.wait()

    def boto3(self):
        import boto3

        return boto3.client(
            's3', endpoint_url=self.endpoint, region_name='us-east-1',
            aws_access_key_id=KEYS['AWS_ACCESS_KEY_ID'],
            aws_secret_access_key=KEYS['AWS_SECRET_ACCESS_KEY'],
        )  # fmt: skip

    def env(self):
        return {**KEYS, 'AWS_ENDPOINT_URL_S3': self.endpoint, 'AWS_REGION': 'us-east-1'}

    def keys(self, prefix=''):
        pages = self.client.get_paginator('list_objects_v2').paginate(Bucket=BUCKET, Prefix=prefix)
        return [entry['Key'] for page in pages for entry in page.get('Contents', [])]

    def read(self, key):
        return self.client.get_object(Bucket=BUCKET, Key=key)['Body'].read()

    def uploads(self):
        return self.client.list_multipart_uploads(Bucket=BUCKET).get('Uploads', [])


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
