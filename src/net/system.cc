// SPDX-License-Identifier: Apache-2.0
#include "net/system.h"

#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <utility>

namespace stoker {

std::optional<std::string> SystemVariable(const std::string& name) {
  const char* value = std::getenv(name.c_str());
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

WallTime SystemNow() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return {std::chrono::duration_cast<std::chrono::milliseconds>(since).count()};
}

uint64_t SystemSeed() {
  uint64_t seed = static_cast<uint64_t>(SystemNow().ms);
  if (getrandom(&seed, sizeof seed, 0) != sizeof seed) seed ^= static_cast<uint64_t>(getpid());
  return seed;
}

HttpPoolOptions SystemPoolOptions(std::string ca_file) {
  HttpPoolOptions options;
  options.environment = SystemVariable;
  options.ca_file = std::move(ca_file);
  return options;
}

HttpSend SystemCredentialSender(HttpPoolOptions options) {
  HttpTimeouts& timeouts = options.timeouts;
  timeouts.connect = std::min(timeouts.connect, Duration::Seconds(2));
  timeouts.first_byte = std::min(timeouts.first_byte, Duration::Seconds(20));
  options.max_body_bytes = 1 << 20;
  options.environment = [](const std::string& name) -> std::optional<std::string> {
    // What is beside us is reached straight, whatever no_proxy says.
    if (name == "no_proxy" || name == "NO_PROXY") {
      return SystemVariable(name).value_or("") + ",169.254.169.254,169.254.170.2,169.254.170.23," +
             "fd00:ec2::254,fd00:ec2::23,metadata.google.internal,localhost,127.0.0.1,::1";
    }
    return SystemVariable(name);
  };
  auto pool = std::make_shared<HttpPool>(std::move(options));
  return [pool](const std::string& base_url, const HttpRequest& request) -> Result<HttpResponse> {
    STOKER_ASSIGN(const HttpUrl url, ParseHttpUrl(base_url));
    return pool->Call(url, request);
  };
}

}  // namespace stoker
