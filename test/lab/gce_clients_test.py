#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The lab's Compute Engine as google-cloud-compute sees it, which reads every answer by Google's
own types: what it asks for is done, once, and what Google refuses is refused by the same words.

    gce_clients_test.py [PART…]      only these parts
    gce_clients_test.py --broken     break the lab in many ways: each must be noticed"""

import concurrent.futures
import json
import os
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
import uuid

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.dirname(HERE)]
import cloud_env  # noqa: E402

cloud_env.enter()
import google.auth.exceptions  # noqa: E402
from gceapi import lifecycle  # noqa: E402
from gceapi.identity import CLOUD, GRANT  # noqa: E402
from gceapi.service import PROJECT  # noqa: E402
from google.api_core import exceptions  # noqa: E402
from google.auth import crypt, jwt  # noqa: E402
from google.cloud import compute_v1 as v1  # noqa: E402
from unbooted_gce import OWN, ROLE, ZONE, UnbootedGce  # noqa: E402

REGION = 'us-central1'
KIND = 'e2-standard-2'
PATIENCE = 30.0
IMAGE = 'projects/debian-cloud/global/images/family/debian-12'
failed = []
quiet = False


def expect(what, found, wanted=True):
    good = found == wanted
    if not quiet:
        more = '' if good else f': {found!r}, not {wanted!r}'
        print(('ok   ' if good else 'FAIL ') + what + more)
    if not good:
        failed.append(what)


def refused(call, **asked):
    """(status of HTTP, reason), or 'done'."""
    try:
        call(**asked, retry=None, timeout=20)
    except exceptions.GoogleAPICallError as error:
        return error.code, error.errors[0].get('reason') if error.errors else None
    return 'done'


def wait_for(what, holds):
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if holds():
            return True
        time.sleep(0.02)
    expect(what, False)
    return False


class Google:
    """The client's calls, with this project, and without what is always the same."""

    def __init__(self, lab, exchanged=True):
        self.lab = lab
        self.instances = lab.client('InstancesClient', exchanged)
        self.region_instances = lab.client('RegionInstancesClient', exchanged)
        self.operations = {
            'zone': lab.client('ZoneOperationsClient', exchanged),
            'region': lab.client('RegionOperationsClient', exchanged),
        }

    def insert(self, name, zone=ZONE, request_id=None, **more):
        request = {'project': PROJECT, 'zone': zone, 'instance_resource': one(name, **more)}
        if request_id:
            request['request_id'] = request_id
        return self.instances.insert_unary(request=request, retry=None, timeout=20)

    def bulk(self, zone=ZONE, region=None, request_id=None, **told):
        request = {'project': PROJECT, 'bulk_insert_instance_resource_resource': told}
        if request_id:
            request['request_id'] = request_id
        if region:
            request['region'] = region
            return self.region_instances.bulk_insert_unary(request=request, retry=None, timeout=20)
        request['zone'] = zone
        return self.instances.bulk_insert_unary(request=request, retry=None, timeout=20)

    def act(self, verb, name, zone=ZONE, **more):
        call = getattr(self.instances, f'{verb}_unary')
        return call(project=PROJECT, zone=zone, instance=name, retry=None, timeout=20, **more)

    def get(self, name, zone=ZONE):
        return self.instances.get(project=PROJECT, zone=zone, instance=name, retry=None)

    def state(self, name, zone=ZONE):
        try:
            return self.get(name, zone).status
        except exceptions.NotFound:
            return 'none'

    def done(self, operation):
        """As it is at its end."""
        place = 'region' if operation.region else 'zone'
        where = {place: getattr(operation, place).rsplit('/', 1)[-1]}
        while operation.status != v1.Operation.Status.DONE:
            operation = self.operations[place].wait(
                project=PROJECT, operation=operation.name, retry=None, timeout=150, **where
            )
        return operation

    def codes(self, operation):
        return [each.code for each in self.done(operation).error.errors]

    def all(self, **asked):
        """Names by scope, over all pages."""
        request = {'project': PROJECT, 'return_partial_success': True, **asked}
        if 'return_partial_success' not in v1.AggregatedListInstancesRequest.meta.fields:
            request.pop('return_partial_success')
        found = {}
        for scope, told in self.instances.aggregated_list(request=request):
            found.setdefault(scope, []).extend(each.name for each in told.instances)
        return {scope: names for scope, names in found.items() if names}

    def runs(self, name, zone=ZONE):
        return wait_for(f'{name} runs', lambda: self.state(name, zone) == 'RUNNING')


def one(name, kind=KIND, image=IMAGE, **more):
    params = v1.AttachedDiskInitializeParams(source_image=image)
    told = {
        'name': name,
        'machine_type': f'zones/{more.pop("in_zone", ZONE)}/machineTypes/{kind}',
        'disks': [v1.AttachedDisk(boot=True, auto_delete=True, initialize_params=params)],
        'network_interfaces': [v1.NetworkInterface(network='global/networks/default')],
        **more,
    }
    return v1.Instance(**{key: each for key, each in told.items() if each is not None})


