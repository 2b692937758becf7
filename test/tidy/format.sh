#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every C++ source is as clang-format 14 writes it (./dev format). format.sh [PASSED]: in the file
# PASSED it notes what passed; while such a source is the same it is not looked at again, which is
# said. For `./dev check`, between two edits.
set -euo pipefail
passed=${1:-/dev/null}
# NUL after each line: a name may hold anything.
now() {
  git ls-files -coz --exclude-standard '*.h' '*.cc' .clang-format | sort -zu |
    while IFS= read -r -d '' name; do [[ ! -f $name ]] || printf '%s\0' "$name"; done |
    xargs -0 -r sha256sum -z | sort -z
}
all=$(mktemp)
trap 'rm -f "$all"' EXIT
now >"$all"
rules=$(sha256sum .clang-format)
seen=/dev/null
if [[ -f $passed ]] && grep -zqF "$rules" "$passed"; then seen=$passed; fi
comm -z -23 "$all" "$seen" | cut -z -c 67- | { grep -zvxF .clang-format || true; } |
  xargs -0 -r clang-format-14 --dry-run -Werror
echo "format: $(tr -cd '\0' <"$all" | wc -c) files," \
  "of which $(comm -z -12 "$all" "$seen" | tr -cd '\0' | wc -c) had passed and are the same"
if [[ $passed != /dev/null ]]; then
  mkdir -p "$(dirname "$passed")"
  cp "$all" "$passed"
fi
