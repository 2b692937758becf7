#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""bench/wire_server.cc, the server that ./dev bench sync measures clients with, seen by botocore:
what it stores is there in its size, and what it reads is of one pattern.

  wire_server.py PROGRAM"""

import io
import pathlib
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test import cloud_env

cloud_env.enter()
from botocore.exceptions import ClientError

from test.e2e.kit.harness import Results
from test.s3_server import S3Server

BUCKET = "bench"
PART = 5 << 20


class WireServer(S3Server):
    def __init__(self, program):
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        said = self.process.stdout.readline().split()
        self.endpoint = said[-1]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait(timeout=30)
        self.process.stdout.close()


def keys_of(client, call="list_objects_v2", **more):
    pages = client.get_paginator(call).paginate(Bucket=BUCKET, **more)
    return {each["Key"]: each["Size"] for page in pages for each in page.get("Contents", [])}


def one_object(results, client):
    client.put_object(Bucket=BUCKET, Key="one/a b+ä", Body=b"x" * 100_000)
    head = client.head_object(Bucket=BUCKET, Key="one/a b+ä")
    results.check("a stored object has its size", head["ContentLength"] == 100_000, head)
    whole = client.get_object(Bucket=BUCKET, Key="one/a b+ä")["Body"].read()
    answer = client.get_object(Bucket=BUCKET, Key="one/a b+ä", Range="bytes=777-8776")
    part = answer["Body"].read()
    results.check(
        "a range is that of the whole",
        len(whole) == 100_000 and part == whole[777:8777] and answer["ContentRange"] == "bytes 777-8776/100000",
        (len(whole), len(part), answer.get("ContentRange")),
    )
    results.check("and no two of its kilobytes are the same", whole[:1024] != whole[1024:2048])
    try:
        client.get_object(Bucket=BUCKET, Key="gone")
        said = "an object"
    except ClientError as error:
        said = error.response["Error"]["Code"]
    results.check("what is not there is not found", said == "NoSuchKey", said)


def in_parts(results, client):
    begun = client.create_multipart_upload(Bucket=BUCKET, Key="big")
    place = {"Bucket": BUCKET, "Key": "big", "UploadId": begun["UploadId"]}

    def send(number):
        size = PART if number < 3 else 1000
        sent = client.upload_part(**place, PartNumber=number, Body=io.BytesIO(b"y" * size))
        return {"PartNumber": number, "ETag": sent["ETag"]}

    with ThreadPoolExecutor(3) as crew:
        parts = list(crew.map(send, (1, 2, 3)))
    results.check("an upload is not there before its end", "big" not in keys_of(client))
    client.complete_multipart_upload(**place, MultipartUpload={"Parts": parts})
    size = keys_of(client)["big"]
    results.check("three parts are one object", size == 2 * PART + 1000, size)
    again = client.create_multipart_upload(Bucket=BUCKET, Key="other")
    client.abort_multipart_upload(Bucket=BUCKET, Key="other", UploadId=again["UploadId"])
    results.check("an aborted upload leaves nothing", "other" not in keys_of(client))


def many(results, client):
    names = [f"many/{number:04}" for number in range(1203)]
    with ThreadPoolExecutor(8) as crew:
        list(crew.map(lambda key: client.put_object(Bucket=BUCKET, Key=key, Body=b""), names))
    listed = keys_of(client, Prefix="many/")
    results.check("a list has all pages, in order", list(listed) == names, len(listed))
    paged = keys_of(client, Prefix="many/", PaginationConfig={"PageSize": 100})
    results.check("pages may be small", list(paged) == names, len(paged))
    older = keys_of(client, "list_objects", Prefix="many/")
    results.check("the older call has all pages too", list(older) == names, len(older))
    client.delete_object(Bucket=BUCKET, Key=names[0])
    rest = [{"Key": key} for key in names[1:1000]]
    client.delete_objects(Bucket=BUCKET, Delete={"Objects": rest, "Quiet": True})
    left = keys_of(client, Prefix="many/")
    results.check("what is deleted is gone", list(left) == names[1000:], len(left))


def main(program):
    results = Results()
    with WireServer(program) as server:
        client = server.boto3()
        one_object(results, client)
        in_parts(results, client)
        many(results, client)
    results.finish()


if __name__ == "__main__":
    main(sys.argv[1])