def properties(kind=KIND, **more):
    told = one('x', **more)
    return v1.InstanceProperties(
        machine_type=kind, disks=told.disks, network_interfaces=told.network_interfaces,
        labels=told.labels, scheduling=told.scheduling, metadata=told.metadata,
    )  # fmt: skip


def many(*names, count=None, **more):
    per = {name: v1.BulkInsertInstanceResourcePerInstanceProperties(name=name) for name in names}
    return {
        'count': count or len(names), 'per_instance_properties': per,
        'instance_properties': properties(**more),
    }  # fmt: skip


def spot(**more):
    return v1.Scheduling(provisioning_model='SPOT', **more)


def launch(lab, google):
    metadata = v1.Metadata(items=[v1.Items(key='startup-script', value='#!/bin/sh\n')])
    account = v1.ServiceAccount(email=ROLE, scopes=[CLOUD])
    operation = google.insert('one', labels={'stoker-job': 'a'}, metadata=metadata,
                              service_accounts=[account], description='it')  # fmt: skip
    expect('an operation comes back', operation.operation_type, 'insert')
    ended = google.done(operation)
    expect('  it ends', (ended.status.name, len(ended.error.errors), ended.progress),
           ('DONE', 0, 100))  # fmt: skip
    expect('  who asked', ended.user, OWN)
    google.runs('one')
    told = google.get('one')
    expect('  the machine that it names', told.id, ended.target_id)
    expect('labels', dict(told.labels), {'stoker-job': 'a'})
    expect('metadata', [(e.key, e.value) for e in told.metadata.items],
           [('startup-script', '#!/bin/sh\n')])  # fmt: skip
    expect('its account', told.service_accounts[0].email, ROLE)
    expect('its type', told.machine_type.rsplit('/', 1)[-1], KIND)
    expect('what it is, by itself', (told.scheduling.provisioning_model,
           told.scheduling.on_host_maintenance, told.scheduling.automatic_restart),
           ('STANDARD', 'MIGRATE', True))  # fmt: skip
    expect('its disk ends with it', told.disks[0].auto_delete)
    expect('the name again', refused(google.instances.insert_unary, request={
        'project': PROJECT, 'zone': ZONE, 'instance_resource': one('one')}),
        (409, 'alreadyExists'))  # fmt: skip
    google.done(google.insert('one', zone='us-central1-b', in_zone='us-central1-b'))
    expect('the name in another zone', google.state('one', 'us-central1-b') != 'none')
    google.done(google.act('delete', 'one'))
    expect('deleted', google.state('one'), 'none')
    expect('deleted once more', refused(google.instances.delete_unary, project=PROJECT, zone=ZONE,
           instance='one'), (404, 'notFound'))  # fmt: skip
    disks = lab.client('DisksClient').list(project=PROJECT, zone=ZONE)
    expect('its disk is gone', [each.name for each in disks], [])
    expect('the name is free again', google.codes(google.insert('one')), [])
    google.done(google.act('delete', 'one', 'us-central1-b'))
    google.done(google.act('delete', 'one'))


def once(lab, google):
    """requestId."""
    token = str(uuid.uuid4())
    first = google.insert('idem', request_id=token)
    expect('the id is in the operation', first.client_operation_id, token)
    again = google.insert('idem', request_id=token)
    expect('the same request is the same operation', again.name, first.name)
    google.done(first)
    expect('also when it has ended', google.insert('idem', request_id=token).name, first.name)
    found = google.operations['zone'].list(
        request={'project': PROJECT, 'zone': ZONE, 'filter': f'clientOperationId = "{token}"'}
    )
    expect('found by it', [each.name for each in found], [first.name])
    expect('another request with the id', refused(google.instances.insert_unary, request={
        'project': PROJECT, 'zone': ZONE, 'request_id': token, 'instance_resource': one('other')}),
        (400, 'invalid'))  # fmt: skip
    expect('an id of no form', refused(google.instances.insert_unary, request={
        'project': PROJECT, 'zone': ZONE, 'request_id': 'x', 'instance_resource': one('other')}),
        (400, 'invalid'))  # fmt: skip
    token = str(uuid.uuid4())
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        names = list(pool.map(lambda _: google.insert('race', request_id=token).name, range(8)))
    expect('eight at once are one', len(set(names)), 1)
    token = str(uuid.uuid4())
    lab.api.faults.add('instances.insert', 'lost_answer')
    expect('an answer that is lost', _lost(google.insert, 'lost', request_id=token))
    expect('  had its effect', google.codes(google.insert('lost', request_id=token)), [])
    lab.api.faults.add('instances.insert', 'lost_request')
    expect('a request that is lost', _lost(google.insert, 'never'))
    expect('  had none', google.state('never'), 'none')


