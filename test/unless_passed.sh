#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# unless_passed.sh STAMP PROGRAM [ARGUMENT...]: runs the test program, and notes in the file STAMP
# that it passed. While the program is the same, byte for byte, and is asked for the same cases, it
# is skipped then (exit code 77), which is said. For `./dev check` alone, between two edits: a test
# that fails now and then would stay unseen.
set -euo pipefail
stamp=$1
shift
mkdir -p "$(dirname "$stamp")"
# STAMP's date is that of a look at the program: what is built after that look is the newer one.
look=$stamp.look
: >"$look"
asked="$* ${GTEST_SHARD_INDEX:-0}/${GTEST_TOTAL_SHARDS:-1}"
passed=
if [[ -f $stamp ]]; then passed=$(<"$stamp"); fi
if [[ $stamp -nt $1 ]]; then
  program=${passed%%$'\n'*}
else
  program=$(sha256sum <"$1")
fi
if [[ $passed == "$program"$'\n'"$asked" ]]; then
  touch -r "$look" "$stamp"
  echo "skipped: it passed, and has not changed since (remove $(realpath "$stamp") to run it)"
  exit 77
fi
rm -f "$stamp"
[[ -n $program ]] || program=$(sha256sum <"$1")
"$@"
printf '%s\n' "$program" "$asked" >"$stamp"
touch -r "$look" "$stamp"
