#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The main line with a bucket as the store, on moto's S3, which boto3 reads back."""

import pathlib
import sys

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test import cloud_env

cloud_env.enter()
from test import moto_s3
from test.e2e.kit import bucket_line
from test.e2e.kit.harness import Results
from test.fault_proxy import FaultProxy

LS = 5  # requests: what ledger it is, twice who is active, the names of index and labels

CASES = [
    ("a wrong bucket", "s3://no-such-bucket-here", {}, ["NoSuchBucket", "Make the bucket"]),
    ("no credentials", None, {"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "",
                              "AWS_EC2_METADATA_DISABLED": "true"}, ["credentials"]),
    ("nobody there", None, {"AWS_ENDPOINT_URL_S3": "http://127.0.0.1:1"}, ["127.0.0.1:1"]),
]  # fmt: skip


def listed(results, server, store):
    """A list costs no more requests for what this machine has seen before."""
    world = bucket_line.machine("s3ls", server, store)
    with world, FaultProxy(server.endpoint, seed=1) as proxy:
        first = world.stoker("ls", "--ids", check=True).stdout
        again = world.stoker("ls", "--ids", check=True, env=server.env(proxy.endpoint)).stdout
        kinds = proxy.told()["requests"]
    results.check("a machine lists the same again", first == again and "moved" in first, again)
    results.check(f"with {LS} requests", sum(kinds.values()) == LS, kinds)


def main():
    results = Results()
    store = f"s3://{moto_s3.BUCKET}/team"
    with moto_s3.MotoS3() as server:
        bucket_line.run(results, server, store, CASES, "s3")
        listed(results, server, store)
        results.check("no multipart upload is left", not server.uploads(), server.uploads())
    results.finish()


if __name__ == "__main__":
    main()
