// SPDX-License-Identifier: Apache-2.0
#include "precompiled.h"

STOKER_TEMPLATES()