def _lost(call, *given, **asked):
    try:
        call(*given, **asked)
    except (exceptions.ServiceUnavailable, exceptions.GoogleAPICallError, OSError,
            google.auth.exceptions.TransportError):  # fmt: skip
        return True
    return False


def room(lab, google):
    lab.api.capacity.set(0, zone=ZONE, market='spot')
    operation = google.insert('full', scheduling=spot())
    expect('a stockout is no refusal', operation.status.name, 'RUNNING')
    ended = google.done(operation)
    error = ended.error.errors[0]
    expect('  it comes later', error.code, 'ZONE_RESOURCE_POOL_EXHAUSTED')
    expect('  by HTTP', (ended.http_error_status_code, ended.http_error_message),
           (503, 'SERVICE UNAVAILABLE'))  # fmt: skip
    info = [each.error_info for each in error.error_details if each.error_info.reason]
    expect('  why', info[0].reason, 'resource_availability')
    expect('  where there is some', 'us-central1-b' in info[0].metadatas['zonesAvailable'])
    expect('  and no machine', google.state('full'), 'none')
    expect('the other market has room', google.codes(google.insert('full')), [])
    lab.api.capacity.clear()
    lab.api.capacity.quotas['CPUS'] = 2
    error = google.done(google.insert('quota')).error.errors[0]
    expect('quota', error.code, 'QUOTA_EXCEEDED')
    expect('  which', "Quota 'CPUS' exceeded.  Limit: 2.0 in region us-central1." in error.message)
    lab.api.capacity.clear()
    for code, status in [('ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS', 503),
                         ('RESOURCE_POOL_EXHAUSTED', 503), ('INTERNAL_ERROR', 500),
                         ('UNSUPPORTED_OPERATION', 400)]:  # fmt: skip
        lab.api.births.add(code, 'so it is', status=status)
        expect(f'what a test says: {code}', google.codes(google.insert('said')), [code])
        expect('  no machine', google.state('said'), 'none')


def power(lab, google):
    google.done(google.insert('power', scheduling=spot(instance_termination_action='STOP')))
    google.runs('power')
    before = google.get('power')
    google.done(google.act('stop', 'power'))
    expect('stopped', google.state('power'), 'TERMINATED')
    disks = lab.client('DisksClient').list(project=PROJECT, zone=ZONE)
    expect('its disk is kept', 'power' in [each.name for each in disks])
    google.done(google.act('start', 'power'))
    google.runs('power')
    after = google.get('power')
    expect('the same machine', after.id, before.id)
    expect('started later', after.last_start_timestamp > before.last_start_timestamp)
    google.done(google.act('stop', 'power'))
    lab.api.capacity.set(0, zone=ZONE)
    expect('no room at its start', google.codes(google.act('start', 'power')),
           ['ZONE_RESOURCE_POOL_EXHAUSTED'])  # fmt: skip
    expect('  it stays', google.state('power'), 'TERMINATED')
    lab.api.capacity.clear()
    google.done(google.act('start', 'power'))
    google.runs('power')
    lab.api.settings.stop_delay = 0.5
    stopping = google.act('stop', 'power')
    expect('a start while it stops', refused(google.instances.start_unary, project=PROJECT,
           zone=ZONE, instance='power'), (400, 'resourceNotReady'))  # fmt: skip
    deleting = google.act('delete', 'power')
    google.done(stopping)
    google.done(deleting)
    expect('deleted while it stops', google.state('power'), 'none')


def _system(google, kind):
    """Names of what the platform did by itself, by operation."""
    found = google.operations['zone'].list(request={
        'project': PROJECT, 'zone': ZONE, 'filter': f'operationType = "{kind}"'})  # fmt: skip
    return [(each.target_link.rsplit('/', 1)[-1], each.user) for each in found]


def ends(lab, google):
    """What ends a machine without a request."""
    api = lab.api
    api.settings.notices = (120.0, 0.2)
    for name, more in [
        ('kept', spot(instance_termination_action='STOP')),
        ('taken', spot(instance_termination_action='DELETE')),
        ('plain', spot()),
        ('told', spot(instance_termination_action='DELETE',
                      preemption_notice_duration=v1.Duration(seconds=120))),
    ]:  # fmt: skip
        google.done(google.insert(name, scheduling=more))
        google.runs(name)

    def preempt(name, lead=None):
        with api.world.lock:
            lifecycle.preempt(api, api.world.named(name), lead)

    preempt('kept')
    preempt('taken')
    preempt('plain', 0)
    preempt('told')
    wait_for('STOP', lambda: google.state('kept') == 'TERMINATED')
    wait_for('DELETE', lambda: google.state('taken') == 'none')
    wait_for('by itself it is STOP', lambda: google.state('plain') == 'TERMINATED')
    expect('with a notice it still runs', google.state('told'), 'RUNNING')
    expect('  and knows it', api.world.named('told').preempted)
    who = sorted(_system(google, 'compute.instances.preempted'))
    expect('who took them', who, [(name, 'system') for name in ('kept', 'plain', 'taken')])
    google.done(google.insert('hurt'))
    google.done(google.insert('off'))
    google.runs('hurt')
    google.runs('off')
    with api.world.lock:
        lifecycle.host_error(api, api.world.named('hurt'))
        lifecycle.guest_off(api, api.world.named('off'))
    wait_for('one that goes off by itself is stopped', lambda: google.state('off') == 'TERMINATED')
    expect('  by its own word', _system(google, 'compute.instances.guestTerminate'),
           [('off', 'system')])  # fmt: skip
    wait_for('host error', lambda: bool(_system(google, 'compute.instances.automaticRestart')))
    google.runs('hurt')


