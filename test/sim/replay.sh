#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Whether a seed is the same world with every compiler: replay.sh SEEDS STORIES SIM SIM...
# Runs the seeds 1 to SEEDS, and 1 to STORIES of each scenario, with every program, compares the
# hashes, and names the seeds of the swarm that differ. Ends in one line; exits with 1 if any
# differ.
set -euo pipefail
seeds=$1
each=$2
shift 2
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
words=()
for file in sim/scenarios/*.txt; do words+=(--scenario "$file"); done

# hash SIM WORDS...: of all that ran. A broken rule is no matter here: the same must break
# everywhere.
hash() {
  local said
  said=$("$@" 2>/dev/null) || [[ $? == 1 ]]
  said=${said##*hash }
  [[ $said =~ ^[0-9a-f]{16}$ ]] || { echo "replay: no hash from $*" >&2; return 2; }
  echo "$said"
}

differ=0
first=
for sim in "$@"; do
  swarm=$(hash "$sim" --seeds "$seeds" --parallel "$(nproc)")
  stories=$(hash "$sim" --seeds "$each" --parallel "$(nproc)" "${words[@]}")
  printf '%-50s swarm %s scenarios %s\n' "$sim" "$swarm" "$stories"
  if [[ -z $first ]]; then
    first=$sim expected="$swarm $stories"
    continue
  fi
  [[ "$swarm $stories" != "$expected" ]] || continue
  differ=1
  for ((seed = 1; seed <= seeds; ++seed)); do
    [[ $(hash "$first" --seed "$seed") == $(hash "$sim" --seed "$seed") ]] ||
      echo "seed $seed differs between $first and $sim"
  done
done
if ((differ)); then
  echo "replay: the same seed is not the same world"
  exit 1
fi
stories=$((${#words[@]} / 2))
echo "replay: $seeds seeds, $stories scenarios, $# programs, the same hashes: $expected"
