// SPDX-License-Identifier: Apache-2.0
// Only so that there is something to compile a precompiled header for.
