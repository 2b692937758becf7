# SPDX-License-Identifier: Apache-2.0
"""What EC2 and the bucket say after all jobs, asked with boto3."""

import base64

TAGS = {
    'Name', 'stoker-ledger', 'stoker-job', 'stoker-request', 'stoker-launches', 'stoker-expires',
}  # fmt: skip
FOREIGN = ('InvalidAction', 'SignatureDoesNotMatch', 'UnknownParameter', 'AuthFailure')


def judge(lab, check):
    told = lab.client.describe_instances()['Reservations']
    instances = [each for one in told for each in one['Instances']]
    states = {each['InstanceId']: each['State']['Name'] for each in instances}
    check('boto3: every instance is terminated', set(states.values()) == {'terminated'}, states)
    jobs = [each for each in instances if each.get('Tags')]  # of a test of the lab there are none
    bad = [each['Tags'] for each in jobs if not TAGS <= {t['Key'] for t in each['Tags']}]
    check(f'boto3: the tags of {len(jobs)} instances', jobs and not bad, bad)
    loose = [
        each['BlockDeviceMappings']
        for each in instances
        if not all(disk['Ebs']['DeleteOnTermination'] for disk in each['BlockDeviceMappings'])
    ]
    volumes = lab.client.describe_volumes()['Volumes']
    check('boto3: no volume is left', not loose and not volumes, (loose, volumes))
    launches = [e for e in lab.log if e.get('action') == 'RunInstances' and 'asked' in e]
    secrets = [lab.keyring.own[1], *(secret for _, secret in lab.keyring.pool)]
    leaks = []
    for each in launches:
        text = base64.b64decode(each['asked']['UserData']).decode(errors='replace')
        leaks += [s for s in [*secrets, 'X-Amz-Signature=', 'FwoGZXIv'] if s in text]
    check(f'no secret in user-data of {len(launches)} launches', launches and not leaks, leaks)
    ours = [each for each in lab.log if 'oto' not in each['agent']]
    strange = [(e.get('action'), e['error']) for e in ours if e.get('error') in FOREIGN]
    check(f'{len(ours)} requests are valid by the model, and signed', not strange, strange)
    check('no multipart upload is left', not lab.s3.uploads(), lab.s3.uploads())
