// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "base/time.h"

namespace stoker {

// What stoker asks for: to read and write objects; to make and end machines; to set up what looks
// after jobs, for which most services have no scope of their own. Source: "OAuth 2.0 Scopes for
// Google APIs".
inline constexpr char kStorageScope[] = "https://www.googleapis.com/auth/devstorage.read_write";
inline constexpr char kComputeScope[] = "https://www.googleapis.com/auth/compute";
inline constexpr char kCloudScope[] = "https://www.googleapis.com/auth/cloud-platform";

// What a request to Google's services carries. A value. `secret` goes into no message, no log and
// no record.
struct GoogleToken {
  std::string secret;               // "" = none is needed: an emulator
  std::optional<WallTime> expires;  // by this machine's clock; unset = it does not
  // Whose project is billed for requests, where the credentials name one; "" = the bucket's.
  std::string quota_project;
  std::string source;  // for people: "service account key in /home/u/key.json"
  std::string who;     // "trainer@p.iam.gserviceaccount.com"; "" = the credentials do not say
};

}  // namespace stoker
