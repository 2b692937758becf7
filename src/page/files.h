// SPDX-License-Identifier: Apache-2.0
// The page's files, as they were when stoker was built (cmake/page_files.cmake).
#pragma once

#include <string_view>
#include <vector>

namespace stoker::page {

struct File {
  std::string_view name;  // "app.css"
  std::string_view type;  // its Content-Type
  std::string_view text;
};

// index.html is the first.
const std::vector<File>& Files();

}  // namespace stoker::page
