#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Trains digits under stoker, interrupts the job half-way, and checks that it went on from its last
# checkpoint. Everything lives in a temporary home that is removed at the end (--keep: is not); with
# --store, what is durable lies in a bucket, reached with the credentials of the environment.
# Usage: STOKER=build/stoker PYTHON=/usr/bin/python3 demo.sh [--keep] [--store s3://bucket/prefix]
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
stoker=$(realpath "${STOKER:?the stoker to show}")
python=$(command -v "${PYTHON:-python3}")
home=$(mktemp -d "${TMPDIR:-/tmp}/stoker-demo.XXXXXX")
epochs=20 half=10 attached=

finish() {
  local code=$?
  trap - EXIT INT TERM
  if ((code != 0)) && [[ -s $home/output ]]; then
    "$stoker" cancel digits >/dev/null 2>&1 || true
  fi
  [[ -z $attached ]] || kill "$attached" 2>/dev/null || true
  [[ -z $attached ]] || wait "$attached" 2>/dev/null || true
  if [[ ${keep:-} ]]; then
    printf 'kept: HOME=%s\n' "$home"
  else
    # The job's machine turns itself off a moment after the job's end.
    for ((i = 0; i < 150; i++)); do
      grep -qsF "$home" /proc/[0-9]*/cmdline || break
      sleep 0.1
    done
    rm -rf "$home"
  fi
  exit "$code"
}
trap finish EXIT
trap 'exit 130' INT TERM

fail() {
  printf 'demo: %s\n' "$*" >&2
  exit 1
}

show() { # prints a command as one would type it, then runs it
  printf '\n$ stoker %s\n' "$*"
  "$stoker" "$@"
}

store=
while (($#)); do
  case $1 in
  --keep) keep=1 ;;
  --store) store=${2:?--store wants an address} && shift ;;
  *) fail "what is '$1'?" ;;
  esac
  shift
done
unset XDG_CONFIG_HOME XDG_DATA_HOME XDG_STATE_HOME XDG_CACHE_HOME STOKER
# A line of its own, too: it waits for nobody's jobs, and its jobs do not stand beside others.
export HOME=$home STOKER_QUEUE=$home/queue PYTHONDONTWRITEBYTECODE=1
mkdir "$home/bin"
# So that the job's python3 is the one with torch. No link: that of an environment would forget it.
printf '#!/bin/sh\nexec %q "$@"\n' "$python" >"$home/bin/python3"
chmod +x "$home/bin/python3"
PATH=$home/bin:$PATH

[[ -z $store ]] || show config set store "$store"

cd "$here/digits"
printf '$ stoker run job.yaml\n'
"$stoker" run job.yaml --env EPOCHS=$epochs --env PAUSE=1 >"$home/output" 2>&1 &
attached=$!
tail -n +1 -F --pid=$attached "$home/output" 2>/dev/null &
follower=$!

for ((i = 0; i < 1200; i++)); do
  grep -qs "epoch $half/$epochs " "$home/output" && break
  kill -0 $attached 2>/dev/null || fail "the job ended before it was half-way"
  sleep 0.1
done
grep -q "epoch $half/$epochs " "$home/output" || fail "the job was not half-way after 2 minutes"

show preempt digits --in 5s
code=0
wait $attached || code=$?
attached=
wait $follower || true
((code == 0)) || fail "stoker run ended with $code"
show show digits

accuracy=$(sed -n 's/.*test accuracy: \([0-9.]*\).*/\1/p' "$home/output" | tail -n 1)
resumed=$(grep -o 'resumed after epoch [0-9]*' "$home/output" || true)
twice=$(grep -o "epoch [0-9]*/$epochs " "$home/output" | sort | uniq -d | tr '\n' ' ')
printf '\n'
[[ -n $resumed ]] || fail "the job did not resume from a checkpoint"
[[ -z $twice ]] || fail "trained twice: $twice"
awk -v a="${accuracy:-0}" 'BEGIN { exit !(a >= 0.95) }' || fail "test accuracy ${accuracy:-unknown}"
printf 'Noticed at epoch %s, interrupted, %s, no epoch trained twice, test accuracy %s.\n' \
  "$half" "$resumed" "$accuracy"
