#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Captured output against `program | tee file`. Goal: at 100,000 lines a second the program is at
# most 5 % slower than under tee.
set -euo pipefail
exec "${BENCH_BIN:?}/log_flood"
