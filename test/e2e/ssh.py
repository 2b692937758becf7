#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Boxes that ssh reaches: a real sshd on each (kit/pool.py), a bucket between them.

    ssh.py [NAME…]     only these parts"""

import os
import pathlib
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
import cloud_env  # noqa: E402

cloud_env.enter()
import go_tools  # noqa: E402
from kit import apart  # noqa: E402
import versity_s3  # noqa: E402
from kit.harness import PYTHON, Results  # noqa: E402
from kit.job_kit import texts  # noqa: E402
from kit.pool import Pool  # noqa: E402


def test_first(results, pool, here, there):
    """One job of one node, from nothing."""
    job = here.submit("--infra", "ssh/lab", "--name", "first", "--", "sh", "-c",
                      "hostname; echo hello > output/said")
    done = here.stoker("wait", job, timeout=120)
    said = texts(here, job)
    results.check("a job runs on a box", done.returncode == 0 and said[0].startswith("box"),
                  (done.stderr, said))


def main():
    go_tools.tool(versity_s3.MODULE)  # made, where it is not there, while there is a network
    apart.enter()
    results = Results()
    parts = {name[5:]: part for name, part in globals().items() if name.startswith("test_")}
    wanted = sys.argv[1:] or list(parts)
    with tempfile.TemporaryDirectory(prefix="stoker-pool-") as scratch:
        with versity_s3.VersityS3(host="0.0.0.0") as server:
            pool = Pool(server, scratch)
            try:
                with pool.submitter("here") as here, pool.submitter("there") as there:
                    for name in wanted:
                        results.run(name, parts[name], results, pool, here, there)
            finally:
                pool.close()
    results.finish()


if __name__ == "__main__":
    main()
