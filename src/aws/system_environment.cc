// SPDX-License-Identifier: Apache-2.0
#include "aws/system_environment.h"

#include <chrono>
#include <cstdlib>

#include "net/http_client.h"
#include "sys/file.h"

namespace stoker {

AwsEnvironment SystemAwsEnvironment(HttpSend http, decltype(AwsEnvironment::run) run) {
  constexpr int64_t kMaxFile = 4 << 20;
  AwsEnvironment out;
  out.variable = [](const std::string& name) -> std::optional<std::string> {
    const char* value = std::getenv(name.c_str());
    if (value == nullptr || *value == '\0') return std::nullopt;
    return value;
  };
  out.read_file = [](const std::string& path) { return sys::ReadFile(path, kMaxFile); };
  out.write_private = [](const std::string& path, const std::string& text) {
    return sys::WriteFileAtomic(path, text, 0600);
  };
  out.now = [] {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return WallTime{std::chrono::duration_cast<std::chrono::milliseconds>(now).count()};
  };
  out.http = std::move(http);
  out.listens = Listens;
  out.run = std::move(run);
  out.home = sys::HomeDir();
  return out;
}

}  // namespace stoker
