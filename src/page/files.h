// SPDX-License-Identifier: Apache-2.0
// The page's files, as they were when stoker was built (cmake/page_files.cmake). They lie in the
// binary compressed.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace stoker::page {

struct File {
  std::string_view name;  // "app.css"
  std::string_view type;  // its Content-Type
  std::string text;
};

// index.html is the first. Made at the first call; thread-safe.
const std::vector<File>& Files();

}  // namespace stoker::page
