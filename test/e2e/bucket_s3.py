#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The main line with a bucket as the store, on moto's S3, which boto3 reads back."""

import pathlib
import sys

HERE = pathlib.Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
import cloud_env  # noqa: E402

cloud_env.enter()
import bucket_line  # noqa: E402
import moto_s3  # noqa: E402
from harness import Results  # noqa: E402

CASES = [
    ("a wrong bucket", "s3://no-such-bucket-here", {}, ["NoSuchBucket", "Make the bucket"]),
    ("no credentials", None, {"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "",
                              "AWS_EC2_METADATA_DISABLED": "true"}, ["credentials"]),
    ("nobody there", None, {"AWS_ENDPOINT_URL_S3": "http://127.0.0.1:1"}, ["127.0.0.1:1"]),
]  # fmt: skip


def main():
    results = Results()
    with moto_s3.MotoS3() as server:
        bucket_line.run(results, server, f"s3://{moto_s3.BUCKET}/team", CASES, "s3")
        results.check("no multipart upload is left", not server.uploads(), server.uploads())
    results.finish()


if __name__ == "__main__":
    main()
