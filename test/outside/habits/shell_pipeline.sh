# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# A pipeline that ends in `head`, into a new file; the one before is removed.
# shellcheck source=test/outside/habits/witness.sh
. ./witness.sh

content() { { echo "step $1"; yes "a line of step $1"; } | head -c 500000; }

save() {
  until content "$1" > "$folder/c-$1.pt"; do :; done
  rm -f "$folder/c-$(($1 - 1)).pt"
}

load() {
  newest=0
  for path in "$folder"/c-*.pt; do
    [ -e "$path" ] || continue
    step=${path##*/c-} step=${step%.pt}
    content "$step" | cmp -s - "$path" || { echo "$path is damaged"; return 1; }
    [ "$step" -le "$newest" ] || newest=$step
  done
  echo "$newest"
}

run
