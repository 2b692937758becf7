#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# unless_passed.sh STAMP PROGRAM [ARGUMENT...]: runs the test program, and notes in the file STAMP
# that it passed. While the program is the same, byte for byte, it is skipped then (exit code 77),
# which is said. For `./dev check` alone, between two edits: a test that fails now and then would
# stay unseen.
set -euo pipefail
stamp=$1
shift
if [[ $stamp -nt $1 ]]; then
  seen=$(<"$stamp")
else
  seen=$(sha256sum <"$1")
fi
if [[ -f $stamp && $(<"$stamp") == "$seen" ]]; then
  touch "$stamp"  # built again, and the same: the next time its date tells that
  echo "skipped: it passed, and has not changed since (remove $PWD/$stamp to run it)"
  exit 77
fi
mkdir -p "$(dirname "$stamp")"
rm -f "$stamp"
: >"$stamp.start"
"$@"
printf '%s\n' "$seen" >"$stamp"
touch -r "$stamp.start" "$stamp"  # so that a program that is built meanwhile is the newer one
