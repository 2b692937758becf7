# SPDX-License-Identifier: Apache-2.0
"""What parliament, a linter of IAM's policies that knows all of Amazon's actions, resources and
conditions, finds in the policies that come in as a JSON list: a list of lists of findings.
policy_lint.py starts in parliament's own environment: see lint()."""

import json
import os
import subprocess
import sys


def python():
    """Of parliament's environment, which is made once, while there is a network."""
    from test import cloud_env

    where = os.path.join(os.path.dirname(cloud_env.REQUIREMENTS), "requirements-lint.txt")
    return os.path.join(cloud_env.folder(where), "bin", "python3")


def lint(policies):
    done = subprocess.run([python(), os.path.abspath(__file__)], input=json.dumps(policies), capture_output=True, text=True, timeout=300)
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    return json.loads(done.stdout)


if __name__ == "__main__":
    import parliament

    told = [parliament.analyze_policy_string(json.dumps(each)) for each in json.load(sys.stdin)]
    print(json.dumps([[f"{f.issue}: {f.detail}" for f in each.findings] for each in told]))
