# SPDX-License-Identifier: Apache-2.0
"""EC2's API with machines that do not boot, in the process of a test, on loopback. Call
cloud_env.enter() before."""

import boto3
from botocore.config import Config

from test.lab.ec2api.behind import Behind
from test.lab.ec2api.front import Front
from test.lab.ec2api.imds import Imds
from test.lab.ec2api.service import Ec2
from test.lab.keyring import Keyring
from test.lab.moto_aws import MotoAws
from test.lab.web import Server

REGION = "us-east-1"
ASSUME = (
    '{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "sts:AssumeRole", '
    '"Principal": {"Service": "ec2.amazonaws.com"}}]}'
)


class Unbooted:
    """`ec2`: what a test changes. `log`: what was asked. `bugs`: errors of the lab itself."""

    def __init__(self, host="127.0.0.1"):
        """`host`: where the API listens."""
        self.host = host

    def __enter__(self):
        self.moto = MotoAws().__enter__()
        self.keyring = Keyring()
        self.log = []
        self.ec2 = Ec2(Behind(self.moto.endpoint))
        self.ec2.settings.verify = True
        self.front = Front(self.ec2, self.keyring, self.log)
        self.bugs = self.front.bugs
        self.servers = [Server(self.front, host=self.host)]
        self.endpoint = f"http://{self.host}:{self.servers[0].port}"
        return self

    def __exit__(self, *_):
        for each in self.servers:
            each.end()
        self.ec2.end()
        self.moto.__exit__()

    def env(self):
        return {
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_ACCESS_KEY_ID": self.keyring.own[0],
            "AWS_SECRET_ACCESS_KEY": self.keyring.own[1],
            "AWS_REGION": REGION,
            "AWS_DEFAULT_REGION": REGION,
            "AWS_EC2_METADATA_DISABLED": "true",
        }

    def client(self, service, **more):
        """Of boto3, which asks once."""
        given = {
            "endpoint_url": self.endpoint,
            "region_name": REGION,
            "aws_access_key_id": self.keyring.own[0],
            "aws_secret_access_key": self.keyring.own[1],
            "config": Config(retries={"max_attempts": 0}, read_timeout=60),
            **more,
        }
        return boto3.client(service, **given)

    def profile(self, name):
        """An instance profile, with a role of the same name."""
        iam = self.client("iam")
        iam.create_role(RoleName=name, AssumeRolePolicyDocument=ASSUME)
        iam.create_instance_profile(InstanceProfileName=name)
        iam.add_role_to_instance_profile(InstanceProfileName=name, RoleName=name)

    def metadata(self, instance_id):
        """A machine's metadata service on loopback: its URL."""
        self.imds = Imds(self.ec2, self.keyring, self.ec2.world.find(instance_id))
        self.servers.append(Server(self.imds))
        return self.servers[-1].url
