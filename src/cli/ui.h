// SPDX-License-Identifier: Apache-2.0
// `stoker ui`: the page (page/server.h), its link, and the browser.
#pragma once

#include "cli/verb.h"

namespace stoker::cli {

Verb UiVerb();

}  // namespace stoker::cli
