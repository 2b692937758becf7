#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a program against EC2 as the lab plays it (test/lab), without machines that boot: every
request is held against botocore's model of the service and its signature is verified there.
api.py PROGRAM [ARG…]

The program gives orders to the lab at $STOKER_TEST_CONTROL: see Orders."""

import datetime
import os
import pathlib
import re
import subprocess
import sys
import threading
import urllib.parse

sys.path[0] = str(pathlib.Path(__file__).parents[2])

from test import cloud_env

cloud_env.enter()
import boto3

from test.lab.ec2api import groups
from test.lab.ec2api.behind import Behind
from test.lab.ec2api.front import Front
from test.lab.ec2api.service import Ec2
from test.lab.ec2api.world import World
from test.lab.keyring import Keyring
from test.lab.moto_aws import MotoAws
from test.lab.web import Server

REGION = 'us-east-1'
ASSUME = '{"Statement": [{"Effect": "Allow", "Action": "sts:AssumeRole", ' \
    '"Principal": {"Service": "ec2.amazonaws.com"}}]}'  # fmt: skip


class Orders:
    """reset; refuse?code= (none: no more); doom?code=; fault?action=&way=; late?seconds=;
    capacity?type=&slots=; stop?id=; drill?id=&ms=; group?id=; copy, loosen, reserve, vpc, open,
    given and placements: see there;
    made: what requests have made; asked: how many requests there were, since reset."""

    def __init__(self, ec2, log, client):
        self.ec2 = ec2
        self.log = log
        self.client = client
        self.since = 0

    def __call__(self, handler):
        split = urllib.parse.urlsplit(handler.path)
        asked = dict(urllib.parse.parse_qsl(split.query))
        handler.body()
        try:
            handler.out(200, getattr(self, split.path[1:])(**asked) or 'ok')
        except Exception as error:  # noqa: BLE001  # the test is told
            handler.out(500, str(error))

    def reset(self):
        self.since = len(self.log)
        self.ec2.world = World()
        self.ec2.faults.clear()
        self.ec2.capacity.rules.clear()
        self.ec2.settings.late = 0.0

    def refuse(self, code):
        self.ec2.faults.clear()
        if code != 'none':
            self.ec2.faults.add('RunInstances', 'error', count=1000, code=code, words='so it is')

    def doom(self, code):
        self.ec2.faults.clear()
        if code != 'none':
            self.ec2.faults.add_birth(code, 'so it is', count=1000)

    def fault(self, action, way):
        self.ec2.faults.add(action, way)

    def late(self, seconds):
        self.ec2.settings.late = float(seconds)

    def capacity(self, type, slots):
        self.ec2.capacity.set(int(slots), type=type)

    def stop(self, id):
        self.client.stop_instances(InstanceIds=[id])

    def drill(self, id, ms):
        """What the agent of a machine that boots does itself."""
        end = threading.Timer(
            int(ms) / 1000, lambda: self.client.terminate_instances(InstanceIds=[id])
        )
        end.daemon = True
        end.start()

    def copy(self, id):
        """Another machine like it, as the console makes them: with its tags. Its id."""
        plan = self.ec2.world.find(id).asked
        tags = [{'Key': k, 'Value': v} for k, v in self.ec2.world.find(id).tags.items()]
        made = self.client.run_instances(
            MinCount=1, MaxCount=1, ImageId=plan['ImageId'], InstanceType=plan['InstanceType'],
            TagSpecifications=[{'ResourceType': 'instance', 'Tags': tags}],
        )  # fmt: skip
        return made['Instances'][0]['InstanceId']

    def loosen(self, id):
        """Its first volume will outlive it: the volume's id."""
        machine = self.ec2.world.find(id)
        volume = machine.region.volumes[machine.volumes[0]]
        volume['ends_with_it'] = False
        return volume['id']

    def group(self, id):
        found = self.client.describe_security_groups(GroupIds=[id])['SecurityGroups'][0]
        opens = [
            pair['GroupId'] for rule in found['IpPermissions'] for pair in rule['UserIdGroupPairs']
        ]
        ranges = [each for rule in found['IpPermissions'] for each in rule['IpRanges']]
        return f'{found["GroupName"]} opens to {" ".join(opens)}' + str(ranges or '')

    def asked(self):
        return str(len([each for each in self.log[self.since :] if 'oto' not in each['agent']]))

    def reserve(self, type, count, zone='us-east-1a', **more):
        """A capacity reservation, as a person has it: its id. `more`: what differs in it."""
        name = groups.reserve(self.ec2, REGION, type, zone, int(count))
        if 'StartDate' in more:
            more['StartDate'] = datetime.datetime.fromisoformat(more['StartDate'])
        self.ec2.world.region(REGION).reservations[name].update(more)
        return name

    def vpc(self, zone):
        """A subnet and a security group of a VPC that is not the default one, ids."""
        vpc = self.client.create_vpc(CidrBlock='10.20.0.0/16')['Vpc']['VpcId']
        subnet = self.client.create_subnet(
            VpcId=vpc, CidrBlock='10.20.1.0/24', AvailabilityZone=zone
        )['Subnet']['SubnetId']
        group = self.client.create_security_group(
            GroupName='team nodes', Description='x', VpcId=vpc
        )['GroupId']
        return f'{subnet} {group} {vpc}'

    def open(self, id):
        """The security group lets its own members in."""
        self.client.authorize_security_group_ingress(GroupId=id, IpPermissions=[
            {'IpProtocol': '-1', 'UserIdGroupPairs': [{'GroupId': id}]}])  # fmt: skip

    def given(self, id):
        """What a machine was made with: placement group, reservation, market, subnet, security
        groups, interfaces."""
        plan = self.ec2.world.find(id).asked
        cards = ' '.join(each['InterfaceType'] for each in plan.get('NetworkInterfaces', []))
        return '|'.join([
            (plan['Group'] or {}).get('GroupName', ''), plan['Reserved'] or '', plan['Market'],
            plan['Subnet']['SubnetId'], ' '.join(g['GroupId'] for g in plan['Groups']), cards])

    def placements(self):
        return ' '.join(self.ec2.world.region(REGION).groups) or 'none'

    def made(self):
        changes = ('RunInstances', 'CreateSecurityGroup', 'CreateTags')
        made = [each['action'] for each in self.log[self.since :] if each['action'] in changes]
        return ' '.join(made) or 'nothing'