def limits(lab, google):
    """Limits of time: enforced by moving the clock of the test, not by waiting."""
    short = v1.Duration(seconds=60)
    google.done(google.insert('limit', scheduling=v1.Scheduling(
        max_run_duration=short, instance_termination_action='DELETE')))  # fmt: skip
    google.runs('limit')
    at = google.get('limit').resource_status.scheduling.termination_timestamp
    expect('its end is told', at != '')
    instance = lab.api.world.named('limit')
    with lab.api.world.lock:
        lifecycle.limit(lab.api, instance, instance.ends)
    wait_for('it is deleted at its limit', lambda: google.state('limit') == 'none')
    google.done(google.insert('stops', scheduling=v1.Scheduling(
        max_run_duration=short, instance_termination_action='STOP')))  # fmt: skip
    google.runs('stops')
    google.done(google.act('stop', 'stops'))
    expect('a stop clears its clock', google.get('stops').resource_status.scheduling
           .termination_timestamp, '')  # fmt: skip
    end = time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime(time.time() + 3600))
    fixed = v1.Scheduling(termination_time=end, instance_termination_action='DELETE')
    google.done(google.insert('fixed', scheduling=fixed))
    google.runs('fixed')
    google.done(google.act('stop', 'fixed'))
    told = google.get('fixed').resource_status.scheduling.termination_timestamp
    expect('a fixed end stays', told != '')


def bulk(lab, google):
    asked = many('gang-0', 'gang-1', labels={'job': 'g'})
    token = str(uuid.uuid4())
    operation = google.bulk(**asked, request_id=token)
    expect('the same bulk', google.bulk(**asked, request_id=token).name, operation.name)
    ended = google.done(operation)
    status = dict(ended.instances_bulk_insert_operation_metadata.per_location_status)
    told = status[f'zones/{ZONE}']
    expect('a bulk', (ended.operation_type, told.created_vm_count, told.status),
           ('bulkInsert', 2, 'DONE'))  # fmt: skip
    for name in ('gang-0', 'gang-1'):
        google.runs(name)
        expect('  its labels', dict(google.get(name).labels), {'job': 'g'})
    parts = google.operations['zone'].list(request={
        'project': PROJECT, 'zone': ZONE, 'filter':
        f'(operationGroupId = "{ended.operation_group_id}") (operationType = insert)'})  # fmt: skip
    expect('  an insert for each', len(list(parts)), 2)
    lab.api.capacity.set(1, zone=ZONE, type='e2-standard-4')
    operation = google.bulk(**many('roll-0', 'roll-1', 'roll-2', kind='e2-standard-4'))
    ended = google.done(operation)
    expect('all or none', [each.code for each in ended.error.errors],
           ['VM_MIN_COUNT_NOT_REACHED', 'ZONE_RESOURCE_POOL_EXHAUSTED'])  # fmt: skip
    wait_for('  rolled back', lambda: google.all(filter='name eq roll-.*') == {})
    told = ended.instances_bulk_insert_operation_metadata.per_location_status[f'zones/{ZONE}']
    expect('  and counted', (told.created_vm_count, told.deleted_vm_count,
           told.failed_to_create_vm_count), (1, 1, 2))  # fmt: skip
    some = many('few-0', 'few-1', kind='e2-standard-4')
    ended = google.done(google.bulk(**some, min_count=1))
    made = google.all(filter='name eq few-.*').get(f'zones/{ZONE}', [])
    expect('at least one', (len(ended.error.errors), len(made)), (0, 1))
    lab.api.capacity.clear()
    expect('a name that is taken', google.codes(google.bulk(**many('gang-0', 'new-1'))),
           ['RESOURCE_ALREADY_EXISTS'])  # fmt: skip
    expect('  makes none', google.state('new-1'), 'none')


