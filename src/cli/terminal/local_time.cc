// SPDX-License-Identifier: Apache-2.0
#include "cli/terminal/local_time.h"

#include <ctime>

#include "base/text.h"

namespace stoker::cli {

std::string LocalTime(WallTime time) {
  const time_t seconds = static_cast<time_t>(time.ms / 1000);
  struct tm parts {};
  char text[64];
  if (localtime_r(&seconds, &parts) == nullptr) return FormatRfc3339(time);
  const size_t length = std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S %Z", &parts);
  return length > 0 ? Printable({text, length}) : FormatRfc3339(time);
}

}  // namespace stoker::cli
