#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Which branches of the deciding rooms the simulator reaches: coverage.sh SIM SIM_SCALE [SEEDS]
# Both programs are built by the preset "coverage" (clang counts the branches that stand in the
# source). Runs SEEDS worlds of the swarm, every scenario, the worlds of test/sim/worlds and a pass
# over many jobs; prints what coverage.py says and ends as it does, or with 1 if a rule was broken.
set -euo pipefail
sim=$(realpath "$1")
scale=$(realpath "$2")
seeds=${3:-6000}
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
out=$(dirname "$sim")/profiles
broken=0
rm -rf "$out"
mkdir -p "$out"

# files CORE CORES SEEDS FILE...: so many seeds of each file that falls to this core.
files() {
  local core=$1 cores=$2 count=$3 words=() i
  shift 3
  for ((i = core + 1; i <= $#; i += cores)); do words+=(--scenario "${!i}"); done
  LLVM_PROFILE_FILE=$out/files-$count-$core.profraw "$sim" --seeds "$count" "${words[@]}"
}

# What one of CORES processes runs, one after the other: its share of the seeds and of the files.
share() {
  local core=$1 cores=$2 first each status=0
  first=$((seeds * core / cores))
  each=$((seeds * (core + 1) / cores - first))
  LLVM_PROFILE_FILE=$out/swarm-$core.profraw "$sim" --seed $((first + 1)) --seeds "$each" ||
    status=1
  files "$core" "$cores" 20 sim/scenarios/*.txt || status=1
  files "$core" "$cores" 60 test/sim/worlds/*.txt || status=1
  return "$status"
}

cores=$(nproc)
pids=()
for ((core = 0; core < cores; ++core)); do
  share "$core" "$cores" >"$out/share-$core.log" 2>/dev/null &
  pids+=($!)
done
for pid in "${pids[@]}"; do wait "$pid" || broken=1; done
LLVM_PROFILE_FILE=$out/scale.profraw "$scale" --finished 1200,60000 --active 600,1000 --one-node \
  >"$out/scale.log" || broken=1
cat "$out"/share-*.log

llvm-profdata-14 merge -sparse "$out"/*.profraw -o "$out/all.profdata"
llvm-cov-14 export "$sim" -instr-profile="$out/all.profdata" >"$out/export.json"
python3 test/sim/coverage.py --reasons test/sim/unreached.txt <"$out/export.json" || broken=1
exit "$broken"
