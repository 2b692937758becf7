# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# witness.py for programs that are shell scripts: they define `save STEP` and `load`, which prints
# the step that it finds (0 for none) or returns 1 where something is damaged, and call `run`.
base="$OUTSIDE_EVIDENCE/$STOKER_JOB_ID-$NODE_RANK"
who="$STOKER_ATTEMPT.$(date +%s%N)"
# shellcheck disable=SC2034 # for those who read this file
folder=$STOKER_CHECKPOINT_DIR
lines=0

tell() { # EVENT [MORE]
  printf '{"e":"%s","who":"%s","attempt":%d,"t":%s%s}\n' \
    "$1" "$who" "$STOKER_ATTEMPT" "$(date +%s.%N)" "${2:+,$2}" >> "$base.jsonl"
}

say() {
  lines=$((lines + 1))
  echo "L o $lines $1"
  tell line "\"s\":\"o\",\"n\":$lines"
}

hex() { printf '%s' "$1" | od -An -v -tx1 | tr -d ' \n'; }

plant_outputs() {
  case $OUTSIDE_KEPT in
    output) to=$STOKER_OUTPUT_DIR ;;
    *) to=$OUTSIDE_KEPT ;;
  esac
  mkdir -p "$to"
  made=
  for name in plain.bin 'with space' '-dash' "quote'"; do
    printf 'output %s of %s\n' "$name" "$OUTSIDE_SAVES" > "$to/$name"
    digest=$(sha256sum < "$to/$name" | cut -d' ' -f1)
    made="$made${made:+,}\"$(hex "$OUTSIDE_KEPT/$name")\":\"$digest\""
  done
  tell outputs "\"made\":{$made}"
}

run() {
  tell begin "\"pid\":$$,\"rank\":$NODE_RANK"
  exec 9>> "$base.lock"
  flock -n 9 || tell double '"text":"another program of this rank holds the lock"'
  if step=$(load); then
    [ "$step" -gt 0 ] && state=whole || state=none
    tell restore "\"state\":\"$state\",\"step\":$step"
  else
    tell restore "\"state\":\"torn\",\"why\":\"$step\""
    say "cannot go on: $step"
    exit 3
  fi
  say "begins after step $step"
  left=$((OUTSIDE_SAVES - step))
  if [ -n "${OUTSIDE_LOOK:-}" ] && { [ "$STOKER_ATTEMPT" -gt 1 ] || [ "$step" -gt 0 ]; }; then
    left=0
  fi
  while [ "$left" -gt 0 ]; do
    sleep "$OUTSIDE_PAUSE"
    step=$((step + 1)) left=$((left - 1))
    if [ "$NODE_RANK" = 0 ]; then
      tell saving "\"step\":$step"
      save "$step"
      tell saved "\"step\":$step"
    fi
    say "saved step $step"
  done
  code=0 # the others may be done sooner: the job is over with the first that fails
  [ "$NODE_RANK" != 0 ] || { plant_outputs; code=${OUTSIDE_EXIT:-0}; }
  say "the last line"
  tell end "\"code\":$code"
  exit "$code"
}