def regional(lab, google):
    policy = v1.LocationPolicy(target_shape='ANY_SINGLE_ZONE', locations={
        'zones/us-central1-a': v1.LocationPolicyLocation(preference='ALLOW'),
        'zones/us-central1-b': v1.LocationPolicyLocation(preference='ALLOW'),
    })  # fmt: skip
    lab.api.capacity.set(1, zone=ZONE)
    operation = google.bulk(region=REGION, **many('any-0', 'any-1'), location_policy=policy)
    expect('an operation of the region', operation.region.rsplit('/', 1)[-1], REGION)
    expect('  ends well', google.codes(operation), [])
    expect('  in one zone with room', google.all(filter='name eq any-.*'),
           {'zones/us-central1-b': ['any-0', 'any-1']})  # fmt: skip
    lab.api.capacity.set(1)
    operation = google.bulk(region=REGION, **many('no-0', 'no-1'), location_policy=policy)
    expect('no zone has room', google.codes(operation)[0], 'VM_MIN_COUNT_NOT_REACHED')
    wait_for('  nothing is left', lambda: google.all(filter='name eq no-.*') == {})
    found = google.operations['region'].list(request={
        'project': PROJECT, 'region': REGION, 'filter': 'operationType = bulkInsert'})  # fmt: skip
    expect('both are listed', len(list(found)), 2)
    lab.api.capacity.clear()
    gpu = many('gpu-0', 'gpu-1', kind='t2a-standard-4', image='projects/debian-cloud/global/images/'
               'family/debian-12-arm64')  # fmt: skip
    expect('only where there is the type', google.codes(google.bulk(region=REGION, **gpu)), [])
    where = list(google.all(filter='name eq gpu-.*'))
    expect('  that is', where[0] in ('zones/us-central1-a', 'zones/us-central1-b'))


def seen(lab, google):
    """Lists: pages, filters, late and old ones, and zones that do not answer."""
    zones = (ZONE, 'us-central1-b', 'us-east1-b')
    for number in range(9):
        zone = zones[number % 3]
        google.done(google.insert(f'page-{number}', zone=zone, in_zone=zone,
                                  labels={'n': str(number), 'batch': 'pages'}))  # fmt: skip
    before = len(lab.log)
    found = google.all(filter='labels.batch = pages', max_results=2)
    pages = [e for e in lab.log[before:] if e.get('method') == 'instances.aggregatedList']
    expect('in pages', (sorted(sum(found.values(), [])), len(pages)),
           ([f'page-{n}' for n in range(9)], 5))  # fmt: skip
    expect('over all zones', sorted(found), sorted(f'zones/{zone}' for zone in zones))
    listed = google.instances.list(request={'project': PROJECT, 'zone': ZONE, 'max_results': 1})
    expect('of one zone, in pages', [e.name for e in listed if 'page' in e.name],
           ['page-0', 'page-3', 'page-6'])  # fmt: skip

    def names(text):
        return sorted(sum(google.all(filter=text).values(), []))

    for text, wanted in [
        ('labels.n = 4', ['page-4']),
        ('(labels.batch = "pages") (labels.n = "4")', ['page-4']),
        ('labels.n=4 OR labels.n=5', ['page-4', 'page-5']),
        ('labels.batch:* AND name = page-1', ['page-1']),
        ('labels.nope:*', []),
        ('name eq page-[78]', ['page-7', 'page-8']),
        ('(labels.batch eq pages) (name ne ".*-[0-7]")', ['page-8']),
        ('labels.batch = pages AND NOT (labels.n = 0 OR labels.n > 1)', ['page-1']),
        ('labels.batch = pages AND status != RUNNING AND status != PROVISIONING AND '
         'status != STAGING', []),
    ]:  # fmt: skip
        expect(f'filter {text}', names(text), wanted)
    expect('a filter of no form', refused(google.instances.list, request={
        'project': PROJECT, 'zone': ZONE, 'filter': 'labels.n ='}), (400, 'invalid'))  # fmt: skip
    lab.api.settings.late = 1000
    google.insert('young')
    expect('a new one is not seen yet', google.state('young'), 'none')
    expect('  by nobody', names('name = young'), [])
    lab.api.settings.late = 0
    expect('  but later', names('name = young'), ['young'])
    google.runs('page-0')
    machine = lab.api.world.named('page-0')
    machine.born -= 100  # as if it had been there for longer
    machine.moments = [(moment - 100, state) for moment, state in machine.moments]
    google.done(google.act('stop', 'page-0'))
    lab.api.settings.stale = 50
    expect('what is told is old', google.state('page-0'), 'RUNNING')
    lab.api.settings.stale = 0
    silence(lab, google)
    parts(lab)


def parts(lab):
    """`fields`, which this client does not have."""
    token = lab.identity.issue(OWN, [CLOUD]).text
    path = f'projects/{PROJECT}/aggregated/instances?filter=name%20%3D%20page-4&fields='
    machine = {'name': 'page-4', 'labels': {'n': '4', 'batch': 'pages'}}
    expect('parts of it', ask(lab, token, path + 'items/*/instances(name,labels)')[1]['items']
           ['zones/us-central1-b'], {'instances': [machine]})  # fmt: skip
    told = ask(lab, token, path + 'kind,items/*/warning/code,items/*/instances/name')[1]
    expect('  named one by one', told['items'][f'zones/{ZONE}'],
           {'warning': {'code': 'NO_RESULTS_ON_PAGE'}})  # fmt: skip
    before = len(lab.log)
    for bad in ('nope', 'items/*/instances(nope)', 'items(', 'items)', ''):
        expect(f'  not {bad}', ask(lab, token, path + bad)[0], 400)
    del lab.log[before:]  # what is strange there was meant to be


