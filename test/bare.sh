#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The README's promise on a bare machine: in a minimal Debian 12 with git and nothing else, a fresh
# clone installs what it needs, builds, and runs the demo. Not part of ./dev test: it downloads
# about 300 MB of packages. Usage, as root: test/bare.sh [--test] [--user]
#   --test   run ./dev test after the demo
#   --user   as an ordinary user with sudo, instead of root
# shellcheck disable=SC2016 # single quotes are meant: other shells expand them
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
((EUID == 0)) || { echo "bare.sh: only root can make and enter a system" >&2; exit 1; }

commands='./dev build && ./dev build && ./dev demo' user=root
for argument in "$@"; do
  case $argument in
    --test) commands+=' && ./dev test' ;;
    --user) user=someone ;;
    *) echo "bare.sh: no option $argument" >&2; exit 2 ;;
  esac
done

# Packages come from where this machine's come from, whatever that is.
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' |
  grep -v security | head -n 1 | sed 's,/*$,,')
work=$(mktemp -d /var/tmp/stoker-bare.XXXXXX)
trap 'rm -rf --one-file-system "$work"' EXIT
tree=$work/tree

unshare --mount debootstrap --variant=minbase --include=git,ca-certificates bookworm \
  "$tree" "$mirror" >"$work/log" 2>&1 || { tail -n 20 "$work/log" >&2; exit 1; }
rm -rf "$tree"/etc/apt/sources.list*
for name in sources.list{,.d} apt.conf.d auth.conf.d keyrings trusted.gpg{,.d}; do
  [[ ! -e /etc/apt/$name ]] || cp -a "/etc/apt/$name" "$tree/etc/apt/"
done
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
