#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The main line with a bucket as the store, on fake-gcs-server, which
google-cloud-storage reads back."""

import pathlib
import sys

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test import cloud_env

cloud_env.enter()
from test import fake_gcs
from test.e2e.kit import bucket_line
from test.e2e.kit.harness import Results

NOTHING = {"STORAGE_EMULATOR_HOST": "", "NO_GCE_CHECK": "true"}
CASES = [
    ("a wrong bucket", "gs://no-such-bucket-here", {}, ["404", "Make the bucket"]),
    ("no credentials", None, NOTHING,
     ["no Google credentials", "NO_GCE_CHECK", "gcloud auth application-default login"]),
    ("no such key file", None, {**NOTHING, "GOOGLE_APPLICATION_CREDENTIALS": "/gone.json"},
     ["GOOGLE_APPLICATION_CREDENTIALS", "/gone.json"]),
    ("nobody there", None, {"STORAGE_EMULATOR_HOST": "127.0.0.1:1"}, ["127.0.0.1:1"]),
]  # fmt: skip


def main():
    results = Results()
    with fake_gcs.FakeGcs() as server:
        bucket_line.run(results, server, f"gs://{fake_gcs.BUCKET}/team", CASES, "gcs")
    results.finish()


if __name__ == "__main__":
    main()
