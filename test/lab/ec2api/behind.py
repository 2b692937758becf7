# SPDX-License-Identifier: Apache-2.0
"""What moto knows: types, offerings, images, networks, roles. What never changes is asked once."""

import functools
import time

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError

from test.lab.ec2api.errors import Refusal

KEYS = {"aws_access_key_id": "AKIALAB", "aws_secret_access_key": "lab"}


class Behind:
    def __init__(self, endpoint):
        self.endpoint = endpoint
        self.session = boto3.session.Session()
        self.young = {}  # profile -> until when EC2 does not know it yet

    @functools.lru_cache
    def client(self, service, region):
        more = Config(retries={"max_attempts": 0}, max_pool_connections=50)
        return self.session.client(service, endpoint_url=self.endpoint, region_name=region, config=more, **KEYS)

    def ask(self, region, call, **parameters):
        """An answer of moto's EC2; its refusals pass through."""
        try:
            return getattr(self.client("ec2", region), call)(**parameters)
        except ClientError as error:
            said = error.response["Error"]
            status = error.response["ResponseMetadata"]["HTTPStatusCode"]
            raise Refusal(said["Code"], said["Message"], status) from None

    @functools.lru_cache
    def regions(self):
        return [each["RegionName"] for each in self.ask("us-east-1", "describe_regions")["Regions"]]

    @functools.lru_cache
    def zones(self, region):
        """Zone names to zone ids."""
        told = self.ask(region, "describe_availability_zones")["AvailabilityZones"]
        return {each["ZoneName"]: each["ZoneId"] for each in told}

    @functools.lru_cache
    def type(self, region, name):
        """What DescribeInstanceTypes tells of one, or None where there is no such type."""
        try:
            return self.ask(region, "describe_instance_types", InstanceTypes=[name])["InstanceTypes"][0]
        except Refusal:
            return None

    @functools.lru_cache
    def zones_with(self, region, type_name):
        """The zones that offer a type."""
        told = self.ask(
            region,
            "describe_instance_type_offerings",
            LocationType="availability-zone",
            Filters=[{"Name": "instance-type", "Values": [type_name]}],
        )["InstanceTypeOfferings"]
        return sorted(each["Location"] for each in told)

    def image(self, region, image_id):
        return self.ask(region, "describe_images", ImageIds=[image_id])["Images"][0]

    def subnet(self, region, subnet_id):
        return self.ask(region, "describe_subnets", SubnetIds=[subnet_id])["Subnets"][0]

    def default_subnets(self, region):
        """Of the default VPC, by zone."""
        wanted = [{"Name": "default-for-az", "Values": ["true"]}]
        told = self.ask(region, "describe_subnets", Filters=wanted)["Subnets"]
        return {each["AvailabilityZone"]: each for each in told}

    def default_vpc(self, region):
        wanted = [{"Name": "is-default", "Values": ["true"]}]
        return next(iter(self.ask(region, "describe_vpcs", Filters=wanted)["Vpcs"]), None)

    def vpc(self, region, vpc_id):
        return self.ask(region, "describe_vpcs", VpcIds=[vpc_id])["Vpcs"][0]

    def group(self, region, group_id):
        return self.ask(region, "describe_security_groups", GroupIds=[group_id])["SecurityGroups"][0]

    def group_named(self, region, vpc_id, name):
        wanted = [{"Name": "vpc-id", "Values": [vpc_id]}, {"Name": "group-name", "Values": [name]}]
        told = self.ask(region, "describe_security_groups", Filters=wanted)["SecurityGroups"]
        return told[0] if told else None

    def key_pair(self, region, name):
        return self.ask(region, "describe_key_pairs", KeyNames=[name])["KeyPairs"][0]

    def public_key(self, region, name):
        """The line of authorized_keys, or '' where moto has kept none."""
        told = self.ask(region, "describe_key_pairs", KeyNames=[name], IncludePublicKey=True)
        return told["KeyPairs"][0].get("PublicKey", "")

    def profile(self, name):
        """An instance profile with its roles, or None."""
        try:
            return self.client("iam", "us-east-1").get_instance_profile(InstanceProfileName=name)["InstanceProfile"]
        except ClientError:
            return None

    def too_young(self, name):
        """Whether IAM has it already and EC2 not yet, as the test has said."""
        return self.young.get(name, 0) > time.time()

    def parameter(self, region, name):
        try:
            return self.client("ssm", region).get_parameter(Name=name)["Parameter"]["Value"]
        except ClientError:
            return None
