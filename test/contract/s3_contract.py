#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the contract of the store port on an S3 server that others wrote:
s3_contract.py moto|versity PROGRAM [ARG…]"""

import os
import pathlib
import re
import subprocess
import sys

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test import cloud_env

cloud_env.enter()
from test import moto_s3, versity_s3

SERVERS = {"moto": moto_s3.MotoS3, "versity": versity_s3.VersityS3}


def main(name, argv):
    with SERVERS[name]() as server:
        ran = subprocess.run(
            argv,
            env={
                **os.environ,
                **moto_s3.KEYS,
                "STOKER_TEST_S3": server.endpoint,
                "STOKER_TEST_BUCKET": moto_s3.BUCKET,
                "STOKER_TEST_SERVER": name,
            },
            stdout=subprocess.PIPE,
            text=True,
        )
        left = server.uploads()
    print(ran.stdout, end="")
    if left:
        print(f"s3_contract: {len(left)} multipart uploads were left behind", file=sys.stderr)
    passed = re.search(r"\[  PASSED  \] (\d+) tests?", ran.stdout)
    print(f"s3_contract: {passed[1] if passed else 0} cases hold on {name}")
    return ran.returncode or bool(left) or not passed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