def silence(lab, google):
    lab.api.silent_zones = {'us-east1-b'}
    token = lab.identity.issue(OWN, [CLOUD]).text
    path = f'projects/{PROJECT}/aggregated/instances'
    status, told = ask(lab, token, path + '?returnPartialSuccess=true')
    expect('a zone that does not answer is named', told.get('unreachables'), ['zones/us-east1-b'])
    expect('  and is not empty', told['items']['zones/us-east1-b']['warning']['code'],
           'UNREACHABLE')  # fmt: skip
    expect('  others are there', 'instances' in told['items'][f'zones/{ZONE}'])
    expect('  without asking for parts, nothing', ask(lab, token, path)[0], 503)
    expect('  itself', refused(google.instances.list, project=PROJECT, zone='us-east1-b')[0], 503)
    lab.api.silent_zones = set()


def ask(lab, token, path, body=None, header=None):
    """(status, JSON) without any client."""
    headers = {'Content-Type': 'application/json'}
    if token or header:
        headers['Authorization'] = header or f'Bearer {token}'
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f'{lab.endpoint}/compute/v1/{path}', data, headers)
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return answer.status, json.loads(answer.read())
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read())


def changes(lab, google):
    """Labels and metadata, of what was read."""
    google.done(google.insert('tagged', labels={'a': '1'}))
    told = google.get('tagged')
    request = v1.InstancesSetLabelsRequest(labels={'b': '2'},
                                           label_fingerprint=told.label_fingerprint)  # fmt: skip
    google.done(google.act('set_labels', 'tagged', instances_set_labels_request_resource=request))
    expect('labels are replaced', dict(google.get('tagged').labels), {'b': '2'})
    expect('  of what was read', refused(google.instances.set_labels_unary, project=PROJECT,
           zone=ZONE, instance='tagged', instances_set_labels_request_resource=request),
           (412, 'conditionNotMet'))  # fmt: skip
    metadata = v1.Metadata(fingerprint=google.get('tagged').metadata.fingerprint,
                           items=[v1.Items(key='k', value='v')])  # fmt: skip
    google.done(google.act('set_metadata', 'tagged', metadata_resource=metadata))
    expect('metadata', [e.value for e in google.get('tagged').metadata.items], ['v'])
    expect('  of what was read', refused(google.instances.set_metadata_unary, project=PROJECT,
           zone=ZONE, instance='tagged', metadata_resource=metadata),
           (412, 'conditionNotMet'))  # fmt: skip


def refusals(lab, google):
    bad = (400, 'invalid')
    gpu = [v1.AcceleratorConfig(accelerator_type=f'zones/{ZONE}/acceleratorTypes/nvidia-tesla-t4',
                                accelerator_count=1)]  # fmt: skip
    end = v1.Scheduling(max_run_duration=v1.Duration(seconds=60))
    key = v1.Metadata(items=[v1.Items(key='a b', value='')])
    big = v1.Metadata(items=[v1.Items(key='a', value='x' * (256 * 1024 + 1))])
    account = [v1.ServiceAccount(email='nobody@x.iam.gserviceaccount.com', scopes=['s'])]
    notice = v1.Duration(seconds=120)
    for what, name, more, wanted in [
        ('a name of 64', 'a' * 64, {}, bad),
        ('a name with capitals', 'Abc', {}, bad),
        ('a label with capitals', 'x', {'labels': {'A': 'b'}}, bad),
        ('a label of 64', 'x', {'labels': {'a': 'b' * 64}}, bad),
        ('65 labels', 'x', {'labels': {f'k{i}': '' for i in range(65)}}, bad),
        ('an unknown type', 'x', {'kind': 'zz-huge'}, bad),
        ('a type that the zone has not', 'x', {'kind': 'a3-highgpu-8g',
         'zone': 'us-east1-b', 'in_zone': 'us-east1-b'}, bad),
        ('an unknown family', 'x', {'image': 'projects/debian-cloud/global/images/family/nope'},
         (404, 'notFound')),
        ('an unknown image', 'x', {'image': 'projects/debian-cloud/global/images/nope'},
         (404, 'notFound')),
        ('an image of no form', 'x', {'image': 'debian-12'}, bad),
        ('an image for other machines', 'x', {'kind': 't2a-standard-4'}, (400, 'badRequest')),
        ('no disk', 'x', {'disks': None}, bad),
        ('an unknown network', 'x', {'network_interfaces':
         [v1.NetworkInterface(network='global/networks/nope')]}, (404, 'notFound')),
        ('an unknown account', 'x', {'service_accounts': account}, bad),
        ('a GPU on a type that takes none', 'x', {'guest_accelerators': gpu}, (400, 'badRequest')),
        ('a GPU that would migrate', 'x', {'kind': 'n1-standard-4', 'guest_accelerators': gpu},
         (400, 'badRequest')),
        ('spot that starts again', 'x', {'scheduling': spot(automatic_restart=True)}, bad),
        ('a limit without an action', 'x', {'scheduling': end}, bad),
        ('an action without a reason', 'x', {'scheduling':
         v1.Scheduling(instance_termination_action='STOP')}, bad),
        ('an end in the past', 'x', {'scheduling': v1.Scheduling(
            termination_time='2020-01-01T00:00:00Z', instance_termination_action='DELETE')}, bad),
        ('a notice for one that is not spot', 'x', {'scheduling':
         v1.Scheduling(preemption_notice_duration=notice)}, bad),
        ('metadata with a space', 'x', {'metadata': key}, bad),
        ('metadata of 256 kB and one', 'x', {'metadata': big}, bad),
        ('an unknown zone', 'x', {'zone': 'us-central9-z', 'in_zone': 'us-central9-z'},
         (404, 'notFound')),
    ]:  # fmt: skip
        zone = more.pop('zone', ZONE)
        expect(what, refused(google.instances.insert_unary, request={
            'project': PROJECT, 'zone': zone, 'instance_resource': one(name, **more)}), wanted)
    lab.api.settings.refuse_notice = True
    expect('a notice where there is none', refused(google.instances.insert_unary, request={
        'project': PROJECT, 'zone': ZONE, 'instance_resource': one('x', scheduling=spot(
            preemption_notice_duration=notice))}), bad)  # fmt: skip
    lab.api.settings.refuse_notice = False
    expect('none of them is there', google.all(), {})
    good = {'kind': 'n1-standard-4', 'guest_accelerators': gpu,
            'scheduling': v1.Scheduling(on_host_maintenance='TERMINATE')}  # fmt: skip
    expect('a GPU that is attached', google.codes(google.insert('gpu', **good)), [])
    expect('one that comes with its type', google.codes(google.insert(
        'l4', kind='g2-standard-4', scheduling=spot())), [])  # fmt: skip
    expect('counts that do not fit', refused(google.instances.bulk_insert_unary, request={
        'project': PROJECT, 'zone': ZONE, 'bulk_insert_instance_resource_resource':
        many('a', 'b', count=3)}), bad)  # fmt: skip


