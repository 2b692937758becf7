// SPDX-License-Identifier: Apache-2.0
// The same for tests.
#pragma once

#include <gtest/gtest.h>

#define STOKER_PRECOMPILED_TEST
#include "precompiled.h"
