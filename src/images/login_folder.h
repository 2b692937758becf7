// SPDX-License-Identifier: Apache-2.0
// A registry's login for one call of an engine's client.
#pragma once

#include <string>
#include <utility>

#include "base/status.h"
#include "container/image_ref.h"
#include "container/registry_login.h"

namespace stoker {

// A folder that nobody else may read, whose "config.json" has the login; gone with this object.
// What a kill leaves of it goes with whatever `path` lies in. Not thread-safe.
class LoginFolder {
 public:
  explicit LoginFolder(std::string path) : path_(std::move(path)) {}
  LoginFolder(const LoginFolder&) = delete;
  LoginFolder& operator=(const LoginFolder&) = delete;
  ~LoginFolder();
  // In the place of what was there.
  Status Write(const ImageRef& ref, const RegistryLogin& login);
  // "" = none was written.
  const std::string& written() const { return written_; }

 private:
  const std::string path_;
  std::string written_;
};

}  // namespace stoker
