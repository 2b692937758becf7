# SPDX-License-Identifier: Apache-2.0
"""A bucket of versitygw as ledger_view.py reads it: what a pathlib.Path is to a local folder. It is
read with boto3, past whatever stands between stoker and the server."""

import os
import pathlib

from test.s3_server import BUCKET


class BucketPath:
    def __init__(self, server, key=""):
        self.server = server
        self.key = key

    def __truediv__(self, name):
        return BucketPath(self.server, f"{self.key}/{name}".lstrip("/"))

    @property
    def name(self):
        return self.key.rpartition("/")[2]

    def read_bytes(self):
        try:
            return self.server.read(self.key)
        except self.server.client.exceptions.NoSuchKey:
            raise FileNotFoundError(self.key) from None

    def is_dir(self):
        return False

    def names(self):
        """Of what lies directly below."""
        found = set()
        pages = self.server.client.get_paginator("list_objects_v2").paginate(Bucket=BUCKET, Prefix=self.key + "/", Delimiter="/")
        for page in pages:
            found |= {entry["Key"] for entry in page.get("Contents", [])}
            found |= {entry["Prefix"].rstrip("/") for entry in page.get("CommonPrefixes", [])}
        return sorted(key.rpartition("/")[2] for key in found)

    def age(self, when):
        """Makes the object as old as if it had been written at `when`: its file is the server's."""
        os.utime(pathlib.Path(self.server.root, "data", BUCKET, self.key), (when, when))


def age_uploads(server, when):
    """The same for every multipart upload that is under way."""
    for folder in pathlib.Path(server.root, "data", BUCKET, ".sgwtmp", "multipart").glob("*/*"):
        os.utime(folder, (when, when))
