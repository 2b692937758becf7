// SPDX-License-Identifier: Apache-2.0
// What runs on an instance before the agent does, in the language that every image has. Inside
// provider/ec2 only. Each file goes into user-data as it stands here.
#pragma once

namespace stoker::ec2 {

// EC2's part of what fetches the binary, see cloud/cloud_scripts.h: out of a bucket of S3 by the
// first, of one of Google's by the second; then what both share.
inline constexpr char kRunScript[] = R"sh(imds() {
  printf 'header = "X-aws-ec2-metadata-token: %s"\n' "$token" |
    curl -K - -s -f -m 10 --noproxy '*' "$IMDS/latest/meta-data/iam/security-credentials/$1"
}
field() { printf %s "$keys" | tr -d '\n' | sed -n "s/.*\"$1\" *: *\"\([^\"]*\)\".*/\1/p"; }
by_curl() {
  curl --help all 2>/dev/null | grep -q aws-sigv4 || return 1
  token=$(curl -s -f -m 10 --noproxy '*' -X PUT \
    -H 'X-aws-ec2-metadata-token-ttl-seconds: 300' "$IMDS/latest/api/token") || return 1
  role=$(imds '' | head -n 1) && keys=$(imds "$role") || return 1
  # Secrets go through a pipe: what stands on a command line, everybody can read.
  printf 'user = "%s:%s"\nheader = "x-amz-security-token: %s"\nheader = "%s"\n' \
    "$(field AccessKeyId)" "$(field SecretAccessKey)" "$(field Token)" \
    'x-amz-content-sha256: UNSIGNED-PAYLOAD' |
    curl -K - -s -S -f -m 300 --aws-sigv4 "aws:amz:$REGION:s3" -o stoker.new "$1"
}
by_python() { python3 fetch.py "$1"; }
ways='by_curl by_python'
address() { printf '%s%s-%05d' "$BASE" "$DIGEST" "$1"; }
)sh";

inline constexpr char kRunGoogleScript[] = R"sh(by_python() { python3 fetch.py "$1"; }
ways=by_python
address() { printf '%s%s-%05d?alt=media' "$BASE" "$DIGEST" "$1"; }
)sh";

inline constexpr char kPrepareScript[] = R"sh(prepare() {
  export AWS_REGION="$REGION"
  # Only what is set: an address that is empty would be one.
  [ -z "$S3_ENDPOINT" ] || export AWS_ENDPOINT_URL_S3="$S3_ENDPOINT"
  [ -z "$EC2_ENDPOINT" ] || export AWS_ENDPOINT_URL_EC2="$EC2_ENDPOINT"
  [ -z "$SSM_ENDPOINT" ] || export AWS_ENDPOINT_URL_SSM="$SSM_ENDPOINT"
  [ -z "$SECRETS_ENDPOINT" ] || export AWS_ENDPOINT_URL_SECRETS_MANAGER="$SECRETS_ENDPOINT"
  [ -z "$ECR_ENDPOINT" ] || export AWS_ENDPOINT_URL_ECR="$ECR_ENDPOINT"
  [ -z "$LOGS_ENDPOINT" ] || export AWS_ENDPOINT_URL_CLOUDWATCH_LOGS="$LOGS_ENDPOINT"
  google=/opt/stoker/google.json
  [ ! -e "$google" ] || export GOOGLE_APPLICATION_CREDENTIALS="$google"
}
reach() { curl -s -m 5 -o /dev/null "$1" || python3 -c 'import sys, urllib.request as http
http.urlopen(sys.argv[1], timeout=5)' "$1" 2>&1 | grep -q 'HTTP Error'; }
others() {
  reach "${EC2_ENDPOINT:-https://ec2.$REGION.amazonaws.com}" || reach https://sts.amazonaws.com
}
tell() { return 1; }
)sh";

// Where curl is too old to sign, or not there, and where what is signed is not sent by who signs.
// Python is there: cloud-init runs on it. This, then one of the two below.
inline constexpr char kSignScript[] = R"py(import datetime, hashlib, hmac, json, os, shutil, sys
import urllib.error, urllib.parse, urllib.request as http
md, region = os.environ.get('IMDS', 'http://169.254.169.254'), os.environ['REGION']
http.install_opener(http.build_opener(http.ProxyHandler({})))
def ask(url, headers, method='GET', body=None):
    try:
        return http.urlopen(http.Request(url, body, headers, method=method), timeout=60)
    except urllib.error.HTTPError as no:
        said = ' '.join(no.read(2000).decode(errors='replace').split())
        sys.exit('%s answered %s: %s' % (url.split('/')[2], no.code, said[:200]))
