// SPDX-License-Identifier: Apache-2.0
#include "spec/text/google_words.h"

#include "base/text.h"

namespace stoker {

bool IsGoogleName(std::string_view text) {
  return !text.empty() && text.size() <= 63 && text[0] >= 'a' && text[0] <= 'z' &&
         text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") == std::string_view::npos;
}

bool IsGoogleAccount(std::string_view text) {
  const size_t at = text.find('@');
  return at != std::string_view::npos && IsGoogleName(text.substr(0, at)) &&
         IsSafeName(text.substr(at + 1));
}

}  // namespace stoker
