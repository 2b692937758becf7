// SPDX-License-Identifier: Apache-2.0
// What runs on a VM before the agent does, beside what all clouds share (cloud/cloud_scripts.h).
// Inside provider/gce only. Sources: "Use startup scripts on Linux VMs", "Run shutdown scripts",
// "About VM metadata" (Compute Engine documentation).
#pragma once

namespace stoker::gce {

// The agent hears of a shutdown at once, whatever else the system waits for first.
inline constexpr char kShutdownScript[] = R"sh(#!/bin/sh
pid=$(systemctl show -p MainPID --value stoker-agent.service 2>/dev/null)
case $pid in '' | 0 | *[!0-9]*) ;; *) kill -TERM "$pid" ;; esac
)sh";

// Asks the metadata server; and a token, which goes through pipes: what stands on a command line,
// everybody can read.
inline constexpr char kMetadataScript[] = R"sh(md() {
  curl -s -f -m 10 --retry 5 --noproxy '*' -H 'Metadata-Flavor: Google' \
    "http://$MD/computeMetadata/v1/$1"
}
bearer() {
  md instance/service-accounts/default/token | tr -d '\n' |
    sed -n 's/.*"access_token" *: *"\([^"]*\)".*/header = "Authorization: Bearer \1"/p'
}
)sh";

// GCE's part of what fetches the binary.
inline constexpr char kRunScript[] = R"sh(. /opt/stoker/metadata
by_curl() {
  if [ -n "$STORAGE_ENDPOINT" ]; then
    curl -s -S -f -L -m 300 -o stoker.new "$1"
  else
    # Without a token Google says 401, as it does to one without rights.
    token=$(bearer)
    [ -n "$token" ] || { echo 'the metadata server gives no token' >&2; return 1; }
    printf '%s\n' "$token" | curl -K - -s -S -f -m 300 -o stoker.new "$1"
  fi
}
ways=by_curl
others() {
  curl -s -m 5 -o /dev/null "${COMPUTE_ENDPOINT:-https://compute.googleapis.com/compute/v1/}" ||
    curl -s -m 5 -o /dev/null https://oauth2.googleapis.com/token
}
tell() {
  curl -s -f -m 10 --noproxy '*' -H 'Metadata-Flavor: Google' -X PUT --data-binary "$1" \
    -o /dev/null "http://$MD/computeMetadata/v1/instance/guest-attributes/stoker/boot"
}
address() { printf '%s%s-%05d?alt=media' "$BASE" "$DIGEST" "$1"; }
prepare() {
  export GCE_METADATA_HOST="$MD"
  # Only what is set: an address that is empty would be one.
  [ -z "$STORAGE_ENDPOINT" ] || export STORAGE_EMULATOR_HOST="$STORAGE_ENDPOINT"
  [ -z "$COMPUTE_ENDPOINT" ] || export CLOUDSDK_API_ENDPOINT_OVERRIDES_COMPUTE="$COMPUTE_ENDPOINT"
  [ -z "$SECRETS_ENDPOINT" ] ||
    export CLOUDSDK_API_ENDPOINT_OVERRIDES_SECRETMANAGER="$SECRETS_ENDPOINT"
  [ -z "$LOGS_ENDPOINT" ] || export CLOUDSDK_API_ENDPOINT_OVERRIDES_LOGGING="$LOGS_ENDPOINT"
}
)sh";

// Before the power goes: deletes this VM, where its account may, since its disk would cost on. If
// it may not, whoever looks after its job does.
inline constexpr char kEndScript[] = R"sh(#!/bin/sh
. /opt/stoker/env
. /opt/stoker/metadata
name=$(md instance/name)
zone=$(md instance/zone)
[ -n "$name" ] && [ -n "$zone" ] || exit 0
base=${COMPUTE_ENDPOINT:-https://compute.googleapis.com/compute/v1/}
name="$name?requestId=73746f6b-6572-$(cut -c 15- /proc/sys/kernel/random/uuid)"
bearer | curl -K - -s -S -f -m 20 -o /dev/null -X DELETE \
  "$base$(printf %s "$zone" | sed "s|^projects/[^/]*|projects/$PROJECT|")/instances/$name" ||
  echo 'stoker: this VM could not delete itself: its account lacks compute.instances.delete'
)sh";

}  // namespace stoker::gce
