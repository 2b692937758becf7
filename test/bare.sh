#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The README's promise on a bare machine: in a minimal Debian 12 or Ubuntu with git and nothing
# else, a fresh clone installs what it needs, builds, and runs the demo. Not part of ./dev test: it
# downloads 300 MB of packages, on Ubuntu 3 GB, most of them PyTorch with its libraries for GPUs.
# Usage, as root: test/bare.sh [bookworm | jammy | noble] [--check] [--test] [--user]
#   --check  run ./dev check after the demo
#   --test   run ./dev test after the demo
#   --user   as an ordinary user with sudo, instead of root
# Ubuntu's packages come from $MIRROR, or archive.ubuntu.com.
# shellcheck disable=SC2016 # single quotes are meant: other shells expand them
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
((EUID == 0)) || { echo "bare.sh: only root can make and enter a system" >&2; exit 1; }

commands='./dev build && ./dev build && ./dev demo' user=root system=bookworm
for argument in "$@"; do
  case $argument in
    bookworm | jammy | noble) system=$argument ;;
    --check) commands+=' && ./dev check' ;;
    --test) commands+=' && ./dev test' ;;
    --user) user=someone ;;
    *) echo "bare.sh: no option $argument" >&2; exit 2 ;;
  esac
done

work=$(mktemp -d /var/tmp/stoker-bare.XXXXXX)
trap 'rm -rf --one-file-system "$work"' EXIT
tree=$work/tree

base() { # base MIRROR ARGUMENT...: the smallest system, with git
  unshare --mount debootstrap --variant=minbase --include=git,ca-certificates "${@:2}" "$system" \
    "$tree" "$1" ${script:+"$script"} >"$work/log" 2>&1 || { tail -n 20 "$work/log" >&2; exit 1; }
  rm -rf "$tree"/etc/apt/sources.list*
}

if [[ $system == bookworm ]]; then
  # Packages come from where this machine's come from, whatever that is.
  base "$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' |
    grep -v security | head -n 1 | sed 's,/*$,,')"
  for name in sources.list{,.d} apt.conf.d auth.conf.d keyrings trusted.gpg{,.d}; do
    [[ ! -e /etc/apt/$name ]] || cp -a "/etc/apt/$name" "$tree/etc/apt/"
  done
else
  mirror=${MIRROR:-http://archive.ubuntu.com/ubuntu}
  script=/usr/share/debootstrap/scripts/gutsy # that of every Ubuntu since, known by name or not
  ring=/usr/share/keyrings/ubuntu-archive-keyring.gpg
  if [[ -e $ring ]]; then
    base "$mirror" --keyring="$ring"
  else
    echo "bare.sh: no $ring here: the smallest system is not verified, what apt adds is" >&2
    base "$mirror" --no-check-gpg
  fi
  for suite in "$system"{,-updates}; do
    echo "deb $mirror $suite main universe"
  done >"$tree/etc/apt/sources.list"
fi
cp /etc/resolv.conf /etc/hosts "$tree/etc/"
cp /etc/ssl/certs/ca-certificates.crt "$tree/etc/ssl/certs/"
git clone -q --no-local "$PWD" "$tree/srv/stoker"

inside() { # inside USER COMMANDS: in process and mount namespaces that end with the commands
  # The tree becomes the root for good: in a chroot the kernel gives an ordinary user no namespaces.
  unshare --mount --pid --fork --kill-child bash -euc '
    mount --bind "$1" "$1"
    mount -t proc proc "$1/proc"
    mount --rbind /sys "$1/sys"
    mount --rbind /dev "$1/dev"
    cd "$1"
    mkdir -p .machine
    pivot_root . .machine
    umount -l /.machine
    rmdir /.machine
    exec chroot / su -s /bin/bash "$2" -c "$3"' inside "$tree" "$1" "$2"
}

if [[ $user != root ]]; then
  inside root 'apt-get update -q && apt-get install -q -y --no-install-recommends sudo &&
    useradd -m someone && echo "someone ALL=(ALL) NOPASSWD: ALL" >/etc/sudoers.d/someone &&
    chown -R someone /srv/stoker' >"$work/log" 2>&1 || { tail -n 20 "$work/log" >&2; exit 1; }
fi
start=$SECONDS
inside "$user" "cd /srv/stoker && $commands" </dev/null
echo "bare.sh: done as $user in $((SECONDS - start)) s after the system was made"
left=$(find "$tree/tmp" "$tree/var/tmp" -mindepth 1 -maxdepth 1 ! -name '.*')
[[ -z $left ]] || { echo "bare.sh: left behind: $left" >&2; exit 1; }