def rights(lab, google):
    insert = {'project': PROJECT, 'zone': ZONE, 'instance_resource': one('denied')}
    for needed in ('instances.create', 'disks.create', 'subnetworks.use'):
        permission = f'compute.{needed}'
        lab.api.denied = {permission}
        expect(f'without {permission}', refused(google.instances.insert_unary, request=insert),
               (403, 'forbidden'))  # fmt: skip
    lab.api.denied = set()
    lab.api.settings.enabled = False
    expect('an API that is not enabled', refused(google.instances.insert_unary, request=insert),
           (403, 'accessNotConfigured'))  # fmt: skip
    lab.api.settings.enabled = True
    expect('an unknown project', refused(google.instances.list, project='nobody', zone=ZONE),
           (404, 'notFound'))  # fmt: skip
    for status, code in [(429, 'rateLimitExceeded'), (403, 'rateLimitExceeded'),
                         (503, 'backendError'), (500, 'internalError')]:  # fmt: skip
        lab.api.faults.add('instances.insert', 'error', status=status, code=code)
        expect(f'{status} {code}', refused(google.instances.insert_unary, request=insert),
               (status, code))  # fmt: skip
    expect('none of them had an effect', google.state('denied'), 'none')
    tokens(lab, google)


def tokens(lab, google):
    path = f'projects/{PROJECT}/zones/{ZONE}/instances'
    good = lab.identity.issue(OWN, [CLOUD])
    expect('no token', ask(lab, None, path)[0], 401)
    expect('  is told so', ask(lab, None, path)[1]['error']['errors'][0]['reason'], 'authError')
    expect('a token of nobody', ask(lab, 'ya29.forged', path)[0], 401)
    expect('not a bearer', ask(lab, None, path, header=f'Basic {good.text}')[0], 401)
    expect('a good one', ask(lab, good.text, path)[0], 200)
    good.ends = time.time() - 1
    expect('  when it is over', ask(lab, good.text, path)[0], 401)
    reader = lab.identity.issue(OWN, ['https://www.googleapis.com/auth/compute.readonly'])
    expect('one that may read', ask(lab, reader.text, path)[0], 200)
    expect('  may not write', ask(lab, reader.text, path, {'name': 'x'})[0], 403)
    storage = lab.identity.issue(OWN, ['https://www.googleapis.com/auth/devstorage.read_write'])
    expect('one for something else', ask(lab, storage.text, path)[0], 403)
    own = Google(lab, exchanged=False)
    expect('the own signature of a key', own.state('nobody'), 'none')
    account = lab.identity.accounts[OWN]
    signer = crypt.RSASigner.from_string(account.private_pem())
    stranger = lab.identity.add('stranger@x.iam.gserviceaccount.com')
    wrong = crypt.RSASigner.from_string(stranger.private_pem())
    now = int(time.time())
    claims = {'iss': OWN, 'scope': CLOUD, 'aud': 'https://oauth2.googleapis.com/token', 'iat': now,
              'exp': now + 3600}  # fmt: skip
    for what, by, more, wanted in [
        ('signed as it should be', signer, {}, 200),
        ('for the URL in the key', signer, {'aud': lab.identity.endpoint}, 200),
        ('signed by another key', wrong, {}, 400),
        ('for another audience', signer, {'aud': 'https://example.org/token'}, 400),
        ('for two hours', signer, {'exp': now + 7200}, 400),
        ('over', signer, {'iat': now - 7200, 'exp': now - 3600}, 400),
        ('for nothing', signer, {'scope': ''}, 400),
        ('of nobody', signer, {'iss': 'nobody@x'}, 400),
    ]:  # fmt: skip
        expect(f'an assertion {what}', exchange(lab, jwt.encode(by, {**claims, **more})), wanted)