def roles(endpoint, keys):
    iam = boto3.client(
        'iam', endpoint_url=endpoint, region_name=REGION, aws_access_key_id=keys[0],
        aws_secret_access_key=keys[1],
    )  # fmt: skip
    iam.create_role(RoleName='stoker', AssumeRolePolicyDocument=ASSUME)
    iam.create_instance_profile(InstanceProfileName='stoker')
    iam.add_role_to_instance_profile(InstanceProfileName='stoker', RoleName='stoker')


def main(argv):
    log = []
    with MotoAws() as moto:
        keyring = Keyring()
        ec2 = Ec2(Behind(moto.endpoint))
        ec2.settings.verify = True
        front = Front(ec2, keyring, log)
        server = Server(front)
        endpoint = f'http://127.0.0.1:{server.server_address[1]}'
        roles(endpoint, keyring.own)
        client = boto3.client(
            'ec2', endpoint_url=endpoint, region_name=REGION, aws_access_key_id=keyring.own[0],
            aws_secret_access_key=keyring.own[1],
        )  # fmt: skip
        control = Server(Orders(ec2, log, client))
        ran = subprocess.run(
            argv,
            env={
                'PATH': os.environ['PATH'],
                'HOME': '/nonexistent',
                'AWS_ACCESS_KEY_ID': keyring.own[0],
                'AWS_SECRET_ACCESS_KEY': keyring.own[1],
                'AWS_ENDPOINT_URL': endpoint,
                'AWS_REGION': REGION,
                'STOKER_TEST_CONTROL': f'http://127.0.0.1:{control.server_address[1]}',
            },
            stdout=subprocess.PIPE,
            text=True,
        )
        ec2.end()
    print(ran.stdout, end='')
    ours = [entry for entry in log if 'oto' not in entry['agent']]
    strange = [
        (entry['action'], entry.get('error'))
        for entry in ours
        if entry.get('error') in ('UnknownParameter', 'InvalidAction', 'SignatureDoesNotMatch')
    ]
    for each in strange:
        print(f'FAIL the model does not know, or nobody signed so: {each}')
    passed = re.search(r'\[  PASSED  \] (\d+) tests?', ran.stdout)
    print(f'api: {passed[1] if passed else 0} cases hold; {len(ours)} requests valid by the model')
    return ran.returncode or len(front.bugs) or len(strange) or not passed or len(ours) < 100


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
