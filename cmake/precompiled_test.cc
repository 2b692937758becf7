// SPDX-License-Identifier: Apache-2.0
// Only so that there is something to compile precompiled_test.h for.
#include "precompiled_test.h"
