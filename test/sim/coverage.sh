#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Which branches of the deciding rooms the simulator reaches: coverage.sh SIM [SEEDS]
# SIM is built by the preset "coverage" (clang counts the branches that stand in the source). Runs
# SEEDS worlds of the swarm and every scenario, prints what coverage.py says and ends as it does, or
# with 1 when a rule was broken.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
sim=$1
seeds=${2:-1000}
out=build/coverage/profiles
broken=0
rm -rf "$out"
mkdir -p "$out"

# As many processes as there are cores, each with its share of the seeds.
cores=$(nproc)
each=$(((seeds + cores - 1) / cores))
pids=()
for ((core = 0; core < cores; ++core)); do
  LLVM_PROFILE_FILE=$out/swarm-$core.profraw \
    "$sim" --seed $((core * each + 1)) --seeds "$each" >"$out/swarm-$core.txt" &
  pids+=($!)
done
for pid in "${pids[@]}"; do wait "$pid" || broken=1; done
cat "$out"/swarm-*.txt

for scenario in sim/scenarios/*.txt; do
  [[ -f $scenario ]] || continue
  name=$(basename "$scenario" .txt)
  LLVM_PROFILE_FILE=$out/scenario-$name.profraw "$sim" --scenario "$scenario" \
    >"$out/scenario-$name.log" || {
    cat "$out/scenario-$name.log"
    broken=1
  }
done

llvm-profdata-14 merge -sparse "$out"/*.profraw -o "$out/all.profdata"
llvm-cov-14 export "$sim" -instr-profile="$out/all.profdata" |
  python3 test/sim/coverage.py --reasons test/sim/unreached.txt || broken=1
exit "$broken"
