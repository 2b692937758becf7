// SPDX-License-Identifier: Apache-2.0
// What runs on a machine of any cloud beside the agent, in the language that every image has.
// Inside provider/ only. Each file goes into what the machine is told at its start as it stands
// here.
#pragma once

namespace stoker::cloud {

// Ends the machine when its lease is over, whatever became of the agent, of the network and of the
// clock: what is left is counted by the time since boot, too.
inline constexpr char kGuardScript[] = R"sh(#!/bin/sh
. /opt/stoker/env
off() {
  { echo "stoker: $1; this machine ends" >/dev/console; } 2>/dev/null
  [ ! -e /opt/stoker/end ] || sh /opt/stoker/end
  systemctl poweroff --no-block
  sleep 180
  systemctl poweroff -f -f || poweroff -f
}
if [ -n "$GRACE" ] && [ ! -e /run/stoker-graced ]; then
  : >/run/stoker-graced
  at=
  read -r at </var/lib/stoker/deadline
  least=$(($(date +%s) + GRACE))
  case $at in '' | *[!0-9]*) at=$least ;; esac
  if [ "$at" -lt "$least" ]; then
    echo "$least" >/var/lib/stoker/deadline.new
    mv /var/lib/stoker/deadline.new /var/lib/stoker/deadline
  fi
fi
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
ExecStopPost=/bin/sh -c '[ $$EXIT_CODE$$EXIT_STATUS != exited0 ] || sh /opt/stoker/off'
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

// podman's containers lie in this slice, which systemd would stop, with all that runs in them, in
// the moment in which it tells the agent. docker's are in one that it never stops.
inline constexpr char kSliceFile[] = "/etc/systemd/system/machine.slice.d/stoker.conf";
inline constexpr char kSlice[] = R"sh([Unit]
DefaultDependencies=no
)sh";

// Each is put in its place whole.
inline constexpr char kArmHead[] = R"sh(umask 077
mkdir -p /opt/stoker /var/lib/stoker/node /etc/systemd/system/machine.slice.d
put() { cat >"$1.new" && mv "$1.new" "$1"; }
)sh";

// An agent that ended well.
inline constexpr char kOffScript[] = R"sh(#!/bin/sh
[ ! -e /opt/stoker/end ] || sh /opt/stoker/end
systemctl poweroff --no-block
)sh";

inline constexpr char kArmTail[] = R"sh(. /opt/stoker/env
chmod 644 /etc/systemd/system/stoker-guard.service /etc/systemd/system/stoker-agent.service
chmod -R a+rX /etc/systemd/system/machine.slice.d
[ -s /var/lib/stoker/deadline ] || echo $(($(date +%s) + LIMIT)) | put /var/lib/stoker/deadline
systemctl daemon-reload
systemctl enable stoker-guard.service stoker-agent.service
systemctl start --no-block stoker-guard.service stoker-agent.service
)sh";

// Fetches the binary unless it is there, and becomes the agent: this, then what is the cloud's own,
// then kRunTail. The cloud's part defines, for each word of $ways, a function that writes what is
// at an address into the file stoker.new; `address`, of the binary's copy of a period; and
// `prepare`, what the agent's environment has besides; `others`, whether anything else out there
// answers; and `tell`, which leaves a line where it can be read once this machine is off (the
// console is there by itself): the machine then stays until somebody has read it.
inline constexpr char kRunHead[] = R"sh(#!/bin/sh
. /opt/stoker/env
umask 077
cd /opt/stoker || exit 1
say() {
  echo "stoker: $1"
  { echo "stoker: $1" >/dev/console; } 2>/dev/null
}
good() { [ "$(sha256sum "$1" 2>/dev/null | cut -c1-64)" = "$DIGEST" ]; }
)sh";

inline constexpr char kRunTail[] = R"sh(fetch() {
  period=$PERIOD
  first=
  while [ "$period" -le $(($(date +%s) / 1296000 + 1)) ]; do
    url=$(address "$period")
    for how in $ways; do
      why=$($how "$url" 2>&1) && good stoker.new && return 0
    done
    # What is said of later copies, which may not be there yet, hides nothing of the first.
    : "${first:=${why:-the binary that came is another one}}"
    period=$((period + 1))
  done
  why=$first
  return 1
}
# What hinders it: only what each of the last half of the tries has met counts. What says neither no
# nor that there is no way from here is an outage, as far as can be told.
kind_of() {
  case $why in
    *' 403'* | *' 401'* | *AccessDenied*) echo denied ;;
    *'etwork is unreachable'* | *'o route to host'*) echo no-route ;;
    *'not resolve'* | *'ame or service not known'* | *'in name resolution'*) echo dns ;;
    *'imed out'* | *imeout*) if others; then echo outage; else echo no-route; fi ;;
    *) echo outage ;;
  esac
}
tries=0
same=0
kind=
until good stoker; do
  if fetch; then
    chmod 755 stoker.new && mv stoker.new stoker
    continue
  fi
  tries=$((tries + 1))
  now=$(kind_of)
  [ "$kind" = "$now" ] || same=0
  same=$((same + 1))
  kind=$now
  said="the binary cannot be fetched from $BASE: $(printf %s "$why" | tail -n 1 | cut -c1-300)"
  say "$said"
  if [ "$tries" -ge 30 ]; then
    [ $((same * 2)) -ge "$tries" ] || kind=outage
    say "boot failed, $kind: $said"
    tell "boot failed, $kind: $said" || { [ ! -e /opt/stoker/end ] || sh /opt/stoker/end; }
    systemctl poweroff --no-block
    # No end of a service that ended well: that would delete what is to be read.
    exec sleep 300
  fi
  sleep 10
done
export HOME=/root
prepare
# The Python that a login shell of the image finds.
login=$(timeout 20 bash -lc 'printf "\n%s" "$PATH"' </dev/null 2>/dev/null | tail -n 1)
export PATH="${login:-$PATH}"
exec /opt/stoker/stoker __agent /var/lib/stoker/node
)sh";

}  // namespace stoker::cloud
