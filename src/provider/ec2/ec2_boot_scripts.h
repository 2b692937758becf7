// SPDX-License-Identifier: Apache-2.0
// What runs on an instance before the agent does, in the language that every image has. Inside
// provider/ec2 only. Each file goes into user-data as it stands here.
#pragma once

namespace stoker::ec2 {

// Ends the machine when its lease is over, whatever became of the agent, of the network and of the
// clock: what is left is counted by the time since boot, too.
inline constexpr char kGuardScript[] = R"sh(#!/bin/sh
. /opt/stoker/env
off() {
  { echo "stoker: $1; this machine ends" >/dev/console; } 2>/dev/null
  systemctl poweroff --no-block
  sleep 180
  systemctl poweroff -f -f || poweroff -f
}
seen=
while :; do
  read -r up rest </proc/uptime
  up=${up%%.*}
  now=$(date +%s)
  at=
  read -r at </var/lib/stoker/deadline
  case $at in '' | *[!0-9]*) at=${seen:-$((now + LIMIT))} ;; esac
  if [ "$at" != "$seen" ]; then
    seen=$at
    left=$((at - now))
    [ "$left" -le "$LIMIT" ] || left=$LIMIT
    end=$((up + left))
  fi
  if [ "$now" -ge "$at" ] || [ "$up" -ge "$end" ]; then off 'its lease is over'; fi
  sleep 5
done
)sh";

// Fetches the binary unless it is there, and becomes the agent.
inline constexpr char kRunScript[] = R"sh(#!/bin/sh
. /opt/stoker/env
umask 077
cd /opt/stoker || exit 1
say() {
  echo "stoker: $1"
  { echo "stoker: $1" >/dev/console; } 2>/dev/null
}
good() { [ "$(sha256sum "$1" 2>/dev/null | cut -c1-64)" = "$DIGEST" ]; }
imds() {
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
fetch() {
  period=$PERIOD
  while [ "$period" -le $(($(date +%s) / 1296000 + 1)) ]; do
    url=$(printf '%s%s-%05d' "$BASE" "$DIGEST" "$period")
    for how in by_curl by_python; do
      why=$($how "$url" 2>&1) && good stoker.new && return 0
    done
    period=$((period + 1))
  done
  return 1
}
tries=0
until good stoker; do
  if fetch; then
    chmod 755 stoker.new && mv stoker.new stoker
    continue
  fi
  tries=$((tries + 1))
  say "the binary cannot be fetched from $BASE: $(printf %s "$why" | tail -n 1 | cut -c1-300)"
  if [ "$tries" -ge 30 ]; then
    say 'this machine ends'
    systemctl poweroff
    exit 0
  fi
  sleep 10
done
export HOME=/root AWS_REGION="$REGION"
# Only what is set: an address that is empty would be one.
[ -z "$S3_ENDPOINT" ] || export AWS_ENDPOINT_URL_S3="$S3_ENDPOINT"
[ -z "$EC2_ENDPOINT" ] || export AWS_ENDPOINT_URL_EC2="$EC2_ENDPOINT"
# The Python that a login shell of the image finds.
login=$(timeout 20 bash -lc 'printf "\n%s" "$PATH"' </dev/null 2>/dev/null | tail -n 1)
export PATH="${login:-$PATH}"
exec /opt/stoker/stoker __agent /var/lib/stoker/node
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

// Runs from the first moment of every boot on, before there is a network, and to the last one.
inline constexpr char kGuardUnit[] = R"sh([Unit]
Description=stoker: ends this machine when its lease is over
DefaultDependencies=no
After=local-fs.target
Before=network-pre.target
[Service]
ExecStart=/bin/sh /opt/stoker/guard
Restart=always
RestartSec=1
[Install]
WantedBy=sysinit.target
)sh";

// On shutdown the agent is told first; network and containers end after it. When it has ended well,
// so has the machine. (SuccessAction= acts between the death of an agent and its restart, too.)
inline constexpr char kAgentUnit[] = R"sh([Unit]
Description=stoker: the agent of this node
Wants=network-online.target
After=network-online.target remote-fs.target nss-lookup.target docker.service containerd.service
StartLimitIntervalSec=0
[Service]
ExecStart=/bin/sh /opt/stoker/run
ExecStopPost=/bin/sh -c '[ $$EXIT_CODE$$EXIT_STATUS != exited0 ] || systemctl poweroff --no-block'
Restart=on-failure
RestartSec=2
KillMode=mixed
TimeoutStopSec=100
Delegate=yes
TasksMax=infinity
LimitNOFILE=1048576
StandardOutput=journal+console
StandardError=journal+console
[Install]
WantedBy=multi-user.target
)sh";

// Each is put in its place whole.
inline constexpr char kArmHead[] = R"sh(umask 077
mkdir -p /opt/stoker /var/lib/stoker/node
put() { cat >"$1.new" && mv "$1.new" "$1"; }
)sh";

inline constexpr char kArmTail[] = R"sh(. /opt/stoker/env
chmod 644 /etc/systemd/system/stoker-guard.service /etc/systemd/system/stoker-agent.service
[ -s /var/lib/stoker/deadline ] || echo $(($(date +%s) + LIMIT)) | put /var/lib/stoker/deadline
systemctl daemon-reload
systemctl enable stoker-guard.service stoker-agent.service
systemctl start --no-block stoker-guard.service stoker-agent.service
)sh";

}  // namespace stoker::ec2
