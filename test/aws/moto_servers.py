#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Credentials from servers that other people wrote, moto's STS and EC2 metadata:
moto_servers.py DRIVER"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test import cloud_env

cloud_env.enter()
from moto.server import ThreadedMotoServer


def find(driver, folder, config, **more):
    os.makedirs(f"{folder}/.aws", exist_ok=True)
    with open(f"{folder}/.aws/config", "w", encoding="utf-8") as out:
        out.write(config)
    env = {"HOME": folder, "PATH": os.environ["PATH"], **more}
    done = subprocess.run([driver], env=env, capture_output=True, text=True, timeout=60, check=True)
    return json.loads(done.stdout)


def main(argv):
    failed = []

    def expect(what, found, test):
        print(("ok   " if test else "FAIL ") + what + ("" if test else f": {found}"))
        if not test:
            failed.append(what)

    server = ThreadedMotoServer("127.0.0.1", 0)
    server.start()
    try:
        _, port = server.get_host_and_port()
        url = f"http://127.0.0.1:{port}"
        imds = {"AWS_EC2_METADATA_SERVICE_ENDPOINT": url}
        with tempfile.TemporaryDirectory(prefix="stoker-aws") as folder:
            found = find(argv[1], folder, "", **imds)
            expect("instance role", found, found.get("access_key") == "test-key")
            expect("  its token", found, found.get("token") == "test-session-token")
            expect("  expires", found, bool(found.get("expires")))
            role = "[default]\nrole_arn = arn:aws:iam::123456789012:role/trainer\n"
            keys = "aws_access_key_id = AKIAUSER\naws_secret_access_key = s\n"
            found = find(argv[1], folder, role + "source_profile = user\n[profile user]\n" + keys, AWS_ENDPOINT_URL_STS=url)
            expect("assumed role", found, found.get("access_key", "").startswith("ASIA"))
            expect("  its token", found, len(found.get("token", "")) > 20)
            found = find(argv[1], folder, role + "credential_source = Ec2InstanceMetadata\n", AWS_ENDPOINT_URL=url, **imds)
            expect("role by role", found, found.get("access_key", "").startswith("ASIA"))
            with open(f"{folder}/token", "w", encoding="utf-8") as out:
                out.write("e30.e30.x")
            found = find(
                argv[1],
                folder,
                "",
                AWS_ENDPOINT_URL_STS=url,
                AWS_WEB_IDENTITY_TOKEN_FILE=f"{folder}/token",
                AWS_ROLE_ARN="arn:aws:iam::123456789012:role/web",
            )
            expect("web identity", found, found.get("access_key", "").startswith("ASIA"))
    finally:
        server.stop()
    print(f"{len(failed)} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
