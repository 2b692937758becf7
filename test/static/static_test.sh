#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The binary is one static file of at most 15 MB that runs a job on systems it was not built on:
# in a Debian 11 tree whose nsswitch.conf names modules that a static program cannot load
# (docs/dependencies.md, "the trap"), and in a tree that holds nothing but busybox.
# Usage: STOKER=build/stoker static_test.sh. Needs root, or sudo without a password.
# shellcheck disable=SC2016 # single quotes are meant: other shells expand them
set -euo pipefail

stoker=$(realpath "${STOKER:?the binary to test}")
cache=${XDG_CACHE_HOME:-$HOME/.cache}/stoker-test
max_bytes=16000000

if ((EUID != 0)); then
  sudo -n true || { echo "needs root or sudo: makes and enters other systems' trees" >&2; exit 1; }
  exec sudo -n env STOKER="$stoker" XDG_CACHE_HOME="$cache/.." bash "${BASH_SOURCE[0]}"
fi

work=$(mktemp -d /var/tmp/stoker-static.XXXXXX)
trap 'rm -rf --one-file-system "$work"' EXIT

fail() {
  printf 'FAIL: %s\n' "$*" >&2
  exit 1
}

# The Debian archive that this machine's own apt uses; elsewhere (Ubuntu) the public one.
mirror() {
  local uri
  uri=$(apt-get indextargets --format '$(LABEL)|$(REPO_URI)' 'Created-By: Packages' |
    sed -n 's,/*$,,; s/^Debian|//p' | head -n 1)
  echo "${uri:-http://deb.debian.org/debian}"
}

# A Debian 11 with the three modules, made once; later runs unpack it from the cache.
debian11() {
  local tree=$1 tarball=$cache/debian-11-nss.tar
  if [[ ! -s $tarball ]]; then
    mkdir -p "$cache"
    unshare --mount debootstrap --variant=minbase \
      --include=libnss-resolve,libnss-myhostname,libnss-mdns,libnss-systemd \
      bullseye "$tree" "$(mirror)" >"$work/debootstrap.log" 2>&1 || {
      tail -n 20 "$work/debootstrap.log" >&2
      fail "debootstrap could not make a Debian 11 tree"
    }
    rm -rf "$tree"/var/cache/apt/* "$tree"/var/lib/apt/lists/* "$tree"/usr/share/{doc,man,locale}
    rm -f "$tree"/etc/apt/sources.list
    tar -C "$tree" --numeric-owner -cf "$tarball.$$" . && mv "$tarball.$$" "$tarball"
  else
    mkdir "$tree"
    tar -C "$tree" --numeric-owner -xf "$tarball"
  fi
  printf 'passwd: files systemd\ngroup: files systemd\nhosts: %s\n' \
    'files mymachines resolve [!UNAVAIL=return] mdns4_minimal [NOTFOUND=return] myhostname dns' \
    >"$tree/etc/nsswitch.conf"
  for module in resolve myhostname mdns4_minimal systemd; do
    compgen -G "$tree/lib/x86_64-linux-gnu/libnss_$module.so.2" >/dev/null ||
      compgen -G "$tree/usr/lib/x86_64-linux-gnu/libnss_$module.so.2" >/dev/null ||
      fail "the Debian 11 tree has no libnss_$module"
  done
}

busybox_only() {
  local tree=$1
  mkdir -p "$tree"/{bin,proc,dev,tmp,root,etc,usr/bin}
  cp "$(command -v busybox)" "$tree/bin/busybox"
  chroot "$tree" /bin/busybox --install -s /bin
}

# inside TREE COMMAND: as root of a system that is only TREE, in process and mount namespaces of its
# own, so that nothing outlives it.
inside() {
  timeout -k 5 60 unshare --mount --pid --fork --kill-child bash -euc '
    mount --bind "$1" "$1" # a root file system is a mount point
    cd "$1"
    mount -t proc proc "$1/proc"
    mount -t tmpfs tmp "$1/tmp"
    mount --rbind /dev "$1/dev"
    exec chroot "$1" /bin/sh -euc "$2"' inside "$1" "export HOME=/root PATH=/usr/bin:/bin LANG=
cd /root
$2"
}

runs_a_job() {
  local name=$1 tree=$2
  cp "$stoker" "$tree/usr/bin/stoker"
  inside "$tree" 'stoker version' >"$work/version" || fail "$name: stoker version: exit code $?"
  inside "$tree" '
    mkdir project; cd project
    stoker run --name first -- /bin/sh -c "echo hello from \$STOKER_JOB_NAME"
    stoker logs first; stoker show first; stoker ls; stoker doctor || true
    code=0; stoker run --name second -- /bin/sh -c "exit 7" || code=$?; test $code = 7
    ' >"$work/output" 2>&1 || {
    cat "$work/output" >&2
    fail "$name: the job did not run"
  }
  (($(grep -c 'hello from first' "$work/output") >= 2)) || {
    cat "$work/output" >&2
    fail "$name: the job's line is not in its output and its log"
  }
  echo "$name: $(cat "$work/version"): jobs run, logs and summary are right"
}

description=$(file -b "$stoker")
[[ $description == *"statically linked"* && $description == *", stripped"* ]] ||
  fail "file says: $description"
! ldd "$stoker" >"$work/ldd" 2>&1 || fail "ldd says: $(cat "$work/ldd")"
bytes=$(stat -c %s "$stoker")
((bytes <= max_bytes)) || fail "$bytes bytes, at most $max_bytes"
echo "static and stripped, $bytes bytes"

busybox_only "$work/busybox"
runs_a_job "busybox alone" "$work/busybox"
debian11 "$work/debian11"
runs_a_job "Debian 11 with resolve, myhostname and mdns" "$work/debian11"