def exchange(lab, assertion):
    form = urllib.parse.urlencode({'grant_type': GRANT, 'assertion': assertion.decode()}).encode()
    try:
        with urllib.request.urlopen(lab.identity.endpoint, form, timeout=20) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code


def catalogue(lab, google):
    """What Google has, as its clients read it."""
    zones = [each.name for each in lab.client('ZonesClient').list(project=PROJECT)]
    expect('zones', ZONE in zones and 'europe-west4-b' in zones)
    region = lab.client('RegionsClient').get(project=PROJECT, region=REGION)
    expect('a region knows its zones', ZONE in [each.rsplit('/', 1)[-1] for each in region.zones])
    lab.api.capacity.quotas['CPUS'] = 7
    region = lab.client('RegionsClient').get(project=PROJECT, region=REGION)
    expect('  and its quotas', [q.limit for q in region.quotas if q.metric == 'CPUS'], [7.0])
    types = lab.client('MachineTypesClient')
    told = types.get(project=PROJECT, zone=ZONE, machine_type='g2-standard-24')
    brings = told.accelerators[0].guest_accelerator_count
    expect('a type', (told.guest_cpus, told.memory_mb, brings), (24, 98304, 2))
    expect('  where there is none', refused(types.get, project=PROJECT, zone='us-east1-c',
           machine_type='g2-standard-24'), (404, 'notFound'))  # fmt: skip
    where = [scope for scope, each in types.aggregated_list(request={
        'project': PROJECT, 'filter': 'name = a3-highgpu-8g'}) if each.machine_types]  # fmt: skip
    expect('  where it is', 'zones/us-central1-a' in where and 'zones/us-central1-b' not in where)
    found = lab.client('AcceleratorTypesClient').list(project=PROJECT, zone='us-west1-a')
    expect('accelerators', 'nvidia-tesla-t4' in [each.name for each in found])
    images = lab.client('ImagesClient')
    told = images.get_from_family(project='debian-cloud', family='debian-12')
    expect('a family is its newest', told.name, 'debian-12-bookworm-v20261110')
    expect('  an old one', images.get(project='debian-cloud', image='debian-12-bookworm-v20261013')
           .deprecated.state, 'DEPRECATED')  # fmt: skip
    networks = lab.client('NetworksClient')
    expect('the network', networks.get(project=PROJECT, network='default').name, 'default')
    subnet = lab.client('SubnetworksClient').get(project=PROJECT, region=REGION,
                                                 subnetwork='default')  # fmt: skip
    expect('  and its part', subnet.network.rsplit('/', 1)[-1], 'default')
    project = lab.client('ProjectsClient').get(project=PROJECT)
    expect('the project', project.default_service_account, lab.api.default_account(PROJECT))
    expect('  has quotas', 'CPUS_ALL_REGIONS' in [each.metric for each in project.quotas])


PARTS = {each.__name__: each for each in (
    launch, once, room, power, ends, limits, bulk, regional, seen, changes, refusals, rights,
    catalogue,
)}  # fmt: skip


def run(name):
    """One part in a lab of its own."""
    with UnbootedGce() as lab:
        try:
            PARTS[name](lab, Google(lab))
        except Exception as error:  # noqa: BLE001: it is counted as one
            expect(f'{name} goes to its end', f'{type(error).__name__}: {error}', '')
        strange = lab.front.strange()
        expect(f'{name}: every request is in the document', strange, [])
        expect(f'{name}: no bug of the lab', lab.bugs, [])
        return lab.front.replies


def main(names):
    replies = sum(run(name) for name in names or PARTS)
    print(f'gce_clients: {replies} answers valid by the discovery document, {len(failed)} failed')
    return bool(failed)


if __name__ == '__main__':
    if sys.argv[1:] == ['--broken']:
        import gce_broken

        sys.exit(gce_broken.main(sys.modules[__name__]))
    sys.exit(main(sys.argv[1:]))
