#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A report in a bucket: browsers are told what its files are. On servers of others, asked by
plain HTTP, as a browser asks, and by boto3."""

import json
import pathlib
import sys
import urllib.request

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test import cloud_env

cloud_env.enter()
from test import fake_gcs, moto_s3
from test.e2e.kit.harness import Results, World

TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}

# As somebody who shows a report to everybody sets it.
PUBLIC = {
    "Version": "2012-10-17",
    "Statement": [{"Effect": "Allow", "Principal": "*", "Action": "s3:GetObject", "Resource": f"arn:aws:s3:::{moto_s3.BUCKET}/*"}],
}


def ask(url):
    with urllib.request.urlopen(url, timeout=30) as answer:
        return answer.headers, answer.read()


def exported(results, world, server, store, name):
    """Twice to the same place, and never over what is another's."""
    for turn in ("is exported", "is exported again"):
        done = world.stoker("ui", "--export", f"{store}/report", "small", env=server.env())
        results.check(f"{name}: {turn}", done.returncode == 0, done.stderr)
    keys = server.keys("report/")
    results.check(
        f"{name}: its files are there", "report/index.html" in keys and sum(key.startswith("report/data/") for key in keys) == 2, keys
    )
    told, kept = {}, set()
    plain = getattr(server, "behind", server.endpoint)  # of a browser, documents say nothing
    for key in keys:
        headers, body = ask(f"{plain}/{fake_gcs.BUCKET}/{key}")
        told[key] = headers.get("Content-Type", "")
        kept.add(headers.get("Cache-Control", ""))
        if key == "report/index.html":
            results.check(f"{name}: the page is whole", b"<!doctype html>" in body and b'src="export.js"' in body, body[:300])
    wrong = {key: type_ for key, type_ in told.items() if TYPES.get(pathlib.PurePath(key).suffix) != type_}
    results.check(f"{name}: each is called what it is", told and not wrong, wrong)
    results.check(f"{name}: browsers ask anew", kept == {"no-cache"}, kept)


def main():
    results = Results()
    with World("buckets") as world:
        world.stoker("run", "--name", "small", "--", "sh", "-c", "echo hello", check=True)
        with moto_s3.MotoS3() as server:
            server.client.put_bucket_policy(Bucket=moto_s3.BUCKET, Policy=json.dumps(PUBLIC))
            exported(results, world, server, f"s3://{moto_s3.BUCKET}", "S3")
            kept = server.client.head_object(Bucket=moto_s3.BUCKET, Key="report/app.css")
            results.check("S3: boto3 says so, too", kept["ContentType"] == TYPES[".css"], kept["ContentType"])
            server.client.put_object(Bucket=moto_s3.BUCKET, Key="other/app.js", Body=b"mine")
            refused = world.stoker("ui", "--export", f"s3://{moto_s3.BUCKET}/other", env=server.env())
            results.check(
                "S3: an export writes over nobody's objects",
                refused.returncode != 0 and server.read("other/app.js") == b"mine",
                refused.stderr,
            )
        with fake_gcs.FakeGcs() as server:
            exported(results, world, server, f"gs://{fake_gcs.BUCKET}", "GCS")
            blob = server.client().bucket(fake_gcs.BUCKET).get_blob("report/app.css")
            results.check("GCS: Google's client says so, too", blob.content_type == TYPES[".css"], blob.content_type)
    results.finish()


main()
