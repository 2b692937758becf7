# SPDX-License-Identifier: Apache-2.0
"""What the S3 servers of the tests share: one bucket, seen with boto3. moto_s3.py and
versity_s3.py start them. Call cloud_env.enter() before."""

KEYS = {"AWS_ACCESS_KEY_ID": "AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY": "secret"}
BUCKET = "stoker-test"


class S3Server:
    """`endpoint` is set by who starts the server; the tests look past it with boto3."""

    endpoint = None
    bucket = BUCKET

    def boto3(self, endpoint=None):
        import boto3

        return boto3.client(
            "s3",
            endpoint_url=endpoint or self.endpoint,
            region_name="us-east-1",
            aws_access_key_id=KEYS["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=KEYS["AWS_SECRET_ACCESS_KEY"],
        )

    def make_bucket(self):
        self.client = self.boto3()
        self.client.create_bucket(Bucket=BUCKET)

    def env(self, endpoint=None):
        """For a program that is to use this server, through `endpoint` where given."""
        return {**KEYS, "AWS_ENDPOINT_URL_S3": endpoint or self.endpoint, "AWS_REGION": "us-east-1"}

    def keys(self, prefix=""):
        pages = self.client.get_paginator("list_objects_v2").paginate(Bucket=BUCKET, Prefix=prefix)
        return [entry["Key"] for page in pages for entry in page.get("Contents", [])]

    def read(self, key):
        return self.client.get_object(Bucket=BUCKET, Key=key)["Body"].read()

    def uploads(self):
        return self.client.list_multipart_uploads(Bucket=BUCKET).get("Uploads", [])