ttl = {'X-aws-ec2-metadata-token-ttl-seconds': '300'}
token = {'X-aws-ec2-metadata-token': ask(md + '/latest/api/token', ttl, 'PUT').read().decode()}
roles = md + '/latest/meta-data/iam/security-credentials/'
keys = json.load(ask(roles + ask(roles, token).read().decode().split()[0], token))
def signed(method, host, path, query, service, body, more):
    now = datetime.datetime.now(datetime.timezone.utc).strftime('%Y%m%dT%H%M%SZ')
    head = dict(more, host=host)
    head.update({'x-amz-date': now, 'x-amz-security-token': keys['Token']})
    names = ';'.join(sorted(head))
    lines = [name + ':' + head[name] for name in sorted(head)]
    text = '\n'.join([method, path, query, *lines, '', names, body])
    scope = '/'.join([now[:8], region, service, 'aws4_request'])
    key = ('AWS4' + keys['SecretAccessKey']).encode()
    for part in scope.split('/'):
        key = hmac.new(key, part.encode(), 'sha256').digest()
    text = '\n'.join(['AWS4-HMAC-SHA256', now, scope, hashlib.sha256(text.encode()).hexdigest()])
    sign = hmac.new(key, text.encode(), 'sha256').hexdigest()
    head['Authorization'] = 'AWS4-HMAC-SHA256 Credential=%s/%s, SignedHeaders=%s, Signature=%s' % (
        keys['AccessKeyId'], scope, names, sign)
    return head
)py";

inline constexpr char kFetchScript[] = R"py(
host, path = sys.argv[1].split('://', 1)[1].split('/', 1)
free = 'UNSIGNED-PAYLOAD'
head = signed('GET', host, '/' + path, '', 's3', free, {'x-amz-content-sha256': free})
with ask(sys.argv[1], head) as answer, open('stoker.new', 'wb') as out:
    shutil.copyfileobj(answer, out)
)py";

// As google/from_aws.cc and google/from_external_account.cc have it, which the agent goes by.
inline constexpr char kFetchGoogleScript[] = R"py(
with open('google.json') as file:
    google = json.load(file)
url = google['credential_source']['regional_cred_verification_url'].replace('{region}', region)
host, query = url.split('://', 1)[1].split('?', 1)
head = signed('POST', host, '/', query, 'sts', hashlib.sha256(b'').hexdigest(),
              {'x-goog-cloud-target-resource': google['audience']})
subject = json.dumps({'url': url, 'method': 'POST',
                      'headers': [{'key': name, 'value': head[name]} for name in head]})
acts, auth = google.get('service_account_impersonation_url'), 'https://www.googleapis.com/auth/'
form = {'grant_type': 'urn:ietf:params:oauth:grant-type:token-exchange',
        'audience': google['audience'],
        'scope': auth + ('iam' if acts else 'devstorage.read_write'),
        'requested_token_type': 'urn:ietf:params:oauth:token-type:access_token',
        'subject_token': urllib.parse.quote(subject, ''),
        'subject_token_type': google['subject_token_type']}
kind = {'Content-Type': 'application/x-www-form-urlencoded'}
answer = ask(google['token_url'], kind, 'POST', urllib.parse.urlencode(form).encode())
bearer = {'Authorization': 'Bearer ' + json.load(answer)['access_token']}
if acts:
    body = json.dumps({'scope': [auth + 'devstorage.read_write'], 'lifetime': '3600s'})
    kind = dict(bearer, **{'Content-Type': 'application/json'})
    told = json.load(ask(acts, kind, 'POST', body.encode()))
    bearer = {'Authorization': 'Bearer ' + told['accessToken']}
with ask(sys.argv[1], bearer) as answer, open('stoker.new', 'wb') as out:
    shutil.copyfileobj(answer, out)
)py";

}  // namespace stoker::ec2
