#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the contract of the store port on moto's S3: s3_contract.py PROGRAM [ARG…]"""

import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..'))
import cloud_env  # noqa: E402

cloud_env.enter()
import moto_s3  # noqa: E402


def main(argv):
    with moto_s3.MotoS3() as server:
        ran = subprocess.run(
            argv,
            env={
                **os.environ,
                **moto_s3.KEYS,
                'STOKER_TEST_S3': server.endpoint,
                'STOKER_TEST_BUCKET': moto_s3.BUCKET,
            },
        )
        left = server.uploads()
    if left:
        print(f's3_contract: {len(left)} multipart uploads were left behind', file=sys.stderr)
    return ran.returncode or bool(left)


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
