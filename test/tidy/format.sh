#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Every C++ source is as clang-format 14 writes it (./dev format).
set -euo pipefail
git ls-files -coz --exclude-standard '*.h' '*.cc' | sort -zu |
  while IFS= read -r -d '' name; do [[ ! -f $name ]] || printf '%s\0' "$name"; done |
  xargs -0 -r clang-format-14 --dry-run -Werror
