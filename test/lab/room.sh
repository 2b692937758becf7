#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A room's first process, in namespaces of its own (room.py): waits for its wire, lays its disk over
# the tree that all share, and becomes systemd. Usage:
#   room.sh FOLDER TREE NAME HYPERVISOR [-b BOOTS] [-s SHARED] [-p]
# With -b it becomes bare_init.py, without systemd. SHARED is at /shared; with -p it has this
# machine's programs, too.
set -euo pipefail
folder=$1 tree=$2 name=$3 hypervisor=$4 root=$1/root boots='' shared='' programs='' marks=''
here=$(dirname "${BASH_SOURCE[0]}")
shift 4
while getopts b:s:p option; do
  case $option in b) boots=$OPTARG ;; s) shared=$OPTARG ;; p) programs=yes ;; *) exit 2 ;; esac
done
echo here
read -r _ # the wire is there

# Only the first root may set marks that are the system's.
[[ ! $boots ]] || marks=,userxattr
mount -t overlay overlay \
  -o "lowerdir=$tree,upperdir=$folder/disk,workdir=$folder/work$marks" "$root"
if [[ $shared ]]; then
  mkdir -p "$root/shared"
  mount --bind "$shared" "$root/shared"
fi
if [[ $programs ]]; then # this machine's beside the tree's: of what takes long to install
  version=$(cd "$tree/usr/lib" && echo python3.*)
  for each in usr/{bin,lib/python3,"lib/$version",lib/x86_64-linux-gnu} etc/alternatives; do
    mount -t overlay overlay -o "ro,lowerdir=$tree/$each:/$each" "$root/$each"
  done
  cp -an /usr/lib/lib*.so* "$root/usr/lib/" # some lie beside the folder of their architecture
fi
mount -t proc proc "$root/proc"
mount -t tmpfs -o size=64m,mode=755 tmpfs "$root/run"
cat /proc/sys/kernel/random/uuid >"$root/run/boot_id"
mount --bind "$root/run/boot_id" "$root/proc/sys/kernel/random/boot_id"

# Of /sys what programs read; nothing of it is the room's.
mkdir "$root/run/sys"
mount -t sysfs -o ro sysfs "$root/run/sys"
mount -t tmpfs -o size=1m tmpfs "$root/sys"
for each in class devices block bus dev fs kernel module; do
  mkdir "$root/sys/$each"
  mount --bind "$root/run/sys/$each" "$root/sys/$each"
done
if [ -n "$hypervisor" ]; then # by which cloud-init knows a cloud
  mkdir "$root/sys/hypervisor"
  echo "$hypervisor" >"$root/sys/hypervisor/uuid"
fi
[[ $boots ]] || mount -t cgroup2 none "$root/sys/fs/cgroup"

mount -t tmpfs -o size=4m,mode=755 tmpfs "$root/dev"
for each in null zero full random urandom tty; do
  touch "$root/dev/$each"
  mount --bind "/dev/$each" "$root/dev/$each"
done
ln -s /proc/self/fd "$root/dev/fd"
for each in 0:stdin 1:stdout 2:stderr; do ln -s "fd/${each%:*}" "$root/dev/${each#*:}"; done
mkdir "$root/dev/shm" "$root/dev/pts"
mount -t tmpfs tmpfs "$root/dev/shm"
touch "$root/dev/console" "$root/dev/kmsg"
mount --bind "$folder/console" "$root/dev/console"
hostname "$name"
init=(/sbin/init)
if [[ $boots ]]; then
  touch "$root/run/bare-init"
  mount --bind "$here/bare_init.py" "$root/usr/bin/systemctl"
  mount --bind "$here/bare_init.py" "$root/run/bare-init"
  init=(/run/bare-init "$boots")
fi

cd "$root"
mkdir -p .old
pivot_root . .old
cd /
umount -l /.old
rmdir /.old
exec env -i container=stoker-lab PATH=/usr/sbin:/usr/bin:/sbin:/bin TERM=linux \
  setpriv --bounding-set=-sys_module,-sys_rawio,-sys_time,-mknod,-syslog --inh-caps=-all \
  "${init[@]}" </dev/null >>/dev/console 2>&1
