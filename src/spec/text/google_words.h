// SPDX-License-Identifier: Apache-2.0
// What Google's names may look like. Pure.
#pragma once

#include <string_view>

namespace stoker {

// "my-project", "default": RFC 1035.
bool IsGoogleName(std::string_view text);

// An e-mail: "name@project.iam.gserviceaccount.com".
bool IsGoogleAccount(std::string_view text);

}  // namespace stoker
