// SPDX-License-Identifier: Apache-2.0
// What runs on an instance before the agent does, in the language that every image has. Inside
// provider/ec2 only. Each file goes into user-data as it stands here.
#pragma once

namespace stoker::ec2 {

// EC2's part of what fetches the binary, see cloud/cloud_scripts.h.
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
prepare() {
  export AWS_REGION="$REGION"
  # Only what is set: an address that is empty would be one.
  [ -z "$S3_ENDPOINT" ] || export AWS_ENDPOINT_URL_S3="$S3_ENDPOINT"
  [ -z "$EC2_ENDPOINT" ] || export AWS_ENDPOINT_URL_EC2="$EC2_ENDPOINT"
}
)sh";

// Where curl is too old to sign, or not there. Python is: cloud-init runs on it.
inline constexpr char kFetchScript[] = R"py(import datetime, hashlib, hmac, json, os, shutil, sys
import urllib.request as http
md, region = os.environ.get('IMDS', 'http://169.254.169.254'), os.environ['REGION']
http.install_opener(http.build_opener(http.ProxyHandler({})))
def ask(url, headers, method='GET'):
    return http.urlopen(http.Request(url, headers=headers, method=method), timeout=60)
ttl = {'X-aws-ec2-metadata-token-ttl-seconds': '300'}
token = {'X-aws-ec2-metadata-token': ask(md + '/latest/api/token', ttl, 'PUT').read().decode()}
roles = md + '/latest/meta-data/iam/security-credentials/'
keys = json.load(ask(roles + ask(roles, token).read().decode().split()[0], token))
host, path = sys.argv[1].split('://', 1)[1].split('/', 1)
now = datetime.datetime.now(datetime.timezone.utc).strftime('%Y%m%dT%H%M%SZ')
head = {'host': host, 'x-amz-content-sha256': 'UNSIGNED-PAYLOAD', 'x-amz-date': now,
        'x-amz-security-token': keys['Token']}
names = ';'.join(sorted(head))
lines = [name + ':' + head[name] for name in sorted(head)]
text = '\n'.join(['GET', '/' + path, '', *lines, '', names, 'UNSIGNED-PAYLOAD'])
scope = '/'.join([now[:8], region, 's3', 'aws4_request'])
key = ('AWS4' + keys['SecretAccessKey']).encode()
for part in scope.split('/'):
    key = hmac.new(key, part.encode(), 'sha256').digest()
text = '\n'.join(['AWS4-HMAC-SHA256', now, scope, hashlib.sha256(text.encode()).hexdigest()])
sign = hmac.new(key, text.encode(), 'sha256').hexdigest()
head['Authorization'] = 'AWS4-HMAC-SHA256 Credential=%s/%s, SignedHeaders=%s, Signature=%s' % (
    keys['AccessKeyId'], scope, names, sign)
with ask(sys.argv[1], head) as answer, open('stoker.new', 'wb') as out:
    shutil.copyfileobj(answer, out)
)py";

}  // namespace stoker::ec2
