# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# An archive of several files, written over the one before.
# shellcheck source=test/outside/habits/witness.sh
. ./witness.sh
parts=.cache/parts

content() { yes "$1 of step $2" | head -c 300000; }

save() {
  mkdir -p "$parts"
  for part in model optimizer; do
    # A pipeline whose first process was killed ends well, and has written too little.
    until content "$part" "$1" > "$parts/$part" && [ "$(wc -c < "$parts/$part")" -eq 300000 ]; do
      :
    done
  done
  echo "$1" > "$parts/step"
  until tar -cf "$folder/state.tar" -C "$parts" model optimizer step; do :; done
}

load() {
  [ -e "$folder/state.tar" ] || { echo 0; return; }
  mkdir -p "$parts"
  tar -xf "$folder/state.tar" -C "$parts" || { echo "state.tar is damaged"; return 1; }
  step=$(cat "$parts/step")
  for part in model optimizer; do
    content "$part" "$step" | cmp -s - "$parts/$part" || { echo "$part is damaged"; return 1; }
  done
  echo "$step"
}

run
